"""Change inputs at random, as people, disks, networks and attackers do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

LONGEST = 1 << 16
"""Longest input. Units: bytes."""

_EDGES = (
    *(b"", b"\0", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xb3\xa9", b"\xc3", b"\r\n", b"\t"),
    *(b"0", b"-1", b"1e999", b"9223372036854775808", b"99999999999999999999999999", b"NaN"),
    *(b"0x1F", b"1.5", b"true", b"null", b"''", b'"', b"'", b"\\", b"\\u0000", b"\\ud800"),
    *(b"\x1b[31m", "é東🐬".encode(), b"%s%n", b"{0}", b"{{", b"%", b"#", b"@", b"*", b"&a"),
)
_REPEATS = (*(2, 3) * 10, *(30,) * 6, *(300,) * 3, 5000)


def mutated(source: Random, data: bytes, seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """Return the input after one to five changes."""
    for _ in range(source.choice((1, 1, 1, 2, 3, 5))):
        data = source.choice(_CHANGES)(source, data, seeds, words)
    return data[:LONGEST]


def _span(source: Random, data: bytes) -> tuple[int, int]:
    """Return where a mostly short piece begins and ends."""
    start = source.randrange(len(data) + 1)
    length = source.choice((1, 1, 2, 4, 8, 16, 64, 256, 4096))
    return start, min(len(data), start + source.randint(0, length))


def _flip(source: Random, data: bytes, _seeds: object, _words: object) -> bytes:
    if not data:
        return source.randbytes(4)
    place = source.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << source.randrange(8)]) + data[place + 1 :]


def _noise(source: Random, data: bytes, _seeds: object, _words: object) -> bytes:
    start, end = _span(source, data)
    return data[:start] + source.randbytes(source.choice((1, 2, 4, 16))) + data[end:]


def _cut(source: Random, data: bytes, _seeds: object, _words: object) -> bytes:
    start, end = _span(source, data)
    return data[:start] + data[end:]


def _end(source: Random, data: bytes, _seeds: object, _words: object) -> bytes:
    return data[: source.randrange(len(data) + 1)]


def _repeat(source: Random, data: bytes, _seeds: object, _words: object) -> bytes:
    start, end = _span(source, data)
    times = min(source.choice(_REPEATS), LONGEST // max(1, end - start))
    return data[:end] + data[start:end] * times + data[end:]


def _edge(source: Random, data: bytes, _seeds: object, _words: object) -> bytes:
    start, end = _span(source, data)
    return data[:start] + source.choice(_EDGES) + data[source.choice((start, end)) :]


def _word(source: Random, data: bytes, _seeds: object, words: Sequence[bytes]) -> bytes:
    start, end = _span(source, data)
    word = source.choice(words or _EDGES)
    return data[:start] + word + data[source.choice((start, end)) :]


def _splice(source: Random, data: bytes, seeds: Sequence[bytes], _words: object) -> bytes:
    other = source.choice(seeds)
    start, end = _span(source, other)
    if source.random() < 0.5:
        end = len(other)
    place, until = _span(source, data)
    return data[:place] + other[start:end] + data[until:]


def _swap_lines(source: Random, data: bytes, _seeds: object, _words: object) -> bytes:
    lines = data.split(b"\n")
    one, other = source.randrange(len(lines)), source.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


_Change = Callable[[Random, bytes, Sequence[bytes], Sequence[bytes]], bytes]
_CHANGES: tuple[_Change, ...] = (
    *(_flip, _noise, _cut, _end, _repeat, _edge, _edge, _word, _word, _splice, _swap_lines),
)
