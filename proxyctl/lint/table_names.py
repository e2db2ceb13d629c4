"""Names of tables in patterns whose end is open, so that longer names match as well."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

_GAP = r"(?:\ |\\\ |\\s[+*]?|\[\[:space:\]\][+*]?|\+|`|\\`|\?)+"
_SCHEMA = r"(?:\w+`?\??(?:\.|\\\.)`?\??)"
_OPEN_END = r"\)*(?P<end>`\?\)*)?(?P<rest>\Z|\.[*+].*)"
_BEHIND_KEYWORD = re.compile(
    rf"""(?: \b (?: FROM | INTO | UPDATE | JOIN | TABLE ) \)? {_GAP} (?: [\w.`]+, )* | \A, )
        (?: {_SCHEMA} (?=\() )? (?: \( (?:\?:)? (?: [\w.]+ \| )* )?
        (?P<name> {_SCHEMA}? [A-Za-z_]\w* ) {_OPEN_END}""",
    re.VERBOSE | re.IGNORECASE,
)
_ALONE = re.compile(
    rf"""\A (?: \(\^\|\[\^[^\]]*\]\) | \[\^[^\]]*\] | \\b | \.\* )?
        (?P<name> {_SCHEMA}? [A-Za-z_]\w* ) {_OPEN_END}""",
    re.VERBOSE,
)
_NO_TABLE = re.compile(
    r"""(?: nowait | skip | of | dual | if | outfile | dumpfile | select | set | table | values
        | ignore | low_priority | quick | delayed | lateral | only | temporary
        | information_schema | performance_schema | mysql | sys ) (?: [.\\].* )?""",
    re.VERBOSE | re.IGNORECASE,
)
_OTHER_FROM = re.compile(
    r"\bKEY(?:\W|\\s)+\Z|\b(?:EXTRACT|TRIM|SUBSTR|SUBSTRING|MID)[ ?]*\\?\([^)]*\Z", re.IGNORECASE
)
"""What stands before a keyword that no table follows."""

_SQL_WITH_DIGIT = re.compile(
    r"sha[12]|md5|crc32|log2|log10|atan2|ucs2|utf\d+\w*|latin\d+|int\d|float\d", re.IGNORECASE
)
_KEYWORD = re.compile(
    r"""all|and|as|begin|between|by|call|case|columns|commit|count|create|database|delete|desc
        |describe|distinct|drop|explain|from|group|having|in|insert|interval|into|join|key|kill
        |left|like|limit|load|lock|max|min|not|on|optimize|or|order|rename|replace|right|rollback
        |select|set|show|start|sum|table|tables|transaction|trigger|truncate|union|unlock|update
        |use|user|values|variables|view|where|with|write""",
    re.VERBOSE,
)
_NAME = re.compile(r"[A-Za-z_]\w*")


class OpenName(NamedTuple):
    """A name that nothing ends. `is_last` means that the pattern ends with it."""

    name: str
    is_last: bool


def open_name(pattern: str) -> OpenName | None:
    """Return the name of a table behind a word such as FROM, if nothing ends it."""
    for found in _BEHIND_KEYWORD.finditer(pattern):
        if not _OTHER_FROM.search(pattern, 0, found.start()):
            return _open(found)
    return None


def lone_name(pattern: str, longer: Sequence[str]) -> OpenName | None:
    """Return the name that is all of a pattern.

    A word alone may be SQL. It counts as a name when it ends with a digit, or when it is the
    beginning of one of the `longer` names, which are sorted and in lower case.
    """
    found = _ALONE.match(pattern)
    made = None if found is None else _open(found)
    if made is None:
        return None
    word = _NAME.findall(made.name)[-1].lower()
    if _SQL_WITH_DIGIT.fullmatch(word) or _KEYWORD.fullmatch(word):
        return None
    place = bisect_right(longer, word)
    has_longer = place < len(longer) and longer[place].startswith(word)
    return made if has_longer or word[-1].isdigit() else None


def is_keyword(word: str) -> bool:
    """Return whether a word alone is rather SQL than the name of a table."""
    return _KEYWORD.fullmatch(word.lower()) is not None


def names_in(pattern: str) -> frozenset[str]:
    r"""Return the words of a pattern, in lower case. The `b` of `\b` is none of them."""
    plain = re.sub(r"\\[A-Za-z]", " ", pattern)
    return frozenset(word.lower() for word in _NAME.findall(plain))


def _open(found: re.Match[str]) -> OpenName | None:
    name = found["name"].replace("`", "").replace("?", "")
    # `FROM archive_` is the beginning of many names, and meant to be.
    if name.endswith("_") or _NO_TABLE.fullmatch(name):
        return None
    return OpenName(name, is_last=not found["end"] and not found["rest"])
