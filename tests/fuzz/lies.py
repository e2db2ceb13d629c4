"""Lies that are told in place of the right answers of a server.

As bytes: up to four of them with a unit separator between, each of three bytes and a text: in which
answer, what is wrong there, and where.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.support.answering_server import OK, Answer, Cell, error, packets, result

Lie = tuple[int, int, bytes]
"""What is wrong, where, and a text."""


def lies_in(data: bytes) -> Iterator[tuple[int, Lie]]:
    """Yield up to four lies, each with the number of the answer that it is told in."""
    for part in data.split(b"\x1f")[:4]:
        if len(part) >= 3:
            yield part[0] % 96, (part[1], part[2], part[3:])


def twisted(lie: Lie, columns: list[bytes], rows: list[list[Cell]]) -> Answer:
    """Return an answer with one thing wrong in it, which is the more likely the less it spoils."""
    kind, place, said = lie
    rows = [list(row) for row in rows]
    row = place % len(rows) if rows else 0
    match kind % 12:
        case 0 | 1 | 2 | 3 if rows:
            cells = rows[row]
            cells[(kind // 12) % len(cells)] = said
        case 4 if rows:
            rows[row][(kind // 12) % len(rows[row])] = None
        case 5:
            rows[row : row + 1] = [[said] * len(columns)]
        case 6 if rows:
            del rows[row]
        case 7:
            rows = []
        case 8:
            width = place % 6
            columns = (columns + [b"more"] * 6)[: width or 1]
            rows = [(cells + [said] * 6)[: width or 1] for cells in rows]
        case 9:
            return error(1045 if place % 2 else 1064, said)
        case 10:
            return packets([OK])
        case 11 if place % 8 == 0:
            return b""
        case _:
            rows = rows + rows
    return result(columns or [b"a"], rows)
