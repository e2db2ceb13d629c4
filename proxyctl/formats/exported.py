"""One set of rows, written as YAML, SQL or .cnf: the output of export, render and import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proxyctl.catalog import Layout
from proxyctl.export import Exported, environment_name
from proxyctl.fast_routing import dead_text, last_rule_in_the_way
from proxyctl.formats.yaml_writer import Commented, EnvRef, VariableField, write_document
from proxyctl.runtime_image import columns_with_lone_quote
from proxyctl.state import KEEP, DesiredRow, DesiredTable

_RENDERED = (
    "compiled from files, for an instance that is empty or that these files manage as a whole.",
    "Nothing here looks at the instance first: `proxyctl plan` and `apply` do.",
)


def exported_text(
    exported: Exported,
    form: str,
    secrets: str,
    *,
    header: Sequence[str] = (),
    owned: Mapping[str, DesiredTable] | None = None,
) -> str:
    """Return the text in the form `yaml`, `sql` or `cnf`. `owned`: what files own of each table.

    With `omit` no format is given a password. Changes: exported.warnings.
    """
    dead = _dead_fast_routing(exported)
    exported.warnings += dead
    tables = {
        name: (exported.layouts[name], _without_secrets(exported.layouts[name], rows, secrets))
        for name, rows in exported.tables.items()
    }
    if form == "yaml":
        return _yaml(exported, tables, header, keeps_alive=not dead)
    notes = [f"not written: {name} ({value})" for name, value in exported.commented.items()]
    if form == "sql":
        from proxyctl.formats.sql_writer import write_script

        head = [*header, *(_RENDERED if owned is not None else ()), *notes]
        return write_script(tables, exported.variables, owned=owned, header=head)
    from proxyctl.formats.cnf_writer import write_cnf

    written = write_cnf(tables, exported.variables, header=[*header, *notes])
    exported.warnings += [f"not in the .cnf: {note}" for note in written.notes]
    return written.text


def _without_secrets(layout: Layout, rows: list[DesiredRow], secrets: str) -> list[DesiredRow]:
    """Return the rows; with `omit` they do not say what is secret."""
    positions = {n for n, column in enumerate(layout.columns) if column.secret}
    if secrets != "omit" or not positions:
        return rows
    return [tuple(KEEP if n in positions else cell for n, cell in enumerate(row)) for row in rows]


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


def _yaml(
    exported: Exported,
    tables: Mapping[str, tuple[Layout, list[DesiredRow]]],
    header: Sequence[str],
    *,
    keeps_alive: bool,
) -> str:
    sections = {
        name: (layout, _showable(exported, layout, rows)) for name, (layout, rows) in tables.items()
    }
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
