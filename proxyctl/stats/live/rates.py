"""Rates of digests, out of looks at those entries only that were hit since the look before.

An entry that was not hit keeps its counters, so the look before last is as good as the last one. An
entry that was never looked at and is older than the last look has counters of which nobody knows
how much is new: its rate is known from its second look on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from proxyctl.stats.counters import JITTER_S, Reading, were_cleared
from proxyctl.stats.live.model import DigestEntry, DigestKey, DigestLook

_MOST_KNOWN = 50_000
"""Entries whose counters are kept."""


@dataclass(frozen=True)
class DigestLine:
    """A digest in one hostgroup, with its rates between two looks.

    Shape: rates are None before there were two looks. `is_least`: of some of its entries it is not
    known how much is new, so the rates may be higher. `share` is the part of the query time of all
    digests. Hostgroup -1 is the query cache. Units: times in microseconds, rates a second.
    """

    digest: str
    hostgroup: int
    text: str
    schemanames: tuple[str, ...]
    usernames: tuple[str, ...]
    count_star: int
    sum_time: int
    calls_per_s: float | None = None
    time_per_s: float | None = None
    share: float | None = None
    is_least: bool = False

    @property
    def average(self) -> float | None:
        """Time of a call between the looks; since the counters began where there was none."""
        if self.calls_per_s and self.time_per_s is not None:
            return self.time_per_s / self.calls_per_s
        return self.sum_time / self.count_star if self.count_star else None


@dataclass(frozen=True)
class DigestRates:
    """The lines of one look. `span_s` is the time since the look before, None without one.

    Shape: `busy` is how many entries were hit; `is_cut` when more than a look brings.
    """

    lines: tuple[DigestLine, ...] = ()
    span_s: float | None = None
    busy: int = 0
    is_cut: bool = False
    was_cleared: bool = False


class DigestMeter:
    """Turns consecutive looks into rates."""

    def __init__(self) -> None:
        self._known: dict[DigestKey, DigestEntry] = {}
        self._last: DigestLook | None = None

    def advance(self, look: DigestLook) -> DigestRates:
        """Return the rates since the previous look."""
        last = self._last
        was_cleared = last is not None and self._is_cleared(last, look)
        if was_cleared:
            self._known = {}
        groups: dict[tuple[str, int], list[DigestEntry]] = {}
        for entry in look.entries:
            groups.setdefault((entry.digest, entry.hostgroup), []).append(entry)
        span = None if last is None else look.taken_at - last.taken_at
        since = None if last is None else last.clock
        time = look.whole.sum_time
        if last is not None and not was_cleared:
            time -= last.whole.sum_time
        lines = tuple(
            self._line(entries, span, since, time, was_cleared=was_cleared)
            for entries in groups.values()
        )
        self._remember(look)
        is_cut = look.is_cut and span is not None
        return DigestRates(lines, span, look.busy, is_cut, was_cleared)

    def _is_cleared(self, last: DigestLook, look: DigestLook) -> bool:
        """Return whether somebody cleared the counters: ProxySQL does it for all at once."""
        whole = (Reading(one.whole.entries, one.whole.count_star) for one in (last, look))
        if were_cleared(*whole):
            return True
        return any(
            were_cleared(known.reading, entry.reading)
            for entry in look.entries
            if (known := self._known.get(entry.key)) is not None
        )

    def _line(
        self,
        entries: list[DigestEntry],
        span: float | None,
        since: int | None,
        whole_time: int,
        *,
        was_cleared: bool,
    ) -> DigestLine:
        calls = time = 0
        is_least = was_cleared  # what was counted before that is lost
        for entry in entries:
            known = self._known.get(entry.key)
            if known is not None:
                calls += entry.count_star - known.count_star
                time += entry.sum_time - known.sum_time
            elif was_cleared or (since is not None and entry.first_seen >= since - JITTER_S):
                calls += entry.count_star
                time += entry.sum_time
            else:
                is_least = True
        return DigestLine(
            digest=entries[0].digest,
            hostgroup=entries[0].hostgroup,
            text=entries[0].digest_text,
            schemanames=_distinct(entry.schemaname for entry in entries),
            usernames=_distinct(entry.username for entry in entries),
            count_star=sum(entry.count_star for entry in entries),
            sum_time=sum(entry.sum_time for entry in entries),
            calls_per_s=calls / span if span else None,
            time_per_s=time / span if span else None,
            share=time / whole_time if span and whole_time > 0 else None,
            is_least=bool(span) and is_least,
        )

    def _remember(self, look: DigestLook) -> None:
        if look.is_cut:
            # Of an entry that was left out it is not known whether it was hit meanwhile.
            self._known = {}
        for entry in look.entries:
            self._known.pop(entry.key, None)  # the newest come last
            self._known[entry.key] = entry
        for key in list(self._known)[: max(len(self._known) - _MOST_KNOWN, 0)]:
            del self._known[key]
        self._last = look


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))
