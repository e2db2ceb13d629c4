"""Finds rows that ProxySQL refuses, or silently drops or partly ignores at LOAD.

Source: ProxySQL 2.7.1, run; load_mysql_query_rules_to_runtime, __add_active_users, and the loaders
of the *_hostgroups tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from operator import itemgetter

from proxyctl.catalog import Column, ColumnKind
from proxyctl.catalog.model import SECOND_PASSWORD
from proxyctl.catalog.releases import SECOND_PASSWORDS
from proxyctl.catalog.tables import create_table
from proxyctl.config.context import Compilation
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.rows import field_place, key_words
from proxyctl.errors import Mistake
from proxyctl.proxysql.cells import (
    DIGEST_FIX,
    MODIFIERS_FIX,
    digest_problem,
    ignored_keys,
    modifiers_problem,
)
from proxyctl.proxysql.flaws import OF_REFERENCE, flaws, has_flaws
from proxyctl.proxysql.load_image import (
    CLIENT_ADDR_FIX,
    PASTED,
    clashing_writers,
    client_addr_problem,
    columns_with_quote,
)
from proxyctl.proxysql.passwords import is_broken_hash
from proxyctl.routing.regex import (
    CONTROL_FIX,
    BadPattern,
    RegexEngine,
    as_bytes,
    compile_pattern,
    control_problem,
    engine_for,
    is_plain,
    never_matches_if_broken,
)
from proxyctl.rows.desired import Desired, DesiredTable
from proxyctl.rows.row import KEEP, Key, Secret

RULE_TABLES = ("mysql_query_rules", "pgsql_query_rules")

USER_TABLES = ("mysql_users", "pgsql_users")


def check_tables(
    tables: Mapping[str, DesiredTable], variables: Mapping[str, DesiredTable], context: Compilation
) -> None:
    """Note rows that ProxySQL would refuse, drop or ignore. Changes: context."""
    for name, table in tables.items():
        if not context.takes_dead_rules:
            _check_json(table, context)
            _check_flaws(table, context)
            if name == "mysql_users":
                _check_second_passwords(table, context)
            if name in RULE_TABLES:
                _check_rules(table, chosen_in_files(variables), context)
        _check_quotes(table, context.mistakes)
        _check_constraints(table, context.mistakes)
        if "writer_hostgroup" in table.layout.index:
            _check_families(table, context.mistakes)
        if name in USER_TABLES:
            _check_users(table, context.mistakes)
        if name == "mysql_users":
            _warn_of_broken_hashes(table, context)


# Fields ------------------------------------------------------------------------------------------


def _values(table: DesiredTable, column: str) -> Iterable[tuple[Key, object]]:
    """Return each key with the row's value in a column; nothing if no file sets the column."""
    if column not in table.used:
        return ()
    value = itemgetter(table.layout.index[column])
    return zip(table.rows, map(value, table.rows.values()), strict=True)


def _check_json(table: DesiredTable, context: Compilation) -> None:
    """Note what ProxySQL would ignore in a JSON column. Changes: context.mistakes."""
    for column in table.layout.columns:
        limits = {key.name: key for key in column.json_keys}
        for key, value in _values(table, column.name) if limits else ():
            for name in ignored_keys(column, value) if isinstance(value, str) else ():
                where, label = field_place(table, key, column.name)
                fix = None
                if name is None:
                    message = "ProxySQL reads only a mapping here"
                elif name in limits:
                    _, low, high = limits[name]
                    message = f"ProxySQL ignores anything but an integer from {low} to {high}"
                else:
                    message = f"ProxySQL {context.version} ignores this key"
                    near = context.mistakes.did_you_mean(name, limits)
                    fix = near or f"choose from {', '.join(limits)}"
                context.mistakes.add(where, f"{label}.{name}" if name else label, message, fix)


def _check_quotes(table: DesiredTable, mistakes: Mistakes) -> None:
    """Note rows that the runtime table never shows: no apply could verify their LOAD.

    Changes: mistakes.
    """
    quote, *_ = PASTED.get(table.layout.name, ("",))
    for key, row in table.rows.items() if quote else ():
        for column in columns_with_quote(table.layout, row):
            message = f"ProxySQL does not show a row with {quote} unchanged in its runtime table"
            fix = "move it into the script that is called"
            mistakes.add(*field_place(table, key, column), message, fix)


