"""PX104 not-in-digest-texts."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.releases import PGSQL_DIGESTS
from proxyctl.lint.check import RULES, Finding, Severity, check
from proxyctl.lint.patterns import NUMBER, is_pasted, why_never
from proxyctl.lint.subject import Subject
from proxyctl.routing.digest import DigestOptions


@check("PX104", "not-in-digest-texts", Severity.ERROR, pgsql=True)
def not_in_digest_texts(subject: Subject) -> Iterator[Finding]:
    r"""A match_digest that asks for what no digest text contains.

    A digest text has `?` for each quoted text and number; digits stay only inside a name, such as
    `sbtest42`. It has no comment (unless `mysql-query_digests_keep_comment` is on), no line break,
    no double space, no space inside of parentheses or beside a comma, and no `;` at the end. With
    `mysql-query_digests_lowercase` it has no capital letter, with `mysql-query_digests_no_digits`
    no digit. A rule that asks for one of these never matches.

    Write the pattern as the digest text is written, with `\?` for values, or use match_pattern.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_digest: 'WHERE tenant_id = 42$', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, match_digest: '/\* report \*/', destination_hostgroup: 2, apply: 1}
      - {rule_id: 30, match_digest: '^SELECT id, name FROM', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_pattern: 'WHERE tenant_id = 42\b', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, match_pattern: '/\* report \*/', destination_hostgroup: 2, apply: 1}
      - {rule_id: 30, match_digest: '^SELECT id,name FROM', destination_hostgroup: 2, apply: 1}
    ```
    """
    if not subject.variables.query_digests:
        return
    held = subject.configuration
    if subject.is_pgsql and held.version >= PGSQL_DIGESTS:
        return  # its digest texts are not known
    options = DigestOptions.from_variables(held.all_variables(), held.version)
    for row in subject.rule_rows:
        pattern = row.rule.match_digest if row.rule else None
        literals = None if pattern is None else subject.literals.get(pattern)
        never = why_never(literals, options) if literals else None
        if never is None or row.rule is None or is_pasted(row, "match_digest"):
            continue
        # `id = 42` matches `id = 42col`, which MySQL reads as a name.
        is_number = never is NUMBER
        effect = f"the rule {'hardly ever' if is_number else 'never'} matches"
        if row.rule.negated:
            effect = f"negated, it matches {'nearly every' if is_number else 'every'} query"
        text = never.text.format(side=subject.name("mysql"))
        message = f"match_digest {row.shown('match_digest')} asks for {text}: {effect}"
        yield Finding(RULES, row.key, message, "match_digest", never.fix)
