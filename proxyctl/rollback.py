"""A snapshot as desired rows: what served traffic then, folded back into configuration. Pure.

Like an export it starts from RUNTIME, with MEMORY where that explains a row or tells of one that
RUNTIME does not show. Unlike an export it has everything as ProxySQL stores it: passwords, and also
variables that are at their defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from proxyctl.catalog import TABLES, Column, Layout, Role, Table, Version, layout_of, parse_version
from proxyctl.catalog.variable_rules import is_out_of_reach
from proxyctl.catalog.variables import READ_ONLY, RESTART_ONLY, VARIABLES
from proxyctl.change import DELETE, Change, sorted_keys
from proxyctl.drains import undrained
from proxyctl.errors import counted
from proxyctl.export import from_runtime
from proxyctl.families import Family, place_of
from proxyctl.fitting import fit
from proxyctl.plan import Plan, Refusal
from proxyctl.replay.shard_moves import section_of
from proxyctl.rollback_losses import lost_columns, lost_rows, lost_variables
from proxyctl.snapshot import OMITTED, Cell, HeldTable, HiddenCells, Occasion, Owned, Snapshot
from proxyctl.state import (
    KEEP,
    SNAPSHOT,
    Desired,
    DesiredRow,
    DesiredTable,
    Key,
    Layer,
    Row,
    Rows,
    Scope,
    Secret,
    Where,
)
from proxyctl.survey import Surroundings, TableSurvey
from proxyctl.surveying import survey_table

NOT_SET = "(null)"
"""RUNTIME shows it for an interface that is not set. As a value it would be one."""

SECRET_OMITTED = "secret_omitted"  # noqa: S105 - the code of a refusal


@dataclass
class Rollback:
    """What a rollback asks for, and what it cannot bring back.

    Shape: by table, keys of rows. `omitted`: their secrets are not in the snapshot. `unset`:
    variables that were not set; ProxySQL has no way to say so once they are. `refused`: variables
    with the values of then, which this ProxySQL does not take.
    """

    desired: Desired
    omitted: dict[str, set[Key]]
    unset: dict[str, frozenset[Key]]
    refused: dict[str, Mapping[Key, str]]


def rollback_of(
    snapshot: Snapshot,
    layouts: Mapping[str, Layout],
    version: Version,
    *,
    since: Iterable[Occasion],
    secrets: frozenset[Cell],
    admin_names: frozenset[str],
    novelties: frozenset[str] = frozenset(),
) -> Rollback:
    """Return what the instance has to hold to be as it was.

    `layouts` and `version` are those of the instance now. `since`: of the applies from the one
    that the snapshot was taken before; only what they owned goes back. `secrets`: cells to hide.
    `novelties`: variables that the instance has and the catalogue does not.
    """
    result = Rollback(
        Desired({}, version, snapshot.occasion.hostgroup_names, source=SNAPSHOT), {}, {}, {}
    )
    tables: dict[str, DesiredTable] = {}
    warnings: list[str] = []
    owned = _owned_since(snapshot.occasion, since)
    for name in TABLES if owned is None else [name for name in TABLES if name in owned]:
        held = snapshot.tables.get(name)
        if held is None or held.layers.keys() != set(Layer):
            if owned is not None and name in layouts:
                warnings.append(
                    f"{name}: left alone: it was changed since, but {snapshot.name} does not have"
                    " it; a later snapshot does"
                )
            continue
        reader = _Held(snapshot, held, TABLES[name])
        if name not in layouts:
            warnings += reader.lost(reader.configured())
            continue
        rows = reader.configured()
        if reader.layout.table.prefix is not None:
            rows, left = _variables(reader, rows, version, novelties)
        else:
            rows, left = _without_administrators(name, rows, admin_names)
        table = _desired(reader.layout, rows, snapshot.name, secrets)
        table = _within(table, [Owned()] if owned is None else owned[name], left.keys)
        warnings += [*reader.differences(), *left.warnings, *lost_columns(table, layouts[name])]
        tables[name] = fit(table, layouts[name])
        omitted = {key for key in table.rows if OMITTED in rows[key]} | left.omitted
        if omitted:
            result.omitted[name] = omitted
        result.unset[name] = left.unset
        result.refused[name] = left.refused
    # Also where an apply took it: a newer proxyctl did, which knew more tables.
    for name in sorted(snapshot.tables.keys() - TABLES.keys()):
        rows_held = max(map(len, snapshot.tables[name].layers.values()))
        warnings += lost_rows(name, rows_held, is_known=False)
    result.desired = replace(result.desired, tables=tables, warnings=tuple(warnings))
    return result


# -- which rows go back ---------------------------------------------------------------------------


def _owned_since(own: Occasion, since: Iterable[Occasion]) -> dict[str, list[Owned]] | None:
    """Return by table what the applies owned; None where everything in the snapshot goes back."""
    if own.owned is None:
        return None
    found: dict[str, list[Owned]] = {}
    for occasion in (own, *since):
        for table, owned in (occasion.owned or {}).items():
            found.setdefault(table, []).append(owned)
    return found


def _within(table: DesiredTable, owned: list[Owned], not_ours: frozenset[Key]) -> DesiredTable:
    """Return the table with the rows that any of the applies owned, without those `not_ours`."""
    scopes = [one.scope for one in owned if one.scope is not None]
    is_whole = len(scopes) < len(owned)
    ignored = reduce(frozenset.intersection, (one.ignored for one in owned))
    if is_whole and not not_ours:
        return replace(table, keep_on_update=ignored)

    def owns(key: Key) -> bool:
        return key not in not_ours and (is_whole or any(scope.owns(key) for scope in scopes))

    text = "the rollback" if is_whole else " or ".join(dict.fromkeys(s.text for s in scopes))
    rows = {key: row for key, row in table.rows.items() if owns(key)}
    return replace(table, rows=rows, scope=Scope(owns, text), keep_on_update=ignored)


@dataclass(frozen=True)
class _Left:
    """Rows of a table that are left alone, and what is to be said of them."""

    keys: frozenset[Key] = frozenset()
    warnings: tuple[str, ...] = ()
    omitted: frozenset[Key] = frozenset()
    unset: frozenset[Key] = frozenset()
    refused: Mapping[Key, str] = field(default_factory=dict)


def _variables(
    reader: _Held, rows: Rows, version: Version, novelties: frozenset[str]
) -> tuple[Rows, _Left]:
    """Return the variables that can be set: DISK's value of those that only a restart reads."""
    disk = reader.rows(Layer.DISK)
    result: Rows = {}
    omitted: set[Key] = set()
    unknown: set[Key] = set()
    unset: set[Key] = set()
    refused: dict[Key, str] = {}
    for key, row in rows.items():
        name = str(key[0])
        known = VARIABLES.get(name)
        if name in READ_ONLY or (name in RESTART_ONLY and key not in disk):
            continue
        if name not in novelties if known is None else not known.exists_in(version):
            unknown.add(key)
        elif OMITTED in row:
            omitted.add(key)
        elif row[1] == NOT_SET:
            unset.add(key)
        elif is_out_of_reach(name, str(row[1]), version):
            refused[key] = str(row[1])
        else:
            result[key] = (name, disk[key][1]) if name in RESTART_ONLY else row
    warnings = tuple(reader.lost({key: rows[key] for key in unknown}))
    keys = frozenset(omitted | unknown | unset | refused.keys())
    return result, _Left(keys, warnings, frozenset(omitted), frozenset(unset), refused)


