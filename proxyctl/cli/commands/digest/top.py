"""The command digest top: the digests that cost most; and what the other ones share with it."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.connect import Place
from proxyctl.cli.options import option
from proxyctl.cli.output import columns, say, style, write
from proxyctl.errors import ExitCode, UsageError
from proxyctl.stats.model import SHORT_NAMES, Group
from proxyctl.stats.top.listing import SeenSince, Sort, TopOptions
from proxyctl.stats.units import microseconds_of
from proxyctl.text import nearest

if TYPE_CHECKING:
    from proxyctl.stats.top.listing import Top

MOST_LISTED = 1_000_000
"""The maximum of --limit; a snapshot holds all digests."""
_SHOWN = 60

FullTextOption = Annotated[bool, typer.Option("--full-text", help="Show digest texts in full.")]
GroupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="COLUMN,...",
        help="Group by digest, hostgroup, schemaname, username, client_address. Default: digest.",
    ),
]

_filter_option = functools.partial(option, rich_help_panel="Filters")
_MOST_TEXTS = 100
"""Values of --text: each one deepens the condition, and SQLite limits its depth to 1,000."""
_LONGEST_PATTERN = 50_000
"""Bytes of a LIKE pattern that SQLite accepts; ProxySQL reports no error for a longer one."""


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

    hostgroup: list[int] | None = _filter_option(
        None, metavar="N", help="Only this hostgroup; repeatable."
    )
    schemaname: list[str] | None = _filter_option(
        None, metavar="NAME", help="Only this schema; repeatable."
    )
    username: list[str] | None = _filter_option(
        None, metavar="NAME", help="Only this user; repeatable."
    )
    client_address: list[str] | None = _filter_option(
        None, metavar="ADDRESS", help="Only this client; repeatable."
    )
    digest: list[str] | None = _filter_option(
        None, metavar="0x...", help="Only this digest; repeatable."
    )
    text: list[str] | None = _filter_option(
        None,
        metavar="TEXT",
        help="Only digests whose text contains this; % matches anything; repeatable.",
    )
    seen_since: str | None = _filter_option(
        None,
        metavar="WHEN",
        help="Only digests seen in the last 30min, 2h, 7d, or since 2026-01-31T12:00 (UTC).",
    )
    min_count: int = _filter_option(
        0, min=0, metavar="N", help="Only digests with at least N queries."
    )
    min_avg: str | None = _filter_option(
        None, metavar="TIME", help="Only digests with at least this average time, such as 10ms."
    )


def top(
    place: Place,
    filters: FilterOptions,
    sort: Sort = typer.Option(
        Sort.TIME,
        metavar="KEY",
        help="Sort key: time (the share of the load), avg, max, count,"
        " rows-sent, rows-affected, time-per-row.",
    ),
    group: GroupOption = None,
    limit: int = typer.Option(20, min=1, max=MOST_LISTED, metavar="N", help="List at most N."),
    rule: bool = typer.Option(
        False, "--rule", help="Show which rule in force catches each digest."
    ),
    full_text: FullTextOption = False,
    format: TopFormat = typer.Option(
        TopFormat.TEXT,
        metavar="FORMAT",
        help="Output format: text, json, csv, markdown, prometheus.",
    ),
) -> int:
    """List the digests that cost most. Sends only SELECTs."""
    from proxyctl.stats.top.query import read_top, with_rules

    options = _options(filters, sort, group, limit, has_rules=rule)
    if rule and format is TopFormat.PROMETHEUS:
        raise UsageError(
            "--rule cannot be used with --format prometheus: rules come and go with the files"
        )
    with place.connect() as client:
        found, members = read_top(client, options)
        if rule:
            found = with_rules(client, found, members)
    found = replace(found, hostgroup_names=place.hostgroup_names())
    if format not in (TopFormat.TEXT, TopFormat.MARKDOWN):
        for note in found.notes():
            say(f"note: {note}")
    write(_output(found, format, has_whole_texts=full_text))
    return ExitCode.DONE


def _options(
    filters: FilterOptions, sort: Sort, group: list[str] | None, limit: int, *, has_rules: bool
) -> TopOptions:
    groups = columns_of(group)
    if has_rules and Group.DIGEST not in groups:
        raise UsageError("--rule needs `digest` in --group: rules are looked up by digest")
    return TopOptions(
        sort=sort,
        groups=groups,
        limit=limit,
        hostgroups=tuple(filters.hostgroup or ()),
        schemanames=tuple(filters.schemaname or ()),
        usernames=tuple(filters.username or ()),
        client_addresses=tuple(filters.client_address or ()),
        digests=tuple(map(_digest, filters.digest or ())),
        texts=_texts(filters.text),
        seen_since=_seen_since(filters.seen_since),
        min_count=filters.min_count,
        min_avg_us=duration_us("--min-avg", filters.min_avg),
        with_rules=has_rules,
    )


def columns_of(given: list[str] | None) -> tuple[Group, ...]:
    """Return the columns of --group; the digest by default. Raises: UsageError."""
    names = [name.strip() for one in given or ["digest"] for name in one.split(",")]
    found: list[Group] = []
    for name in names:
        try:
            found.append(SHORT_NAMES.get(name) or Group(name))
        except ValueError:
            near = nearest(name, list(Group), cutoff=0.6)
            fix = f"did you mean {near}?" if near else f"columns: {', '.join(Group)}"
            raise UsageError(f"--group {cut_short(name)}: no such column", fix=fix) from None
    return tuple(dict.fromkeys(found))


def cut_short(value: str) -> str:
    """Return a value from the command line, shortened for a message."""
    return value if len(value) <= _SHOWN else f"{value[: _SHOWN - 3]}..."


def duration_us(option: str, text: str | None) -> int:
    """Return the microseconds of a duration such as `7d`, 0 for None. Raises: UsageError."""
    if text is None:
        return 0
    try:
        return microseconds_of(cut_short(text))  # no time is as long as what is cut
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def _texts(given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the values of --text. Raises: UsageError beyond the limits of SQLite."""
    from proxyctl.stats.top.query import like_pattern

    texts = tuple(given or ())
    if len(texts) > _MOST_TEXTS:
        raise UsageError(f"--text: given {len(texts)} times; at most {_MOST_TEXTS} are accepted")
    for text in texts:
        size = len(like_pattern(text).encode("utf-8", "surrogateescape"))
        if size > _LONGEST_PATTERN:
            raise UsageError(
                f"--text {cut_short(text)}: a pattern of {size:,} bytes; SQLite accepts at most"
                f" {_LONGEST_PATTERN:,}",
                fix="name the digest with --digest",
            )
    return texts


def _digest(text: str) -> str:
    """Return a digest in ProxySQL's spelling. Raises: UsageError."""
    found = re.fullmatch(r"(?:0[xX])?([0-9a-fA-F]{1,16})", text)
    if found is None:
        raise UsageError(f"--digest {cut_short(text)}: not a digest such as 0x3EF2C4DB4D1A4E21")
    return f"0x{int(found[1], 16):016X}"


def _seen_since(text: str | None) -> SeenSince | None:
    """Return the time that --seen-since names. Raises: UsageError."""
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
    from proxyctl.render.digest_top import (
        TOP,
        digest_top_csv,
        digest_top_markdown,
        digest_top_text,
    )

    match format:
        case TopFormat.TEXT:
            return digest_top_text(top, style(), width=columns(), has_whole_texts=has_whole_texts)
        case TopFormat.JSON:
            return TOP.document(top)
        case TopFormat.CSV:
            return digest_top_csv(top)
        case TopFormat.MARKDOWN:
            return digest_top_markdown(top)
        case TopFormat.PROMETHEUS:
            from proxyctl.render.prometheus import digest_top_prometheus

            return digest_top_prometheus(top)
