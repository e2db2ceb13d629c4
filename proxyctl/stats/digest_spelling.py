"""How ProxySQL prints a digest: nearly every version as `0x` and sixteen capital digits.

2.5.2 to 2.6.4 print small letters and no leading zeros, 2.6.5 and 2.7.0 blanks for the zeros. One
digest has to read the same everywhere: rules, files of digests and other instances know it too.
Source: stats___mysql_query_digests of each release; 2.5.5 and 2.7.1 run.
"""

from __future__ import annotations

import re

from proxyctl.catalog import Version

_DIGEST = re.compile(r"0x *([0-9A-Fa-f]{1,16})\Z")


def as_usual(text: str) -> str:
    """Return a digest as nearly every version prints it; another text stays as it is."""
    found = _DIGEST.match(text)
    return f"0x{found[1].upper():0>16}" if found else text


def spellings(digest: str) -> list[str]:
    """Return all the ways in which some version prints a digest; the usual one comes first."""
    usual = as_usual(digest)
    if not _DIGEST.match(usual):
        return [digest]
    digits = usual[2:].lstrip("0") or "0"
    return list(dict.fromkeys((usual, f"0x{digits.lower()}", f"0x{digits:>16}")))


def digest_column(version: Version) -> str:
    """Return the SQL that gives the column `digest` of a version as usual."""
    if version < (2, 5, 2) or version == (2, 6, 6) or version >= (2, 7, 1):
        return "digest"
    return "'0x'||substr('0000000000000000'||upper(trim(substr(digest,3))),-16)"
