"""PX413 milliseconds-as-seconds."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject

_LIKE_SECONDS = 100
_ROUND_SECONDS = {
    "cache_ttl": frozenset({120, 180, 300, 600, 900, 1800, 3600, 7200, 86400}),
    "timeout": frozenset[int](),
}
"""Usual lifetimes in seconds, from two minutes to a day."""


@check("PX413", "milliseconds-as-seconds", Severity.WARNING, pgsql=True)
def milliseconds_as_seconds(subject: LintSubject) -> Iterator[Finding]:
    """A cache_ttl or a timeout that looks like seconds.

    Both are in milliseconds. With `cache_ttl: 60` a result expires after 60 milliseconds, so hardly
    any query finds it. With `timeout: 30` ProxySQL kills every query of the rule that takes longer
    than 30 milliseconds, with error 1907. Values up to 100 are reported and, for cache_ttl, round
    times such as 300, 600 and 3600.

    Multiply by 1000, or ignore the finding for this rule if milliseconds are intended.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT name FROM countries', cache_ttl: 60,
         apply: true}
      - {rule_id: 2, match_digest: '^SELECT .* FROM invoices', timeout: 30, apply: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT name FROM countries', cache_ttl: 60000,
         apply: true}
      - {rule_id: 2, match_digest: '^SELECT .* FROM invoices', timeout: 30000, apply: true}
    ```
    """
    for column, round_values in _ROUND_SECONDS.items():
        for rule in subject.rules:
            value = dict(rule.sets).get(column)
            if isinstance(value, int) and (0 < value <= _LIKE_SECONDS or value in round_values):
                message = f"{column} {value} is {value / 1000:g} seconds"
                fix = f"write {value * 1000} for {value} seconds: the unit is milliseconds"
                yield subject.rule_finding((rule.rule_id,), message, column, fix)
