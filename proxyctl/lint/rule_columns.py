"""What ProxySQL makes of client_addr, digest and re_modifiers of a rule, where it misreads them."""

from __future__ import annotations

import re

from proxyctl.cells import MODIFIERS, normal_digest, normal_modifiers

_IGNORED = "has a word that ProxySQL ignores"
_DIGEST = re.compile(r"0[xX][0-9A-Fa-f]{1,16}\Z")


def digest_problem(text: str) -> str | None:
    """Return what ProxySQL takes a digest for that is not written as one; None if it is right.

    '' is no criterion, and right.
    """
    if not text or (_DIGEST.match(text) and int(text, 16)):
        return None
    read = normal_digest(text)
    if read is not None:
        return f"is no digest as it is written: ProxySQL takes it for {read}"
    return "is no digest: ProxySQL drops the criterion, and the rule matches every query"


def modifiers_problem(text: str) -> str | None:
    """Return what ProxySQL makes of a word that is not one it knows; None if it knows them all."""
    for word in text.split(",") if text else ():
        if word.upper() in MODIFIERS:
            continue
        read = normal_modifiers(word)
        if not word.strip():
            return "has an empty word"
        return f"has a word that ProxySQL takes for {read}" if read else _IGNORED
    return None
