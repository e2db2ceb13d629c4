"""PX106 repeated-group."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.regex import RegexEngine, repeats_a_group


@check("PX106", "repeated-group", Severity.NOTE, pgsql=True)
def repeated_group(subject: LintSubject) -> Iterator[Finding]:
    r"""A group that repeats without a limit, such as `(a|b)+`.

    PCRE recurses for each repetition. A query with several thousand of them overflows the stack of
    ProxySQL's thread, and ProxySQL crashes. Nested groups, such as `(a+)+`, can also keep it busy
    for seconds.

    Use brackets, `[ab]+`, a limit, `(a|b){1,200}`, or `(a|b)++`, which gives nothing back and does
    not recurse; or use RE2, which does not recurse: `mysql-query_processor_regex: 2`. ProxySQL
    3.0.12 has PCRE2, which does not recurse either.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_pattern: 'IN \(([0-9]+,?)+\)', destination_hostgroup: 2,
         apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_pattern: 'IN \([0-9,]+\)', destination_hostgroup: 2, apply: 1}
    ```
    """
    if subject.engine is not RegexEngine.PCRE:
        return
    for row in subject.rule_rows:
        for column, text in row.patterns:
            if repeats_a_group(text):
                message = "a group repeats without a limit: a long query may crash ProxySQL"
                yield subject.rule_finding(
                    row.key, message, column, "use brackets, a limit, or RE2"
                )