def _check_flaws(table: DesiredTable, context: Compilation) -> None:
    """Note host names and programs that never work; of an inactive row, a warning.

    Changes: context.
    """
    names = table.layout.names
    for key, row in table.rows.items() if has_flaws(table.layout.name) else ():
        cells = dict(zip(names, row, strict=True))
        for column, problem, fix in flaws(table.layout.name, cells):
            where, label = field_place(table, key, column)
            if cells.get("active") == 0:
                context.warnings.append(f"{where}: {label}: {problem}; the row is not active")
            else:
                context.mistakes.add(where, label, problem, fix)


# Rules -------------------------------------------------------------------------------------------

_CRITERIA: dict[str, tuple[Callable[[str], str | None], str]] = {
    "client_addr": (client_addr_problem, CLIENT_ADDR_FIX),
    "digest": (digest_problem, DIGEST_FIX),
    "re_modifiers": (modifiers_problem, MODIFIERS_FIX),
    "match_digest": (control_problem, CONTROL_FIX),
    "match_pattern": (control_problem, CONTROL_FIX),
}
"""By column, the check of its text, and the fix. Lint checks the text of an instance so too."""

_BadField = tuple[Key, str, str, str | None]
"""Key of the row, column, problem, and fix."""


def _check_rules(table: DesiredTable, chosen: object, context: Compilation) -> None:
    """Note rules that would be skipped, lose a criterion, or never match.

    An inactive rule gets a warning. `chosen`: the value of mysql-query_processor_regex, None for
    the default. Changes: context.
    """
    active = table.layout.index["active"]
    for key, column, problem, fix in (*_bad_criteria(table), *_bad_patterns(table, chosen)):
        where, label = field_place(table, key, column)
        if table.rows[key][active] == 0:
            context.warnings.append(f"{where}: {label}: {problem}; the rule is not active")
        else:
            context.mistakes.add(where, label, problem, fix)


def chosen_in_files(tables: Mapping[str, DesiredTable]) -> object:
    """Return mysql-query_processor_regex as the files set it; None if they do not."""
    variables = tables.get("mysql_variables")
    row = variables.rows.get(("mysql-query_processor_regex",)) if variables else None
    return row[1] if row else None


def mistakes_at_runtime(desired: Desired, at_runtime: int) -> list[Mistake]:
    """Return the patterns that the engine at RUNTIME does not compile, if the files set no engine.

    `at_runtime`: the value of mysql-query_processor_regex at RUNTIME.
    """
    mistakes = Mistakes()
    if chosen_in_files(desired.tables) is None and engine_for(at_runtime) is RegexEngine.RE2:
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
                is_secret = isinstance(value, Secret)
                yield key, column, OF_REFERENCE[0] if is_secret else problem, fix


def _bad_patterns(table: DesiredTable, chosen: object) -> Iterator[_BadField]:
    """Yield every pattern that the engine does not compile. ProxySQL does not report them."""
    version = table.layout.version
    engine = engine_for(chosen, version)
    negate = table.layout.index["negate_match_pattern"]
    problems: dict[object, str | None] = {None: None}
    for column in ("match_digest", "match_pattern"):
        for key, pattern in _values(table, column):
            if pattern not in problems:
                problems[pattern] = _problem(str(pattern), engine)
            if problems[pattern] is not None:
                effect = "the rule would never match"
                if table.rows[key][negate] == 1 and not never_matches_if_broken(version):
                    effect = "negated, it would match every query"
                # The engine's words may repeat the pattern.
                why = "(sensitive)" if isinstance(pattern, Secret) else problems[pattern]
                yield key, column, f"not a regular expression for {engine}: {why}; {effect}", None


def _problem(pattern: str, engine: RegexEngine) -> str | None:
    """Return why a pattern does not compile; None if it compiles."""
    text = as_bytes(pattern)
    try:
        if not is_plain(text):
            compile_pattern(text, engine)
    except BadPattern as bad:
        return str(bad)
    return None


# Tables ------------------------------------------------------------------------------------------


def _check_users(table: DesiredTable, mistakes: Mistakes) -> None:
    """Note users that ProxySQL drops. Changes: mistakes."""
    index = table.layout.index
    active, frontend, backend = index["active"], index["frontend"], index["backend"]
    for key, row in table.rows.items():
        if row[frontend] == 0 and row[backend] == 0 and row[active] != 0:
            where, label = field_place(table, key, "frontend")
            message = "ProxySQL drops a user with frontend 0 and backend 0"
            mistakes.add(where, label, message, "write active: 0 to switch a user off")


def _warn_of_broken_hashes(table: DesiredTable, context: Compilation) -> None:
    """Warn of passwords that look like a cut hash: a clear text may look so. Changes: context."""
    for key, password in _values(table, "password"):
        if isinstance(password, str) and is_broken_hash(password):
            where, label = field_place(table, key, "password")
            context.warnings.append(f"{where}: {label}: {_BROKEN_HASH}")


