r"""What replace_pattern makes of a query: `\1` is a group, `\\` a backslash, else a mistake.

Both engines stop at a mistake. A single replacement is then not made; one of all matches keeps what
was written before the mistake.
"""

from __future__ import annotations

from proxyctl.routing.regex.pattern import Spans


def rewritten(template: bytes, subject: bytes, spans: Spans, known: int) -> tuple[bytes, bool]:
    """Return the text for one match, and whether the template had no mistake.

    Shape: `known` counts the groups that may be named, the whole match among them.
    """
    parts = []
    at = 0
    while True:
        found = template.find(b"\\", at)
        if found < 0:
            parts.append(template[at:])
            return b"".join(parts), True
        parts.append(template[at:found])
        letter = template[found + 1 : found + 2]
        if letter.isdigit() and int(letter) < known:
            start, end = spans[int(letter)] if int(letter) < len(spans) else (-1, -1)
            parts.append(subject[start:end] if start >= 0 else b"")
        elif letter == b"\\":
            parts.append(letter)
        else:
            return b"".join(parts), False
        at = found + 2


def highest_group(template: bytes) -> int:
    """Return the highest group that a template names, 0 without one."""
    highest = at = 0
    while (at := template.find(b"\\", at)) >= 0:
        letter = template[at + 1 : at + 2]
        if letter.isdigit():
            highest = max(highest, int(letter))
        at += 2
    return highest
