"""The texts of a pattern: a short one, and what each of them holds."""

from __future__ import annotations

from proxyctl.lint.pattern_syntax import Anchor, Chars, Either, Joined, Node, Repeated, byte_set

_LIKED = (byte_set(b"a"), byte_set(b" "), byte_set(b"x"), byte_set(b"0"))


def sample(node: Node) -> bytes:
    """Return a text that the pattern matches, if its anchors allow it; a short one."""
    match node:
        case Chars(members):
            return bytes([_liked(members)]) if members else b""
        case Joined(items):
            return b"".join(map(sample, items))
        case Either(options):
            return sample(options[0])
        case Repeated(Chars(members), 0, None) if members & _LIKED[0]:
            return b"a"  # `a .* b` is rather `a x b` than `a  b`
        case Repeated(item, least, _):
            return sample(item) * least
        case _:
            return b""


def _liked(members: int) -> int:
    for liked in _LIKED:
        if members & liked:
            return liked.bit_length() - 1
    for low in (0x61, 0x21, 0):
        above = members >> low
        if above:
            return low + (above & -above).bit_length() - 1
    return 0


def literal_runs(node: Node) -> list[bytes]:
    """Return texts that each match holds, lower-cased: runs of bytes without a choice but case."""
    runs = [b""]
    _run(node, runs)
    return [run for run in runs if run]


def _run(node: Node, runs: list[bytes]) -> None:
    match node:
        case Chars(members):
            byte = _lower_byte(members)
            if byte is None:
                runs.append(b"")
            else:
                runs[-1] += bytes([byte])
        case Joined(items):
            for item in items:
                _run(item, runs)
        case Repeated(item, 1, 1):
            _run(item, runs)
        case Anchor():
            pass
        case _:
            runs.append(b"")


def _lower_byte(members: int) -> int | None:
    """Return the one byte of a set, or the lower one of a letter's two."""
    high = members.bit_length() - 1
    if members == 1 << high:
        return high | 0x20 if 0x41 <= high <= 0x5A else high
    is_letter = 0x61 <= high <= 0x7A
    return high if is_letter and members == 1 << high | 1 << (high - 0x20) else None
