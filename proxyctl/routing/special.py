"""Statements that ProxySQL handles by itself, and hints in the first comment.

The session has just begun: no transaction, autocommit on, no locked hostgroup.
Source: ProxySQL 2.7.1, lib/MySQL_Session.cpp, and run.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from proxyctl.catalog.variable_rules import atoi


class Stage(Enum):
    """When ProxySQL handles a statement by itself."""

    BEFORE_RULES = "rules are not evaluated"
    BEFORE_MESSAGES = "rules count their hits; OK_msg and error_msg come too late"
    AFTER_MESSAGES = "rules count their hits, and OK_msg and error_msg are sent instead"


class Special(NamedTuple):
    """A statement that ProxySQL handles by itself, and the effect."""

    effect: str
    stage: Stage
    is_answered: bool = True
    """Whether nothing goes to a backend in a new session."""


_OWN_ANSWER = Special("ProxySQL answers it by itself", Stage.BEFORE_RULES)
_NO_TRANSACTION = Special(
    "ProxySQL answers OK while no transaction is open; in one it goes where the transaction is",
    Stage.BEFORE_RULES,
)
_KEPT = Special("ProxySQL answers OK and keeps the setting for the session", Stage.BEFORE_RULES)
_KEPT_OUTSIDE = Special(f"{_KEPT.effect}; in a transaction it goes there", Stage.BEFORE_RULES)
_REFUSED = Special(
    "ProxySQL refuses it unless mysql-enable_load_data_local_infile is true", Stage.BEFORE_RULES
)
_NO_WARNINGS = Special("ProxySQL knows no warnings without digests", Stage.BEFORE_RULES)
USE = Special("ProxySQL changes the session's schema and sends nothing", Stage.BEFORE_MESSAGES)
SET = Special(
    "ProxySQL keeps what it understands and sends nothing; else the statement goes where the rules"
    " say and locks the session to that hostgroup",
    Stage.AFTER_MESSAGES,
    is_answered=False,
)
SET_AT_HOME = Special(
    "ProxySQL keeps what it understands and sends nothing; else the statement goes to the session's"
    " own hostgroup, whatever rules and hints say",
    Stage.AFTER_MESSAGES,
    is_answered=False,
)
_WARNINGS = Special(
    "it goes to the hostgroup of the query that had warnings; without any ProxySQL answers",
    Stage.AFTER_MESSAGES,
)
_ANSWERED_LATE = Special("ProxySQL answers it by itself", Stage.AFTER_MESSAGES)
LAST_INSERT_ID = Special(
    "it goes to the hostgroup of the session's last write, if its connection is still there, and is"
    " never cached",
    Stage.AFTER_MESSAGES,
    is_answered=False,
)
_OWN_LAST_INSERT = Special(
    "it goes to the hostgroup of the session's last write, else ProxySQL answers by itself",
    Stage.AFTER_MESSAGES,
)
_KILL = Special("ProxySQL kills its own session with this number", Stage.AFTER_MESSAGES)

_FIRST_WORDS = re.compile(rb"(?:commit|rollback|set |select |proxysql |load |show )", re.IGNORECASE)
_OWN_EXACT = frozenset({b"select @@version_comment limit 1", b"select USER()"})
_OWN_ANY_CASE = frozenset(
    {
        b"select $$",
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
    rb"set names +(['\"`]?)\w+\1(?: +collate +(['\"`]?)\w+\2)? *", re.IGNORECASE | re.DOTALL
)
_INTERNAL = re.compile(rb"proxysql internal .", re.IGNORECASE | re.DOTALL)
_LOAD_DATA = re.compile(rb"load data local infile", re.IGNORECASE)
_LATE = re.compile(
    rb"(?P<use>use[ `])|(?P<set>set )|(?P<warnings>show (?:count\(\*\) )?warnings$)|(?P<kill>kill)",
    re.IGNORECASE,
)
_KILL_STATEMENT = re.compile(rb"kill\s+(?:connection\s+|query\s+|)\d+\s*", re.IGNORECASE)
_AT_HOME = re.compile(rb"set (?:session |@@session\.)?(?:names|autocommit)\b", re.IGNORECASE)
"""A SET of these locks nothing, even if ProxySQL does not understand it."""
_USE_WITHOUT_DIGESTS = re.compile(rb"use .", re.IGNORECASE | re.DOTALL)
_CONNECTION_ID = b"SELECT CONNECTION_ID()"
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


def before_rules(query: bytes, *, with_digests: bool = True) -> Special | None:
    """Return what ProxySQL does with a statement that it handles before the rules, or None."""
    if not _FIRST_WORDS.match(query):
        return None
    lower = query.lower() if len(query) <= _LONGEST_OWN else b""
    if lower in (b"commit", b"rollback"):
        return _NO_TRANSACTION
    if lower in _OWN_ANY_CASE or query in _OWN_EXACT or _INTERNAL.match(query):
        return _OWN_ANSWER
    if _AUTOCOMMIT.fullmatch(query):
        return _KEPT_OUTSIDE
    if len(query) <= _LONGEST_NAMES and _NAMES.fullmatch(query):
        return _KEPT
    if not with_digests and lower in _WARNINGS_EXACT:
        return _NO_WARNINGS
    return _REFUSED if _LOAD_DATA.match(query) else None


def is_use(query: bytes, digest_text: bytes | None) -> bool:
    """Return whether a statement is USE as the client sent it; rules cannot rewrite USE.

    Shape: `digest_text` None with digests off.
    """
    if digest_text is None:
        return _USE_WITHOUT_DIGESTS.match(query) is not None
    match = _LATE.match(digest_text)
    return match is not None and match["use"] is not None


def after_rules(
    query: bytes, digest_text: bytes | None, *, locks_on_set: bool = True
) -> Special | None:
    """Return what ProxySQL does after the rules with a statement other than USE, or None.

    Shape: the query and its digest text as rewritten; `digest_text` None with digests off.
    `locks_on_set`: whether a SET that ProxySQL does not understand locks the session to the rules'
    hostgroup.
    """
    if query.upper() == _CONNECTION_ID:
        return _ANSWERED_LATE
    if digest_text is None:
        return None
    match = _LATE.match(digest_text)
    if match is not None:
        if match["set"]:
            return SET if locks_on_set and not _AT_HOME.match(digest_text) else SET_AT_HOME
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
