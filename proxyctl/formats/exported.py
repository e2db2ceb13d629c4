"""One set of rows, written as YAML, SQL or .cnf: the output of export, render and import."""

from __future__ import annotations

from collections.abc import Sequence

from proxyctl.catalog import Layout
from proxyctl.export import Exported, environment_name
from proxyctl.fast_routing import dead_text, last_rule_in_the_way
from proxyctl.formats.yaml_writer import Commented, EnvRef, VariableField, write_document
from proxyctl.runtime_image import columns_with_lone_quote
from proxyctl.state import KEEP, DesiredRow, Row


def exported_text(
    exported: Exported, form: str, secrets: str, *, header: Sequence[str] = ()
) -> str:
    """Return the text in the form `yaml`, `sql` or `cnf`. Changes: exported.warnings."""
    dead = _dead_fast_routing(exported)
    exported.warnings += dead
    if form == "yaml":
        return _yaml(exported, secrets, header, keeps_alive=not dead)
    tables = {
        name: (exported.layouts[name], [_plain(exported.layouts[name], row) for row in rows])
        for name, rows in exported.tables.items()
    }
    notes = [f"not written: {name} ({value})" for name, value in exported.commented.items()]
    if form == "sql":
        from proxyctl.formats.sql_writer import write_script

        if secrets == "omit":
            notes.append("passwords are masked: this script cannot be run as it is")
        return write_script(
            tables, exported.variables, header=[*header, *notes], mask_secrets=secrets == "omit"
        )
    from proxyctl.formats.cnf_writer import write_cnf

    written = write_cnf(tables, exported.variables, header=[*header, *notes])
    exported.warnings += [f"not in the .cnf: {note}" for note in written.notes]
    return written.text


def _dead_fast_routing(exported: Exported) -> list[str]:
    """Return what is to be said of fast routing that ProxySQL never looks at."""
    found = []
    for name in ("mysql_query_rules", "pgsql_query_rules"):
        routing = f"{name}_fast_routing"
        rules = exported.tables.get(name)
        if rules and exported.tables.get(routing):
            last = last_rule_in_the_way(exported.layouts[name], rules)
            if last is not None:
                found.append(dead_text(routing, last))
    return found


def _yaml(exported: Exported, secrets: str, header: Sequence[str], *, keeps_alive: bool) -> str:
    sections = {}
    for name, rows in exported.tables.items():
        layout = exported.layouts[name]
        rows = _showable(exported, layout, rows)
        position = layout.index.get("password") if secrets == "omit" else None
        kept: list[DesiredRow] = [
            row if position is None else (*row[:position], KEEP, *row[position + 1 :])
            for row in rows
        ]
        sections[name] = (layout, kept)
    variables: dict[str, VariableField] = dict(exported.variables)
    for name, value in exported.commented.items():
        if value.startswith("{env: "):
            variables[name] = Commented(EnvRef(environment_name(name)), "secret")
        else:
            variables[name] = Commented(value, "takes effect at a restart, or is local")
    return write_document(
        sections,
        dict(sorted(variables.items())),
        header=list(header),
        keeps_fast_routing_alive=keeps_alive,
    )


def _showable(exported: Exported, layout: Layout, rows: list[DesiredRow]) -> list[DesiredRow]:
    """Return the rows without those that the files refuse. Changes: exported.warnings."""
    kept = []
    for row in rows:
        hiding = columns_with_lone_quote(layout, row)
        if not hiding:
            kept.append(row)
            continue
        exported.warnings.append(
            f"{layout.name} {row[0]}: left out, since no LOAD of it can be verified: ProxySQL never"
            f" shows it in its runtime table, for the lone quote in {hiding[0]}"
        )
    return kept


def _plain(layout: Layout, row: DesiredRow) -> Row:
    """Return the row with ProxySQL's default where the files do not say."""
    return tuple(
        default if cell is KEEP else cell
        for cell, default in zip(row, layout.defaults, strict=True)
    )
