"""PX106 repeated-group."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import RULES, Subject
from proxyctl.routing.regex import Engine, repeats_a_group


@check("PX106", "repeated-group", Severity.NOTE)
def repeated_group(subject: Subject) -> Iterator[Finding]:
    r"""A group that repeats without bound, such as `(a|b)+`.

    PCRE recurses for each turn of the group. A query with some thousands of turns overflows the
    stack of ProxySQL's thread, and ProxySQL ends. Groups inside of each other, such as `(a+)+`,
    can also keep it busy for seconds.

    Use brackets, `[ab]+`, or a bound that queries keep to, `(a|b){1,200}`; or use RE2, which does
    not recurse: `mysql-query_processor_regex: 2`.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_pattern: 'IN \(([0-9]+,?)+\)', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_pattern: 'IN \([0-9,]+\)', destination_hostgroup: 2, apply: 1}
    ```
    """
    if subject.engine is not Engine.PCRE:
        return
    for row in subject.rule_rows:
        for column in ("match_digest", "match_pattern"):
            text = row.text(column)
            if text is not None and repeats_a_group(text):
                message = (
                    f"a group of {column} repeats without bound: a long query may end ProxySQL"
                )
                yield Finding(RULES, row.key, message, column)
