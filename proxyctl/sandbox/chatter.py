"""Answers that do not come from a table: what clients ask when they connect, SHOW, and SET."""

from __future__ import annotations

import re
from collections.abc import Collection

from proxyctl.sandbox.database import Database
from proxyctl.sandbox.logins import Role, Session
from proxyctl.sandbox.replies import OK, Result, sqlite_error

_IGNORED = re.compile(
    r"SET (NAMES|CHARACTER_SET_RESULTS|AUTOCOMMIT|SQL_AUTO_IS_NULL|SQL_SAFE_UPDATES)\b.*"
    r"|LOCK TABLES? .*|UNLOCK TABLES?|/\*!40.*",
    re.IGNORECASE | re.DOTALL,
)
_SET = re.compile(r"SET ([^=]*)(?:=(.*))?", re.IGNORECASE | re.DOTALL)
_SHOW_TABLES = re.compile(r"SHOW TABLES( FROM (\w+)| LIKE '([^']*)')?", re.IGNORECASE)
_SHOW_CREATE = re.compile(r"SHOW CREATE TABLE `?(?:(\w+)`?\.`?)?(\w+)`?", re.IGNORECASE)
_SHOW_VARIABLES = re.compile(r"SHOW (GLOBAL )?VARIABLES( LIKE '[^']*'| WHERE .*)?", re.IGNORECASE)

_PACKET = {Role.ADMIN: "67108864", Role.STATS: "4194304"}
_NOT_BY_SET = "mysql-init_connect"
_SCHEMAS = ("main", "disk", "stats", "monitor", "stats_history")


def fixed_answer(text: str, session: Session, product: str) -> Result | None:
    """Return the answer that depends on nothing but the session, or None.

    `text` is normalised. `product` is ProxySQL's version text.
    """
    upper = text.upper()
    if _IGNORED.fullmatch(text) or (session.role is Role.ADMIN and upper.startswith("USE ")):
        return OK
    if upper.startswith("SELECT "):
        return _fixed_select(upper.removeprefix("SELECT "), session, product)
    return None


def _fixed_select(text: str, session: Session, product: str) -> Result | None:
    is_limited = text.endswith(" LIMIT 1")
    what = text.removesuffix(" LIMIT 1")
    schema = session.role.value
    match what:
        case "VERSION()":
            return Result(("version()",), [(product,)])
        case "@@VERSION_COMMENT" if is_limited:
            return Result(("'(ProxySQL Admin Module)'",), [("(ProxySQL Admin Module)",)])
        case "@@VERSION" | "@@VERSION_COMMENT":
            return Result(("@@version",), [(product,)])
        case "DATABASE()":
            return Result(("DATABASE()",), [(schema,)])
        case "USER()" | "CURRENT_USER()":
            return Result((what.lower(),), [(f"{session.user}@{session.host}",)])
        case "DATABASE(), USER()":
            return Result(("DATABASE()", "USER()"), [(schema, schema)])
    found = re.match(r"@@\w+([.,]?)", what)
    if found is None:
        return None
    if found[1]:
        raise sqlite_error(f'near "{found[1]}": syntax error')
    name = what.lower()
    if name == "@@max_allowed_packet":
        return Result((name,), [(_PACKET[session.role],)])
    if session.role is Role.STATS:
        raise sqlite_error("no such table: stats.stats_mysql_global")
    return Result((name,))


def show(text: str, database: Database, product: str) -> Result | None:
    """Return the answer to a SHOW that ProxySQL rewrites into a query, or None."""
    upper = text.upper()
    if upper in ("SHOW DATABASES", "SHOW SCHEMAS"):
        rows = database.fetch("PRAGMA database_list")
        return Result(("seq", "name", "file"), rows)
    if found := _SHOW_TABLES.fullmatch(text):
        return _show_tables(database, found[2] or "main", found[3] or "%")
    if found := _SHOW_CREATE.fullmatch(text):
        return _show_create(database, found[1] or "main", found[2])
    columns = "variable_name AS Variable_name, variable_value AS Value"
    source = f"SELECT {columns} FROM global_variables"
    if upper == "SHOW GLOBAL VARIABLES LIKE 'VERSION'":
        return Result(("Variable_name", "Value"), [("version", product)])
    if upper in ("SHOW MYSQL VARIABLES", "SHOW ADMIN VARIABLES"):
        prefix = upper.split()[1].lower()
        return database.run(
            f"{source} WHERE variable_name LIKE '{prefix}-%' ORDER BY variable_name"
        )
    if found := _SHOW_VARIABLES.fullmatch(text):
        condition = (found[2] or "").strip()
        if found[1] and condition:
            return None
        condition = re.sub(r"\ALIKE\b", "WHERE variable_name LIKE", condition, flags=re.IGNORECASE)
        return database.run(f"{source} {condition} ORDER BY variable_name")
    return None


def _show_tables(database: Database, schema: str, pattern: str) -> Result:
    if schema.lower() not in _SCHEMAS:
        raise sqlite_error(f"no such table: {schema}.sqlite_master")
    rows = database.fetch(
        f"SELECT name FROM {schema}.sqlite_master"
        " WHERE type='table' AND name<>'sqlite_sequence' AND name LIKE ? ORDER BY name",
        (pattern,),
    )
    return Result(("tables",), rows)


def _show_create(database: Database, schema: str, table: str) -> Result:
    if schema.lower() not in _SCHEMAS:
        raise sqlite_error(f"no such table: {schema}.sqlite_master")
    rows = database.fetch(
        f"SELECT name, sql FROM {schema}.sqlite_master WHERE type='table' AND name=?", (table,)
    )
    return Result(("table", "Create Table"), rows)


def set_variable(
    text: str, database: Database, names: Collection[str], *, readonly: bool
) -> Result | None:
    """Carry out `SET name=value`, which changes MEMORY only; return None for another statement.

    `names` are the variables there are.
    The value is pasted into an UPDATE: text has to be quoted, and a bare word gets SQLite's error.
    """
    found = _SET.fullmatch(text)
    if found is None:
        return None
    name, value = found[1].strip(), found[2] or ""
    if name not in names:
        return Result(info=f"ERROR: Unknown global variable: '{name}'.")
    if name == _NOT_BY_SET:
        raise sqlite_error(
            f"ERROR: Global variable '{name}' is not configurable using SET command."
            " You must run UPDATE global_variables"
        )
    return database.run(
        f"UPDATE global_variables SET variable_value={value} WHERE variable_name='{name}'",
        readonly=readonly,
    )
