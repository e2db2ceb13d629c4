"""Every configuration table, column and variable of ProxySQL, as data.

No other place lists them, and nothing here holds a row: rows are in `rows`, what ProxySQL does with
them in `proxysql`. `ADMIN_MODULES` is in the order in which an apply LOADs the modules.
"""

from __future__ import annotations

from proxyctl.catalog.deviations import NO_DEVIATIONS, Deviations
from proxyctl.catalog.model import (
    MAX_INT,
    AdminModule,
    Column,
    ColumnKind,
    Layout,
    Role,
    Table,
    Value,
    Variable,
    VariableKind,
    layout_of,
)
from proxyctl.catalog.releases import REFERENCE, Version, known_version, parse_version
from proxyctl.catalog.tables import ADMIN_MODULES, NOT_MANAGED, TABLES, VARIABLE_TABLES

__all__ = [
    "ADMIN_MODULES",
    "MAX_INT",
    "NOT_MANAGED",
    "NO_DEVIATIONS",
    "REFERENCE",
    "TABLES",
    "VARIABLE_TABLES",
    "AdminModule",
    "Column",
    "ColumnKind",
    "Deviations",
    "Layout",
    "Role",
    "Table",
    "Value",
    "Variable",
    "VariableKind",
    "Version",
    "known_version",
    "layout_of",
    "parse_version",
]
