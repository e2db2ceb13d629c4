"""A million digests as traffic leaves them: some are asked for all the time, most of them rarely.

Twenty thousand queries, each under fifty pairs of user and schema, on a writer and its reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from proxyctl.catalog import REFERENCE
from proxyctl.routing.digest import Digester
from proxyctl.stats.digest_file import write_digest_file
from proxyctl.stats.model import DigestTable, Rows, SeenDigest

COUNT = 1_000_000
_PLACES = 50
_TEMPLATES = (
    "SELECT name, price FROM items{} WHERE id = 1",
    "SELECT a.id, b.total FROM orders{} a JOIN parts b ON a.id = b.id WHERE a.day > 7 ORDER BY 2",
    "SELECT code, label FROM countries{}",
    "UPDATE stock{} SET left_over = left_over - 1 WHERE item = 5",
    "INSERT INTO log{} (a, b) VALUES (1, 'x')",
)
_WRITER, _READER = 10, 20

FILES = """\
version: 1
hostgroups:
  writer: {id: 10}
  reader: {id: 20}
mysql_servers:
  - {hostgroup_id: writer, hostname: db1}
  - {hostgroup_id: reader, hostname: db2}
mysql_users:
"""


def write_snapshot(path: Path) -> None:
    """Write the digests into a file as `digest snapshot` does."""
    snapshot = DigestTable(
        "bench", "bench", str(REFERENCE), 2_000_000, Rows(COUNT, _rows), uptime=1_000_000
    )
    write_digest_file(snapshot, path)


def write_files(folder: Path, *, rules: int) -> None:
    """Write a project with all the users, and rules that most queries pass by."""
    users = "".join(
        f"  - {{username: app{number}, default_hostgroup: writer}}\n" for number in range(_PLACES)
    )
    lines = "".join(
        f"  - {{rule_id: {number * 10}, match_digest: '^SELECT .* FROM orders{number} ',"
        f" destination_hostgroup: reader, apply: true}}\n"
        for number in range(1, rules + 1)
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "proxyctl.yaml").write_text(FILES + users + "mysql_query_rules:\n" + lines)


def _rows() -> Iterator[SeenDigest]:
    digester = Digester()
    for number in range(COUNT // _PLACES):
        made = digester.digest(_TEMPLATES[number % len(_TEMPLATES)].format(number))
        digest, text = made.hexadecimal, made.text.decode()
        calls = 1 + 2_000_000 // (number + 1)
        time_us = 200 + 7_919 * number % 3_000 * (50 if number % 1_000 == 1 else 1)
        sent = calls if text.startswith("SELECT") else 0
        hostgroup = _READER if "orders" in text else _WRITER
        for place in range(_PLACES):
            yield SeenDigest(
                hostgroup, f"shop{place}", f"app{place}", "", digest, text,
                calls, 1_000_000 + place, 1_999_000,
                calls * time_us, 100, 10 * time_us, calls - sent, sent,
            )  # fmt: skip
