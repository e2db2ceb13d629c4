"""What ProxySQL would refuse, or take into MEMORY and then drop or half ignore at LOAD, silently.

Source: ProxySQL 2.7.1, run; load_mysql_query_rules_to_runtime,
__add_active_users, and the loaders of the *_hostgroups tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from proxyctl.catalog import Column, Kind, Layout
from proxyctl.catalog.tables import create_table
from proxyctl.config.context import Context
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.rows import field_place, key_words
from proxyctl.errors import Mistake
from proxyctl.routing.regex import (
    BadPattern,
    Engine,
    as_bytes,
    compile_pattern,
    engine_for,
    is_plain,
    never_matches_if_broken,
)
from proxyctl.state.cells import (
    DIGEST_FIX,
    MAX_LATENCY_MS,
    MODIFIERS_FIX,
    digest_problem,
    ignored_keys,
    modifiers_problem,
)
from proxyctl.state.row import KEEP, Desired, DesiredTable, Key, Secret
from proxyctl.state.runtime import (
    CLIENT_ADDR_FIX,
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

# Fields ------------------------------------------------------------------------------------------


def check_numbers(table: DesiredTable, mistakes: Mistakes) -> None:
    """Note numbers that ProxySQL would cut. Changes: mistakes."""
    column, largest = _LARGEST.get(table.layout.name, ("", 0))
    for key, value in _values(table, column):
        if isinstance(value, int) and value > largest:
            message = f"ProxySQL would cut {value}: the largest is {largest}"
            mistakes.add(*field_place(table, key, column), message)


def _values(table: DesiredTable, column: str) -> Iterator[tuple[Key, object]]:
    """Yield the keys of the rows with their values in a column; none if no file sets it."""
    if column in table.used:
        position = table.layout.index[column]
        yield from ((key, row[position]) for key, row in table.rows.items())


def check_json(table: DesiredTable, context: Context) -> None:
    """Note what ProxySQL would ignore in a JSON column. Changes: context.mistakes."""
    for column in table.layout.columns:
        for key, value in _values(table, column.name) if column.json_keys else ():
            for name in ignored_keys(column, value) if isinstance(value, str) else ():
                where, label = field_place(table, key, column.name)
                label = label if name is None else f"{label}.{name}"
                context.mistakes.add(where, label, *_ignored(column, name, context))


def _ignored(column: Column, name: str | None, context: Context) -> tuple[str, str | None]:
    """Return why ProxySQL ignores a key of a JSON column (None: all of it), and the fix."""
    limits = {key.name: key for key in column.json_keys}
    if name is None:
        return "ProxySQL reads only a mapping here", None
    if name in limits:
        _, low, high = limits[name]
        return f"ProxySQL ignores all but an integer from {low} to {high}", None
    near = context.mistakes.did_you_mean(name, limits)
    fix = near or f"known are {', '.join(limits)}"
    return f"ProxySQL {context.version} ignores this key", fix


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


# Rules -------------------------------------------------------------------------------------------

RULE_TABLES = ("mysql_query_rules", "pgsql_query_rules")

_CRITERIA: dict[str, tuple[Callable[[str], str | None], str]] = {
    "client_addr": (client_addr_problem, CLIENT_ADDR_FIX),
    "digest": (digest_problem, DIGEST_FIX),
    "re_modifiers": (modifiers_problem, MODIFIERS_FIX),
}
"""What is wrong with a text, and the fix, by column. Lint says the same of an instance."""

_PATTERNS = ("match_digest", "match_pattern")

_BadField = tuple[Key, str, str, str | None]
"""Row, column, what is wrong, and the fix."""


def check_rules(table: DesiredTable, chosen: object, context: Context) -> None:
    """Note rules that would be skipped, lose a criterion, or never match.

    For a rule that is not active this is a warning. `chosen`: the value of
    mysql-query_processor_regex, None for the default. Changes: context.
    """
    active = table.layout.index["active"]
    for key, column, problem, fix in (*_bad_criteria(table), *_bad_patterns(table, chosen)):
        where, label = field_place(table, key, column)
        if table.rows[key][active] == 0:
            context.warnings.append(f"{where}: {label}: {problem}; the rule is not active")
        else:
            context.mistakes.add(where, label, problem, fix)


def chosen_in_files(tables: Mapping[str, DesiredTable]) -> object:
    """Return the value of mysql-query_processor_regex in the files; None where they do not say."""
    variables = tables.get("mysql_variables")
    row = variables.rows.get(("mysql-query_processor_regex",)) if variables else None
    return row[1] if row else None


def mistakes_at_runtime(desired: Desired, at_runtime: int) -> list[Mistake]:
    """Return the patterns that the engine at RUNTIME does not compile, if the files name none.

    `at_runtime`: the value of mysql-query_processor_regex there.
    """
    mistakes = Mistakes()
    if chosen_in_files(desired.tables) is None and engine_for(at_runtime) is Engine.RE2:
        for table in (desired.tables[name] for name in RULE_TABLES if name in desired.tables):
            active = table.layout.index["active"]
            for key, column, problem, _ in _bad_patterns(table, at_runtime):
                if table.rows[key][active] != 0:
                    mistakes.add(*field_place(table, key, column), problem)
    return mistakes.all()


def _bad_criteria(table: DesiredTable) -> Iterator[_BadField]:
    for column, (problem_of, fix) in _CRITERIA.items():
        for key, value in _values(table, column):
            problem = problem_of(value) if isinstance(value, str) else None
            if problem is not None:
                yield key, column, problem, fix


def _bad_patterns(table: DesiredTable, chosen: object) -> Iterator[_BadField]:
    """Yield every pattern that the engine does not compile. ProxySQL never says so."""
    version = table.layout.version
    engine = engine_for(chosen, version)
    negate = table.layout.index["negate_match_pattern"]
    known: dict[str, str | None] = {}
    for column in _PATTERNS:
        for key, pattern in _values(table, column):
            if not isinstance(pattern, str):
                continue
            if pattern not in known:
                known[pattern] = _problem(pattern, engine)
            if known[pattern] is not None:
                effect = "the rule would never match"
                if table.rows[key][negate] == 1 and not never_matches_if_broken(version):
                    effect = "negated, it would match every query"
                # The engine's words may repeat the pattern.
                why = "(sensitive)" if isinstance(pattern, Secret) else known[pattern]
                yield key, column, f"not a regular expression for {engine}: {why}; {effect}", None


def _problem(pattern: str, engine: Engine) -> str | None:
    """Return why a pattern does not compile; None if it does."""
    text = as_bytes(pattern)
    try:
        if not is_plain(text):
            compile_pattern(text, engine)
    except BadPattern as bad:
        return str(bad)
    return None


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
