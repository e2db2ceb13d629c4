"""Statements that ProxySQL handles by itself, and hints in the first comment.

The session has just begun: no transaction, autocommit on, no locked hostgroup.
Source: ProxySQL 2.7.1, lib/MySQL_Session.cpp, and run.
"""

from __future__ import annotations

import re
from enum import Enum, StrEnum
from typing import NamedTuple

from proxyctl.catalog.variable_rules import atoi
from proxyctl.routing.set_statements import LONGEST_AS_NAMES, SetReading, is_charset


class Stage(Enum):
    """When ProxySQL handles a statement by itself."""

    BEFORE_RULES = "rules are not evaluated"
    BEFORE_MESSAGES = "rules count their hits; OK_msg and error_msg have no effect"
    AFTER_MESSAGES = "rules count their hits"


class Reply(StrEnum):
    """What the client gets from ProxySQL instead of a server's result."""

    OK = "OK"
    ROWS = "rows"
    ERROR = "error"
    UNKNOWN = "unknown"
    """Whether ProxySQL answers, or which hostgroup gets the statement, cannot be predicted."""


class Special(NamedTuple):
    """A statement that ProxySQL handles by itself, and the effect, in a new session."""

    effect: str
    stage: Stage
    reply: Reply | None = None
    """None: a server gets the statement."""
    errno: int | None = None
    """The number of an error, if it is always the same."""
    goes_home: bool = False
    """Whether the statement goes to default_hostgroup, whatever rules and hints say."""
    is_set: bool = False
    """Whether it is a SET that a server may get: next_query_flagIN of its rules is forgotten."""

    @property
    def is_answered(self) -> bool:
        """Whether surely nothing goes to a backend."""
        return self.reply not in (None, Reply.UNKNOWN)


_BEFORE, _AFTER = Stage.BEFORE_RULES, Stage.AFTER_MESSAGES
_OWN_ANSWER = Special("ProxySQL answers it itself", _BEFORE, Reply.ROWS)
_NO_DOLLARS = Special("ProxySQL answers like a server without dollar quotes", _BEFORE, Reply.ERROR)
_NO_TRANSACTION = Special(
    "ProxySQL answers OK if no transaction is open; otherwise it goes to the hostgroup of the"
    " transaction",
    _BEFORE,
    Reply.OK,
)
_KEPT = Special("ProxySQL answers OK and keeps the setting for the session", _BEFORE, Reply.OK)
_KEPT_OUTSIDE = _KEPT._replace(effect=f"{_KEPT.effect}; in a transaction it goes to that hostgroup")
_REFUSED = Special(
    "ProxySQL refuses it unless mysql-enable_load_data_local_infile is true",
    _BEFORE,
    Reply.ERROR,
    errno=1047,
)
_NO_WARNINGS = Special("ProxySQL has no warnings without digests", _BEFORE, Reply.ROWS)
USE = Special(
    "ProxySQL changes the session's schema and sends no query", Stage.BEFORE_MESSAGES, Reply.OK
)
_USE_REFUSED = Special(
    "ProxySQL refuses USE without a name and USE followed by other statements",
    Stage.BEFORE_MESSAGES,
    Reply.ERROR,
    errno=1148,
)
_SET_KEPT = Special(_KEPT.effect, _AFTER, Reply.OK)
_SET_LOCKS = Special(
    "ProxySQL does not keep such a setting: the statement goes where the rules say and locks the"
    " session to that hostgroup",
    _AFTER,
    is_set=True,
)
_SET_BATCH = Special(
    "several statements that begin with SET go where the rules say and lock the session to that"
    " hostgroup",
    _AFTER,
    is_set=True,
)
_SET_UNLOCKED = Special(
    "ProxySQL does not keep such a setting, and the session is not locked: the statement goes to"
    " default_hostgroup, whatever rules and hints say",
    _AFTER,
    goes_home=True,
    is_set=True,
)
_SET_UNREADABLE = Special(
    "ProxySQL cannot read the value: the statement goes to default_hostgroup, whatever rules and"
    " hints say, and changes only one connection",
    _AFTER,
    goes_home=True,
    is_set=True,
)
_NO_CHARSET = Special("ProxySQL does not know the character set", _AFTER, Reply.ERROR, errno=1115)
_SET_ABORTS = Special(
    "an unknown character set makes ProxySQL abort: all clients lose their connections",
    _AFTER,
    Reply.ERROR,
)
_SET_UNKNOWN = Special(
    "whether ProxySQL answers it or sends it on is known only for mysql-set_parser_algorithm=2",
    _AFTER,
    Reply.UNKNOWN,
    is_set=True,
)
_WARNINGS = Special(
    "it goes to the hostgroup of the query that had warnings; without warnings ProxySQL answers",
    _AFTER,
    Reply.ROWS,
)
_ANSWERED_LATE = Special(_OWN_ANSWER.effect, _AFTER, Reply.ROWS)
LAST_INSERT_ID = Special(
    "it goes to the hostgroup of the session's last write, if its connection is still there, and is"
    " never cached",
    _AFTER,
)
_OWN_LAST_INSERT = Special(
    "it goes to the hostgroup of the session's last write, otherwise ProxySQL answers it itself",
    _AFTER,
    Reply.ROWS,
)
_KILL = Special("ProxySQL kills its own session with this number", _AFTER, Reply.OK)

