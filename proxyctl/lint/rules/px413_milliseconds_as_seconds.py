"""PX413 milliseconds-as-seconds."""

from __future__ import annotations

from collections.abc import Iterator, Set

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import RULES, Subject

_LIKE_SECONDS = 100
_ROUND_SECONDS = frozenset({120, 180, 300, 600, 900, 1800, 3600, 7200, 86400})
"""From two minutes to a day, as lifetimes are written in seconds."""


@check("PX413", "milliseconds-as-seconds", Severity.WARNING)
def short_ttl(subject: Subject) -> Iterator[Finding]:
    """A cache_ttl or a timeout that looks like seconds.

    cache_ttl is in milliseconds. With 60 an answer is old after 60 milliseconds, and hardly any
    query finds it. It is said up to 100, and of what is a round time in seconds: 300, 600, 3600 and
    the like. If the milliseconds are meant, ignore the finding for this rule.

    The same holds for timeout, up to 100: with 30, ProxySQL kills every query of the rule that
    takes longer than 30 milliseconds, with error 1907.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT name FROM countries', cache_ttl: 60, apply: true}
      - {rule_id: 2, match_digest: '^SELECT .* FROM invoices', timeout: 30, apply: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT name FROM countries', cache_ttl: 60000, apply: true}
      - {rule_id: 2, match_digest: '^SELECT .* FROM invoices', timeout: 30000, apply: true}
    ```
    """
    yield from _like_seconds(subject, "cache_ttl", _ROUND_SECONDS)
    yield from _like_seconds(subject, "timeout", frozenset())


def _like_seconds(subject: Subject, column: str, also: Set[int]) -> Iterator[Finding]:
    for rule in subject.rules:
        value = dict(rule.sets).get(column)
        if isinstance(value, int) and (0 < value <= _LIKE_SECONDS or value in also):
            message = f"{column} {value} is {value / 1000:g} seconds"
            hint = f"it is in milliseconds; {value} seconds are {value * 1000}"
            yield Finding(RULES, (rule.rule_id,), message, column, hint)
