"""SHOW: the query that ProxySQL runs instead, and the two that it answers from a table's columns.

As in ProxySQL, names and patterns are pasted into the query, and SQLite judges what comes of it.
Source: ProxySQL 2.7.1, watched on a running server.
"""

from __future__ import annotations

import re

from proxyctl.sandbox.database import Database
from proxyctl.sandbox.logins import Role
from proxyctl.sandbox.replies import AdminError, Cell, Result, sqlite_error

_TABLES = "SELECT name AS tables FROM {}sqlite_master WHERE type='table' AND "
_ALL_TABLES = _TABLES + "name NOT IN ('sqlite_sequence') ORDER BY name"
_VARIABLES = "SELECT variable_name AS Variable_name, variable_value AS Value FROM global_variables"
_NO_VARIABLES = f"{_VARIABLES} WHERE 1=0"
_CREATE = (
    "SELECT name AS 'table', REPLACE(REPLACE(sql, ' , ', char(44, 10, 32, 32, 32, 32)),"
    " 'CREATE TABLE {0} (', 'CREATE TABLE {0} (' || char(10, 32, 32, 32, 32)) AS 'Create Table'"
    " FROM {1}.sqlite_master WHERE type='table' AND name='{0}'"
)
_EXACT = {
    "SHOW TABLES": _ALL_TABLES.format(""),
    "SHOW DATABASES": "PRAGMA database_list",
    "SHOW SCHEMAS": "PRAGMA database_list",
    "SHOW COLLATION": "SELECT * FROM mysql_collations",
    "SHOW CHARSET": (
        "SELECT Charset, Collation AS 'Default collation' FROM mysql_collations"
        " WHERE `Default`='Yes'"
    ),
    "SHOW MYSQL USERS": "SELECT * FROM mysql_users ORDER BY username, active DESC",
    "SHOW MYSQL SERVERS": "SELECT * FROM mysql_servers ORDER BY hostgroup_id, hostname, port",
    "SHOW MYSQL STATUS": (
        "SELECT Variable_Name AS Variable_name, Variable_Value AS Value FROM stats_mysql_global"
        " ORDER BY variable_name"
    ),
    "SHOW FULL PROCESSLIST": "SELECT * FROM stats_mysql_processlist",
    "SHOW PROCESSLIST": (
        "SELECT SessionID, user, db, hostgroup, command, time_ms, substr(info, 0, 100) AS info"
        " FROM stats_mysql_processlist"
    ),
    **dict.fromkeys(
        ("SHOW VARIABLES", "SHOW GLOBAL VARIABLES", "SHOW ALL VARIABLES"),
        f"{_VARIABLES} ORDER BY variable_name",
    ),
    **{
        f"SHOW {family.upper()} VARIABLES": (
            f"{_VARIABLES} WHERE variable_name LIKE '{family}-%' ORDER BY variable_name"
        )
        for family in ("mysql", "admin")
    },
}
_JAVA = (
    "show variables where variable_name in ('max_allowed_packet','system_time_zone','time_zone',"
)
_JAVA_ROWS = {
    f"{_JAVA}'sql_mode')": ("sql_mode", "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"),
    f"{_JAVA}'auto_increment_increment')": ("auto_increment_increment", "1"),
}
_MYSQLDUMP = "SHOW STATUS LIKE 'binlog_snapshot_gtid_executed'"
_CONDITION = re.compile(r"SHOW VARIABLES (WHERE|LIKE)", re.IGNORECASE)
_ORDERED = re.compile(r"\b(ORDER BY|LIMIT)\b", re.IGNORECASE)


