"""The command digest top."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from proxyctl.cli.digest.group import GroupOption, columns_of
from proxyctl.cli.digest.limits import MOST_LISTED, cut_short, texts_of
from proxyctl.cli.options import ConnectionOptions, FileOptions, command
from proxyctl.cli.output import columns, say, style, write
from proxyctl.errors import ExitCode, UsageError
from proxyctl.stats.model import Group
from proxyctl.stats.top.listing import SeenSince, Sort, TopOptions
from proxyctl.stats.units import microseconds_of

if TYPE_CHECKING:
    from proxyctl.stats.top.listing import Top

_FILTERS = "Filters"


class TopFormat(StrEnum):
    """How the list is written."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    PROMETHEUS = "prometheus"


@dataclass(frozen=True)
class FilterOptions:
    """Which rows of the statistics count."""

    hostgroup: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N", help="Only this hostgroup; many times.", rich_help_panel=_FILTERS
        ),
    ] = None
    schemaname: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only this schema; many times.", rich_help_panel=_FILTERS
        ),
    ] = None
    username: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this user; many times.", rich_help_panel=_FILTERS),
    ] = None
    client_address: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS", help="Only this client; many times.", rich_help_panel=_FILTERS
        ),
    ] = None
    digest: Annotated[
        list[str] | None,
        typer.Option(
            metavar="0x...", help="Only this digest; many times.", rich_help_panel=_FILTERS
        ),
    ] = None
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Only digests with this in their text; % stands for anything; many times.",
            rich_help_panel=_FILTERS,
        ),
    ] = None
    seen_since: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN",
            help="Only what was seen in the last 30min, 2h, 7d, or since 2026-01-31T12:00 (UTC).",
            rich_help_panel=_FILTERS,
        ),
    ] = None
    min_count: Annotated[
        int, typer.Option(min=0, metavar="N", help="At least N queries.", rich_help_panel=_FILTERS)
    ] = 0
    min_avg: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="At least this average, as 10ms.", rich_help_panel=_FILTERS
        ),
    ] = None


def register(group: typer.Typer) -> None:
    """Add the command to the group."""
    command(group, "top")(top)


def top(
    files: FileOptions,
    connection: ConnectionOptions,
    filters: FilterOptions,
    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            metavar="KEY",
            help="What comes first: time (the share of the load), avg, max, count, rows-sent,"
            " rows-affected, time-per-row.",
            autocompletion=lambda: list(Sort),
        ),
    ] = "time",
    group: GroupOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=MOST_LISTED, metavar="N", help="List N at most.")
    ] = 20,
    rule: Annotated[
        bool, typer.Option("--rule", help="Say which rule in force catches each digest.")
    ] = False,
    full_text: Annotated[
        bool, typer.Option("--full-text", help="Do not shorten texts of digests.")
    ] = False,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="How to write: text, json, csv, markdown, prometheus.",
            autocompletion=lambda: list(TopFormat),
        ),
    ] = "text",
) -> int:
    """List the digests that cost most. Sends SELECTs only, and resets nothing."""
    from proxyctl.cli.connection import connected
    from proxyctl.stats.top.query import read_top

    options = _options(filters, _chosen(Sort, "--sort", sort), group, limit, has_rules=rule)
    chosen = _chosen(TopFormat, "--format", format)
    if rule and chosen is TopFormat.PROMETHEUS:
        raise UsageError("--rule has no place in metrics: rules come and go with the files")
    with connected(files, connection) as client:
        found, members = read_top(client, options)
        if rule:
            from proxyctl.stats.top.fates import with_rules  # takes its time to import

            found = with_rules(client, found, members)
    if chosen not in (TopFormat.TEXT, TopFormat.MARKDOWN):
        for note in found.notes():
            say(f"note: {note}")
    write(_output(found, chosen, has_whole_texts=full_text))
    return ExitCode.DONE


def _options(
    filters: FilterOptions, sort: Sort, group: list[str] | None, limit: int, *, has_rules: bool
) -> TopOptions:
    groups = columns_of(group)
    if has_rules and Group.DIGEST not in groups:
        raise UsageError("--rule needs `digest` in --group: a rule catches queries")
    return TopOptions(
        sort=sort,
        groups=groups,
        limit=limit,
        hostgroups=tuple(filters.hostgroup or ()),
        schemanames=tuple(filters.schemaname or ()),
        usernames=tuple(filters.username or ()),
        client_addresses=tuple(filters.client_address or ()),
        digests=tuple(map(_digest, filters.digest or ())),
        texts=texts_of(filters.text),
        seen_since=_seen_since(filters.seen_since),
        min_count=filters.min_count,
        min_avg_us=_duration("--min-avg", filters.min_avg),
        with_rules=has_rules,
    )


_Choice = TypeVar("_Choice", bound=StrEnum)


def _chosen(choices: type[_Choice], option: str, name: str) -> _Choice:
    """Return a choice by its name; in help, so many names in a row would be broken in words."""
    try:
        return choices(name)
    except ValueError:
        raise UsageError(
            f"{option}: {cut_short(name)!r} is not one of {', '.join(choices)}"
        ) from None


def _digest(text: str) -> str:
    """Return a digest as ProxySQL writes it."""
    found = re.fullmatch(r"(?:0[xX])?([0-9a-fA-F]{1,16})", text)
    if found is None:
        raise UsageError(f"--digest {cut_short(text)}: not a digest such as 0x3EF2C4DB4D1A4E21")
    return f"0x{int(found[1], 16):016X}"


def _duration(option: str, text: str | None) -> int:
    if text is None:
        return 0
    try:
        return microseconds_of(cut_short(text))  # no time is as long as what is cut
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def _seen_since(text: str | None) -> SeenSince | None:
    """Return the moment. Raises: UsageError."""
    if text is None:
        return None
    try:
        return SeenSince(microseconds_of(text) // 1_000_000, is_ago=True)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"--seen-since {cut_short(text)}: neither a time such as 30min, 2h or 7d nor a date"
            " such as 2026-01-31T12:00"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return SeenSince(int(moment.timestamp()), is_ago=False)


def _output(top: Top, format: TopFormat, *, has_whole_texts: bool) -> str:
    match format:
        case TopFormat.TEXT:
            from proxyctl.render.digest_top_text import digest_top_text

            return digest_top_text(top, style(), width=columns(), has_whole_texts=has_whole_texts)
        case TopFormat.JSON:
            from proxyctl.render.digest_top_machine import digest_top_json

            return digest_top_json(top)
        case TopFormat.CSV:
            from proxyctl.render.digest_top_machine import digest_top_csv

            return digest_top_csv(top)
        case TopFormat.MARKDOWN:
            from proxyctl.render.digest_top_markdown import digest_top_markdown

            return digest_top_markdown(top)
        case TopFormat.PROMETHEUS:
            from proxyctl.render.prometheus import digest_top_prometheus

            return digest_top_prometheus(top)
