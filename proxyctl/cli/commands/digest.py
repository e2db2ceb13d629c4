"""The commands digest top and digest suggest: the digests that cost most, and suggestions."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from proxyctl.cli.commands.digest_fleet import suggest_all
from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.event_options import EventOptions
from proxyctl.cli.option_kinds import at_most_one, flag, no_such, parsed, value
from proxyctl.cli.options import FleetOptions, FormatOption
from proxyctl.cli.output import columns, emit, progress, say, style
from proxyctl.cli.store_options import StoreOptions
from proxyctl.errors import ExitCode, UsageError
from proxyctl.stats.model import SHORT_NAMES, TABLE_GROUPS, Group
from proxyctl.stats.suggest.kind import SuggestionKind
from proxyctl.stats.top.model import RULE_GROUPS, Sort, TopOptions
from proxyctl.stats.units import microseconds_of

if TYPE_CHECKING:
    from proxyctl.render.encode import Shape
    from proxyctl.stats.model import DigestTable
    from proxyctl.stats.store.window import StoreWindow
    from proxyctl.stats.suggest.files import SuggestInput
    from proxyctl.stats.top.model import Ranking

    Listing = tuple[Ranking, str, Shape[Any]]
    """A list of digests, its heading, and the shape of its JSON."""

MOST_LISTED = 1_000_000
"""The maximum of --limit; a snapshot holds all digests."""
FullTextOption = Annotated[bool, typer.Option("--full-text", help="Show digest texts in full.")]
GroupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="COLUMN,...",
        help="Columns to group by: digest (default), hostgroup, schemaname, username,"
        " client_address, instance.",
    ),
]
TopFormat = Literal["text", "json", "csv", "markdown", "prometheus"]


def _digest(text: str) -> str:
    """Return a digest in ProxySQL's spelling. Raises: ValueError."""
    match = re.fullmatch(r"(?:0[xX])?([0-9a-fA-F]{1,16})", text)
    if match is None:
        raise ValueError(f"{text} is not a digest such as 0x3EF2C4DB4D1A4E21")
    return f"0x{int(match[1], 16):016X}"


@dataclass(frozen=True)
class FilterOptions:
    """Which rows of the statistics to count."""

    PANEL: ClassVar = "Filters"
    hostgroup: list[int] | None = value("N", "Only this hostgroup; repeatable.")
    schemaname: list[str] | None = value("NAME", "Only this schema; repeatable.")
    username: list[str] | None = value("NAME", "Only this user; repeatable.")
    client_address: list[str] | None = value("ADDRESS", "Only this client; repeatable.")
    digest: list[str] | None = value(
        "0x...", "Only this digest; repeatable.", parser=parsed("--digest", _digest)
    )
    text: list[str] | None = value("TEXT", "Only texts like %TEXT%; repeatable.")
    seen_since: int | None = value(
        "TIME",
        "Only digests seen in the last 30min, 2h or 7d.",
        parser=parsed("--seen-since", microseconds_of),
    )
    min_count: int = value("N", "Only digests with at least N queries.", default=0, min=0)
    min_avg: int | None = value(
        "TIME",
        "Only digests with at least this average: 10ms, 2s.",
        parser=parsed("--min-avg", microseconds_of),
    )


def top(
    selection: SelectionOptions,
    fleet: FleetOptions,
    history: StoreOptions,
    filters: FilterOptions,
    log: EventOptions,
    sort: Sort = value(
        "KEY",
        "Sort key: time (the share of the load), avg, max, count,"
        " rows-sent, rows-affected, time-per-row.",
        default=Sort.TIME,
    ),
    group: GroupOption = None,
    limit: int = value("N", "List at most N.", default=20, min=1, max=MOST_LISTED),
    rule: bool = flag("--rule", "Show the rule of each digest (by digest, schema and user)."),
    full_text: FullTextOption = False,
    literals: bool = flag("--literals", "With --events: show its slowest query, with literals."),
    format: TopFormat = value(
        "FORMAT", "Output format: text, json, csv, markdown, prometheus.", default="text"
    ),
) -> int:
    """List the digests that cost most. Sends only SELECTs.

    With --all: added up over all instances. With --store: of a past period.
    With --events: with percentiles and errors.
    """
    window = history.window(selection)
    is_of_many = fleet.is_for_all() or window is not None
    options = _options(filters, sort, group, limit, is_of_many=is_of_many)
    _refuse_misplaced(
        {"--events": log.are_asked, "--store": window is not None, "--all": fleet.all_instances},
        {"--rule": rule, "--literals": literals, "--format prometheus": format == "prometheus"},
    )
    if log.are_asked:
        listing = _top_of_events(selection, log, options, keeps_examples=literals)
    elif window is not None:
        listing = _top_of_store(selection, window, options)
    elif fleet.is_for_all():
        listing = _top_of_fleet(selection, fleet, options)
    else:
        if rule:
            options = replace(options, groups=_rule_groups(group))
        listing = _top_of_one(selection, options, has_rules=rule)
    return _shown(*listing, format, has_whole_texts=full_text)


