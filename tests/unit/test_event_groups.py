"""The groups of an event log are limited, so that its memory is."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxyctl.errors import ProxyctlError
from proxyctl.stats.events import group
from proxyctl.stats.events.digest_texts import DigestTexts
from proxyctl.stats.events.event import EventTally
from proxyctl.stats.events.log import read_files
from proxyctl.stats.events.top import top_of_events
from proxyctl.stats.model import Group
from proxyctl.stats.top.model import TopOptions
from tests.support.digests.events import line, write_log

MOST = 10


@pytest.mark.parametrize(
    "options",
    [
        TopOptions(),
        TopOptions(groups=(Group.USERNAME,)),
        TopOptions(groups=(Group.HOSTGROUP,), texts=("nothing",)),
    ],
)
def test_more_groups_or_digests_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: TopOptions
) -> None:
    monkeypatch.setattr(group, "MOST_GROUPS", MOST)
    lines = [line(f"SELECT a{n}", username=f"u{n}") for n in range(MOST + 1)]
    for count in (MOST, MOST + 1):
        path, tally = write_log(tmp_path / "ev", lines[:count]), EventTally()
        events = read_files([path], tally)
        if count == MOST:
            assert top_of_events(events, tally, options, DigestTexts(), now=0).total.entries == MOST
            continue
        with pytest.raises(ProxyctlError, match="more than 10 groups or digests"):
            top_of_events(events, tally, options, DigestTexts(), now=0)