_BROKEN_HASH = (
    "looks like a truncated hash, which ProxySQL takes as clear text; a complete hash is * and 40"
    " hexadecimal digits, or $A$005$ and 63 characters"
)


def _check_second_passwords(table: DesiredTable, context: Compilation) -> None:
    """Note second passwords that ProxySQL ignores: nobody could log in. Changes: context."""
    for key, attributes in _values(table, "attributes"):
        is_there = isinstance(attributes, str) and SECOND_PASSWORD in attributes
        found = json.loads(str(attributes)) if is_there else None
        if not isinstance(found, dict) or SECOND_PASSWORD not in found:
            continue
        second = found[SECOND_PASSWORD]
        where, label = field_place(table, key, "attributes")
        label += f".{SECOND_PASSWORD}"
        if not isinstance(second, str) or not _IS_HEX(second):
            message = "ProxySQL reads only hexadecimal digits here, two for each byte"
            context.mistakes.add(where, label, message, _DIGITS_FIX)
        elif not context.version.has(SECOND_PASSWORDS):
            problem = f"ProxySQL {context.version} ignores it, and refuses logins with it"
            context.warnings.append(f"{where}: {label}: {problem}")


_IS_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})+").fullmatch
_DIGITS_FIX = (
    "write {env: NAME}, {file: PATH} or {command: [PROGRAM, ...]} for the password itself, or the"
    " digits of its bytes"
)


def _check_families(table: DesiredTable, mistakes: Mistakes) -> None:
    """Note rows that ProxySQL ignores: their writer hostgroup has another role in another row.

    Changes: mistakes.
    """
    layout = table.layout
    taken = clashing_writers(layout, table.rows.values())
    for key, row in table.rows.items():
        hostgroup = row[layout.index["writer_hostgroup"]]
        # A CHECK refuses a row with one hostgroup in two roles.
        if hostgroup in taken - clashing_writers(layout, [row]):
            where, label = field_place(table, key, "writer_hostgroup")
            message = f"hostgroup {hostgroup} has a different role in another row of this table"
            mistakes.add(where, label, message, "choose another writer: ProxySQL ignores this row")


# Constraints -------------------------------------------------------------------------------------

_PLAIN_WORDS = {
    "CASE WHEN replace_pattern": "a replace_pattern needs a match_pattern",
    "SUBSTR(domain_name": "the domain_name has to begin with a dot",
}
"""Plain words for a CHECK, by the beginning of its text."""


def _check_constraints(table: DesiredTable, mistakes: Mistakes) -> None:
    """Note every row that an INSERT would refuse. Changes: mistakes."""
    layout, used = table.layout, table.used.keys()
    # UNIQUE cannot fail while all other columns of the primary key are constant.
    extra = {name for unique in layout.table.unique for name in {*layout.table.key} - {*unique}}
    if used.isdisjoint(extra) and not any(_may_fail(column, used) for column in layout.columns):
        return
    import sqlite3

    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(create_table(layout))
        marks = ",".join("?" * len(layout.columns))
        insert = f"INSERT INTO {layout.table.sql_name} VALUES ({marks})"
        for key, row in table.rows.items():
            try:
                connection.execute(insert, tuple(map(_value, row, layout.columns)))
            except sqlite3.IntegrityError as error:
                kind, _, detail = str(error).partition(" constraint failed: ")
                plain = [words for begin, words in _PLAIN_WORDS.items() if detail.startswith(begin)]
                reason = plain[0] if plain else str(error)
                if kind == "UNIQUE":
                    names = [name.rpartition(".")[2] for name in detail.split(", ")]
                    reason = f"another row has the same {' and '.join(names)}"
                message = f"{key_words(layout, key)}: ProxySQL refuses the row: {reason}"
                mistakes.add(table.where[key], layout.name, message)


def _may_fail(column: Column, used: Collection[str]) -> bool:
    """Return whether the CHECK of a column concerns several columns and a file sets one of them.

    The models check what concerns one column alone, and defaults pass every CHECK.
    """
    if column.check is None or column.choices is not None or column.kind is ColumnKind.JSON:
        return False
    comparison = rf"{re.escape(column.name)} ?(?:>=|<=|>) ?\d+"
    if re.fullmatch(f"{comparison}(?: AND {comparison})*", column.check):
        return False
    return not set(re.findall(r"\w+", column.check)).isdisjoint(used)


def _value(value: object, column: Column) -> object:
    """Return the default for KEEP, and one character per byte for text that is not ASCII."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "surrogateescape").decode("latin-1")
    return column.default if value is KEEP else value