def _without_administrators(
    table: str, rows: Rows, admin_names: frozenset[str]
) -> tuple[Rows, _Left]:
    """Leave out users that hold the login of an administrator: they would lock him out."""
    if table != "mysql_users":
        return rows, _Left()
    found = {key for key in rows if key[0] in admin_names}
    warnings = tuple(
        f"mysql_users {key[0]}: left alone: its name is a login of the admin interface"
        for key in sorted_keys(found)
    )
    kept = {key: row for key, row in rows.items() if key not in found}
    return kept, _Left(frozenset(found), warnings)


# -- a table as it was ----------------------------------------------------------------------------


class _Held:
    """One table of a snapshot, in the columns of then."""

    def __init__(self, snapshot: Snapshot, held: HeldTable, table: Table) -> None:
        self.layout = _layout(table, held.columns, parse_version(snapshot.version))
        self._held = held
        self._rows: dict[int, Rows] = {}
        self._families = snapshot.occasion.families
        self._drained = snapshot.occasion.drained
        self._is_staged = table.admin_module in snapshot.occasion.leftovers

    def rows(self, layer: Layer) -> Rows:
        """Return the rows of a layer, by key. Layers that hold the same share one mapping."""
        held = self._held.layers[layer]
        if id(held) not in self._rows:
            self._rows[id(held)] = {self.layout.key_of(row): row for row in held}
        return self._rows[id(held)]

    def configured(self) -> Rows:
        """Return RUNTIME as configuration.

        MEMORY is not asked where an apply that died had written it: DISK is what it was then.
        """
        memory = self.rows(Layer.DISK if self._is_staged else Layer.MEMORY)
        runtime = undrained(
            self.layout, self.rows(Layer.RUNTIME), memory, self._families, self._drained
        )
        rows = from_runtime(self.layout, runtime, memory, self._families)
        return _without_discovered(self.layout, rows, memory, self._families)

    def lost(self, rows: Rows) -> Iterator[str]:
        """Yield that these rows are lost, as this ProxySQL does not have their place."""
        if self.layout.table.prefix is None:
            return lost_rows(self.layout.name, len(rows))
        return lost_variables(self.layout.name, rows, self.layout.version)

    def differences(self) -> Iterator[str]:
        """Yield where the layers differed: only what RUNTIME held comes back."""
        around = Surroundings(memory_families=self._families)
        found = survey_table(self.layout, None, self.rows, around)
        for layer, rows in (("MEMORY", found.unpublished), ("DISK", found.unsaved)):
            if rows:
                one, other = (layer, "RUNTIME") if layer == "MEMORY" else ("MEMORY", layer)
                yield (
                    f"{self.layout.name}: {one} and {other} differed in"
                    f" {counted(len(rows), 'row')} then; all layers get what RUNTIME held"
                )


