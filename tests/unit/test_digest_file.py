"""The file with digests: a written file reads back, and a damaged one is an error."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proxyctl.errors import ProxyctlError
from proxyctl.stats.digest_file import read_digest_file, write_digest_file
from proxyctl.stats.model import DigestRows, DigestTable, SeenDigest

ROWS = [
    SeenDigest(10, "shop", "app", "", f"0x{number:016X}", text, 2**63 - 1, 1, 2, 3, 4, 5, 6, 7)
    for number, text in enumerate(
        ["SELECT ?", "'\"\n\x01\x7f", "é\u2028", "caf\udce9", "\udced\udca0\udcbd", ""]
    )
]


def snapshot(**other: object) -> DigestTable:
    cells = {
        **{"name": "px1", "address": "px1:6032", "version": "2.7.1", "taken_at": 1000},
        **{
            "uptime": 500,
            "rows": DigestRows(len(ROWS), lambda: iter(ROWS)),
            "variables": {"a": "b"},
        },
        **other,
    }
    return DigestTable(**cells)  # type: ignore[arg-type]


@pytest.mark.parametrize("is_compressed", [True, False])
def test_what_is_written_comes_back(tmp_path: Path, is_compressed: bool) -> None:
    path = tmp_path / "file"
    size = write_digest_file(snapshot(), path, is_compressed=is_compressed)
    assert size == path.stat().st_size
    found = read_digest_file(path)
    assert list(found.rows) == ROWS
    assert list(found.rows) == ROWS, "rows of a file can be gone through again"
    assert (found.taken_at, found.uptime, found.variables) == (1000, 500, {"a": "b"})
    assert list(read_digest_file(path).rows) == ROWS
    assert read_digest_file(path).name == "px1"


def test_the_same_digests_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_digest_file(snapshot(), tmp_path / name, is_compressed=True)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_nothing_is_left_of_a_file_that_could_not_be_written_whole(tmp_path: Path) -> None:
    def broken() -> Iterator[SeenDigest]:
        yield from ROWS
        raise ProxyctlError("the connection was lost")

    (tmp_path / "file").write_text("what was there before")
    with pytest.raises(ProxyctlError, match="connection was lost"):
        write_digest_file(
            snapshot(rows=DigestRows(2, broken)), tmp_path / "file", is_compressed=True
        )
    assert [path.read_text() for path in tmp_path.iterdir()] == ["what was there before"]


def _flipped(data: bytes) -> bytes:
    return data[:-6] + bytes([data[-6] ^ 0xFF]) + data[-5:]  # in the checksum


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[: len(data) // 2], "the file is truncated"),
        (lambda data: data[:-1], "the file is truncated"),
        (lambda data: data[:2], "the file is truncated"),
        (_flipped, "the compressed file is damaged"),
        (lambda data: data + b"more", "the compressed file is damaged"),
        (lambda data: b"", "not a file with digests"),
        (lambda data: b"\x28\xb5\x2f\xfd" + data, "not a file with digests"),
        (lambda data: gzip.compress(b"[" * 2**20), "not a file with digests"),
        (lambda data: gzip.compress(b"\0" * 2**26), "not a file with digests"),
    ],
)
def test_a_compressed_file_that_is_damaged(
    tmp_path: Path, damage: Callable[[bytes], bytes], reason: str
) -> None:
    path = tmp_path / "file"
    write_digest_file(snapshot(), path, is_compressed=True)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ProxyctlError, match=reason):
        list(read_digest_file(path).rows)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b'"uptime": 500', b'"uptime": "x"', "the first line is damaged"),
        (b'"count": 6', b'"count": 7', "should contain 7 digests but has 6 lines"),
        (b'"columns": ["hostgroup"', b'"columns": [["x"]', "the first line is damaged"),
        (b'"taken_at": 1000', b'"taken_at": -1', "the first line is damaged"),
        (b'"uptime": 500', b'"uptime": 9223372036854775808', "the first line is damaged"),
        (b'"SELECT ?"', b'"\\ud800"', ":2: not a digest"),
        (b'"shop"', b"5", ":2: not a digest"),
        (b"9223372036854775807", b"1e400", ":2: not a digest"),
        (b"[10,", b"{", ":2: not a digest"),
        (b"[10,", b"\xff", ":2: not a digest"),
        (b"[10,", b"[4294967296,", ":2: not a digest"),
        (b"9223372036854775807", b"-1", ":2: not a digest"),
        (b",3,4,5,6,7]", b",9223372036854775808,4,5,6,7]", "2: not a digest"),
        (b",3,4,5,6,7]", b",3,6,5,6,7]", ":2: not a digest"),
        (b",1,2,3,", b",3,2,3,", ":2: not a digest"),
    ],
)
def test_a_plain_file_that_is_damaged(tmp_path: Path, old: bytes, new: bytes, reason: str) -> None:
    path = tmp_path / "file"
    write_digest_file(snapshot(), path)
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))
    with pytest.raises(ProxyctlError, match=reason):
        list(read_digest_file(path).rows)


def test_a_small_file_with_a_line_that_fills_the_memory_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_digest_file(snapshot(), path)
    header = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(gzip.compress(header + b" " * (1 << 25)))
    with pytest.raises(ProxyctlError, match=":2: not a digest"):
        list(read_digest_file(path).rows)


def test_a_digest_that_nobody_could_read_is_not_saved(tmp_path: Path) -> None:
    rows = [ROWS[0], ROWS[1]._replace(sum_time=-5)]
    with pytest.raises(ProxyctlError, match="0x0000000000000001 cannot be saved: impossible"):
        write_digest_file(snapshot(rows=rows), tmp_path / "file")
    assert list(tmp_path.iterdir()) == []
