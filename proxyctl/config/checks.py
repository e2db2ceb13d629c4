"""What ProxySQL would refuse, or take into MEMORY and then drop or half ignore at LOAD, silently.

Source: ProxySQL 2.7.1, run; load_mysql_query_rules_to_runtime,
__add_active_users, and the loaders of the *_hostgroups tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from proxyctl.catalog import Column, Kind, Layout
from proxyctl.catalog.tables import create_table
from proxyctl.config.context import Context
from proxyctl.config.mistakes import Mistakes, did_you_mean, shown
from proxyctl.config.rows import field_place, key_words
from proxyctl.state.cells import MAX_LATENCY_MS, MODIFIERS, ignored_keys, normal_digest
from proxyctl.state.row import KEEP, DesiredTable, Key, Secret
from proxyctl.state.runtime import (
    PASTED,
    clashing_writers,
    client_addr_problem,
    columns_with_quote,
)

_LARGEST = {
    "mysql_servers": ("max_latency_ms", MAX_LATENCY_MS),
    "pgsql_servers": ("max_latency_ms", MAX_LATENCY_MS),
    "proxysql_servers": ("port", 65535),
}
"""Numbers that ProxySQL holds in fewer bits than its table does: a larger one becomes another."""

_DIGEST = re.compile(r"0[xX][0-9A-Fa-f]{1,16}\Z")

# Fields ------------------------------------------------------------------------------------------


def check_numbers(table: DesiredTable, mistakes: Mistakes) -> None:
    """Note numbers that ProxySQL would cut. Changes: mistakes."""
    column, largest = _LARGEST.get(table.layout.name, ("", 0))
    for key, value in _values(table, column):
        if isinstance(value, int) and value > largest:
            message = f"ProxySQL would cut {value}: the largest is {largest}"
            mistakes.add(*field_place(table, key, column), message)


def check_rules(table: DesiredTable, context: Context) -> None:
    """Note rules that would be skipped, or lose a criterion and match everything.

    For a rule that is not active this is a warning. Changes: context.
    """
    active = table.layout.index["active"]
    for column, check in _RULE_COLUMNS.items():
        for key, value in _values(table, column):
            problem = check(value) if isinstance(value, str) else None
            if not problem:
                continue
            where, label = field_place(table, key, column)
            if table.rows[key][active] == 0:
                text = f"{where}: {label}: {problem[0]}; the rule is not active"
                context.warnings.append(text)
            else:
                context.mistakes.add(where, label, *problem)


def _values(table: DesiredTable, column: str) -> Iterator[tuple[Key, object]]:
    """Yield the keys of the rows with their values in a column; none if no file sets it."""
    if column in table.used:
        position = table.layout.index[column]
        yield from ((key, row[position]) for key, row in table.rows.items())


def _client_addr(text: str) -> tuple[str, str | None] | None:
    problem = client_addr_problem(text)
    fix = "write one % at the end, or a rule for each address" if "%" in text[:-1] else None
    return None if problem is None else (problem, fix)


def _digest(text: str) -> tuple[str, str | None] | None:
    if _DIGEST.match(text) and int(text, 16):
        return None
    fix = "as stats_mysql_query_digest shows it: 0x and up to 16 hexadecimal digits, not all 0"
    read = normal_digest(text)
    if read is not None:
        return f"not a digest: ProxySQL would read it as {read}", fix
    return "not a digest: ProxySQL would drop it, and the rule would match every query", fix


def _modifiers(text: str) -> tuple[str, str | None] | None:
    for word in text.split(",") if text else ():
        if word.upper() not in MODIFIERS:
            near = did_you_mean(word.strip(), MODIFIERS)
            fix = "CASELESS, GLOBAL, or both with a comma and no blank between them"
            message = f"ProxySQL ignores {shown(word)}" if word else "an empty word"
            if isinstance(text, Secret):
                message = "a word that ProxySQL ignores"
            return message, near if near and " " not in word else f"known: {fix}"
    return None


_RULE_COLUMNS: dict[str, Callable[[str], tuple[str, str | None] | None]] = {
    "client_addr": _client_addr,
    "digest": _digest,
    "re_modifiers": _modifiers,
}
"""What is wrong with a value, and the fix, by column."""


def check_json(table: DesiredTable, context: Context) -> None:
    """Note what ProxySQL would ignore in a JSON column. Changes: context.mistakes."""
    for column in table.layout.columns:
        for key, value in _values(table, column.name) if column.json_keys else ():
            for name in ignored_keys(column, value) if isinstance(value, str) else ():
                where, label = field_place(table, key, column.name)
                label = label if name is None else f"{label}.{name}"
                context.mistakes.add(where, label, *_ignored(table, column, name, context))


def _ignored(
    table: DesiredTable, column: Column, name: str | None, context: Context
) -> tuple[str, str | None]:
    """Return why ProxySQL ignores a key of a JSON column (None: all of it), and the fix."""
    limits = {key.name: key for key in column.json_keys}
    if name is None:
        return "ProxySQL reads only a mapping here", None
    if name in limits:
        _, low, high = limits[name]
        return f"ProxySQL ignores all but an integer from {low} to {high}", None
    forms = [form for form in table.layout.table.columns if form.name == column.name]
    for form in forms:
        if name in (key.name for key in form.json_keys):
            return f"ProxySQL {context.version} ignores this key; it came with {form.since}", None
    near = context.mistakes.did_you_mean(name, limits)
    return "ProxySQL ignores this key", near or f"known are {', '.join(limits)}"


def check_quotes(table: DesiredTable, mistakes: Mistakes) -> None:
    """Note rows that the runtime table never shows, so that no LOAD of them could be verified.

    Changes: mistakes.
    """
    if table.layout.name not in PASTED:
        return
    quote = PASTED[table.layout.name][0]
    for key, row in table.rows.items():
        for column in columns_with_quote(table.layout, row):
            message = f"ProxySQL does not show a row with {quote} in its runtime table as it is"
            fix = "move it into the script that is called"
            mistakes.add(*field_place(table, key, column), message, fix)


# Tables ------------------------------------------------------------------------------------------


def check_users(table: DesiredTable, mistakes: Mistakes) -> None:
    """Note users that reach nothing. Changes: mistakes."""
    index = table.layout.index
    active, frontend, backend = index["active"], index["frontend"], index["backend"]
    for key, row in table.rows.items():
        if row[frontend] == 0 and row[backend] == 0 and row[active] != 0:
            where, label = field_place(table, key, "frontend")
            message = "ProxySQL drops a user with frontend 0 and backend 0"
            mistakes.add(where, label, message, "write active: 0 to switch a user off")


def check_logins(variables: DesiredTable, mistakes: Mistakes) -> None:
    """Note a login in both lists: it becomes a stats user, who can change nothing.

    Changes: mistakes.
    """
    lists: list[set[str]] = []
    for variable in ("admin-admin_credentials", "admin-stats_credentials"):
        row = variables.rows.get((variable,))
        logins = str(row[1]).split(";") if row else []
        lists.append({login.partition(":")[0] for login in logins} - {""})
    for name in sorted(lists[0] & lists[1]):
        where = variables.where[("admin-stats_credentials",)]
        message = f"{name!r} is in admin-admin_credentials too; ProxySQL makes it a stats user"
        mistakes.add(
            where, "variables.admin-stats_credentials", message, "take the name out of one"
        )


def check_families(table: DesiredTable, mistakes: Mistakes) -> None:
    """Note rows that ProxySQL ignores: their writer hostgroup has another role elsewhere.

    Changes: mistakes.
    """
    layout = table.layout
    taken = clashing_writers(layout, table.rows.values())
    for key, row in table.rows.items():
        hostgroup = row[layout.index["writer_hostgroup"]]
        # A row with one hostgroup in two roles fails on its CHECK already.
        if hostgroup in taken - clashing_writers(layout, [row]):
            where, label = field_place(table, key, "writer_hostgroup")
            message = f"hostgroup {hostgroup} has another role in a row of this table"
            mistakes.add(where, label, message, "ProxySQL ignores a row with such a writer")


# Constraints -------------------------------------------------------------------------------------

_COMPARISON = r"{name} ?(?:>=|<=|>) ?\d+"


_PLAIN_WORDS = {
    "CASE WHEN replace_pattern": "a replace_pattern needs a match_pattern",
    "SUBSTR(domain_name": "the domain_name has to begin with a dot",
}
"""What a CHECK asks for, where its text does not say it well. By the beginning of the text."""


def check_constraints(table: DesiredTable, mistakes: Mistakes) -> None:
    """Note every row that an INSERT would fail on. Changes: mistakes."""
    layout = table.layout
    used = table.used.keys()
    uniques = tuple(
        unique
        for unique in layout.table.unique
        # It cannot fail where the columns that the primary key has more are constant.
        if not used.isdisjoint(name for name in layout.table.key if name not in unique)
    )
    if not table.rows or not (uniques or any(_may_fail(column, used) for column in layout.columns)):
        return
    layout = Layout(replace(layout.table, unique=uniques), layout.columns)
    import sqlite3

    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(create_table(layout))
        marks = ",".join("?" * len(layout.columns))
        insert = f"INSERT INTO {layout.table.sql_name} VALUES ({marks})"
        rows = [tuple(map(_value, row, layout.columns)) for row in table.rows.values()]
        try:
            connection.executemany(insert, rows)
        except sqlite3.IntegrityError:
            # One row failed, and the message does not say which: again, row by row.
            connection.rollback()
            for key, row in zip(table.rows, rows, strict=True):
                try:
                    connection.execute(insert, row)
                except sqlite3.IntegrityError as error:
                    mistakes.add(table.where[key], layout.name, *_words(table, key, str(error)))
    finally:
        connection.close()


def _may_fail(column: Column, used: Collection[str]) -> bool:
    """Return whether the CHECK of a column is about several, one of which a file sets.

    The models have seen what concerns one column alone, and defaults pass every CHECK.
    """
    if column.check is None or column.choices is not None or column.kind is Kind.JSON:
        return False
    comparison = _COMPARISON.format(name=re.escape(column.name))
    if re.fullmatch(f"{comparison}(?: AND {comparison})*", column.check):
        return False
    return not set(re.findall(r"\w+", column.check)).isdisjoint(used)


def _value(value: object, column: Column) -> object:
    """Return the default for KEEP, and plain characters for text that is not UTF-8."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "surrogateescape").decode("latin-1")
    return column.default if value is KEEP else value


def _words(table: DesiredTable, key: Key, error: str) -> tuple[str, str | None]:
    """Return what to say about SQLite's error on a row."""
    words = key_words(table.layout, key)
    kind, _, detail = error.partition(" constraint failed: ")
    if kind != "UNIQUE":
        plain = next((w for begin, w in _PLAIN_WORDS.items() if detail.startswith(begin)), None)
        reason = plain or f"{kind} constraint failed: {detail}"
        return f"{words}: ProxySQL refuses the row: {reason}", None
    columns = [name.rpartition(".")[2] for name in detail.split(", ")]
    positions = [table.layout.index[name] for name in columns]
    values = [table.rows[key][position] for position in positions]
    for other, row in table.rows.items():
        if [row[position] for position in positions] == values:
            shared = ", ".join(f"{n} {v}" for n, v in zip(columns, values, strict=True))
            place = table.where[other]
            return f"{words}: {shared} belongs to another row already, at {place}", None
    return f"{words}: ProxySQL refuses the row: {error}", None
