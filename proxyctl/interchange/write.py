"""Rows -> YAML, SQL or .cnf: the output of export, render and import.

An instance or a proxysql.cnf can hold values that our files refuse. YAML has such a cell as
ProxySQL reads it, and a row or a variable that `validate` refuses as a comment. Each case is a
warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from proxyctl.catalog import Column, ColumnKind, Layout, Role, Value
from proxyctl.catalog.destinations import dead_text, last_rule_in_the_way
from proxyctl.errors import Mistake
from proxyctl.interchange.cnf_writer import write_cnf
from proxyctl.interchange.content import FileContent, environment_name, without_secrets
from proxyctl.interchange.sql import write_script
from proxyctl.interchange.yaml import (
    Commented,
    EnvRef,
    VariableField,
    manage_section,
    row_lines,
    write_document,
)
from proxyctl.proxysql.cells import as_read
from proxyctl.rows.desired import DesiredTable
from proxyctl.rows.row import KEEP, DesiredRow, Key, listed_rows, row_name
from proxyctl.text import shown

TextChecker = Callable[[str], Sequence[Mistake]]
"""Returns the mistakes in the text of a file."""

Tables = dict[str, tuple[Layout, list[DesiredRow]]]

_RENDERED = (
    "compiled from files. Nothing here looks at the instance first, keeps nodes where they are or",
    "asks before it deletes: `proxyctl plan` and `apply` do.",
)


@dataclass(frozen=True)
class WrittenFile:
    """The text of a file to write."""

    text: str
    """The content of the file."""
    warnings: tuple[str, ...]
    """What the file leaves out or holds in another form, and what does not work in ProxySQL."""


def written_file(
    content: FileContent,
    form: str,
    secrets: str,
    *,
    header: Sequence[str] = (),
    owned: Mapping[str, DesiredTable] | None = None,
    check: TextChecker | None = None,
) -> WrittenFile:
    """Return the file in the form `yaml`, `sql` or `cnf`.

    `secrets`: with `omit` no form holds a password. `owned`: the tables of the files, with the part
    that they own. `check`: for rows of an instance or a .cnf; rows and variables that it refuses
    become comments. Changes: content.
    """
    tables: Tables = {}
    for name, all_rows in content.tables.items():
        layout = content.layouts[name]
        rows = without_secrets(layout, all_rows) if secrets == "omit" else all_rows
        tables[name] = (layout, _without_reserved(content, layout, rows))
    # Decided with the rows that our files refuse, because ProxySQL uses them.
    dead = _dead_fast_routing(_without_left_out(content, tables))
    content.warnings += dead
    notes = [f"not written: {name} ({value})" for name, value in content.local.items()]
    notes += [f"not written: {name} (secret)" for name in content.secrets]
    if form == "yaml":
        if check is not None:
            tables = _accepted(content, tables, check)
        text = _yaml(content, tables, header, keeps_alive=not dead)
        text += manage_section(owned or {}, tables)
    elif form == "sql":
        head = [*header, *(_RENDERED if owned is not None else ()), *notes]
        text = write_script(
            tables, content.variables, owned=owned, ledger=content.ledger, header=head
        )
    else:
        head = [*header, *notes, *_owned_parts(owned or {})]
        text, lost = write_cnf(tables, content.variables, header=head)
        content.warnings += [f"not in the .cnf: {note}" for note in lost]
    return WrittenFile(text, tuple(content.warnings))


def _owned_parts(owned: Mapping[str, DesiredTable]) -> list[str]:
    """Return a line per table that the files own in part, for forms without `manage`."""
    return [
        f"{name}: the files own only {table.scope.text}"
        for name, table in owned.items()
        if table.scope is not None and table.scope.terms
    ]


def _dead_fast_routing(tables: Tables) -> list[str]:
    """Return a warning for each table of fast routing that ProxySQL never reads."""
    warnings = []
    for name in ("mysql_query_rules", "pgsql_query_rules"):
        routing = f"{name}_fast_routing"
        if name in tables and routing in tables and tables[routing][1]:
            last = last_rule_in_the_way(*tables[name])
            if last is not None:
                warnings.append(dead_text(routing, last))
    return warnings


# YAML -------------------------------------------------------------------------------------------


def _yaml(content: FileContent, tables: Tables, header: Sequence[str], *, keeps_alive: bool) -> str:
    """Return the file, with refused rows and variables as comments. Changes: content.warnings."""
    sections = _without_left_out(content, tables)
    remarks = {name: [text] for name, text in content.remarks.items() if name in sections}
    for name, reasons in content.left_out.items():
        layout, rows = tables[name]
        by_reason: dict[str, list[DesiredRow]] = {}
        for row in rows:
            if reason := reasons.get(layout.key_of(row)):
                by_reason.setdefault(reason, []).append(row)
        for reason, refused in by_reason.items():
            remarks.setdefault(name, []).extend(
                [f"left out: {reason}", *row_lines(layout, refused)]
            )
            text = f"left out (see the comment in the file): {reason}"
            if not content.places and name in sections:
                text += "; a plan of this file deletes it"
            _warn(content, name, [layout.key_of(row) for row in refused], text)
    for name, reason in content.refused.items():
        place = content.places.get(("variables", (name,)))
        start = f"{place}: {name}" if place else name
        content.warnings.append(f"{start}: left out (see the comment in the file): {reason}")
    text, _ = write_document(
        sections,
        dict(sorted(_variables(content).items())),
        version=content.version if content.is_for_version else None,
        header=header,
        remarks=remarks,
        keeps_fast_routing_alive=keeps_alive,
    )
    return text


def _variables(content: FileContent) -> dict[str, VariableField]:
    fields: dict[str, VariableField] = {**content.variables}
    for name, reason in content.refused.items():
        fields[name] = Commented(content.variables[name], f"left out: {reason}")
    for name, value in content.local.items():
        fields[name] = Commented(value, "takes effect at a restart, or is local")
    for name in content.secrets:
        fields[name] = Commented(EnvRef(environment_name(name)), "secret")
    return fields


def _without_left_out(content: FileContent, tables: Tables) -> Tables:
    """Return the tables without the rows that are left out.

    A table that loses all its rows is left out too: an empty section would delete the rows.
    """
    written: Tables = {}
    for name, (layout, rows) in tables.items():
        left_out = content.left_out.get(name)
        kept = [row for row in rows if layout.key_of(row) not in left_out] if left_out else rows
        if kept or not rows:
            written[name] = (layout, kept)
    return written


def _warn(content: FileContent, table: str, keys: Sequence[Key], text: str) -> None:
    """Warn once for all rows, or per row at its place in a file. Changes: content.warnings."""
    if content.places:
        content.warnings += [
            f"{content.places[table, key]}: {row_name(table, key)}: {text}" for key in keys
        ]
        return
    names = list(dict.fromkeys(row_name(table, key) for key in keys))
    content.warnings.append(f"{listed_rows(names)}: {text}")


# Values that our files refuse -------------------------------------------------------------------

_MOST_CHECKED = 20_000
"""Only `validate` checks a larger table: reading it as YAML takes longer than the export."""


def _accepted(content: FileContent, tables: Tables, check: TextChecker) -> Tables:
    """Return the tables as our files can hold them; what the check still refuses is left out.

    Changes: content.
    """
    tables = {
        name: (layout, _rows_as_read(content, layout, rows))
        for name, (layout, rows) in tables.items()
    }
    small = {name: table for name, table in tables.items() if len(table[1]) <= _MOST_CHECKED}
    sections = _without_left_out(content, small)
    text, places = write_document(sections, content.variables)
    for mistake in check(text):
        section, item = places.get(mistake.line, ("", 0))
        if isinstance(item, str):
            content.refused.setdefault(item, _reason(mistake))
        elif section:
            layout, rows = sections[section]
            content.leave_out(section, {layout.key_of(rows[item]): _reason(mistake)})
        else:
            content.warnings.append(f"the file will be refused: {_reason(mistake)}")
    return tables


def _reason(mistake: Mistake) -> str:
    """Return the message, after the name of the column if it concerns a column."""
    _, _, column = mistake.key.rpartition("].")
    return f"{column}: {mistake.message}" if column and column != mistake.key else mistake.message


def _without_reserved(
    content: FileContent, layout: Layout, rows: list[DesiredRow]
) -> list[DesiredRow]:
    """Return the rows without a status that no file may set: SHUNNED.

    A plan of the file then leaves the instance as it is. Changes: content.warnings.
    """
    for position, column in enumerate(layout.columns):
        if not column.reserved:
            continue
        words = column.reserved
        reserved = dict.fromkeys(row for row in rows if str(row[position]).upper() in words)
        if reserved:
            _warn(content, layout.name, [layout.key_of(row) for row in reserved], _RESERVED)
            rows = [
                (*row[:position], KEEP, *row[position + 1 :]) if row in reserved else row
                for row in rows
            ]
    return rows


def _rows_as_read(content: FileContent, layout: Layout, rows: list[DesiredRow]) -> list[DesiredRow]:
    """Return the rows; cells that our files refuse have the value that ProxySQL reads.

    A plan compares the values that ProxySQL reads, so it finds no difference. Keys do not change.
    Changes: content.warnings.
    """
    left_out = content.left_out.get(layout.name, {})
    columns = [n for n in range(len(layout.columns)) if _may_be_read_otherwise(layout, n)]
    known: dict[object, tuple[Value, str | None]] = {}
    warnings: dict[str, list[Key]] = {}
    result: list[DesiredRow] = []
    for row in rows:
        cells = list(row)
        for position in columns:
            cell = row[position]
            if cell is None or cell is KEEP:
                continue
            question = (position, cell.__class__, cell)
            if question not in known:
                known[question] = _cell_as_read(layout, layout.columns[position], cell)
            read, warning = known[question]
            if warning is None:
                cells[position] = read
            elif layout.key_of(row) not in left_out:
                cells[position] = read
                warnings.setdefault(warning, []).append(layout.key_of(row))
        result.append(tuple(cells))
    for text, keys in warnings.items():
        _warn(content, layout.name, keys, text)
    return result


def _may_be_read_otherwise(layout: Layout, position: int) -> bool:
    column = layout.columns[position]
    is_number = column.is_numeric and position not in layout.key_index
    is_word = layout.table.role is Role.RULES and column.name in ("digest", "re_modifiers")
    return is_number or is_word or not column.is_listed or column.kind is ColumnKind.JSON


def _cell_as_read(layout: Layout, column: Column, cell: Value) -> tuple[Value, str | None]:
    """Return the cell to write, and a warning if that changes the cell."""
    if not column.is_listed and cell != column.default:
        return cell, (
            f"{column.name}: proxyctl does not know this column; plan and apply accept it for an"
            " instance that has it, but validate refuses it"
        )
    read = as_read(layout.table, column, cell)
    low, _ = column.bounds
    is_refused = isinstance(read, int) and low is not None and read < low
    is_same = type(read) is type(cell) and _words(read) == _words(cell)
    if is_refused or is_same:
        return cell, None
    if read is None and cell in ("", -1):  # ProxySQL's own forms of NULL
        return None, None
    words = ["null" if value is None else shown(value) for value in (cell, read)]
    text = f"{column.name} {words[0]} is written as {words[1]}, which is what ProxySQL makes of it"
    return read, text


_RESERVED = (
    "status SHUNNED is left out: no file sets it, and a plan leaves it as it is; write"
    " `status: ONLINE` to use the server, or OFFLINE_SOFT to keep it out of service"
)


def _words(value: Value) -> list[str]:
    """Return the words of a list, without their letter case and order."""
    return sorted(str(value).upper().split(","))
