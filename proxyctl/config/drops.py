"""Rows that ProxySQL takes into MEMORY and then drops, or half ignores, at LOAD without a word.

Source: ProxySQL 2.7.1, run; load_mysql_query_rules_to_runtime, __add_active_users, and the loaders
of the *_hostgroups tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from proxyctl.config.mistakes import Mistakes, did_you_mean, shown
from proxyctl.config.rows import RowPlaces
from proxyctl.runtime_image import PASTED, columns_with_lone_quote
from proxyctl.state import DesiredTable, Key, Where

MAX_CLIENT_ADDR = 45
"""Longest client_addr: a rule with a longer one is skipped. Source: INET6_ADDRSTRLEN."""

MODIFIERS = ("CASELESS", "GLOBAL")

_DIGEST = re.compile(r"0[xX][0-9A-Fa-f]{1,16}\Z")


def field_place(table: DesiredTable, key: Key, column: str) -> tuple[Where, str]:
    """Return where a field of a row stands, and how it is called in a message."""
    if isinstance(table.where, RowPlaces):
        return table.where.field(key, column)
    return table.where[key], f"{table.layout.name}.{column}"


def check_rules(table: DesiredTable, mistakes: Mistakes) -> None:
    """Note rules that would be skipped, or lose a criterion and match everything.

    Changes: mistakes.
    """
    checks: tuple[tuple[str, Callable[[str], tuple[str, str | None] | None]], ...] = (
        ("client_addr", _client_addr),
        ("digest", _digest),
        ("re_modifiers", _modifiers),
    )
    for column, check in checks:
        if column not in table.used:
            continue
        position = table.layout.index[column]
        for key, row in table.rows.items():
            value = row[position]
            problem = check(value) if isinstance(value, str) else None
            if problem:
                where, label = field_place(table, key, column)
                mistakes.add(where, label, *problem)


def check_quotes(table: DesiredTable, mistakes: Mistakes) -> None:
    """Note rows that the runtime table never shows, so that no LOAD of them could be verified.

    Changes: mistakes.
    """
    quote, _ = PASTED[table.layout.name]
    for key, row in table.rows.items():
        for column in columns_with_lone_quote(table.layout, row):
            where, label = field_place(table, key, column)
            mistakes.add(
                where,
                label,
                f"ProxySQL never shows a row with a lone {quote} in its runtime table",
                "move it into the script that is called",
            )


def _client_addr(text: str) -> tuple[str, str | None] | None:
    if "%" in text[:-1]:
        hint = "write one % at the end, or a rule for each address"
        return "ProxySQL skips a rule whose % is not the last character", hint
    if len(text.encode("utf-8", "surrogateescape")) > MAX_CLIENT_ADDR:
        return f"ProxySQL skips a rule whose address is longer than {MAX_CLIENT_ADDR} bytes", None
    return None


def _digest(text: str) -> tuple[str, str | None] | None:
    if _DIGEST.match(text) and int(text, 16):
        return None
    hint = "as stats_mysql_query_digest shows it: 0x and up to 16 hexadecimal digits, not all 0"
    return "no digest: ProxySQL would drop the criterion and the rule match every query", hint


def _modifiers(text: str) -> tuple[str, str | None] | None:
    for word in text.split(",") if text else ():
        if word.upper() not in MODIFIERS:
            near = did_you_mean(word.strip(), MODIFIERS)
            hint = "CASELESS, GLOBAL, or both with a comma and no blank between them"
            message = f"ProxySQL ignores {shown(word)}" if word else "an empty word"
            return message, near if near and " " not in word else f"known are {hint}"
    return None


def check_users(table: DesiredTable, admins: Mapping[str, str], mistakes: Mistakes) -> None:
    """Note users that reach nothing, and those that would replace an administrator's login.

    Shape: `admins` from name to the variable that lists it. Changes: mistakes.
    """
    index = table.layout.index
    frontend, backend = index["frontend"], index["backend"]
    for key, row in table.rows.items():
        if row[frontend] == 0 and row[backend] == 0:
            where, label = field_place(table, key, "frontend")
            message = "ProxySQL drops a user with frontend 0 and backend 0"
            mistakes.add(where, label, message, "write active: 0 to switch a user off")
        if key[0] in admins:
            where, label = field_place(table, key, "username")
            message = (
                f"{key[0]!r} is in {admins[str(key[0])]}; as a user it would replace that login"
                " and lock the administrator out"
            )
            mistakes.add(where, label, message, "choose another name for the user")


def admin_names(variables: DesiredTable | None) -> dict[str, str]:
    """Return the logins of the admin interface that the files set, with their variable."""
    names: dict[str, str] = {}
    for variable in ("admin-admin_credentials", "admin-stats_credentials"):
        row = variables.rows.get((variable,)) if variables else None
        if row is not None:
            for login in str(row[1]).split(";"):
                name = login.partition(":")[0]
                if name:
                    names.setdefault(name, variable)
    return names


def check_logins(variables: DesiredTable | None, mistakes: Mistakes) -> None:
    """Note a login in both lists: it becomes a stats user, who can change nothing.

    Changes: mistakes.
    """
    if variables is None:
        return
    lists: list[set[str]] = []
    for variable in ("admin-admin_credentials", "admin-stats_credentials"):
        row = variables.rows.get((variable,))
        logins = str(row[1]).split(";") if row else []
        lists.append({login.partition(":")[0] for login in logins} - {""})
    for name in sorted(lists[0] & lists[1]):
        where = variables.where[("admin-stats_credentials",)]
        message = f"{name!r} is in admin-admin_credentials too; ProxySQL makes it a stats user"
        mistakes.add(where, "variables.admin-stats_credentials", message)


def check_families(table: DesiredTable, mistakes: Mistakes) -> None:
    """Note rows that reuse a hostgroup of another row of the same table: only one of them loads.

    Changes: mistakes.
    """
    layout = table.layout
    hostgroups = [n for n, column in enumerate(layout.columns) if column.hostgroup]
    taken: dict[object, Key] = {}
    for key, row in table.rows.items():
        for position in hostgroups:
            other = taken.setdefault(row[position], key)
            if other != key:
                name = layout.names[position]
                where, label = field_place(table, key, name)
                place = table.where[other]
                message = f"hostgroup {row[position]} belongs to another row already, at {place}"
                hint = "ProxySQL ignores the second row without a word"
                mistakes.add(where, label, message, hint)
