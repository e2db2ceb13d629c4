"""Back to a snapshot: which one is meant, whether it fits this instance, and the plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from proxyctl.admin import snapshot_folder
from proxyctl.admin.client import AdminClient
from proxyctl.admin.drains import read_drains
from proxyctl.admin.export import families_placed
from proxyctl.admin.lock import read_holder
from proxyctl.admin.read import TableReader
from proxyctl.admin.snapshot import SnapshotRules, SnapshotWriter
from proxyctl.catalog import TABLES
from proxyctl.config.load import ParsedFiles
from proxyctl.errors import ConfigError, RefusedError
from proxyctl.instance_survey import InstanceLook, look_at
from proxyctl.plan import Plan
from proxyctl.rollback import complete_plan, rollback_of
from proxyctl.snapshot import BY_HAND, Cell, Kept, Occasion, Snapshot, cells_by_reference
from proxyctl.state import Layer
from proxyctl.workflow import PlanOptions, make_plan


@dataclass(frozen=True)
class Target:
    """The snapshot to go back to, and what other snapshots of the instance tell.

    `since`: what was applied after it. `secrets`: cells that held a secret by reference.
    """

    snapshot: Snapshot
    since: tuple[Occasion, ...] = ()
    secrets: frozenset[Cell] = frozenset()
    warnings: tuple[str, ...] = ()


def target(address: str, which: str | None) -> Target:
    """Return the snapshot that a person means, None for the newest.

    Raises: ProxyctlError where there is none, SnapshotFileError where it cannot be used.
    """
    path = snapshot_folder.find(address, which)
    snapshot = snapshot_folder.read(path)
    path = path.resolve()
    others = [one for one in snapshot_folder.kept(address) if one.path.resolve() != path]
    known = [one.summary.occasion for one in others if one.summary]
    later = [one for one in others if _is_later(one, path, snapshot)]
    if snapshot.address != address:
        later = []
    return Target(
        snapshot,
        tuple(one.summary.occasion for one in later if one.summary),
        frozenset(snapshot.occasion.secrets.union(*(one.secrets for one in known))),
        tuple(
            f"{one.path}: {one.problem}; what was applied then may be left as it is"
            for one in later
            if one.summary is None
        ),
    )


def _is_later(one: Kept, path: Path, snapshot: Snapshot) -> bool:
    if one.path.parent.resolve() == path.parent:
        return one.name > path.stem
    return one.summary is not None and one.summary.taken_at >= snapshot.taken_at


def check_fit(
    client: AdminClient, snapshot: Snapshot, *, other_instance: bool, other_version: bool
) -> None:
    """Refuse a snapshot of another instance, or of another ProxySQL version, unless allowed.

    Raises: RefusedError.
    """
    if snapshot.address != client.address and not other_instance:
        raise RefusedError(
            f"{snapshot.name} is a snapshot of {snapshot.address}, not of {client.address}",
            hint="--other-instance allows it",
        )
    then, now = _release(snapshot.version), _release(client.version_text)
    if then != now and not other_version:
        raise RefusedError(
            f"{snapshot.name} was taken of ProxySQL {snapshot.version}; this is"
            f" {client.version_text}",
            hint="--other-version allows it; what this version does not have is left out and named",
        )


def _release(version: str) -> list[str]:
    """Return the first two numbers: those with which tables and variables change."""
    return version.split(".")[:2]


def rollback_plan(
    client: AdminClient,
    back_to: Target,
    options: PlanOptions,
    *,
    reader: TableReader | None = None,
) -> Plan:
    """Read the instance and return the plan that brings the state of the snapshot back.

    Raises: ConfigError, InstanceError, UsageError.
    """
    instance = look_at(client)
    rollback = rollback_of(
        back_to.snapshot,
        instance.layouts,
        client.version,
        since=back_to.since,
        secrets=back_to.secrets,
        admin_names=instance.facts.admin_names,
        novelties=instance.additions.variables,
    )
    desired = rollback.desired
    desired = replace(desired, warnings=(*back_to.warnings, *desired.warnings))
    plan = make_plan(client, desired, options, reader=reader, instance=instance)
    complete_plan(plan, rollback, back_to.secrets)
    return plan


@dataclass(frozen=True)
class Taken:
    """A snapshot that was taken by hand. `holder` tells of an apply that was under way.

    Not `has_all_references` where the files have mistakes: what they take by reference is unknown.
    """

    path: Path
    tables: int
    rows: int
    holder: str = ""
    has_all_references: bool = True


def take_snapshot(
    client: AdminClient, rules: SnapshotRules, out: Path | None, files: ParsedFiles | None
) -> Taken:
    """Write a snapshot of everything that the instance holds now. Sends SELECTs only.

    `files` tell which cells hold a secret, None where there are no files.

    Raises: InstanceError, ProxyctlError when the file cannot be written.
    """
    holder = read_holder(client)
    writer = SnapshotWriter(client, rules, out)
    try:
        instance = look_at(client)
        reader = TableReader(client, tee=writer.add)
        rows = _read_everything(reader, instance)
        families = families_placed(instance.facts, TableReader(client), instance.layouts)
        servers = instance.layouts.get("mysql_servers")
        drained = frozenset(read_drains(client, servers)) if servers else frozenset()
        references = _references(files, client, instance)
        occasion = Occasion(
            BY_HAND,
            families=families,
            drained=drained,
            leftovers=instance.leftovers,
            secrets=references or frozenset(),
        )
        path = writer.keep(occasion)
    finally:
        writer.discard()
    under_way = holder.text() if holder is not None and not holder.is_dead() else ""
    return Taken(path, len(instance.layouts), rows, under_way, references is not None)


def _references(
    files: ParsedFiles | None, client: AdminClient, instance: InstanceLook
) -> frozenset[Cell] | None:
    """Return the cells that the files take by reference; None where the files have mistakes."""
    if files is None:
        return frozenset()
    try:
        project = files.project(
            client.version,
            takes_dead_rules=True,
            needs_secrets=False,
            additions=instance.additions,
        )
    except ConfigError:
        return None
    return cells_by_reference(project.desired.tables.values())


def _read_everything(reader: TableReader, instance: InstanceLook) -> int:
    """Return the number of rows in MEMORY. The tee of the reader takes what is read."""
    layouts = [instance.layouts[name] for name in TABLES if name in instance.layouts]
    rows = 0
    for layout in layouts:
        read = reader.layers_of(layout)
        rows += len(read(Layer.MEMORY))
        read(Layer.RUNTIME)
        read(Layer.DISK)
    return rows
