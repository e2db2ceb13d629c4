"""Rules, fast routing, digests and queries that a release treats in another way. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proxyctl.catalog import Version
from proxyctl.catalog.destinations import is_hidden_by_last_rule, last_rule_in_the_way
from proxyctl.catalog.releases import (
    DIGESTS_DROP_LAST_COMMENT,
    KEEPS_OPTIMIZER_HINTS,
    PGSQL_DIGESTS,
)
from proxyctl.config.sections.routing import COMMENT
from proxyctl.plan.guards.lint import lint_change
from proxyctl.plan.plan import MOST_LINTED_ROWS, MOST_LINTED_RULES
from proxyctl.routing.dialect import MYSQL, PGSQL, Dialect
from proxyctl.routing.explain import Explainer
from proxyctl.routing.regex import RegexEngine
from proxyctl.routing.router import Router, digester_of, router_of
from proxyctl.routing.rule import Rule
from proxyctl.routing.run_tests import run
from proxyctl.rows.row import Key, row_name
from proxyctl.stats.replay.result import ChangedDigest, replay
from proxyctl.text import counted
from proxyctl.upgrade.finding import Reliance, UpgradeFinding
from proxyctl.upgrade.logged import MOST_DIGESTS, LoggedQueries
from proxyctl.upgrade.subject import UpgradeSubject, shown


def rules(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield the rules and the fast routing that the release reads in another way."""
    for dialect in (MYSQL, PGSQL):
        held = subject.before.tables.get(dialect.rules)
        if held is None or dialect.rules not in subject.after.tables:
            continue
        yield from _fast_routing(subject, dialect)
        if held.rows:
            sides = router_of(subject.before, dialect), router_of(subject.after, dialect)
            yield from _patterns(subject, dialect, *sides)
            yield from _subnets(subject, dialect, *sides)


# Fast routing -------------------------------------------------------------------------------------


def _fast_routing(subject: UpgradeSubject, dialect: Dialect) -> Iterator[UpgradeFinding]:
    rules, fast = subject.before.tables[dialect.rules], dialect.fast_routing
    starts = is_hidden_by_last_rule(subject.version) and not is_hidden_by_last_rule(subject.to)
    stops = is_hidden_by_last_rule(subject.to) and not is_hidden_by_last_rule(subject.version)
    if not (starts or stops) or not rules.is_whole:
        return
    count = len(subject.before.tables[fast].rows) if fast in subject.before.tables else 0
    hidden_by = subject.before if starts else subject.after
    held = hidden_by.tables[dialect.rules]
    last = last_rule_in_the_way(held.layout, held.rows.values())
    if count and last is not None:
        rule = subject.row(dialect.rules, (last,))
        skipped = f"ProxySQL skips {counted(count, 'row')} after rule {last}, which has apply 1"
        yield UpgradeFinding(
            "fast-routing-starts" if starts else "fast-routing-stops",
            fast,
            f"{skipped}; from {subject.to} on, queries that match no rule follow these rows"
            if starts
            else f"in {subject.to}, {skipped}",
            "decide whether queries should follow these rows: `proxyctl explain` with"
            f" --proxysql-version {subject.to} shows where a query goes; delete the rows otherwise"
            if starts
            else "let the files add a rule that keeps fast routing alive (the default), or add a"
            " last rule with flagIN: 2147483647 and apply: false",
            (rule,),
        )
    kept = [key for key, cells in subject.cells(dialect.rules) if cells.get("comment") == COMMENT]
    if kept and starts:
        yield UpgradeFinding(
            "keep-alive-rule",
            dialect.rules,
            f"ProxySQL {subject.to} does not need the rule that keeps fast routing alive; the next"
            " plan deletes it",
            "apply the files after the upgrade",
            subject.rows(dialect.rules, kept),
        )


# Patterns and addresses ---------------------------------------------------------------------------


def _patterns(
    subject: UpgradeSubject, dialect: Dialect, before: Router, after: Router
) -> Iterator[UpgradeFinding]:
    engines = [router.variables.engine for router in (before, after)]
    if engines[0] is engines[1] and not any(rule.dead for rule in (*before.rules, *after.rules)):
        return
    reasons: dict[str, list[Key]] = {}
    for old, new in zip(before.rules, after.rules, strict=True):
        for reason in _pattern_changes(old, new, engines):
            reasons.setdefault(reason, []).append((old.rule_id,))
    for reason, keys in reasons.items():
        yield UpgradeFinding(
            "pattern-changes",
            dialect.rules,
            f"{engines[0]} now, {engines[1]} in {subject.to}: {reason}"
            if engines[0] is not engines[1]
            else reason,
            "write the pattern so that both engines read it the same way, and test it with"
            " routing_tests",
            subject.rows(dialect.rules, keys),
        )


