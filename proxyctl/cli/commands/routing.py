"""Commands about where queries go: explain, test, replay, rules."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.event_options import EventOptions
from proxyctl.cli.option_kinds import at_most_one, choice, file_option, flag, spelled, value
from proxyctl.cli.options import FleetOptions, FormatOption, LayerName, LayerOption, VersionOption
from proxyctl.cli.output import columns, emit, progress, say, style, write, write_file
from proxyctl.cli.store_options import StoreOptions
from proxyctl.errors import ExitCode, ProxyctlError, UsageError
from proxyctl.rows.row import Layer

if TYPE_CHECKING:
    from proxyctl.catalog import Version
    from proxyctl.fleet.targets import Target
    from proxyctl.instance.client import AdminClient
    from proxyctl.proxysql.configuration import BeforeAfter, ConfigTable
    from proxyctl.routing.explain import Explainer
    from proxyctl.routing.query import ClientQuery
    from proxyctl.routing.routing_test import RoutingTest
    from proxyctl.stats.replay.fleet import ReplayOfFleet
    from proxyctl.stats.replay.result import Replay
    from proxyctl.stats.rule_hits import RuleReport

_LINES_AT_ONCE = 1_000
_QUERIES = "--queries"
ExplainFormat = Literal["text", "json", "jsonl"]


@dataclass(frozen=True)
class SessionOptions:
    """The session that sends the query."""

    PANEL: ClassVar = "Session"
    username: str | None = value("NAME", "The user who sends the query.")
    schemaname: str | None = value(
        "NAME", "The session's schema. Default: that of the user, or mysql-default_schema."
    )
    client_addr: str | None = value("ADDRESS", "The client's address.")
    proxy_addr: str | None = value("ADDRESS", "The address the client connected to.")
    proxy_port: int | None = value("PORT", "The port the client connected to.", min=0, max=65535)
    flagIN: int = value(  # noqa: N815 - the column's own name
        "N", "The flagIN that next_query_flagIN of an earlier query left.", default=0, min=0
    )

    def typed(self) -> list[str]:
        """Return the options on the command line, as spelled there."""
        options = {**vars(self), "flagIN": self.flagIN or None}
        return [spelled(name) for name, value in options.items() if value is not None]


def explain(
    selection: SelectionOptions,
    session: SessionOptions,
    query: str | None = typer.Argument(
        None, metavar="QUERY", help="The query; - reads it from stdin."
    ),
    queries: str | None = value(
        "FILE.jsonl",
        'A file of queries, one per line: {"query": ..., "username": ...}, or of the query event'
        " log in JSON, plain or .gz; - reads stdin. Or the instance's table"
        " stats_mysql_query_events or history_mysql_query_events.",
    ),
    layer: LayerOption = None,
    pgsql: bool = flag("--pgsql", "Use pgsql_query_rules; --schemaname is the database."),
    all_rules: bool = flag("--all-rules", "List each rule that does not match."),
    proxysql_version: VersionOption = None,
    format: Annotated[
        ExplainFormat | None,
        choice(ExplainFormat, help="Output format. Default: text; with --queries jsonl."),
    ] = None,
) -> int:
    """Show which rules match a query, its rewrite and where it goes.

    Reads the files; with --host, --port, --socket or --instance, the rules of that instance.
    """
    from proxyctl.render.explain import QUERIES, explain_json, explain_text

    if (query is None) == (queries is None):
        raise UsageError(
            "expected either QUERY or --queries FILE", fix="see proxyctl explain --help"
        )
    if queries is not None and (typed := session.typed()):
        raise UsageError(f"{typed[0]}: with --queries, each line of the file gives its own")
    chosen = format or ("text" if queries is None else "jsonl")
    explainer, source = _explainer(selection, session, layer, proxysql_version, is_pgsql=pgsql)
    requests = _requests(selection, query, session, queries)
    match chosen:
        case "jsonl":
            _write_lines(explainer, requests)
        case "json":
            answers = [explainer.answer(request) for request in requests]
            write(QUERIES.document(answers) if queries is not None else explain_json(answers[0]))
        case "text":
            for number, request in enumerate(requests):
                answer = explainer.answer(request)
                text = explain_text(answer, source=source, lists_all=all_rules, style=style())
                write(f"\n{text}" if number else text)
    return ExitCode.DONE


def _explainer(
    selection: SelectionOptions,
    session: SessionOptions,
    layer: LayerName | None,
    version: Version | None,
    *,
    is_pgsql: bool,
) -> tuple[Explainer, str]:
    """Return the explainer and the source of its rules. Warns of an unknown user."""
    from proxyctl import api
    from proxyctl.routing.dialect import MYSQL, PGSQL

    dialect = PGSQL if is_pgsql else MYSQL
    if "user" in selection.connection.typed and not selection.asks_instance(layer):
        raise UsageError(
            "--user is the admin account of an instance, but explain reads the files",
            fix="name the user of the query with --username",
        )
    examined, chosen = selection.examined(layer), Layer(layer or "runtime")
    explainer = api.explainer(examined, chosen, version=version, dialect=dialect)
    if examined.login is not None:
        return explainer, f"{chosen.name} of {examined.login.name or examined.login.address}"
    if session.username is not None:
        users = explainer.configuration.tables.get(dialect.users)
        _warn_of_unknown_user(session.username, users)
    return explainer, ", ".join(map(os.path.normpath, selection.files.paths()))


def _warn_of_unknown_user(name: str, users: ConfigTable | None) -> None:
    """Warn if the files manage users but do not have this user."""
    from proxyctl.config.mistakes import did_you_mean

    known = (
        {str(row[users.layout.index["username"]]) for row in users.rows.values()} if users else ()
    )
    if users is not None and name not in known:
        near = did_you_mean(name, known)
        say(f"warning: no user {name!r} in the files{f': {near}' if near else ''}")


def _requests(
    selection: SelectionOptions, query: str | None, session: SessionOptions, queries: str | None
) -> Iterator[ClientQuery]:
    """Yield the query of the command line, or the queries of --queries.

    Raises: UsageError, ProxyctlError, InstanceError.
    """
    from proxyctl.routing.query import ClientQuery

    if query is not None:
        text = os.fsencode(query)
        if query == "-":
            text = sys.stdin.buffer.read().removesuffix(b"\n").removesuffix(b"\r")
        yield ClientQuery(text, **vars(session))
    elif queries is not None:
        yield from _read_queries(selection, queries)


def _read_queries(selection: SelectionOptions, name: str) -> Iterator[ClientQuery]:
    """Yield the queries of a file, of an event log or of an events table; notes go to stderr.

    Raises: as `_requests`.
    """
    from proxyctl.routing.explain import read_requests
    from proxyctl.stats.events.event import EventTally
    from proxyctl.stats.events.log import begins_log, lines_of, opened, read_lines
    from proxyctl.stats.events.table import TABLES, table_events

    tally = EventTally()
    if name in TABLES:
        with selection.connect() as client, table_events(client, name, tally, _QUERIES) as events:
            yield from (event.request() for event in events)
    else:
        # Python sets a closed stdin to None.
        stdin = None if sys.stdin is None else sys.stdin.buffer
        with opened(name, _QUERIES, stdin=stdin) as file:
            rest = lines_of(file)
            first = next(rest, b"")
            lines = chain([first], rest)
            if begins_log(first):
                yield from (event.request() for event in read_lines(lines, name, tally))
            else:
                yield from read_requests(lines, name)
    for note in tally.notes():
        say(f"note: {note}")


def _write_lines(explainer: Explainer, requests: Iterator[ClientQuery]) -> None:
    """Write one line per query, many lines per write."""
    from proxyctl.render.explain import batch_line

    while batch := list(islice(requests, _LINES_AT_ONCE)):
        write("".join(f"{batch_line(explainer.answer(request))}\n" for request in batch))


def run_tests(
    selection: SelectionOptions,
    only: str | None = value("TEXT", "Only tests whose name or query contains this.", "-k"),
    coverage: bool = flag("--coverage", "List the rules that no test reaches."),
    junit: Annotated[
        str | None, file_option("--junit", help="Write a JUnit report as well.")
    ] = None,
    verbose: bool = flag("--verbose", "Print a line for each test.", "-v"),
    proxysql_version: VersionOption = None,
    format: FormatOption = "text",
) -> int:
    """Run the routing_tests of the files. Exit 1 if a test fails.

    Uses the rules of the files; with --host, --port, --socket or --instance, those of that
    instance.
    """
    from proxyctl.render.tests import (
        coverage_text,
        junit_xml,
        routing_tests_json,
        routing_tests_text,
    )
    from proxyctl.routing.run_tests import run, unreached

    begun = time.monotonic()
    tests, explainer = _prepared(selection, proxysql_version)
    if not tests:
        raise ProxyctlError(
            "the files have no routing_tests",
            fix="add a section `routing_tests` with a query and where it should go",
        )
    chosen = [
        test for test in tests if only is None or only in (test.name or "") or only in test.query
    ]
    if not chosen:
        raise ProxyctlError(
            f"-k {only}: no name or query of a test contains this",
            fix="leave out -k to run every test",
        )
    results = list(run(chosen, explainer))
    unreached_rules = unreached(results, explainer) if coverage else None
    if format == "json":
        write(routing_tests_json(results, unreached_rules))
    else:
        write(routing_tests_text(results, is_verbose=verbose, style=style()))
        if unreached_rules is not None:
            write("\n" + coverage_text(unreached_rules, explainer, style()))
    if junit:
        write_file(Path(junit), junit_xml(results, time.monotonic() - begun))
    return ExitCode.DONE if all(result.passed for result in results) else ExitCode.ERROR


def _prepared(
    selection: SelectionOptions, version: Version | None
) -> tuple[tuple[RoutingTest, ...], Explainer]:
    """Return the tests of the files, and the explainer to run them with."""
    from proxyctl.config.files import load_project
    from proxyctl.plan.secrets import hide_in_configuration
    from proxyctl.routing.dialect import MYSQL
    from proxyctl.routing.explain import Explainer

    is_live = selection.asks_instance()
    project = load_project(
        selection.files.sources(), version=version, takes_dead_rules=is_live, needs_secrets=False
    )
    if not is_live:
        return project.routing_tests, Explainer(project.configuration)
    configuration = selection.instance().configuration(tables=MYSQL.explained_tables)
    configuration = replace(configuration, hostgroup_names=project.desired.hostgroup_names)
    configuration = hide_in_configuration(configuration, project.desired)
    return project.routing_tests, Explainer(configuration, is_placed=True)


def replay(
    selection: SelectionOptions,
    fleet: FleetOptions,
    history: StoreOptions,
    log: EventOptions,
    digests: str | None = value(
        "FILE", "Read digests from a file of digest snapshot instead of from the instance."
    ),
    limit: int = value("N", "List at most N of each kind.", default=20, min=0),
    detailed_exitcode: bool = flag(
        "--detailed-exitcode", "Exit 2 if anything changes or may change."
    ),
    format: FormatOption = "text",
) -> int:
    """Show how the files would reroute the queries of an instance.

    With --all: the digests of all instances, once for those whose rules change in the same way.
    With --store: those of a past period.
    """
    from proxyctl.plan.files import routing_change_of
    from proxyctl.render.replay import replay_json, replay_text
    from proxyctl.stats.read import read_digests
    from proxyctl.stats.replay.result import replay as replayed

    at_most_one(events=log.are_asked, digests=digests, store=history.store)
    at_most_one(events=log.are_asked, digests=digests, all=fleet.is_for_all())
    if fleet.is_for_all():
        replays = _replays(selection, fleet, history, limit)
        return _shown_replays(replays, format, detailed_exitcode=detailed_exitcode)
    table = history.table(selection, digests)
    target = selection.target()
    with target.connect() as client:
        sides, moves = routing_change_of(client, target.files)
        if log.are_asked:
            report = _replayed_events(client, log, sides, limit)
        elif table is None:
            table = read_digests(client)
    if table is not None:
        with progress("replaying digests", len(table.rows)) as advance:
            report = replayed(table, sides, limit=limit, progress=advance)
    emit(
        format,
        text=lambda: replay_text(report, style(), moves=moves),
        json=lambda: replay_json(report, moves),
    )
    if detailed_exitcode and (report.may_change or moves):
        return ExitCode.DIFFERENCES
    return ExitCode.DONE


def _shown_replays(replays: ReplayOfFleet, format: str, *, detailed_exitcode: bool) -> int:
    """Show the replays of all instances."""
    from proxyctl.render.replay import replay_of_fleet_json, replay_of_fleet_text

    emit(
        format,
        text=lambda: replay_of_fleet_text(replays, style()),
        json=lambda: replay_of_fleet_json(replays),
    )
    return replays.exit_code(differences=detailed_exitcode)


def _replays(
    selection: SelectionOptions, fleet: FleetOptions, history: StoreOptions, limit: int
) -> ReplayOfFleet:
    """Read the rules and the digests of all instances, and replay them."""
    from proxyctl.stats.replay.fleet import read_fleet, replay_fleet

    targets = selection.targets(fleet)
    source = history.source_of_fleet(selection, targets)
    with progress("reading digests", len(targets)) as advance:
        digests = read_fleet(targets, digests_of=source, workers=fleet.parallel, done=advance)
    with progress("replaying digests", len(digests.groups)) as advance:
        return replay_fleet(digests, limit=limit, done=advance)


def _replayed_events(
    client: AdminClient, log: EventOptions, sides: BeforeAfter, limit: int
) -> Replay:
    """Return the replay of an event log under the digest variables of the instance."""
    from proxyctl.stats.events.event import EventTally
    from proxyctl.stats.model import DigestTable
    from proxyctl.stats.read import read_digest_variables
    from proxyctl.stats.replay.result import replay_events

    variables = read_digest_variables(client)
    instance = DigestTable(client.name, client.address, client.version_text, 0, (), variables)
    tally = EventTally()
    with log.reading(client, tally) as stream:
        return replay_events(stream, tally, instance, sides, limit=limit)


def rules(
    selection: SelectionOptions,
    fleet: FleetOptions,
    interval: float | None = value(
        "SECONDS",
        "Read twice, this far apart, and show the hits per second in between.",
        min=0.1,
        max=86_400,
    ),
    format: FormatOption = "text",
) -> int:
    """Show the hits of query rules in force, and rules without hits.

    With --all: the sums of all instances, and the rules in which they differ.
    """
    from proxyctl.render.rules import RULES, rules_text

    if fleet.is_for_all():
        return _rules_of_fleet(selection.targets(fleet), fleet, interval, format)
    with selection.connect() as client:
        _say_interval(interval)
        report = _rule_report(client, interval)
    emit(
        format,
        text=lambda: rules_text(report, style(), width=columns()),
        json=lambda: RULES.document(report),
    )
    return ExitCode.DONE


def _say_interval(interval: float | None) -> None:
    if interval is not None:
        say(f"waiting {interval:g} s for the second reading")


def _rule_report(client: AdminClient, interval: float | None) -> RuleReport:
    """Read the hits, twice if there is an interval. Units: `interval` in seconds."""
    from proxyctl.stats.read import read_rule_hits
    from proxyctl.stats.rule_hits import rule_report

    earlier, sample = None, read_rule_hits(client)
    if interval is not None:
        time.sleep(interval)
        earlier, sample = sample, read_rule_hits(client)
    return rule_report(client.name, client.address, client.version_text, sample, earlier)


def _rules_of_fleet(
    targets: Sequence[Target], options: FleetOptions, interval: float | None, format: str
) -> int:
    """Show the hits on all instances; name those that cannot be read."""
    from proxyctl.fleet.targets import at_all
    from proxyctl.render.rules_of_fleet import RULES_OF_FLEET, rules_of_fleet_text
    from proxyctl.stats.rule_hits_of_fleet import RulesOfFleet

    def work(target: Target) -> RuleReport:
        with target.connect() as client:
            return _rule_report(client, interval)

    _say_interval(interval)
    with progress("reading rules", len(targets)) as advance:
        fleet = RulesOfFleet(*at_all(targets, work, workers=options.parallel, done=advance))
    emit(
        format,
        text=lambda: rules_of_fleet_text(fleet, style(), width=columns()),
        json=lambda: RULES_OF_FLEET.document(fleet),
    )
    return fleet.exit_code