def _layout(table: Table, columns: tuple[str, ...], version: Version) -> Layout:
    known = layout_of(table, version)
    if known.names == columns:
        return known
    return Layout(
        table,
        tuple(
            known.column(name) if name in known.index else Column(name, "VARCHAR")
            for name in columns
        ),
        version,
    )


def _without_discovered(
    layout: Layout, rows: Rows, memory: Rows, families: Iterable[Family]
) -> Rows:
    """Return the rows without nodes that only the monitor added: it will find them again."""
    discovering = [family for family in families if family.discovers]
    if not discovering or layout.table.role is not Role.SERVERS:
        return rows
    hostgroups = frozenset().union(*(family.hostgroups for family in discovering))
    place = place_of(discovering)
    configured = set(map(place, memory))
    return {
        key: row
        for key, row in rows.items()
        if key[0] not in hostgroups or place(key) in configured
    }


def _desired(layout: Layout, rows: Rows, name: str, secrets: frozenset[Cell]) -> DesiredTable:
    hidden = HiddenCells(layout, secrets)
    plain = Where(name, 0, 0)
    made: dict[Key, DesiredRow] = {}
    where: dict[Key, Where] = {}
    for key, row in rows.items():
        made[key] = _shown_as(row, hidden.of(key))
        section = section_of(layout, row)
        where[key] = plain if section is None else plain._replace(origin=f"sharding {section}")
    origins = frozenset(filter(None, (one.origin for one in where.values())))
    return DesiredTable(layout, made, where, origins=origins)


def _shown_as(row: Row, hidden: frozenset[int]) -> DesiredRow:
    if not hidden and OMITTED not in row:
        return row
    return tuple(
        KEEP
        if cell == OMITTED
        else Secret(cell)
        if position in hidden and isinstance(cell, str)
        else cell
        for position, cell in enumerate(row)
    )


# -- the plan -------------------------------------------------------------------------------------


def complete_plan(plan: Plan, rollback: Rollback, secrets: frozenset[Cell]) -> None:
    """Add what a plan of files does not have: secrets that are missing, or that nobody names.

    Changes: plan.
    """
    going_back: set[str] = set()
    for module in plan.modules:
        going_back |= {name for name, found in module.surveys.items() if found.desired is not None}
        _hide_deleted(module.changes, secrets)
        for name, survey in module.surveys.items():
            plan.warnings.extend(
                f"{key[0]}: left alone: it was not set then, and only a restart can unset it"
                for key in sorted_keys(rollback.unset.get(name, ()))
                if survey.memory.get(key, (None, NOT_SET))[1] not in (NOT_SET, "")
            )
            plan.warnings.extend(_refused(survey, rollback.refused.get(name, {})))
            omitted = rollback.omitted.get(name, set())
            new = {d.key for d in survey.changes.get(Layer.MEMORY, ()) if d.current is None}
            plan.refusals.extend(
                Refusal(
                    SECRET_OMITTED,
                    f"{name} {':'.join(map(str, key))} is gone, and the snapshot does not have its"
                    " secret: create it with files or by hand first, or leave it out with --only",
                )
                for key in sorted_keys(omitted & new)
            )
    plan.left_alone.extend(
        f"{name}: secrets of {counted(len(keys), 'row')}, which the snapshot does not have"
        for name, keys in rollback.omitted.items()
        if name in going_back
    )


def _refused(survey: TableSurvey, refused: Mapping[Key, str]) -> Iterator[str]:
    """Yield the variables that have another value than then, and keep it."""
    now = survey.memory if survey.runtime is None else survey.runtime
    for key in sorted_keys(refused):
        if key in now and now[key][1] != refused[key]:
            yield (
                f"{key[0]}: left alone at {now[key][1]}: it was {refused[key]}, which this ProxySQL"
                " does not take"
            )


def _hide_deleted(changes: Iterable[Change], secrets: frozenset[Cell]) -> None:
    """Hide the secrets of rows that are to be deleted: no desired row tells of them.

    Changes: changes.
    """
    by_table: dict[str, HiddenCells] = {}
    for change in changes:
        row = change.shown.current
        if change.action != DELETE or row is None:
            continue
        if change.table not in by_table:
            by_table[change.table] = HiddenCells(change.layout, secrets)
        hidden = by_table[change.table].of(change.key)
        if hidden:
            cells = (
                Secret(cell) if position in hidden and isinstance(cell, str) else cell
                for position, cell in enumerate(row)
            )
            change.shown = replace(change.shown, current=tuple(cells))
