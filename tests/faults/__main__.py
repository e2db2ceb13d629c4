"""`make test-faults`: every fault and every stop at every statement, and what promises.toml lists.

Both run on a real ProxySQL and on the sandbox; exit 1 when a promise was broken. The faults end
with a table. `--only` selects one of the two. `--every N` tries one statement in N.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.faults.kept import are_kept
from tests.faults.trying import ALL_KINDS, REAL, SANDBOX, Tally, table, tried
from tests.support.servers.instances import NO_BINARY, proxysql_binary


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


MATRIX, PROMISES = "faults", "promises"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--only", choices=(MATRIX, PROMISES))
    parser.add_argument("--server", choices=(SANDBOX, REAL), action="append")
    parser.add_argument("--kind", choices=ALL_KINDS, action="append")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    servers = given.server or [REAL, SANDBOX]
    if REAL in servers and proxysql_binary() is None:
        say(f"SKIPPED: the real server: {NO_BINARY}")
        servers.remove(REAL)
    is_good = True
    if given.only != PROMISES:
        # Where nothing of what was asked for can be tried, nothing is proven.
        is_good = bool(servers) and _tried_all(given, servers)
    if given.only != MATRIX:
        say("\nwhat promises.toml lists, by the tests that it names")
        is_good = are_kept() and is_good
    return 0 if is_good else 1


def _tried_all(given: argparse.Namespace, servers: Sequence[str]) -> bool:
    """Try the faults and print the results; return whether every promise held."""
    started = time.monotonic()
    tallies: list[Tally] = []
    are_all_tried = True
    # A process each: the sandbox, the proxy and the checks of one would wait for the others.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.jobs, mp_context=context) as pool:
        jobs = {
            pool.submit(tried, server, kind, given.every): f"{server}: {kind}"
            for kind in given.kind or ALL_KINDS
            for server in servers
        }
        for job in as_completed(jobs):
            try:
                tally = job.result()
            except Exception as error:  # those that were tried for an hour still count
                are_all_tried = False
                say(f"NOT TRIED TO THE END {jobs[job]}: {error!r}")
                continue
            tallies.append(tally)
            took = time.monotonic() - started
            say(
                f"{took:6.0f} s  {tally.server}: {tally.kind}: {tally.boundaries} tried,"
                f" {len(tally.broken)} broken"
            )
            for text in tally.broken:
                say(f"BROKEN {text}")
        tallies.sort(key=lambda tally: (tally.server, ALL_KINDS.index(tally.kind)))
    say(f"\n{table(tallies)}")
    return are_all_tried and not any(tally.broken for tally in tallies)


if __name__ == "__main__":
    sys.exit(main())