def _top_of_one(selection: SelectionOptions, options: TopOptions, *, has_rules: bool) -> Listing:
    """Return the digests of an instance."""
    from proxyctl import api
    from proxyctl.render.digest_top import TOP
    from proxyctl.render.style import instance_text

    ranking = api.digests(selection.instance(), options, has_rules=has_rules)
    return ranking, instance_text(ranking), TOP


def _top_of_store(selection: SelectionOptions, window: StoreWindow, options: TopOptions) -> Listing:
    """Return the digests of a time in a store."""
    from proxyctl.render.digest_store import TOP_OF_STORE, store_text
    from proxyctl.stats.store.top import read_top_of_store

    ranking = read_top_of_store(window, options)
    ranking = replace(ranking, hostgroup_names=selection.hostgroup_names())
    return ranking, store_text(ranking), TOP_OF_STORE


def _top_of_fleet(selection: SelectionOptions, fleet: FleetOptions, options: TopOptions) -> Listing:
    """Return the digests of all instances that can be read."""
    from proxyctl.render.digest_top import TOP_OF_FLEET
    from proxyctl.render.fleet import instances_text
    from proxyctl.stats.top.fleet import read_top_of_fleet

    targets = selection.targets(fleet)
    with progress("reading digests", len(targets)) as advance:
        ranking = read_top_of_fleet(targets, options, workers=fleet.parallel, done=advance)
    ranking = replace(ranking, hostgroup_names=targets[0].files.hostgroup_names())
    return ranking, instances_text([instance.name for instance in ranking.instances]), TOP_OF_FLEET


def _refuse_misplaced(sources: Mapping[str, bool], options: Mapping[str, bool]) -> None:
    """Raise UsageError for options that do not go together.

    Shape: `--events`, `--store`, `--all`; `--rule`, `--literals`, `--format prometheus`, each with
    whether it is given.
    """
    given = {name for part in (sources, options) for name, is_given in part.items() if is_given}
    if "--literals" in given and "--events" not in given:
        raise UsageError(
            "--literals needs --events: the digest statistics have no literals",
            fix="leave out --literals",
        )
    for name, other, reason, fix in _MISPLACED:
        if {name, other} <= given:
            raise UsageError(f"{name} cannot be used with {other}{reason}", fix=fix)


_MISPLACED = (
    ("--all", "--events", "", "give the event logs of all instances"),
    ("--store", "--events", "", "leave out --store"),
    ("--rule", "--events", "", "replay --events FILE shows where the rules send logged queries"),
    ("--store", "--all", "", "leave out --all: all instances in the store are added up"),
    (
        *("--store", "--rule", ""),
        "digest regressions shows the rules of two periods; replay --store says where the files"
        " send digests",
    ),
    (
        *("--store", "--format prometheus", ""),
        "Prometheus needs counters, which a past period does not have: use json",
    ),
    (
        *("--rule", "--all", ": instances may have different rules"),
        "choose one with --instance",
    ),
    (
        *("--rule", "--format prometheus", ": rules come and go with the files"),
        "leave out --rule",
    ),
)
"""Two options that do not go together, the reason, and the fix."""


def _top_of_events(
    selection: SelectionOptions,
    log: EventOptions,
    options: TopOptions,
    *,
    keeps_examples: bool,
) -> Listing:
    """Return the digests of an event log, by the digest variables of the instance if one is named.

    Raises: UsageError, ProxyctlError, InstanceError.
    """
    from proxyctl.render.digest_top import TOP_OF_EVENTS
    from proxyctl.stats.events.digest_texts import DigestTexts, options_of
    from proxyctl.stats.events.event import EventTally
    from proxyctl.stats.events.top import top_of_events

    tally = EventTally()
    with ExitStack() as stack:
        client, digest_options = None, None
        if log.table is not None or selection.asks_instance():
            client = stack.enter_context(selection.connect())
            digest_options = options_of(client)
        ranking = top_of_events(
            stack.enter_context(log.reading(client, tally)),
            tally,
            options,
            DigestTexts(digest_options),
            now=int(time.time()),
            keeps_examples=keeps_examples,
        )
    ranking = replace(ranking, hostgroup_names=selection.hostgroup_names())
    return ranking, log.names(), TOP_OF_EVENTS


def _shown(
    ranking: Ranking, heading: str, shape: Shape[Any], format: TopFormat, *, has_whole_texts: bool
) -> int:
    """Write a list in its format, with its notes on stderr if the format has no place for them.

    Instances that cannot be read are named.
    """
    from proxyctl.fleet.failed import worst_of
    from proxyctl.render.digest_top import digest_top_csv, digest_top_markdown, digest_top_text
    from proxyctl.render.fleet import failures
    from proxyctl.render.prometheus import digest_top_prometheus

    if format not in ("text", "markdown"):
        for note in ranking.notes():
            say(f"note: {note}")
    if ranking.instances or not ranking.failed or format != "text":
        emit(
            format,
            text=lambda: digest_top_text(
                ranking, heading, style(), width=columns(), has_whole_texts=has_whole_texts
            ),
            json=lambda: shape.document(ranking),
            csv=lambda: digest_top_csv(ranking),
            markdown=lambda: digest_top_markdown(ranking, heading),
            prometheus=lambda: digest_top_prometheus(ranking),
        )
    say(*failures(ranking.failed, style(sys.stderr)))
    return worst_of(ranking.failed)


