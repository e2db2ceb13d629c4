"""CREATE TABLE texts in the form in which ProxySQL keeps and shows them.

`proxyctl.catalog.ddl` says what a table accepts; here the same facts stand in the order and with
the blanks that a client sees in sqlite_master, and from which SHOW CREATE TABLE makes its lines.
Source: sqlite_master of a running ProxySQL 2.7.1. Older versions may order a column differently.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxyctl.catalog import Column, Layout

_FAMILY = ("reader_hostgroup", "offline_hostgroup", "max_writers")
_NOT_NULL_FIRST: dict[str, tuple[str, ...]] = {
    "mysql_aws_aurora_hostgroups": (
        "reader_hostgroup", "domain_name", "max_lag_ms", "check_interval_ms", "check_timeout_ms",
        "add_lag_ms", "min_lag_ms", "lag_num_checks",
    ),
    "mysql_galera_hostgroups": _FAMILY,
    "mysql_group_replication_hostgroups": _FAMILY,
    "mysql_replication_hostgroups": ("reader_hostgroup",),
    "pgsql_replication_hostgroups": ("reader_hostgroup",),
    "restapi_routes": ("method",),
}  # fmt: skip
"""Columns that say NOT NULL before their CHECK."""

_RULES = ("mysql_query_rules", "pgsql_query_rules")
_KEY_FIRST = (*_RULES, "scheduler")
"""Tables whose number says NOT NULL behind PRIMARY KEY."""

_TIGHT_CHECKS = ("replace_pattern", "cache_ttl", "cache_timeout", "apply")
_NULL_DEFAULTS = ("destination_hostgroup", "cache_empty_result", "reconnect")
_KEY_APART = (
    "mysql_firewall_whitelist_sqli_fingerprints",
    "pgsql_firewall_whitelist_sqli_fingerprints",
)
"""Tables that name a key of one column behind the columns all the same."""


def create_text(name: str, parts: Sequence[str], *, end: str = "") -> str:
    """Return a CREATE TABLE statement; SHOW CREATE TABLE breaks it where the parts are joined."""
    return f"CREATE TABLE {name} ({' , '.join(parts)}{end})"


def layout_text(layout: Layout, name: str) -> str:
    """Return the CREATE TABLE statement of a configuration table."""
    table = layout.table
    has_inline_key = len(table.key) == 1 and table.name not in _KEY_APART
    parts = [
        _column(layout, column, is_key=has_inline_key and table.key == (column.name,))
        for column in layout.columns
    ]
    uniques = [f"UNIQUE ({', '.join(unique)})" for unique in table.unique]
    if not has_inline_key:
        key = f"PRIMARY KEY ({', '.join(table.key)})"
        return create_text(name, [*parts, key, *uniques], end="" if uniques else " ")
    if table.name in ("mysql_replication_hostgroups", "pgsql_replication_hostgroups"):
        # The one table whose constraint does not get a line of its own.
        parts[-1] += f", {uniques.pop()}"
    return create_text(name, [*parts, *uniques])


def _column(layout: Layout, column: Column, *, is_key: bool) -> str:
    table = layout.name
    is_rule = table in _RULES
    check = not_null = ""
    if column.check is not None:
        blank = "" if is_rule and column.name in _TIGHT_CHECKS else " "
        check = f"CHECK{blank}({column.check})"
    if column.notnull:
        not_null = "NOT NULL"
    parts = [column.name, column.sql_type]
    if is_key and table in _KEY_FIRST:
        return " ".join((*parts, "PRIMARY KEY AUTOINCREMENT", not_null))
    if column.name in _NOT_NULL_FIRST.get(table, ()):
        parts += [not_null, check]
    else:
        parts += [check, not_null]
    if is_key:
        parts.append("PRIMARY KEY AUTOINCREMENT" if layout.table.autoincrement else "PRIMARY KEY")
    parts.append(_default(column, is_rule=is_rule))
    return " ".join(part for part in parts if part)


def _default(column: Column, *, is_rule: bool) -> str:
    match column.default:
        case None:
            return "DEFAULT NULL" if is_rule and column.name in _NULL_DEFAULTS else ""
        case str(text):
            literal = "'" + text.replace("'", "''") + "'"
            return f"DEFAULT ({literal})" if column.name == "mode" else f"DEFAULT {literal}"
        case number:
            return f"DEFAULT {number}"
