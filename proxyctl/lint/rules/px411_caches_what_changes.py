"""PX411 caches-what-changes."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import RULES, Subject
from proxyctl.lint.traffic_sent import shown
from proxyctl.lint.traffic_sessions import Session, sessions
from proxyctl.lint.traffic_twins import ask
from proxyctl.routing import Route

_SHOWN = 4

CHANGING = {
    "NOW": "SELECT NOW()",
    "NOW in a condition": "SELECT c FROM t WHERE day > NOW()",
    "CURRENT_TIMESTAMP": "SELECT CURRENT_TIMESTAMP",
    "CURDATE": "SELECT CURDATE()",
    "SYSDATE": "SELECT SYSDATE()",
    "UNIX_TIMESTAMP": "SELECT UNIX_TIMESTAMP()",
    "RAND": "SELECT c FROM t ORDER BY RAND() LIMIT 1",
    "UUID": "SELECT UUID()",
    "CONNECTION_ID": "SELECT c FROM t WHERE session=CONNECTION_ID()",
    "FOUND_ROWS": "SELECT FOUND_ROWS()",
    "ROW_COUNT": "SELECT ROW_COUNT()",
    "a user variable": "SELECT @c",
    "GET_LOCK": "SELECT GET_LOCK('nightly', 10)",
    "SLEEP": "SELECT SLEEP(1)",
}

LOCKING = {
    "FOR UPDATE": "SELECT c FROM t WHERE id=1 FOR UPDATE",
    "FOR SHARE": "SELECT c FROM t WHERE id=1 FOR SHARE",
    "LOCK IN SHARE MODE": "SELECT c FROM t WHERE id=1 LOCK IN SHARE MODE",
}


@check("PX411", "caches-what-changes", Severity.WARNING)
def changing_answers(subject: Subject) -> Iterator[Finding]:
    """A rule caches locking reads, or queries whose answer is another one each time.

    ProxySQL keeps the answer of any SELECT that a rule with cache_ttl takes, and gives it to every
    session of that user and schema: NOW() stands still, UUID() comes twice, GET_LOCK says 1 to
    everybody and a user variable is somebody else's. LAST_INSERT_ID alone is never cached.

    Such queries are sent along the rules. Name what is worth caching, or take these out before.

    A locking read (an error) that is answered from the cache never reaches the server, and nothing
    is locked: two sessions both believe that they hold the row.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', cache_ttl: 5000, apply: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT name FROM countries', cache_ttl: 5000, apply: true}
      - {rule_id: 2, match_digest: '^SELECT.* (FOR UPDATE|FOR SHARE|LOCK IN SHARE)', apply: true}
    ```
    """
    yield from _cached(subject, CHANGING, "caches what is another answer each time", None)
    what = "caches locking reads, which then lock nothing"
    yield from _cached(subject, LOCKING, what, Severity.ERROR)


def _cached(
    subject: Subject, queries: dict[str, str], what: str, severity: Severity | None
) -> Iterator[Finding]:
    """Yield a finding for each rule that has one of these queries cached."""
    caching = {
        rule.rule_id for rule in subject.rules if any(name == "cache_ttl" for name, _ in rule.sets)
    }
    found: dict[int, tuple[str, Session, list[str]]] = {}
    for session in sessions(subject) if caching else ():
        for name, query in queries.items():
            route = ask(subject, session, query)
            if route.is_answered or not _ttl(route):
                continue
            by = next((one for one in reversed(route.matched_rules) if one in caching), None)
            if by is not None:
                names = found.setdefault(by, (query, session, []))[2]
                names += [name] if name not in names else []
    for rule_id, (query, session, names) in found.items():
        message = f"{what}: `{shown(query)}`{session}"
        if names[1:]:
            more = f" and {len(names) - 1 - _SHOWN} more" if len(names) - 1 > _SHOWN else ""
            message += f"; also {', '.join(names[1 : _SHOWN + 1])}{more}"
        hint = "name the queries that are worth caching, as their digests"
        key = (rule_id,)
        yield Finding(RULES, key, message, "cache_ttl", hint, severity=severity)


def _ttl(route: Route) -> int:
    value = route.settings.get("cache_ttl", 0)
    return value if isinstance(value, int) else 0
