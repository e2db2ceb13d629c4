"""How ProxySQL reads SET: what it keeps for the session, and what it passes on.

The session is new: no hostgroup is locked. Everything is as with mysql-set_parser_algorithm=2.
Source: ProxySQL 2.7.1 and 3.0.3, run (`tests/real/test_set_statements.py`), and
lib/MySQL_Session.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import Enum
from functools import cache

from proxyctl.catalog.charsets import is_known_charset
from proxyctl.catalog.releases import IGNORES_SESSION_TRACKING, Version


class SetReading(Enum):
    """What ProxySQL makes of a SET."""

    KEPT = "every variable and value is understood"
    FOREIGN = "it names an unknown variable, a user variable or a value of a different type"
    UNREADABLE = "ProxySQL knows the variable but cannot parse the value"
    BATCH = "other statements follow it"
    NO_CHARSET = "the character set is unknown"
    ABORTS = "the character set is unknown, and ProxySQL aborts"
    UNKNOWN = "what it depends on is not known here"


_BOOLEANS = frozenset(
    b"aurora_read_replica_read_committed foreign_key_checks innodb_strict_mode innodb_table_locks"
    b" sql_auto_is_null sql_big_selects sql_generate_invisible_primary_key sql_log_bin"
    b" sql_quote_show_create sql_require_primary_key sql_safe_updates tx_read_only"
    b" unique_checks".split()
)
_NUMBERS = frozenset(
    b"auto_increment_increment auto_increment_offset group_concat_max_len innodb_lock_wait_timeout"
    b" join_buffer_size lock_wait_timeout long_query_time max_execution_time max_heap_table_size"
    b" max_join_size max_sort_length max_statement_time optimizer_prune_level"
    b" optimizer_search_depth optimizer_use_condition_selectivity query_cache_type"
    b" sort_buffer_size sql_select_limit timestamp tmp_table_size wsrep_sync_wait".split()
)
_WORDS_FOR_NUMBERS = {
    b"sql_select_limit": (b"default",),
    b"max_join_size": (b"default",),
    b"query_cache_type": (b"on", b"off", b"true", b"false", b"demand"),
}
_TEXTS = frozenset(
    b"autocommit default_storage_engine default_tmp_storage_engine group_replication_consistency"
    b" lc_messages lc_time_names log_slow_filter optimizer_switch time_zone"
    b" wsrep_osu_method".split()
)
_CHARSETS = frozenset(
    b"character_set_client character_set_connection character_set_database character_set_results"
    b" collation_connection".split()
)
_IGNORED = frozenset(
    b"interactive_timeout net_buffer_length net_read_timeout net_write_timeout read_buffer_size"
    b" read_rnd_buffer_size session_track_schema wait_timeout".split()
)
"""ProxySQL answers OK and does nothing, whatever the value."""
_ALSO_IGNORED = frozenset({b"session_track_system_variables"})
_READ_AND_PASSED_ON = frozenset({b"big_tables", b"gtid_next", b"profiling"})
"""ProxySQL reads the value, and does not keep it."""
_OTHERS = (b"sql_mode", b"session_track_gtids", b"tx_isolation")
_NEW_NAMES = {b"transaction_isolation": b"tx_isolation", b"transaction_read_only": b"tx_read_only"}
_KNOWN = (_BOOLEANS | _NUMBERS | _TEXTS | _CHARSETS | _IGNORED | _READ_AND_PASSED_ON).union(
    _OTHERS, _NEW_NAMES
)
_KNOWN_LATER = _KNOWN | _ALSO_IGNORED
_SWITCHES = frozenset({b"0", b"1", b"on", b"off", b"true", b"false"})
_TRACKED_GTIDS = frozenset({b"own_gtid", b"all_gtids", b"off"})
_FUNCTIONS = frozenset({b"concat", b"replace", b"ifnull"})

_SCOPE = rb"(?:|SESSION +|@@|@@session\.|@@local\.)"


@cache
def _begins_with(names: frozenset[bytes]) -> re.Pattern[bytes]:
    listed = b"|".join(sorted(names))
    return re.compile(rb"SET " + _SCOPE + rb"`?(?:" + listed + rb")`? *:?=", re.IGNORECASE)


_TRANSACTION = re.compile(
    rb"SET +(?:SESSION +)?TRANSACTION +(?:ISOLATION +LEVEL +(?:REPEATABLE +READ|READ +COMMITTED"
    rb"|READ +UNCOMMITTED|SERIALIZABLE)|READ +(?:WRITE|ONLY))",
    re.IGNORECASE,
)
_CHARSET = re.compile(rb"SET +(?:CHARSET|CHARACTER +SET) ", re.IGNORECASE)
_CHARSET_NAME = re.compile(rb"(?:CHARSET|CHARACTER +SET) '?([^'|\s]*)", re.IGNORECASE)

# The values that ProxySQL can read ----------------------------------------------------------------


def _values() -> bytes:
    """Return the pattern of a value. The first alternative that matches is taken, as there."""
    argument = rb"""(?:\w+|"[\w, ]+"|'[\w, ]+'|@(?:@(?:session\.|global\.)?)?\w+|'')"""
    arguments = argument + rb"(?: *, *" + argument + rb")*"
    opening = rb"(?:REPLACE|IFNULL|CONCAT)\( *"
    calls = [opening + arguments + rb"\)"]
    for _ in range(3):
        calls.insert(0, opening + calls[0] + rb" *, *" + arguments + rb"\)")
    in_quotes = (
        rb"(?:\w+(?:-\w+)*|\w+(?:,\w+)+|\w+=(?:on|off)(?:,\w+=(?:on|off))*"
        rb"|[+-]\d?\d:\d\d|\w+/\w+| *)"
    )
    quoted = (quote + in_quotes + quote for quote in (b'"', b"'", b"`"))
    others = (rb"NULL", rb"\w+(?:-\w+)*", *quoted, rb"(?: *[+-] *)?\d+(?:\.\d+)?", rb"@@?\w+")
    return b"|".join((*calls, rb"\(SELECT +" + calls[-1] + rb"\)", *others))


_NAME = rb"""("\w+"|'\w+'|`\w+`|\w+)"""


@cache
def _assignment() -> re.Pattern[bytes]:
    return re.compile(
        rb"(?:NAMES *" + _NAME + rb"(?: +COLLATE +" + _NAME + rb")?"
        rb"|" + _SCOPE + rb"(@?\w+|`@?\w+`) *:?= *(" + _values() + rb")) *,? *",
        re.IGNORECASE,
    )


LONGEST_AS_NAMES = 54
"""Longer texts of `SET SESSION character_set_results` are not read as SET NAMES."""
_RESULTS_AS_NAMES = re.compile(rb"SET SESSION character_set_results[^@]*=[^@]*", re.IGNORECASE)
_VERSION_COMMENT = re.compile(rb"^/\*!\d{5} SET(.*)\*/")
_COMMENT = re.compile(rb"/\*.*?\*/")
_SET = re.compile(rb"SET ", re.IGNORECASE)


def _text_after_set(query: bytes) -> bytes:
    """Return the text that ProxySQL reads: without comments, and with single blanks."""
    text = _COMMENT.sub(b"", _VERSION_COMMENT.sub(rb"SET\1", query)).rstrip(b" ;")
    text = b" ".join(text.partition(b"\0")[0].split())
    return _SET.sub(b"", text, count=1).rstrip(b" ;") if _SET.match(text) else text.rstrip(b" ;")


def _unquoted(text: bytes) -> bytes:
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[:1] in b"'\"`" else text


def _assignments(text: bytes) -> dict[bytes, tuple[bytes, ...]]:
    """Return the values by lower-case name; empty if a part of the text cannot be read."""
    found: dict[bytes, tuple[bytes, ...]] = {}
    at = 0
    while match := _assignment().match(text, at):
        charset, collation, name, value = match.groups()
        if charset is not None:
            found[b"names"] = tuple(_unquoted(part) for part in (charset, collation) if part)
        else:
            name = _unquoted(name).lower()
            value = b"" if value in (b"''", b'""') else _unquoted(value.rstrip(b" ,"))
            found[_NEW_NAMES.get(name, name)] = (value,)
        at = match.end()
    return found if at == len(text) else {}


# The verdict --------------------------------------------------------------------------------------


def read_set(
    query: bytes | None, digest_text: bytes, *, version: Version, algorithm: int = 2
) -> SetReading:
    """Return what ProxySQL makes of a SET.

    Shape: `digest_text` begins with "SET "; `query` None if only the digest is known.
    `algorithm`: mysql-set_parser_algorithm.
    """
    if 0 <= digest_text.find(b";") < len(digest_text) - 1:
        return SetReading.BATCH
    ignores_tracking = version.has(IGNORES_SESSION_TRACKING)
    first_known = _begins_with(_KNOWN_LATER if ignores_tracking else _KNOWN)
    lower = digest_text.lower()
    is_read = first_known.match(digest_text) or lower.startswith(b"set names")
    if is_read or b"autocommit" in lower:
        if query is None or algorithm != 2:
            return SetReading.UNKNOWN
        if len(query) <= LONGEST_AS_NAMES and _RESULTS_AS_NAMES.fullmatch(query):
            return SetReading.UNREADABLE  # a known character set is answered before the rules
        assignments = _assignments(_text_after_set(query))
        if not assignments:
            return SetReading.FOREIGN if b"@" in query else SetReading.UNREADABLE
        return _judged(assignments, _IGNORED | _ALSO_IGNORED if ignores_tracking else _IGNORED)
    if _TRANSACTION.match(digest_text):
        return SetReading.KEPT
    if not _CHARSET.match(digest_text):
        return SetReading.FOREIGN
    if query is None:
        return SetReading.UNKNOWN
    charset = _CHARSET_NAME.match(_text_after_set(query))
    if charset is None or not charset[1]:
        return SetReading.FOREIGN
    return SetReading.KEPT if is_charset(charset[1]) else SetReading.NO_CHARSET


def _judged(
    assignments: Mapping[bytes, tuple[bytes, ...]], ignored: Collection[bytes]
) -> SetReading:
    """Return the reading of all assignments, which ProxySQL judges by name."""
    result = SetReading.KEPT
    for name, values in sorted(assignments.items()):
        if name == b"names":
            reading = SetReading.KEPT if is_charset(*values) else SetReading.NO_CHARSET
        elif name in ignored:
            continue
        elif name in _KNOWN and name not in _READ_AND_PASSED_ON:
            reading = _value_reading(name, values[0])
        else:
            result = SetReading.FOREIGN  # the first bad value of the others still decides
            continue
        if reading is not SetReading.KEPT:
            return reading
    return result


def _value_reading(name: bytes, value: bytes) -> SetReading:
    """Return the reading of the value of a variable that ProxySQL keeps."""
    lower = value.lower()
    if name in _BOOLEANS:
        is_kept = lower in _SWITCHES
    elif name in _NUMBERS:
        is_kept = not value.strip(b"0123456789") or lower in _WORDS_FOR_NUMBERS.get(name, ())
    elif name in _TEXTS:
        is_kept = b"@" not in value
    elif name == b"sql_mode":
        is_kept = lower not in _FUNCTIONS and b"@" not in lower.replace(b"@@sql_mode", b"")
    elif name == b"session_track_gtids":
        is_kept = lower in _TRACKED_GTIDS
    elif name in _CHARSETS:
        is_kept = re.fullmatch(rb"[\w$]*", value) is not None
        is_told = name == b"character_set_results" and lower != b"null"
        if is_kept and is_told and not is_charset(value):
            return SetReading.ABORTS
    else:
        is_kept = True
    return SetReading.KEPT if is_kept else SetReading.FOREIGN


def is_charset(*names: bytes) -> bool:
    """Return whether ProxySQL knows a character set, or a character set and its collation."""
    return is_known_charset(*(name.decode("latin-1") for name in names))
