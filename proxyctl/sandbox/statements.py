"""The statements that ProxySQL answers itself: LOAD and SAVE, SHOW and SET, questions of clients.

SQLite runs all others.
Source: ProxySQL 2.7.1, watched on a running server.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from proxyctl.catalog import parse_version
from proxyctl.catalog.releases import SET_REFUSES_UNKNOWN, SET_SESSION_AUTOCOMMIT
from proxyctl.sandbox.database import Database
from proxyctl.sandbox.replies import OK, AdminError, Answer, not_modelled, refusal, sqlite_error

if TYPE_CHECKING:
    from proxyctl.sandbox.logins import ClientSession

# --- LOAD and SAVE ------------------------------------------------------------------------------


class LayerCopy(NamedTuple):
    """One LOAD or SAVE of an admin module: from one layer, main, runtime or disk, to another."""

    module: str
    source: str
    target: str


_LAYERS = {
    "LOAD TO RUN": ("main", "runtime"),
    "LOAD FROM MEM": ("main", "runtime"),
    "LOAD FROM DIS": ("disk", "main"),
    "LOAD TO MEM": ("disk", "main"),
    "SAVE TO MEM": ("runtime", "main"),
    "SAVE FROM RUN": ("runtime", "main"),
    "SAVE TO DIS": ("main", "disk"),
    "SAVE FROM MEM": ("main", "disk"),
}
"""The source and target of each command. Two layers have short spellings, too: RUN and MEM."""

_SHAPE = re.compile(r"(LOAD|SAVE) (.+) (TO|FROM) (RUN(?:TIME)?|MEM(?:ORY)?|DISK)")

_UNMODELLED = re.compile(
    r"LOAD .+ FROM CONFIG|LOAD MYSQL USER \S+ TO RUNTIME|SAVE MYSQL DIGEST TO DISK"
    r"|(LOAD|SAVE) (COREDUMP|SQLITESERVER VARIABLES) .+"
    r"|SAVE CONFIG TO FILE .+|SELECT CONFIG (FILE|INTO OUTFILE .+)"
    r"|SELECT GLOBAL_CHECKSUM\(\)|CHECKSUM .+|KILL CONNECTION .+|PULL VERSION MYSQL SERVERS .+"
    r"|START TRANSACTION.*|PROXYSQLTEST.*|PROXYSQL (?!READONLY|READWRITE).+"
)
"""Commands of ProxySQL that the sandbox does not have."""


def load_or_save(text: str, modules: Collection[str]) -> LayerCopy | None:
    """Return the LOAD or SAVE of a normalised text, or None for any other text.

    A module that this version lacks is no command: ProxySQL hands such a text to SQLite.
    """
    shape = _SHAPE.fullmatch(text.upper())
    if shape is None:
        return None
    verb, module, preposition, place = shape.groups()
    layers = _LAYERS.get(f"{verb} {preposition} {place[:3]}")
    return LayerCopy(module, *layers) if layers and module in modules else None


def refuse_unmodelled(text: str) -> None:
    """Refuse a command that ProxySQL has and the sandbox does not. Raises: AdminError."""
    upper = text.upper()
    if _UNMODELLED.fullmatch(upper):
        raise not_modelled(" ".join(upper.split()[:4]))


# --- SHOW, SET and questions --------------------------------------------------------------------
# ProxySQL turns each into its own query. The sandbox does so for the texts that the mysql client,
# drivers and people send, and refuses any other text of this kind.

_QUESTION = re.compile(r"(SHOW|SET|USE|(?:UN)?LOCK|SIGNAL|LOGENTRY|SELECT @@)\b", re.I)
"""The beginning of a text that ProxySQL does not hand to SQLite."""

_IGNORED = re.compile(
    r"SET (NAMES|CHARACTER_SET_RESULTS|AUTOCOMMIT|SQL_AUTO_IS_NULL)\b.*", re.I | re.S
)
_SHOW_TABLES = re.compile(r"SHOW TABLES(?: (?:IN|FROM) `?(\w+)`?)?", re.I)
_PARTLY_MODELLED = ("stats", "monitor", "stats_history")
"""Schemas of which the sandbox has only some tables."""

_VARIABLES = "SELECT variable_name AS Variable_name, variable_value AS Value FROM global_variables"
_SHOW_VARIABLES = re.compile(r"SHOW (?:(MYSQL|ADMIN) |GLOBAL |ALL )?VARIABLES", re.I)
_SHOW_VARIABLES_LIKE = re.compile(r"SHOW VARIABLES LIKE (.+)", re.I | re.S)
_SET = re.compile(r"SET (.+)", re.I | re.S)
_NOT_BY_SET = "mysql-init_connect"
_CHARACTER_SETS = tuple(
    f"@@character_set_{of}" for of in ("client", "connection", "server", "database")
)
_PROBE = "SELECT $$"
"""The mysql client sends this to find out whether `$$` may begin a name."""


def answer(text: str, database: Database, running: Mapping[str, str]) -> Answer | None:
    """Return the answer to a question or a SET; None for a text that is SQL.

    `text` is normalised, `running` are the global variables at RUNTIME.
    Raises: AdminError for a question that is not modelled, or with an error of SQLite.
    """
    if query := _show(text):
        return database.run(query)
    if assignment := _SET.fullmatch(text):
        return _set(assignment[1], database, running)
    if _QUESTION.match(text):
        raise not_modelled(" ".join(text.split()[:3]))
    return None


def greeting(text: str, session: ClientSession, running: Mapping[str, str]) -> Answer | None:
    """Return the answer to a text that clients and drivers send by themselves; None for others."""
    if _IGNORED.fullmatch(text):
        return OK
    if text.upper().startswith(_PROBE):
        raise AdminError("ProxySQL Admin Error: Unknown column '$$' in 'field list'", code=1054)
    row = _about_session(text.lower(), session, running)
    return None if row is None else Answer(tuple(row), [tuple(row.values())])


def _about_session(
    lower: str, session: ClientSession, running: Mapping[str, str]
) -> dict[str, str] | None:
    """Return the only row of the answer by column; None for any other text."""
    question = lower.removeprefix("select ").removesuffix(" limit 1")
    match question:
        case "@@version" | "version()":
            return {question: running["admin-version"]}
        case "@@version_comment" if lower.endswith(" limit 1"):
            return {"'(ProxySQL Admin Module)'": "(ProxySQL Admin Module)"}
        case "user()" | "current_user()":
            return {question: f"{session.user}@{session.host}"}
        case "database()":
            return {"DATABASE()": session.role.value}
        case "database(), user()":
            return {"DATABASE()": "admin", "USER()": session.user}
        case _ if question == ", ".join(_CHARACTER_SETS):
            return dict.fromkeys(_CHARACTER_SETS, "utf8")
    return None


def _show(text: str) -> str | None:
    """Return the query that answers a SHOW. As in ProxySQL, the typed text is pasted into it."""
    if text.upper() in ("SHOW DATABASES", "SHOW SCHEMAS"):
        # SQLite shows `x` as the file of a schema that was made from an image.
        return (
            "SELECT seq, name, CASE file WHEN 'x' THEN '' ELSE file END AS file"
            " FROM pragma_database_list"
        )
    if match := _SHOW_TABLES.fullmatch(text):
        schema = match[1] or "main"
        if schema in _PARTLY_MODELLED:
            raise not_modelled(f"the list of tables in {schema}")
        return (
            f"SELECT name AS tables FROM {schema}.sqlite_master"
            " WHERE type='table' AND name<>'sqlite_sequence' ORDER BY name"
        )
    if match := _SHOW_VARIABLES.fullmatch(text):
        prefix = f"{match[1].lower()}-" if match[1] else ""
        return f"{_VARIABLES} WHERE variable_name LIKE '{prefix}%' ORDER BY variable_name"
    if match := _SHOW_VARIABLES_LIKE.fullmatch(text):
        return f"{_VARIABLES} WHERE variable_name LIKE {match[1]}"
    return None


def _set(assignment: str, database: Database, running: Mapping[str, str]) -> Answer:
    """Carry out `SET name=value`, which changes MEMORY only.

    The value is pasted into an UPDATE: text has to be quoted, and a bare word gets SQLite's error.
    """
    name, _, value = assignment.partition("=")
    name = name.strip()
    version = parse_version(running["admin-version"])
    if name.lower() == "@@session.autocommit" and version.has(SET_SESSION_AUTOCOMMIT):
        return OK
    if name not in running:
        unknown = f"ERROR: Unknown global variable: '{name}'."
        if version.has(SET_REFUSES_UNKNOWN):
            raise sqlite_error(unknown)
        return Answer(info=unknown)
    if name == _NOT_BY_SET:
        raise sqlite_error(
            f"ERROR: Global variable '{name}' is not configurable using SET command."
            " You must run UPDATE global_variables"
        )
    if "=" in value:
        raise refusal("refuses a value with an equals sign in SET: ProxySQL would cut it there")
    return database.run(
        f"UPDATE global_variables SET variable_value={value} WHERE variable_name='{name}'",
        readonly=running["admin-read_only"] == "true",
    )