def rewritten(text: str, role: Role, product: str) -> str | None:
    """Return the query that answers a SHOW, or None. `text` is normalised."""
    upper = text.upper()
    lower = text.lower()
    for beginning, (name, value) in _JAVA_ROWS.items():
        if lower.startswith(beginning):
            return _java_query(name, value)
    if found := _CONDITION.search(text):
        keyword = "WHERE variable_name LIKE" if found[1].upper() == "LIKE" else "WHERE"
        rest = text[found.end() :]
        # ProxySQL gives no order: that of its table is the order of its creation.
        is_whole = rest.strip() and rest.count("'") % 2 == 0 and not _ORDERED.search(rest)
        order = " ORDER BY variable_name" if is_whole else ""
        return f"{text[: found.start()]}{_VARIABLES} {keyword}{rest}{order}"
    if upper.startswith("SHOW GLOBAL VARIABLES LIKE 'VERSION'"):
        version = product.replace("'", "''")
        return (
            f"SELECT 'version' AS Variable_name, '{version}' AS Value FROM global_variables"
            " WHERE variable_name='admin-version'"
        )
    if role is Role.ADMIN and text.startswith(_MYSQLDUMP):
        return _NO_VARIABLES
    return _EXACT.get(upper) or _with_name(text, upper)


def _java_query(name: str, value: str) -> str:
    rows = (
        ("max_allowed_packet", "4194304"),
        (name, value),
        ("system_time_zone", "UTC"),
        ("time_zone", "SYSTEM"),
    )
    values = " UNION ALL ".join(f"SELECT '{name}', '{value}'" for name, value in rows[1:])
    first, text = rows[0]
    return f"SELECT '{first}' AS Variable_name, '{text}' AS Value UNION ALL {values}"


def _with_name(text: str, upper: str) -> str | None:
    for beginning in ("SHOW TABLES IN ", "SHOW TABLES FROM "):
        if upper.startswith(beginning):
            return _ALL_TABLES.format(f"{text[len(beginning) :]}.")
    if upper.startswith("SHOW TABLES LIKE "):
        pattern = re.sub(r"[\\`']", "", text[len("SHOW TABLES LIKE ") :])
        # ProxySQL gives no order here; that of its file is the order of its creation.
        return f"{_TABLES.format('')}name LIKE '{pattern}' ORDER BY name"
    if upper.startswith("SHOW CREATE TABLE "):
        schema, dot, table = text[len("SHOW CREATE TABLE ") :].partition(".")
        if not dot or not table:
            schema, table = "main", schema
        found = re.fullmatch(r"`(.+)`", table)
        return _CREATE.format(found[1] if found else table, schema)
    return None


def described(text: str, database: Database) -> Result | None:
    """Return the answer to SHOW FIELDS and SHOW TABLE STATUS, which tell little, or None.

    Raises: AdminError when there is no such table.
    """
    fields = re.match(r"show fields from (`?..+)", text, re.IGNORECASE)
    if fields:
        return _fields(_bare(fields[1]), database)
    status = re.match(r"show table status like '(.+.)", text, re.IGNORECASE)
    return _status(_bare(status[1]), database) if status else None


def _bare(name: str) -> str:
    return re.sub(r"[\\`']", "", name)


def _columns(table: str, database: Database) -> list[tuple[Cell, ...]]:
    try:
        columns = database.run(f"PRAGMA table_info({table})").rows
    except AdminError as error:
        # Here SQLite's text comes bare.
        raise AdminError(error.message.removeprefix(sqlite_error("").message)) from error
    if not columns:
        raise AdminError("Table does not exist")
    return columns


def _fields(table: str, database: Database) -> Result:
    rows: list[tuple[Cell, ...]] = [
        (name, "varchar(255)", "NO" if is_set else "YES", "PRI" if key else "", "", "")
        for _, name, _, is_set, _, key in _columns(table, database)
    ]
    return Result(("Field", "Type", "Null", "Key", "Default", "Extra"), rows)


def _status(table: str, database: Database) -> Result:
    _columns(table, database)
    never = "0000-00-00 00:00:00"
    values: dict[str, Cell] = {
        "Name": table, "Engine": "SQLite", "Version": 10, "Row_format": "Dynamic",
        # The number of rows of a count, which is always one.
        "Rows": 1,
        "Avg_row_length": 0, "Data_length": 0, "Max_data_length": 0, "Index_length": 0,
        "Data_free": 0, "Auto_increment": "NULL", "Create_time": never, "Update_time": never,
        "Check_time": never, "Collation": "utf8_bin", "Checksum": "NULL", "Create_options": "",
        "Comment": "",
    }  # fmt: skip
    return Result(tuple(values), [tuple(values.values())])
