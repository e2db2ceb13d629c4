"""Speed and memory of `digest top --events` on a log of 1,000,000 events.

The log has 2,000 digests in random order, the n-th with 1/n of the events of the first: of real
applications few queries make most of the load, too. Durations are log-normal around 1 ms. Half a
gigabyte is read.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.commands.measure import Fastest, Line, run
from tests.support.digests.events import line

DIGESTS = 2_000
EVENTS = 1_000_000
_AT_ONCE = 10_000
LEAST_A_SECOND = 100_000
MOST_MEGABYTES = 300
ROUNDS = 3


def write_log(path: Path) -> None:
    """Write the log. Nothing of it is random between runs."""
    chance = random.Random(1)
    lines = [
        line(
            f"SELECT a{number}, b, c FROM some_table_{number} JOIN other ON a.id = b.id"
            " WHERE status = 'x' AND k IN (1,2,3) ORDER BY created LIMIT 10",
            duration_us=0,
        )
        for number in range(DIGESTS)
    ]
    weights = [1 / rank for rank in range(1, DIGESTS + 1)]
    with path.open("wb") as file:
        for _ in range(EVENTS // _AT_ONCE):
            for text in chance.choices(lines, weights, k=_AT_ONCE):
                duration = b'"duration_us":%d' % chance.lognormvariate(7, 1.2)
                file.write(text.replace(b'"duration_us":0', duration))


def lines(folder: Path) -> Iterator[Line]:
    """Measure in a folder of its own; yield the lines of the table."""
    folder.mkdir()
    log = folder / "events.00000001"
    write_log(log)
    fastest = Fastest()
    for _ in range(ROUNDS):
        found = run([sys.executable, "-m", "proxyctl", "digest", "top", "--events", str(log)])
        assert f"{EVENTS:,} queries" in found.output, found.output
        fastest.add("top", found)
    log.unlink()
    most_s = EVENTS / LEAST_A_SECOND
    yield Line("digest top of 1,000,000 events", fastest["top"].seconds, most_s, 1.0)
    yield Line("digest top of events: CPU", fastest["top"].cpu_s, most_s, 1.0)
    memory = fastest["top"].megabytes
    yield Line("digest top of events: peak memory", memory, MOST_MEGABYTES, 1.0, "MB")