_FIRST_WORDS = re.compile(rb"(?:commit|rollback|set |select |proxysql |load |show )", re.IGNORECASE)
_OWN_EXACT = frozenset({b"select @@version_comment limit 1", b"select USER()"})
_OWN_ANY_CASE = frozenset(
    {
        b"select database(), user() limit 1",
        b"select @@character_set_client, @@character_set_connection, @@character_set_server,"
        b" @@character_set_database limit 1",
    }
)
_LONGEST_OWN = max(map(len, _OWN_ANY_CASE))
_AUTOCOMMIT = re.compile(
    rb"set (?:@@session\.)?autocommit *=[ /]*(?:[01](?:[ /].*)?|(?:on|off|true|false).*)",
    re.IGNORECASE | re.DOTALL,
)
_NAMES = re.compile(
    rb"set names +(['\"`]?)(\w+)\1(?: +collate +(['\"`]?)(\w+)\3)? *", re.IGNORECASE
)
_CHARSET_AS_NAMES = re.compile(
    rb"set session character_set_(?:server|results)[^=]*= *(['\"`]?)(\w+)\1 *", re.IGNORECASE
)
"""ProxySQL reads these as SET NAMES."""
_INTERNAL = re.compile(rb"proxysql internal .", re.IGNORECASE | re.DOTALL)
_LOAD_DATA = re.compile(rb"load data local infile", re.IGNORECASE)
_LATE = re.compile(
    rb"(?P<use>use[ `])|(?P<set>set )|(?P<warnings>show (?:count\(\*\) )?warnings$)|(?P<kill>kill)",
    re.IGNORECASE,
)
_KILL_STATEMENT = re.compile(rb"kill\s+(?:connection\s+|query\s+|)\d+\s*", re.IGNORECASE)
_USE_WITHOUT_DIGESTS = re.compile(rb"use .", re.IGNORECASE | re.DOTALL)
_CONNECTION_ID = b"SELECT CONNECTION_ID()"
_COMMENTS_OF_USE = re.compile(rb"/\*.*?\*/|(?:#|--).*?(?=\n|$)", re.DOTALL)
_COMMENTS = re.compile(rb"/\*.*?\*/|--[ \t].*?(?:\n|$)|#.*?(?:\n|$)", re.DOTALL)
_LAST_INSERT_EXACT = frozenset(
    {
        b"SELECT LAST_INSERT_ID()",
        b"SELECT LAST_INSERT_ID() FROM DUAL",
        b"SELECT LAST_INSERT_ID() LIMIT 1",
        b"SELECT @@IDENTITY",
        b"SELECT @@IDENTITY LIMIT 1",
    }
)
_WARNINGS_EXACT = frozenset({b"show warnings", b"show count(*) warnings"})
_LONGEST_NAMES = 94


def before_rules(
    query: bytes, *, with_digests: bool = True, loads_local_files: bool = False
) -> Special | None:
    """Return what ProxySQL does with a statement that it handles before the rules, or None.

    `loads_local_files`: mysql-enable_load_data_local_infile.
    """
    if not _FIRST_WORDS.match(query):
        return None
    lower = query.lower() if len(query) <= _LONGEST_OWN else b""
    if lower in (b"commit", b"rollback"):
        return _NO_TRANSACTION
    if lower in _OWN_ANY_CASE or query in _OWN_EXACT or _INTERNAL.match(query):
        return _OWN_ANSWER
    if lower == b"select $$":
        return _NO_DOLLARS
    if _AUTOCOMMIT.fullmatch(query):
        return _KEPT_OUTSIDE
    names = _NAMES.fullmatch(query) if len(query) <= _LONGEST_NAMES else None
    if names is not None and is_charset(*filter(None, names.group(2, 4))):
        return _KEPT
    as_names = _CHARSET_AS_NAMES.fullmatch(query) if len(query) <= LONGEST_AS_NAMES else None
    if as_names is not None and is_charset(as_names[2]):
        return _KEPT
    if not with_digests and lower in _WARNINGS_EXACT:
        return _NO_WARNINGS
    return _REFUSED if not loads_local_files and _LOAD_DATA.match(query) else None