def _pattern_changes(old: Rule, new: Rule, engines: Sequence[RegexEngine]) -> Iterator[str]:
    """Yield what changes for the patterns of a rule."""
    is_other_engine = engines[0] is not engines[1]
    for column in ("match_digest", "match_pattern"):
        if column in old.broken and column not in new.broken:
            yield f"{column} compiles only in {engines[1]}: {old.broken[column]}"
        elif column in new.broken and column not in old.broken:
            yield f"{column} compiles only in {engines[0]}: {new.broken[column]}"
        elif column in new.broken and old.negated and (column in new.dead) != (column in old.dead):
            what = ("every query now", "none then")
            if column in old.dead:
                what = ("none now", "every query then")
            yield f"{column} does not compile; negated, it matches {what[0]}, {what[1]}"
        elif is_other_engine and column in old.unverified:
            yield f"{column} has syntax that the engines may read differently"
    if is_other_engine and new.replacement is not None and _has_other_escapes(new.replacement):
        yield (
            r"replace_pattern has a backslash before something other than 0 to 9 or a second"
            r" backslash: PCRE2 leaves the query unchanged"
        )


def _has_other_escapes(template: bytes) -> bool:
    rest = template.replace(b"\\\\", b"")
    return any(not piece[:1].isdigit() for piece in rest.split(b"\\")[1:])


def _subnets(
    subject: UpgradeSubject, dialect: Dialect, before: Router, after: Router
) -> Iterator[UpgradeFinding]:
    changed = [
        (old.rule_id,)
        for old, new in zip(before.rules, after.rules, strict=True)
        if old.subnet != new.subnet
    ]
    if changed:
        now, then = (
            ("no client", "the clients of the subnet")
            if before.rules and subject.to > subject.version
            else ("the clients of the subnet", "no client")
        )
        yield UpgradeFinding(
            "subnet-changes",
            f"{dialect.rules}.client_addr",
            f"a client_addr such as 10.1.0.0/16 matches {now} now, but {then} in {subject.to}",
            "decide whether these rules should apply to the clients of their subnets",
            subject.rows(dialect.rules, changed),
        )


# Digests ------------------------------------------------------------------------------------------

_FORMS: Mapping[Version, str] = {
    DIGESTS_DROP_LAST_COMMENT: "queries that end with a comment (`SELECT 1 -- text`)",
    KEEPS_OPTIMIZER_HINTS: "queries with an optimizer hint (`/*+ ... */`)",
}
_PGSQL_FORM = "PostgreSQL queries"


def changed_forms(subject: UpgradeSubject) -> list[str]:
    """Return the forms of queries whose digest may differ between the two releases."""
    forms = [
        text for release, text in _FORMS.items() if subject.comes(release) or subject.goes(release)
    ]
    limits = [
        (options.values, options.groups)
        for options in (digester_of(side).options for side in (subject.before, subject.after))
    ]
    if limits[0] != limits[1]:
        forms.append("queries with lists (mysql-query_digests_grouping_limit works differently)")
    has_pgsql = any(subject.cells(PGSQL.users))
    if has_pgsql and (subject.comes(PGSQL_DIGESTS) or subject.goes(PGSQL_DIGESTS)):
        forms.append(_PGSQL_FORM)
    return forms


