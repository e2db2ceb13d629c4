"""One line of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proxyctl.digests.diff_tally import Key, Load
from proxyctl.digests.diff_verdict import Verdict


@dataclass(frozen=True)
class Entry:
    """One digest, or whatever was asked for, before and after.

    Shape: `hostgroups_before` and `hostgroups_after` are the calls by hostgroup; -1 is the query
    cache. `is_reset`: its counters were cleared in between, `after` is what came since.
    """

    key: Key
    text: str
    before: Load
    after: Load
    hostgroups_before: Mapping[int, int]
    hostgroups_after: Mapping[int, int]
    verdict: Verdict
    is_moved: bool
    is_reset: bool
