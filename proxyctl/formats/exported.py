"""One set of rows, written as YAML, SQL or .cnf: the output of export, render and import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proxyctl.catalog.fast_routing import dead_text, last_rule_in_the_way
from proxyctl.errors import counted
from proxyctl.formats.manage_section import manage_section, owned_words
from proxyctl.formats.takeover import (
    Check,
    Tables,
    announce,
    as_proxysql_reads,
    key_of,
    leave_out_refused,
    remarks_on,
    without_left_out,
)
from proxyctl.formats.yaml_writer import Commented, EnvRef, VariableField, write_document
from proxyctl.state.fold import Exported, environment_name, without_secrets
from proxyctl.state.row import KEEP, DesiredRow, DesiredTable

_RULES = ("mysql_query_rules", "pgsql_query_rules")
_RENDERED = (
    "compiled from files. Nothing here looks at the instance first, keeps nodes where they are or",
    "asks before it deletes: `proxyctl plan` and `apply` do.",
)


def exported_text(
    exported: Exported,
    form: str,
    secrets: str,
    *,
    header: Sequence[str] = (),
    owned: Mapping[str, DesiredTable] | None = None,
    check: Check | None = None,
) -> str:
    """Return the text in the form `yaml`, `sql` or `cnf`. `owned`: what files own of each table.

    With `omit` no format is given a password. `check` says what is wrong with our files: rows that
    come from elsewhere are made to pass it. Changes: exported.
    """
    dead = _dead_fast_routing(exported)
    exported.warnings += dead
    shows = secrets != "omit"
    tables: Tables = {
        name: (layout := exported.layouts[name], rows if shows else without_secrets(layout, rows))
        for name, rows in exported.tables.items()
    }
    if form == "yaml":
        if check is not None:
            tables = as_proxysql_reads(exported, tables)
            leave_out_refused(exported, tables, check)
        text = _yaml(exported, tables, header, keeps_alive=not dead)
        return text + manage_section(owned or {}, tables)
    notes = [f"not written: {name} ({value})" for name, value in exported.commented.items()]
    if form == "sql":
        from proxyctl.formats.sql_writer import write_script

        head = [*header, *(_RENDERED if owned is not None else ()), *notes]
        exported.warnings += _new_users(tables)
        return write_script(tables, exported.variables, owned=owned, header=head)
    from proxyctl.formats.cnf_writer import write_cnf

    notes += owned_words(owned or {})
    written = write_cnf(tables, exported.variables, header=[*header, *notes])
    exported.warnings += [f"not in the .cnf: {note}" for note in written.notes]
    return written.text


def _new_users(tables: Tables) -> list[str]:
    """Return what is to be said of users that a script can change, and not make."""
    found = []
    for name, (layout, rows) in tables.items():
        secret = [n for n, column in enumerate(layout.columns) if column.secret]
        count = sum(any(row[n] is KEEP for n in secret) for row in rows)
        if count:
            found.append(
                f"{name}: {counted(count, 'user')} whose password is not said: the script changes"
                " them where they exist, and makes none"
            )
    return found


def _dead_fast_routing(exported: Exported) -> list[str]:
    """Return what is to be said of fast routing that ProxySQL never looks at."""
    found = []
    for name in _RULES:
        routing = f"{name}_fast_routing"
        rules = _running(exported, name)
        if rules and exported.tables.get(routing):
            last = last_rule_in_the_way(exported.layouts[name], rules)
            if last is not None:
                found.append(dead_text(routing, last))
    return found


def _revived_fast_routing(sections: Tables) -> list[str]:
    """Return what is to be said where fast routing is alive by a rule that is left out."""
    found = []
    for name in _RULES:
        _, routing = sections.get(f"{name}_fast_routing", (None, []))
        if not routing or name not in sections:
            continue
        if last_rule_in_the_way(*sections[name]) is not None:
            found.append(
                f"{name}: a rule behind the last one is left out; a plan of this file adds one that"
                " keeps fast routing alive"
            )
    return found


def _running(exported: Exported, table: str) -> list[DesiredRow]:
    """Return the rows without those that ProxySQL does not work with."""
    idle = {key for key, found in exported.left_out.get(table, {}).items() if not found.runs}
    rows = exported.tables.get(table, [])
    return [row for row in rows if key_of(exported.layouts[table], row) not in idle]


def _yaml(exported: Exported, tables: Tables, header: Sequence[str], *, keeps_alive: bool) -> str:
    sections = without_left_out(exported, tables)
    announce(exported, tables, sections)
    if keeps_alive:
        exported.warnings += _revived_fast_routing(sections)
    variables: dict[str, VariableField] = {
        name: Commented(value, f"left out: {exported.refused[name]}")
        if name in exported.refused
        else value
        for name, value in exported.variables.items()
    }
    for name, value in exported.commented.items():
        if value.startswith("{env: "):
            variables[name] = Commented(EnvRef(environment_name(name)), "secret")
        else:
            variables[name] = Commented(value, "takes effect at a restart, or is local")
    return write_document(
        sections,
        dict(sorted(variables.items())),
        header=list(header),
        remarks=remarks_on(exported, tables),
        keeps_fast_routing_alive=keeps_alive,
    )
