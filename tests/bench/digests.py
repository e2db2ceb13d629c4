"""All lines about digest statistics: `python -m tests.bench.digests` measures these alone."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench import digest_files, digest_top
from tests.bench.digest_server import digest_server
from tests.bench.line import Line


def lines(folder: Path) -> Iterator[Line]:
    """Measure everything; nothing at the instance where a program is missing."""
    with digest_server(folder / "proxysql") as server:
        if server is not None:
            yield from digest_files.snapshot_lines(server, folder)
            yield from digest_top.lines(server)
    yield from digest_files.suggest_lines(folder)


def main() -> int:
    """Print the lines as they come; exit 1 when a bar is missed."""
    holds = True
    with tempfile.TemporaryDirectory(prefix="proxyctl-bench-") as name:
        for line in lines(Path(name)):
            holds = holds and line.holds
            print(line.text(), flush=True)  # noqa: T201
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
