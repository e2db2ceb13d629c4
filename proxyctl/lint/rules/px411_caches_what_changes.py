"""PX411 caches-what-changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from proxyctl.lint.check import check
from proxyctl.lint.finding import Case, Finding, Severity
from proxyctl.lint.sample_queries import also_sent
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.probes import Probe
from proxyctl.routing.reach import Session


@check("PX411", "caches-what-changes", Severity.WARNING, pgsql=True)
def caches_what_changes(subject: LintSubject) -> Iterator[Finding]:
    """A rule that caches locking reads, or queries whose result differs each time.

    ProxySQL keeps the result of each SELECT that a rule with cache_ttl matches, and gives it to
    every session of that user and schema: NOW() stands still, UUID() repeats, and a user variable
    is that of another session. A locking read from the cache (an error) never reaches the server
    and locks nothing. LAST_INSERT_ID is never cached. On the PostgreSQL side nextval() repeats.

    Match only the queries that are worth caching, or exclude the others with an earlier rule.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', cache_ttl: 5000, apply: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT name FROM countries', cache_ttl: 5000,
         apply: true}
      - {rule_id: 2, match_digest: '^SELECT.* (FOR UPDATE|FOR SHARE|LOCK IN SHARE)',
         apply: true}
    ```
    """
    mistake = "caches queries whose result differs each time"
    yield from _cached(subject, subject.dialect.samples.changing, mistake, Severity.WARNING)
    mistake = "caches locking reads, which then lock nothing"
    yield from _cached(subject, subject.dialect.samples.locking, mistake, Severity.ERROR)


def _cached(
    subject: LintSubject, probes: Sequence[Probe], mistake: str, severity: Severity
) -> Iterator[Finding]:
    """Yield a finding for each rule that caches any of these queries."""
    caching = {rule.rule_id for rule in subject.rules if "cache_ttl" in dict(rule.sets)}
    cached: dict[int, tuple[str, Session, list[str]]] = {}
    cases: dict[int, set[Case]] = defaultdict(set)
    for session in subject.sessions if caching else ():
        for probe in probes:
            route = subject.reach.route(session, probe.query)
            if route.is_answered or not route.settings.get("cache_ttl"):
                continue
            matched = reversed(route.matched_rules)
            last = next((rule_id for rule_id in matched if rule_id in caching), None)
            if last is not None:
                names = cached.setdefault(last, (probe.query, session, []))[2]
                names += [probe.name] if probe.name not in names else []
                cases[last].add(Case(probe.name, session))
    for rule_id, (query, session, names) in cached.items():
        key, where = (rule_id,), subject.session_words(session)
        message = f"{mistake}: `{query}`{where}{also_sent(names)}"
        fix = "match only the queries that are worth caching, by their digests"
        yield subject.rule_finding(
            key,
            message,
            "cache_ttl",
            fix,
            severity=severity,
            cases={key: cases[rule_id]},
        )
