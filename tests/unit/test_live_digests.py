"""Rates of digests: known, unknown, and never wrong."""

from __future__ import annotations

from proxyctl.stats.live.view import DigestLine, DigestLook, DigestMeter, DigestRates
from proxyctl.stats.model import Load
from tests.unit.live_looks import CLOCK, digest_look, entry


def rates(*looks: DigestLook) -> DigestRates:
    """Return the rates of the last look."""
    meter = DigestMeter()
    return [meter.advance(look) for look in looks][-1]


def only(found: DigestRates) -> DigestLine:
    [line] = found.lines
    return line


def test_two_looks_have_rates_and_shares() -> None:
    found = rates(
        digest_look(0, entry("0x1", 10, 1_000), entry("0x2", 1, 50)),
        digest_look(2, entry("0x1", 30, 4_000), entry("0x2", 2, 1_050)),
    )
    one, other = found.lines
    assert (one.calls_per_s, one.time_per_s, one.average) == (10, 1_500, 150)
    assert (one.share, other.share) == (0.75, 0.25)


def test_what_nothing_hit_has_rates_of_zero_and_its_old_average() -> None:
    line = only(rates(digest_look(0, entry()), digest_look(2, entry())))
    assert (line.calls_per_s, line.time_per_s, line.average) == (0, 0, 100)


def test_entries_of_several_users_and_schemas_are_one_line_of_a_hostgroup() -> None:
    found = rates(
        digest_look(
            0,
            entry(count=1, username="app"),
            entry(count=2, username="report", schemaname="stats"),
            entry(count=4, hostgroup=20),
        )
    )
    first, second = found.lines
    assert (first.hostgroup, first.count_star) == (10, 3)
    assert (first.usernames, first.schemanames) == (("app", "report"), ("shop", "stats"))
    assert (second.hostgroup, second.count_star) == (20, 4)


def test_an_entry_that_was_idle_is_compared_with_when_it_was_seen_last() -> None:
    """A look reads only digests with new hits: the counters of the others do not change."""
    line = only(
        rates(
            digest_look(0, entry("0x1", 10), whole=Load(2, 20, 0)),
            digest_look(2, entry("0x2", 10), whole=Load(2, 20, 0)),
            digest_look(4, entry("0x1", 16), whole=Load(2, 26, 0)),
        )
    )
    assert line.calls_per_s == 3


def test_a_new_entry_counts_from_nothing() -> None:
    line = only(
        rates(digest_look(0), digest_look(2, entry(count=8, time=80, first_seen=CLOCK + 1)))
    )
    assert (line.calls_per_s, line.time_per_s) == (4, 40)


def test_an_old_entry_that_was_never_looked_at_has_a_rate_from_the_second_time_on() -> None:
    before = digest_look(0, whole=Load(1, 1_000, 0))
    first = digest_look(2, entry(count=1_010), whole=Load(1, 1_010, 0))
    line = only(rates(before, first))
    assert line.calls_per_s == 0
    line = only(rates(before, first, digest_look(4, entry(count=1_030))))
    assert line.calls_per_s == 10


def test_a_look_that_was_cut_forgets_what_it_did_not_bring() -> None:
    """The missing digests may have had hits meanwhile."""
    found = rates(
        digest_look(0, entry("0x1", 10), whole=Load(2, 20, 0)),
        digest_look(2, entry("0x2", 10), whole=Load(2, 30, 0), is_cut=True),
        digest_look(4, entry("0x1", 50), whole=Load(2, 60, 0)),
    )
    assert only(found).calls_per_s == 0


def test_cleared_counters_that_grew_past_the_old_ones_show_by_when_they_began() -> None:
    found = rates(
        digest_look(0, entry(count=100)), digest_look(2, entry(count=500, first_seen=CLOCK + 1))
    )
    assert found.was_cleared
    assert only(found).calls_per_s == 250


def test_first_seen_that_jitters_by_a_second_is_no_reset() -> None:
    found = rates(
        digest_look(0, entry(count=100)), digest_look(2, entry(count=104, first_seen=CLOCK - 99))
    )
    assert not found.was_cleared
    assert only(found).calls_per_s == 2