def _rule_groups(group: list[str] | None) -> tuple[Group, ...]:
    """Return the columns of --group, checked for --rule. Raises: UsageError."""
    groups = RULE_GROUPS if group is None else columns_of(group)
    if not set(RULE_GROUPS) <= set(groups):
        raise UsageError(
            f"--rule needs {', '.join(RULE_GROUPS)} in --group: rules are looked up by them",
            fix="leave out --group",
        )
    return groups


def _options(
    filters: FilterOptions,
    sort: Sort,
    group: list[str] | None,
    limit: int,
    *,
    is_of_many: bool = False,
) -> TopOptions:
    columns: dict[Group, Sequence[str | int] | None] = {
        Group.HOSTGROUP: filters.hostgroup,
        Group.SCHEMANAME: filters.schemaname,
        Group.USERNAME: filters.username,
        Group.CLIENT_ADDRESS: filters.client_address,
        Group.DIGEST: filters.digest,
    }
    return TopOptions(
        sort=sort,
        groups=columns_of(group, Group if is_of_many else TABLE_GROUPS),
        limit=limit,
        columns={group: values for group, values in columns.items() if values},
        texts=tuple(filters.text or ()),
        seen_s=(filters.seen_since or 0) // 1_000_000,
        min_count=filters.min_count,
        min_avg_us=filters.min_avg or 0,
    )


def columns_of(
    group: list[str] | None, allowed: Iterable[Group] = TABLE_GROUPS
) -> tuple[Group, ...]:
    """Return the columns of --group, by default only `digest`. Raises: UsageError."""
    known = [*allowed]
    names = [name.strip() for part in group or ["digest"] for name in part.split(",")]
    columns: list[Group] = []
    for name in names:
        try:
            column = SHORT_NAMES.get(name) or Group(name)
        except ValueError:
            fix = f"choose from {', '.join(known)}"
            raise no_such("--group", name, "column", known, fix=fix) from None
        if column not in known:
            raise UsageError(f"--group {name} needs --all or --store")
        columns.append(column)
    return tuple(dict.fromkeys(columns))


# digest suggest ----------------------------------------------------------------------------------


def suggest(
    selection: SelectionOptions,
    fleet: FleetOptions,
    history: StoreOptions,
    digests: str | None = value(
        "FILE",
        "Read digests from a snapshot file; the rules come from the"
        " files, or from the instance that the command line names.",
    ),
    only: list[SuggestionKind] | None = value(
        "KIND", "reads, cache or slow; repeatable. Default: all."
    ),
    limit: int = value("N", "List at most N of each kind.", default=5, min=1, max=MOST_LISTED),
    format: FormatOption = "text",
) -> int:
    """Suggest improvements from the digests that the instance has seen.

    With --all: from those of all instances, which must run the same rules. With --store: from those
    of a past period, with the current rules.
    """
    from proxyctl.render.digest_suggest import suggest_json, suggest_text
    from proxyctl.stats.suggest.run import suggest as suggestions

    at_most_one(digests=digests, store=history.store)
    at_most_one(digests=digests, all=fleet.is_for_all())
    if fleet.is_for_all():
        return suggest_all(selection, fleet, history, only or (), limit, format)
    subject = _suggest_subject(selection, history.table(selection, digests))
    advice = suggestions(
        subject.table,
        subject.configuration,
        only=only or (),
        limit=limit,
        may_use=subject.may_use,
    )
    emit(
        format,
        text=lambda: suggest_text(
            advice,
            f"{subject.table.name}  ProxySQL {subject.table.version}",
            style(),
            width=columns(),
        ),
        json=lambda: suggest_json(advice),
    )
    return ExitCode.DONE


def _suggest_subject(selection: SelectionOptions, table: DigestTable | None) -> SuggestInput:
    """Return digests, those of the instance without `table`, and rules."""
    from proxyctl.config.files import ConfigFiles
    from proxyctl.stats.suggest.files import subject_of_files, subject_of_instance

    if table is not None and not selection.asks_instance():
        if not selection.has_files():
            raise UsageError(
                "digest suggest needs rules", fix="name files with -f, or an instance with --host"
            )
        return subject_of_files(table, ConfigFiles(selection.files.sources()))
    if not selection.has_files():
        with selection.connect() as client:
            return subject_of_instance(client, table)
    target = selection.target()
    with target.connect() as client:
        return subject_of_instance(client, table, target.files)
