"""Finds rows in the numbers that plugins of ProxySQL 4.0 take for their own rows."""

from __future__ import annotations

from collections.abc import Mapping

from proxyctl.catalog.plugins import RESERVED, has_plugins, object_columns, object_type
from proxyctl.config.context import Compilation
from proxyctl.config.rows import field_place
from proxyctl.rows.desired import DesiredTable


def check_reserved(tables: Mapping[str, DesiredTable], context: Compilation) -> None:
    """Note rule_ids and hostgroups that a plugin may take. Changes: context.mistakes.

    A rule may still send queries to a hostgroup of a plugin.
    """
    version = context.named or context.version
    if not has_plugins(version):
        return
    for table in tables.values():
        layout = table.layout
        kind = object_type(layout.table)
        taken = RESERVED.get(kind, range(0)) if kind else range(0)
        for column in object_columns(layout) if taken else ():
            for key, row in table.rows.items():
                number = row[layout.index[column]]
                if number in taken:
                    message = (
                        f"{number} is in the range {taken[0]}-{taken[-1]}, which plugins of"
                        f" ProxySQL {version} use for their own rows"
                    )
                    fix = "choose another number"
                    context.mistakes.add(*field_place(table, key, column), message, fix)
