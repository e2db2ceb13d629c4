"""What clients ask when they connect, and SET: answers that do not come from a table.

Most of it ProxySQL turns into another SELECT, by the beginning of the text. What follows the part
that it knows is pasted behind the new SELECT or dropped, and the same is done here, so that a
longer text gets the same error.
Source: ProxySQL 2.7.1, watched on a running server.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime

from proxyctl.sandbox.database import Database
from proxyctl.sandbox.logins import Role, Session
from proxyctl.sandbox.replies import AdminError, Result, sqlite_error

_IGNORED = re.compile(
    r"SET (NAMES|CHARACTER_SET_RESULTS|AUTOCOMMIT|SQL_AUTO_IS_NULL)|SIGNAL MYSQL THREADS",
    re.IGNORECASE,
)
_IGNORED_AS_TYPED = ("SET SQL_SAFE_UPDATES=1",)
_IGNORED_FOR_ADMIN = re.compile(
    r"/\*!(40014|40101|40103|40111|80000|50503|50717|50112) SET "
    r"|/\*!50717 (SELECT|PREPARE|EXECUTE|DEALLOCATE) "
    r"|/\*!50112 (PREPARE|EXECUTE|DEALLOCATE) "
    r"|/\*!40000 ALTER TABLE|/\*!40100 SET @@SQL_MODE='' \*/"
    r"|LOCK TABLES|UNLOCK TABLES|SET SQL_QUOTE_SHOW_CREATE=1|SET SESSION character_set_results"
    r"|(?i:USE |LOGENTRY )"
)
_SET = re.compile(r"SET (.*)", re.IGNORECASE | re.DOTALL)
_VARIABLE = re.compile(r"SELECT @@([0-9A-Za-z_-]+) ?", re.IGNORECASE)
_ONE_PACKET = "max_allowed_packet"
_READ_ONLY = "select @@global.read_only"

_CSHARP = (
    "select @@max_allowed_packet, @@character_set_client, @@character_set_connection, @@license,"
    " @@sql_mode, @@lower_case_table_names"
)
_JAVA = (
    "select @@character_set_client, @@character_set_connection, @@character_set_server,"
    " @@character_set_database limit 1"
)
_DOLLARS = {
    True: (1064, "You have an error in your SQL syntax; check the manual that corresponds to your"
           " MySQL server version for the right syntax to use near '$$' at line 1"),
    False: (1054, "Unknown column '$$' in 'field list'"),
}  # fmt: skip
_NOT_BY_SET = "mysql-init_connect"


def is_ignored(text: str, session: Session) -> bool:
    """Return whether a normalised text is answered with OK and otherwise ignored."""
    if _IGNORED.match(text) or text.startswith(_IGNORED_AS_TYPED):
        return True
    return session.role is Role.ADMIN and _IGNORED_FOR_ADMIN.match(text) is not None


def dollar_error(text: str, server_version: str) -> AdminError | None:
    """Return the error for the `$$` by which the mysql client probes a server, or None."""
    if not text.upper().startswith("SELECT $$"):
        return None
    code, message = _DOLLARS[server_version.startswith("8.1")]
    return AdminError(f"ProxySQL Admin Error: {message}", code=code)


def numbers(text: str, *, read_only: bool) -> Result | None:
    """Return the answer to the one question of a client that is answered by a number, or None."""
    if not text.lower().startswith(_READ_ONLY):
        return None
    name = _READ_ONLY.removeprefix("select ")
    return Result((name,), [(int(read_only),)], is_numeric=True)


def rewritten(text: str, session: Session, product: str, *, read_only: bool) -> str | None:
    """Return the SELECT that answers what a client asks about the server and itself, or None.

    `text` is normalised. `product` is ProxySQL's version text.
    """
    lower = text.lower()
    version = product.replace("'", "''")
    role = session.role.value
    user = session.user.replace("'", "''")
    match lower:
        case "select @@version_comment limit 1":
            return "SELECT '(ProxySQL Admin Module)'"
        case "select user()" | "select current_user()":
            return f"SELECT '{user}@{session.host}' AS '{lower.removeprefix('select ')}'"
        case "select database()":
            return f"SELECT '{role}' AS 'DATABASE()'"
        case "select database() as name":
            return f"SELECT '{role}' AS 'name'"
        case "select database(), user() limit 1":
            return f"SELECT 'admin' AS 'DATABASE()', '{user}' AS 'USER()'"
        case "select @@collation_database" if role == "admin" and text[0] == "s":
            return "SELECT 'utf8_general_ci' AS '@@collation_database'"
    beginnings = {
        "show global variables like 'read_only'":
            f"SELECT 'read_only' AS Variable_name, '{'ON' if read_only else 'OFF'}' AS Value",
        "select concat(@@version, ' ', @@version_comment)": f"SELECT '{version} Admin Module'",
        "select @@sql_mode": "SELECT '' AS '@@sql_mode'",
        "select connection_id()": "SELECT 0 AS 'CONNECTION_ID()'",
        "select timediff(now(), utc_timestamp())":
            f"SELECT '{_zone()}' AS 'TIMEDIFF(NOW(), UTC_TIMESTAMP()'",
        _CSHARP: _constants(
            _CSHARP, ("67108864", "utf8", "utf8", "", "", "")
        ),
        "select @@version": f"SELECT '{version}' AS '@@version'",
        "select version()": f"SELECT '{version}' AS 'version()'",
    }  # fmt: skip
    if lower == _JAVA:
        return _constants(_JAVA.removesuffix(" limit 1"), ("utf8",) * 4)
    for beginning, sql in beginnings.items():
        if lower.startswith(beginning):
            return sql
    return _variable_query(text)


def _constants(asked: str, values: Collection[str]) -> str:
    """Return a SELECT of texts under the names that a client asked for."""
    names = asked.removeprefix("select ").split(", ")
    pairs = zip(values, names, strict=True)
    return "SELECT " + ", ".join(f"'{value}' AS '{name}'" for value, name in pairs)


def _zone() -> str:
    """Return how far local time is ahead of UTC, as ProxySQL writes it."""
    sign, hours, minutes = re.findall(r"[+-]|\d\d", f"{datetime.now().astimezone():%z}")[:3]
    return f"{sign.replace('+', '')}{hours}:{minutes}:00"


def _variable_query(text: str) -> str | None:
    """Return the query for `SELECT @@name`: a global variable, or a counter of stats_mysql_global.

    What follows the name is pasted behind it without a blank.
    """
    found = _VARIABLE.match(text)
    if found is None:
        return None
    name, rest = found[1], text[found.end() :]
    if name.lower().startswith(_ONE_PACKET):
        rest = name[len(_ONE_PACKET) :] + rest
        return (
            f"SELECT variable_value AS '@@{_ONE_PACKET}' FROM global_variables"
            f" WHERE variable_name='mysql-{_ONE_PACKET}'{rest}"
        )
    source = "SELECT variable_value AS '@@{0}' FROM {1} WHERE variable_name='{0}' COLLATE NOCASE"
    tables = ("global_variables", "stats.stats_mysql_global")
    return " UNION ALL ".join(source.format(name, table) for table in tables) + rest


def set_variable(
    text: str, database: Database, names: Collection[str], *, readonly: bool
) -> Result | None:
    """Carry out `SET name=value`, which changes MEMORY only; return None for another statement.

    `names` are the variables there are.
    The value is pasted into an UPDATE: text has to be quoted, and a bare word gets SQLite's error.
    It ends at the next equals sign, be it inside quotes.
    """
    found = _SET.fullmatch(text)
    if found is None:
        return None
    name, value = [*filter(None, found[1].split("=")), "", ""][:2]
    name = name.strip()
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
