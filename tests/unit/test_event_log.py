"""Reading the query event log: what counts, and files that are none."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from io import BufferedReader, BytesIO
from pathlib import Path

import pytest

from proxyctl.errors import ProxyctlError, UsageError
from proxyctl.routing.digest import digest
from proxyctl.stats.events.event import EventTally, QueryEvent
from proxyctl.stats.events.log import read_files
from tests.support.digests.events import BEGAN_US, line, write_log

READ = line("SELECT name FROM items WHERE id=1")
WRITE = line("UPDATE items SET name='x'", 1, rows_affected=3, rows_sent=0, duration_us=900)


def events(*paths: str) -> tuple[list[QueryEvent], list[str]]:
    tally = EventTally()
    found = list(read_files(paths, tally))
    assert tally.executed == len(found)
    return found, list(tally.notes())


def error_of(*paths: str) -> ProxyctlError:
    with pytest.raises(ProxyctlError) as caught:
        events(*paths)
    return caught.value


def test_an_event_has_the_names_of_the_digest_statistics(tmp_path: Path) -> None:
    (found,), notes = events(write_log(tmp_path / "ev", [WRITE]))
    assert found == QueryEvent(
        digest=digest("UPDATE items SET name='x'").hexadecimal,
        hostgroup=10,
        schemaname="shop",
        username="app",
        client="127.0.0.1:56624",
        query="UPDATE items SET name='x'",
        event="COM_QUERY",
        duration=900,
        ended_at=BEGAN_US + 1_000_900,
        rows_sent=0,
        rows_affected=3,
        errno=0,
    )
    assert notes == []


@pytest.mark.parametrize(
    ("client", "address"),
    [("10.0.0.7:39516", "10.0.0.7"), ("fe80::1:39516", "fe80::1"), ("localhost:0", "localhost")],
)
def test_the_address_of_the_client_has_no_port(tmp_path: Path, client: str, address: str) -> None:
    (found,), _ = events(write_log(tmp_path / "ev", [line("SELECT 1", client=client)]))
    assert found.client_address == address


def test_the_first_bytes_show_what_is_compressed(tmp_path: Path) -> None:
    plain = write_log(tmp_path / "plain.gz", [READ])
    packed = write_log(tmp_path / "packed", [gzip.compress(WRITE), gzip.compress(READ)])
    found, notes = events(plain, packed)
    assert [event.query[:6] for event in found] == ["SELECT", "UPDATE", "SELECT"]
    assert notes == []


def test_a_pipe_is_read_as_a_file_is(tmp_path: Path) -> None:
    for content in (READ + WRITE, gzip.compress(READ + WRITE)):
        reading, writing = os.pipe()
        os.write(writing, content)
        os.close(writing)
        with os.fdopen(reading, "rb") as stdin:
            assert len(list(read_files(["-"], EventTally(), stdin=stdin))) == 2


def test_what_executes_nothing_is_counted_apart(tmp_path: Path) -> None:
    text = "SELECT v FROM x WHERE id=?"
    lines = [
        line(text, event="COM_STMT_PREPARE", client_stmt_id=1),
        line(text, event="COM_STMT_EXECUTE", client_stmt_id=1, rows_affected=0),
        line(text, event="COM_STMT_EXECUTE", client_stmt_id=1, rows_affected=0),
        line("SELECT 1", event="PGSQL_SIMPLE_QUERY", errno=None),
        line("SELECT 1", errno=None),
    ]
    found, notes = events(write_log(tmp_path / "ev", lines))
    assert [(event.event, event.errno) for event in found] == [
        ("COM_STMT_EXECUTE", 0),
        ("COM_STMT_EXECUTE", 0),
        ("COM_QUERY", None),
    ]
    assert [note.split(":")[0] for note in notes] == [
        "1 COM_STMT_PREPARE event not counted",
        "1 PostgreSQL event not counted",
    ]


@pytest.mark.parametrize("cut", [1, 20, len(WRITE) - 2])
def test_an_unfinished_last_line_is_a_note(tmp_path: Path, cut: int) -> None:
    path = write_log(tmp_path / "ev", [READ, WRITE[:cut]])
    found, notes = events(path, write_log(tmp_path / "next", [READ]))
    assert len(found) == 2
    assert notes == [
        f"{path}:2: the last line is unfinished and not counted; ProxySQL may be writing it"
    ]


def test_a_last_line_without_its_end_counts_if_it_is_whole(tmp_path: Path) -> None:
    found, notes = events(write_log(tmp_path / "ev", [READ, WRITE[:-1]]))
    assert (len(found), notes) == (2, [])


def test_an_empty_file_is_a_note(tmp_path: Path) -> None:
    path = write_log(tmp_path / "ev", [])
    assert events(path) == ([], [f"{path}: the file is empty"])


def _without(key: str) -> bytes:
    return line("SELECT 1", **{key: None})


@pytest.mark.parametrize(
    "broken",
    [
        b"\n",
        b"[]\n",
        b"{}\n",
        b"SELECT 1\n",
        b"SELECT 1",
        READ[:40] + b"\n",
        b"[" * 100_000 + b"\n",
        READ.replace(b"COM_QUERY", b"COM_QUIT"),
        _without("digest"),
        _without("client"),
        _without("duration_us"),
        READ.replace(b'"duration_us":250', b'"duration_us":-5'),
        line("SELECT 1", rows_sent="1"),
        line("SELECT 1", rows_sent=True),
        line("SELECT 1", errno="1064"),
        line("SELECT 1", schemaname=7),
    ],
)
def test_a_line_that_is_no_event_is_an_error(tmp_path: Path, broken: bytes) -> None:
    path = write_log(tmp_path / "ev", [READ, broken])
    error = error_of(path)
    assert error.message == f"{path}:2: not an event of the query event log"
    assert error.fix == f"show it with: sed -n 2p {path}; remove the line if it is damaged"
    first = error_of(write_log(tmp_path / "first", [broken]))
    assert "not a query event log in JSON: line 1 is not an event" in first.message
    assert first.fix is not None
    assert "leave out the first line if the beginning of the file is missing" in first.fix


def test_the_fix_for_a_damaged_line_can_be_pasted(tmp_path: Path) -> None:
    lines = [READ, b"SELECT 1\n"]
    (folder := tmp_path / "a b").mkdir()
    plain = error_of(write_log(folder / "ev", lines)).fix
    assert plain == f"show it with: sed -n 2p '{folder}/ev'; remove the line if it is damaged"
    packed = error_of(write_log(folder / "ev.gz", [gzip.compress(b"".join(lines))])).fix
    assert packed is not None
    assert f"gzip -dc '{folder}/ev.gz' | sed -n 2p;" in packed
    with pytest.raises(ProxyctlError) as caught:
        list(read_files(["-"], EventTally(), stdin=BufferedReader(BytesIO(b"".join(lines)))))
    assert caught.value.fix == "remove the line if it is damaged"


HEADER = b"\x29" + bytes(7) + b'\x12\0\x13{"version":"3.0.3"}\0\0\xfe' + b"\xff" * 8 + bytes(7)
"""What 3.0.3 writes first into a JSON log after PROXYSQL FLUSH LOGS."""


def test_a_binary_header_of_a_log_in_json_is_skipped(tmp_path: Path) -> None:
    for number, content in enumerate((HEADER + READ + WRITE, gzip.compress(HEADER + READ + WRITE))):
        found, notes = events(write_log(tmp_path / str(number), [content]))
        assert (len(found), notes) == (2, [])
    path = write_log(tmp_path / "begun", [HEADER])
    assert events(path) == ([], [f"{path}: the file is empty"])
    assert "binary format" in error_of(write_log(tmp_path / "ev", [HEADER, HEADER])).message


def _binary(folder: Path) -> str:
    return write_log(folder / "ev", [b"\x8b\0\0\0\0\0\0\0", b"\0\x07app"])


def _cut(folder: Path) -> str:
    return write_log(folder / "ev", [gzip.compress(READ * 50)[:-30]])


def _damaged(folder: Path) -> str:
    return write_log(folder / "ev", [gzip.compress(READ)[:12], b"\xff" * 40])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_binary, "ev: an event log in the binary format (mysql-eventslog_format=1), which"),
        (_cut, "ev: the compressed file is truncated"),
        (_damaged, "ev: the compressed file is damaged"),
        (str, ": is a directory"),
        (lambda folder: str(folder / "none"), "none: no such file or directory"),
    ],
)
def test_a_file_that_cannot_be_read(
    tmp_path: Path, make: Callable[[Path], str], message: str
) -> None:
    error = error_of(make(tmp_path))
    assert message in error.message
    if "directory" not in message:
        assert error.fix


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    path = write_log(tmp_path / "ev", [READ])
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(UsageError, match="would count its events twice"):
        events(path, str(tmp_path / "link"))
    with pytest.raises(UsageError, match="--events -: the same file twice"):
        events("-", "-")
