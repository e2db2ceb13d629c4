"""Speed of `digest snapshot`, and of what is made of its file, with a million digests.

A snapshot is compared with a dump by the client. The others work alone, so there is no yardstick
that a busy machine slows down as well: of some runs the fastest counts, by the clock and by
processor time. Where the clock misses the bar and the processor time holds it, others had the
processor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench import million
from tests.bench.digest_server import DigestServer
from tests.bench.line import Line
from tests.bench.measure import Fastest, Rounds, Run, run

ROUNDS = 3
BAR = 1.5
"""A snapshot, against what the mariadb client needs to write the table into a file."""
MEGABYTES = 300.0
REPORT_S = 20.0
REPORT_MEGABYTES = 5.0
SUGGEST_S = 30.0
RULES = 30


def snapshot_lines(server: DigestServer, folder: Path) -> Iterator[Line]:
    """Measure a snapshot and the client's dump in turns, both compressed; then a report of it."""
    snapshot, rounds = folder / "snapshot.jsonl.gz", Rounds()
    for _ in range(ROUNDS):
        dump = server.dump("stats_mysql_query_digest", folder / "dump.gz")
        rounds.add("client", dump)
        snapshot.unlink(missing_ok=True)  # an earlier snapshot is not replaced
        rounds.add("ours", server.proxyctl("digest", "snapshot", "-o", str(snapshot)))
    ours, client = rounds.middle("ours"), rounds.middle("client")
    yield Line("digest snapshot of 1,000,000 / dump by client", ours.seconds, client.seconds, BAR)
    yield Line("digest snapshot of 1,000,000: CPU", ours.cpu_s, client.cpu_s, BAR)
    yield Line("digest snapshot: peak memory", ours.megabytes, MEGABYTES, 1.0, "MB")
    page = folder / "report.html"
    report = _proxyctl(REPORT_S, "digest", "report", str(snapshot), "-o", str(page))
    yield Line("digest report of 1,000,000", report.seconds, REPORT_S, 1.0)
    yield Line("digest report of 1,000,000: CPU", report.cpu_s, REPORT_S, 1.0)
    yield Line("digest report: size", page.stat().st_size / 1e6, REPORT_MEGABYTES, 1.0, "MB")


def suggest_lines(folder: Path) -> Iterator[Line]:
    """Measure what is suggested for a million digests that traffic would leave."""
    snapshot, files = folder / "million.jsonl", folder / "files"
    million.write_snapshot(snapshot)
    million.write_files(files, rules=RULES)
    found = _proxyctl(SUGGEST_S, "digest", "suggest", "--digests", str(snapshot), "-f", str(files))
    yield Line("digest suggest of 1,000,000", found.seconds, SUGGEST_S, 1.0)
    yield Line("digest suggest of 1,000,000: CPU", found.cpu_s, SUGGEST_S, 1.0)
    yield Line("digest suggest: peak memory", found.megabytes, MEGABYTES, 1.0, "MB")


def _proxyctl(bar_s: float, *arguments: str) -> Run:
    """Return the fastest run; there is another one only while the bar is missed."""
    fastest = Fastest()
    for _ in range(ROUNDS):
        found = run([sys.executable, "-m", "proxyctl", *arguments])
        assert found.code == 0, found.output
        fastest.add("ours", found)
        if found.seconds <= bar_s:
            break
    return fastest["ours"]