def of_use(query: bytes, digest_text: bytes | None) -> Special | None:
    """Return what ProxySQL does with USE as the client sent it; None for another statement.

    Rules cannot rewrite USE. Shape: `digest_text` None with digests off.
    """
    if digest_text is None:
        is_use = _USE_WITHOUT_DIGESTS.match(query) is not None
    else:
        match = _LATE.match(digest_text)
        is_use = match is not None and match["use"] is not None
    if not is_use:
        return None
    schemaname = _COMMENTS_OF_USE.sub(b"", query).rstrip(b" ;").strip()[len(b"use") :].strip()
    return _USE_REFUSED if not schemaname or b";" in schemaname else USE


def of_set(reading: SetReading, *, can_lock: bool, has_multiplex: bool) -> Special:
    """Return what ProxySQL does with a SET.

    `can_lock`: mysql-set_query_lock_on_hostgroup. `has_multiplex`: a rule sets multiplex, so that
    an unknown variable locks nothing.
    """
    match reading:
        case SetReading.KEPT:
            return _SET_KEPT
        case SetReading.NO_CHARSET:
            return _NO_CHARSET
        case SetReading.ABORTS:
            return _SET_ABORTS
        case SetReading.UNREADABLE:
            return _SET_UNREADABLE
        case SetReading.BATCH if can_lock:
            return _SET_BATCH
        case SetReading.FOREIGN if can_lock and not has_multiplex:
            return _SET_LOCKS
        case SetReading.UNKNOWN:
            return _SET_UNKNOWN
    return _SET_UNLOCKED


def is_set(digest_text: bytes | None) -> bool:
    """Return whether a statement is SET; with digests off ProxySQL does not look."""
    match = None if digest_text is None else _LATE.match(digest_text)
    return match is not None and match["set"] is not None


def after_rules(query: bytes, digest_text: bytes | None) -> Special | None:
    """Return what ProxySQL does after the rules with a statement other than USE and SET, or None.

    Shape: the query and its digest text as rewritten; `digest_text` None with digests off.
    """
    if query.upper() == _CONNECTION_ID:
        return _ANSWERED_LATE
    if digest_text is None:
        return None
    match = _LATE.match(digest_text)
    if match is not None:
        if match["warnings"]:
            return _WARNINGS
        if match["kill"]:
            plain = _COMMENTS.sub(b"", query).strip()
            return _KILL if _KILL_STATEMENT.fullmatch(plain) else None
        return None
    text = digest_text.upper()
    if b"LAST_INSERT_ID" in text or b"@@IDENTITY" in text:
        return _OWN_LAST_INSERT if query.upper() in _LAST_INSERT_EXACT else LAST_INSERT_ID
    return None


# Hints ------------------------------------------------------------------------------------------

_NUMBERS = {
    b"cache_ttl": "cache_ttl",
    b"query_delay": "delay",
    b"query_retries": "retries",
    b"query_timeout": "timeout",
    b"hostgroup": "destination_hostgroup",
    b"mirror": "mirror_hostgroup",
    b"max_lag_ms": "max_lag_ms",
}
_MAX_LAG_MS = 600_000
_SPACES = re.compile(rb"[ \t\n\v\f\r]+")
_GTID = re.compile(rb"[^:]+:.")


def hints(comment: bytes) -> dict[str, int | str]:
    """Return the values that a comment sets, by the names of Settings and `destination_hostgroup`.

    ProxySQL reads hints such as `/* hostgroup=2; cache_ttl=1000 */` after rules and fast routing;
    they override both, even a rule with apply. The key min_epoch_ms is left out: its meaning
    depends on the time of day.
    Source: ProxySQL 2.7.1, lib/Query_Processor.cpp query_parser_first_comment, and run.
    """
    hinted: dict[str, int | str] = {}
    for item in comment.split(b";"):
        parts = [part for part in item.split(b"=") if part]
        key = _trimmed(parts[0]).lower() if parts else b""
        value = _trimmed(parts[1]) if len(parts) > 1 else b""
        name = _NUMBERS.get(key)
        if name is not None and value[:1].isdigit():
            number = atoi(value.decode("ascii", "replace"))
            if name != "max_lag_ms" or 0 <= number <= _MAX_LAG_MS:
                hinted[name] = number
        elif key == b"min_gtid" and _GTID.match(value):
            hinted["min_gtid"] = value.decode("utf-8", "surrogateescape")
        elif key == b"create_new_connection" and atoi(value.decode("ascii", "replace")) == 1:
            hinted["create_new_connection"] = 1
    return hinted


def _trimmed(text: bytes) -> bytes:
    """Return the text without blanks around it, and with one blank for each run of white space."""
    return _SPACES.sub(b" ", text).strip(b" ")