def digests(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield the rows that match by the hash of a digest, and which digests count as new."""
    forms = changed_forms(subject)
    if not forms:
        return
    listed = ", and ".join(forms)
    for dialect in (MYSQL, PGSQL):
        for table in (dialect.rules, dialect.firewall_tables[1]):
            if rows := _by_digest(subject, table):
                yield UpgradeFinding(
                    "digest-may-change",
                    f"{table}.digest",
                    f"ProxySQL {subject.to} has a different digest for {listed}; a row with the old"
                    " hash no longer matches such a query, and a digest does not show which form a"
                    " query has",
                    "if the application sends such queries, add a row with the digest that"
                    f" `proxyctl explain QUERY --proxysql-version {subject.to}` shows, and delete"
                    " the old one after the upgrade; `--events` settles it for logged queries",
                    rows,
                )
    renewed = () if subject.logged is None else tuple(subject.logged.renewed.values())
    if renewed or subject.logged is None:
        yield UpgradeFinding(
            "digests-count-anew",
            "digests",
            f"{listed[0].upper()}{listed[1:]} have a different digest in {subject.to} and are"
            " counted as new",
            "take a `proxyctl digest snapshot` before and after; expect such digests as new in"
            " `digest diff` and `digest regressions`",
            tuple(
                Reliance(f"{digest.digest} {shown(digest.text)}: {digest.after}")
                for digest in renewed
            ),
        )


def _by_digest(subject: UpgradeSubject, table: str) -> tuple[Reliance, ...]:
    """Return the active rows of a table that match by a digest that may change."""
    texts: Mapping[int, str] = {}
    if subject.digests is not None:
        texts = {int(seen.digest, 16): seen.digest_text for seen in subject.digests.rows}
    found = []
    for key, cells in subject.cells(table):
        number = _number(cells["digest"]) if cells.get("active") == 1 else None
        if number is None or (subject.logged and not _may_change(subject.logged, number)):
            continue
        found.append(subject.row(table, key, _seen(number, texts, subject.logged)))
    return tuple(found)


def _number(digest: object) -> int | None:
    try:
        return int(str(digest or ""), 16)
    except ValueError:
        return None


def _may_change(logged: LoggedQueries, number: int) -> bool:
    is_unchanged = number in logged.seen and number not in logged.renewed
    return not is_unchanged or number in logged.hinted


def _seen(number: int, texts: Mapping[int, str], logged: LoggedQueries | None) -> str:
    """Return what is known of the queries of a digest, as words behind its row."""
    if logged is not None:
        renewed = logged.renewed.get(number)
        if renewed is None:
            return ": has an optimizer hint" if number in logged.hinted else ": not in the log"
        return f": {shown(renewed.text)} becomes {renewed.after}"
    return f": {shown(texts[number])}" if number in texts else ""


# Queries ------------------------------------------------------------------------------------------

_BROKEN_PATTERN = "PX101"
"""The check of lint for patterns that do not compile."""


def introduced_by_lint(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield what lint finds under the release and not under the present one."""
    counts = {name: len(held.rows) for name, held in subject.before.tables.items()}
    rules = sum(counts.get(dialect.rules, 0) for dialect in (MYSQL, PGSQL))
    is_large = rules > MOST_LINTED_RULES or sum(counts.values()) > MOST_LINTED_ROWS
    found = lint_change(subject.sides, subject.project, is_large=is_large)
    for located in found.introduced:
        finding = located.finding
        if located.check.code == _BROKEN_PATTERN:  # pattern-changes says more
            continue
        rows = (finding.key, *finding.also)
        yield UpgradeFinding(
            "lint",
            row_name(finding.table, finding.key),
            f"{located.check.code} {located.check.name}: {finding.text}",
            finding.fix or "",
            subject.rows(finding.table, rows),
        )


def routing_tests(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield the routing tests of the files that pass now, and fail under the release."""
    tests = subject.project.routing_tests
    sides = (Explainer(side, MYSQL, is_placed=False) for side in (subject.before, subject.after))
    for now, then in zip(*(run(tests, explainer) for explainer in sides), strict=True):
        if now.passed and not then.passed:
            failure = then.failures[0]
            yield UpgradeFinding(
                "routing-test-fails",
                "routing_tests",
                f"{failure.key}: expected {shown(failure.expected)}, ProxySQL {subject.to} gives"
                f" {shown(failure.found)}",
                "change the rules so that the test passes under both releases",
                (Reliance(shown(now.test.title), now.test.where),),
            )


def seen_digests(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield the digests, or logged queries, that go elsewhere under the release."""
    if subject.logged is not None:
        result = subject.logged.replay
    elif subject.digests is not None:
        result = replay(subject.digests, subject.sides, limit=MOST_DIGESTS)
    else:
        return
    if not result.may_change:
        return
    certain, may = result.changed.entries, result.undecided.entries
    parts = [f"{counted(certain, 'digest')} for certain"] if certain else []
    parts += [f"{counted(may, 'digest')} possibly"] if may else []
    yield UpgradeFinding(
        "routing-changes",
        "digests seen" if subject.logged is None else "logged queries",
        f"ProxySQL {subject.to} routes, rewrites or caches some queries differently:"
        f" {', '.join(parts)}",
        f"compare with `proxyctl explain QUERY --proxysql-version {subject.to}`, and decide whether"
        " the new routing is acceptable",
        tuple(map(_changed_text, result.entries)),
    )


def _changed_text(changed: ChangedDigest) -> Reliance:
    verdict = changed.verdict
    kinds = ", ".join(sorted(verdict.certain or verdict.possible)) or "unknown"
    flow = ""
    if len(verdict.before) == len(verdict.after) == 1:
        old, new = verdict.before[0].hostgroup, verdict.after[0].hostgroup
        flow = f" {old} -> {new}" if old != new else ""
    text = f"{changed.seen.digest} {shown(changed.seen.digest_text)}: {kinds}{flow}"
    return Reliance(text)
