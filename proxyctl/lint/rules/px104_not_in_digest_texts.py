"""PX104 not-in-digest-texts."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import SEVERITIES, Finding, Severity
from proxyctl.lint.patterns import is_pasted
from proxyctl.lint.subject import LintSubject, RuleRow
from proxyctl.routing.criteria import Effect


@check("PX104", "not-in-digest-texts", Severity.ERROR, pgsql=True)
def not_in_digest_texts(subject: LintSubject) -> Iterator[Finding]:
    r"""A match_digest that requires something that no digest text contains.

    A digest text has `?` for each quoted text and number; digits stay only inside a name, such as
    `sbtest42`. It has no comment (unless `mysql-query_digests_keep_comment` is on), no line break,
    no space inside parentheses or next to a comma, and no `;` at the end. With
    `mysql-query_digests_lowercase` it has no capital letter, with `mysql-query_digests_no_digits`
    no digit. A rule that requires one of these never matches, or matches only a query that no one
    writes. (ProxySQL copies the text of `/*! ... */` as it is; this check ignores that case.)

    It is a warning if the pattern requires two spaces, which a digest text has only if the query
    has `-` or `+` between spaces, or for a word inside a phrase: `START .* TRANSACTION` does not
    match START TRANSACTION.

    Write the pattern as the digest text is written, with `\?` for values, or use match_pattern.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_digest: 'WHERE tenant_id = [0-9]+$', destination_hostgroup: 2,
         apply: 1}
      - {rule_id: 20, match_digest: '/\* report \*/', destination_hostgroup: 2, apply: 1}
      - {rule_id: 30, match_digest: '^SELECT id, name FROM', destination_hostgroup: 2,
         apply: 1}
      - {rule_id: 40, match_digest: '^START .* TRANSACTION', destination_hostgroup: 1,
         apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_pattern: 'WHERE tenant_id = 42\b', destination_hostgroup: 2,
         apply: 1}
      - {rule_id: 20, match_pattern: '/\* report \*/', destination_hostgroup: 2, apply: 1}
      - {rule_id: 30, match_digest: '^SELECT id,name FROM', destination_hostgroup: 2,
         apply: 1}
      - {rule_id: 40, match_digest: '^START TRANSACTION', destination_hostgroup: 1,
         apply: 1}
    ```
    """
    for row in subject.rule_rows:
        if row.text("match_digest") is None or subject.criteria.escape(row.cells, "match_digest"):
            continue  # PX107
        flaw = subject.criteria.match_digest(row.cells, row.rule)
        if flaw is None or is_pasted(row.rule, "match_digest", row.text("match_digest")):
            continue
        message = f"match_digest {row.shown('match_digest')} {flaw.problem}"
        if flaw.effect is not Effect.DOUBTFUL:
            message += f": {effect_text(row, flaw.effect)}"
        severity = SEVERITIES[flaw.effect]
        yield subject.rule_finding(row.key, message, "match_digest", flaw.fix, severity=severity)


def effect_text(row: RuleRow, effect: Effect) -> str:
    """Return what a pattern that matches nothing does to its rule, negated or not."""
    if row.rule is None or not row.rule.negated:
        return effect.value
    return f"negated, it matches {'every' if effect is Effect.NEVER else 'nearly every'} query"
