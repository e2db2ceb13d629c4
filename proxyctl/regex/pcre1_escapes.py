r"""Backslashes and character classes, as PCRE1 8.x reads them and as PCRE2 has to be told.

A pattern is bytes with a NUL behind it: that is where PCRE1 stops, and no look ahead runs over the
end. Built like ProxySQL's PCRE1: bytes, neither UTF-8 nor Unicode properties.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from proxyctl.regex.bad_pattern import BadPattern

DIGITS = frozenset(b"0123456789")
_OCTAL = frozenset(b"01234567")
_HEX = frozenset(b"0123456789abcdefABCDEF")
_ALPHANUMERIC = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_CONTROLS = {ord("a"): 7, ord("e"): 27, ord("f"): 12, ord("n"): 10, ord("r"): 13, ord("t"): 9}
_PLAIN_LETTERS = frozenset(b"FIJMOTYijmqy")
"""Letters without a meaning behind a backslash: they match themselves, unless (?X) is on."""

_CLASS_SETS = frozenset(b"dDwWsShHvV")
_POSIX = frozenset(
    b"alpha lower upper alnum ascii blank cntrl digit graph print punct space word xdigit".split()
)
_MAX_BYTE = 255
_MAX_NUMBER = 2**31 - 10


class Means(Enum):
    """What an escape stands for."""

    BYTE = auto()  # one byte, in `number`
    LETTER = auto()  # something that has a letter: a set, an assertion, \K, \Q, \E; in `number`
    REFERENCE = auto()  # a back reference, to the group in `number`
    NAME = auto()  # \k or \g{name}: a name between < >, ' ' or { } follows
    CALL = auto()  # \g< or \g': a call of a group follows


class Escape(NamedTuple):
    """An escape that was read. Units: `end` is the index of the first byte behind it."""

    means: Means
    number: int
    end: int


def literal(byte: int) -> bytes:
    """Return one byte so that PCRE2 takes it for itself everywhere, in a class as well."""
    return bytes((byte,)) if byte in _ALPHANUMERIC else b"\\x%02x" % byte


def small(digits: bytes) -> int:
    """Return a number, or for one of many digits another that is beyond every limit as well."""
    return int(digits.lstrip(b"0")[:12] or b"0")


def is_count(pattern: bytes, at: int) -> bool:
    """Return whether a count such as `{2}`, `{2,}` or `{2,5}` opens at this brace."""
    return count(pattern, at) is not None


def count(pattern: bytes, at: int) -> tuple[int, int | None, int] | None:
    """Return least, most (None: no limit) and where the count ends; None: the brace is literal."""
    if pattern[at] != 0x7B:
        return None
    behind = _run(pattern, at + 1, DIGITS)
    if behind == at + 1:
        return None
    least, most = small(pattern[at + 1 : behind]), None
    if pattern[behind] == 0x7D:
        return least, least, behind + 1
    if pattern[behind] != 0x2C:
        return None
    end = _run(pattern, behind + 1, DIGITS)
    if pattern[end] != 0x7D:
        return None
    if end > behind + 1:
        most = small(pattern[behind + 1 : end])
    return least, most, end + 1


def read_escape(pattern: bytes, at: int, captures: int, *, in_class: bool, strict: bool) -> Escape:
    """Read the escape whose backslash stands at `at`; `captures` groups were opened before it.

    Raises: BadPattern.
    """
    letter = pattern[at + 1]
    end = at + 2
    if letter == 0:
        raise BadPattern("a backslash at the end", at)
    if letter not in _ALPHANUMERIC:
        return Escape(Means.BYTE, letter, end)
    if letter in _CONTROLS:
        return Escape(Means.BYTE, _CONTROLS[letter], end)
    if letter in b"lLuU":
        raise BadPattern(f"PCRE has no \\{chr(letter)}", at)
    if letter in DIGITS:
        return _digits(pattern, at, captures, in_class=in_class)
    if letter == ord("x"):
        return _hexadecimal(pattern, at)
    if letter == ord("o"):
        return _octal(pattern, at)
    if letter == ord("c"):
        return _control(pattern, at)
    if letter == ord("g"):
        return Escape(Means.BYTE, letter, end) if in_class else _reference(pattern, at, captures)
    if letter in _PLAIN_LETTERS:
        if strict:
            raise BadPattern(f"\\{chr(letter)} means nothing, and (?X) forbids that", at)
        return Escape(Means.BYTE, letter, end)
    if letter == ord("N") and pattern[end] == 0x7B and not is_count(pattern, end):
        raise BadPattern("PCRE knows no characters by name, \\N{...}", at)
    return Escape(Means.NAME if letter == ord("k") else Means.LETTER, letter, end)


def _digits(pattern: bytes, at: int, captures: int, *, in_class: bool) -> Escape:
    """Read a back reference or up to three octal digits: the number of groups so far decides."""
    first = at + 1
    if pattern[first] != ord("0"):
        if not in_class:
            end = _run(pattern, first, DIGITS)
            number = _number(pattern[first:end], at)
            if number < 8 or number <= captures:
                return Escape(Means.REFERENCE, number, end)
        if pattern[first] >= ord("8"):
            return Escape(Means.BYTE, pattern[first], first + 1)
    end = first + 1
    while end < first + 3 and pattern[end] in _OCTAL:
        end += 1
    return _byte(int(pattern[first:end], 8), at, end)


def _hexadecimal(pattern: bytes, at: int) -> Escape:
    start = at + 2
    if pattern[start] == 0x7B:
        end = _run(pattern, start + 1, _HEX)
        if pattern[end] != 0x7D or end == start + 1:
            raise BadPattern("\\x{ needs hexadecimal digits and a closing brace", at)
        return _byte(int(pattern[start + 1 : end], 16), at, end + 1)
    end = start
    while end < start + 2 and pattern[end] in _HEX:
        end += 1
    return Escape(Means.BYTE, int(pattern[start:end] or b"0", 16), end)


def _octal(pattern: bytes, at: int) -> Escape:
    start = at + 3
    end = _run(pattern, start, _OCTAL) if pattern[at + 2] == 0x7B else start
    if end == start or pattern[end] != 0x7D:
        raise BadPattern("\\o needs octal digits between braces", at)
    return _byte(int(pattern[start:end], 8), at, end + 1)


def _byte(value: int, at: int, end: int) -> Escape:
    if value > _MAX_BYTE:
        raise BadPattern("ProxySQL's PCRE works on bytes: no character beyond 255", at)
    return Escape(Means.BYTE, value, end)


def _control(pattern: bytes, at: int) -> Escape:
    letter = pattern[at + 2]
    if letter == 0 or letter > 127:
        raise BadPattern("\\c needs an ASCII character behind it", at)
    return Escape(Means.BYTE, ord(chr(letter).upper()) ^ 0x40, at + 3)


def _reference(pattern: bytes, at: int, captures: int) -> Escape:
    r"""Read what follows `\g` outside of a class."""
    start = at + 2
    if pattern[start] in b"<'":
        return Escape(Means.CALL, 0, start)
    braced = pattern[start] == 0x7B
    if braced:
        inner = _run(pattern, start + 1, DIGITS | {0x2D})
        if pattern[inner] not in b"\0}":
            return Escape(Means.NAME, ord("g"), start)
        start += 1
    backwards = pattern[start] == 0x2D
    start += backwards
    end = _run(pattern, start, DIGITS)
    number = _number(pattern[start:end] or b"0", at)
    if number == 0 or (braced and pattern[end] != 0x7D):
        raise BadPattern("\\g needs the number or the name of a group", at)
    if backwards:
        if number > captures:
            raise BadPattern(NO_SUCH_GROUP, at)
        number = captures - number + 1
    return Escape(Means.REFERENCE, number, end + braced)


NO_SUCH_GROUP = "reference to a group that does not exist"


def _number(digits: bytes, at: int) -> int:
    if small(digits) > _MAX_NUMBER:
        raise BadPattern("the number is too big", at)
    return small(digits)


def _run(pattern: bytes, at: int, of: frozenset[int]) -> int:
    """Return the index of the first byte from `at` on that is not one of these."""
    while pattern[at] in of:
        at += 1
    return at


# Classes ----------------------------------------------------------------------------------------


def read_class(pattern: bytes, at: int, *, strict: bool) -> tuple[bytes, int]:
    """Return the class that opens at `at` in PCRE2's words, and the index behind it.

    Each single byte is written out as such, so a hyphen that PCRE1 takes literally stays literal.
    Raises: BadPattern.
    """
    if pattern[at + 1] in b":.=" and _posix_end(pattern, at):
        raise BadPattern("[:name:], [.x.] and [=x=] have a meaning only inside brackets", at)
    parts = [b"["]
    i = at + 1
    while True:
        if pattern.startswith((b"\\E", b"\\Q\\E"), i):
            i += 2 if pattern[i + 1] == ord("E") else 4
        elif pattern[i] == ord("^") and len(parts) == 1:
            parts.append(b"^")
            i += 1
        else:
            break
    quoted = False
    first = True
    while first or quoted or pattern[i] != ord("]"):
        first = False
        if pattern[i] == 0:
            raise BadPattern("a [ without its ]", at)
        if not quoted and pattern[i] == ord("[") and (end := _posix_end(pattern, i)):
            parts.append(_posix(pattern, i, end))
            i = end + 2
            continue
        if pattern.startswith(b"\\E", i):
            quoted = False
            i += 2
            continue
        low, text, i = _class_item(pattern, i, quoted=quoted, strict=strict)
        if text is not None:
            quoted = quoted or text == b"\\Q"
            parts.append(b"" if text == b"\\Q" else text)
            continue
        while pattern.startswith(b"\\E", i):
            quoted = False
            i += 2
        if not quoted and pattern[i] == ord("-"):
            high, quoted, end = _range_end(pattern, i, strict=strict)
            if high is not None:
                if high < low:
                    raise BadPattern("a range from high to low in brackets", i)
                parts.append(literal(low) + b"-" + literal(high))
                i = end
                continue
        parts.append(literal(low))
    parts.append(b"]")
    return b"".join(parts), i + 1


def _class_item(
    pattern: bytes, i: int, *, quoted: bool, strict: bool
) -> tuple[int, bytes | None, int]:
    r"""Return a byte (no text), or what PCRE2 calls a set of bytes; `\Q` for the start of quoting.

    Shape: byte, text or None, index behind.
    """
    if quoted or pattern[i] != ord("\\"):
        return pattern[i], None, i + 1
    escape = read_escape(pattern, i, 0, in_class=True, strict=strict)
    if escape.means is Means.BYTE:
        return escape.number, None, escape.end
    letter = escape.number
    if letter == ord("b"):
        return 8, None, escape.end
    if letter == ord("Q"):
        return 0, b"\\Q", escape.end
    if letter in _CLASS_SETS:
        return 0, b"\\%c" % letter, escape.end
    if letter in b"pPN" or strict:
        reason = NO_UNICODE if letter in b"pP" else f"\\{chr(letter)} cannot stand in brackets"
        raise BadPattern(reason, i)
    return letter, None, escape.end


NO_UNICODE = r"ProxySQL's PCRE knows no Unicode properties: no \p, \P, \X"


def _range_end(pattern: bytes, hyphen: int, *, strict: bool) -> tuple[int | None, bool, int]:
    """Return the upper end of a range (None: no range), if quoting began, and where it ends."""
    i = hyphen + 1
    quoted = False
    while pattern.startswith(b"\\E", i):
        i += 2
    while pattern.startswith(b"\\Q", i):
        i += 2
        if not pattern.startswith(b"\\E", i):
            quoted = True
            break
        i += 2
    if pattern[i] == 0 or (pattern[i] == ord("]") and not quoted):
        return None, False, hyphen
    if quoted or (pattern[i] != ord("\\") and not _posix_end(pattern, i)):
        return pattern[i], quoted, i + 1
    if pattern[i] == ord("\\"):
        escape = read_escape(pattern, i, 0, in_class=True, strict=strict)
        if escape.means is Means.BYTE:
            return escape.number, False, escape.end
        if escape.number == ord("b"):
            return 8, False, escape.end
    raise BadPattern("a range in brackets that does not end in a character", i)


def _posix_end(pattern: bytes, at: int) -> int:
    """Return where `:]` of a POSIX name that opens at `at` stands, or 0 if there is none."""
    mark = pattern[at + 1]
    if pattern[at] != ord("[") or mark not in b":.=":
        return 0
    i = at + 2
    while pattern[i]:
        if pattern[i] == ord("\\") and pattern[i + 1] in b"]\\":
            i += 1
        elif pattern[i] == ord("]") or (pattern[i] == ord("[") and pattern[i + 1] == mark):
            return 0
        elif pattern[i] == mark and pattern[i + 1] == ord("]"):
            return i
        i += 1
    return 0


def _posix(pattern: bytes, at: int, end: int) -> bytes:
    name = pattern[at + 2 : end]
    if pattern[at + 1] != ord(":"):
        raise BadPattern("PCRE knows no [.x.] and no [=x=]", at)
    if name.removeprefix(b"^") not in _POSIX:
        raise BadPattern(f"[:{name.decode('ascii', 'replace')}:] is no POSIX class", at)
    return pattern[at : end + 2]
