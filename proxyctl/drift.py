"""Drift: where an instance differs from its files, and what has probably happened there. Pure.

Nobody is blamed without a trace of him. The layers that differ leave some stories over, and what
the instance knows tells which: its lock, and what other nodes of its cluster hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from proxyctl.catalog import TABLES, Role
from proxyctl.catalog.variables import RESTART_ONLY
from proxyctl.change import ADD, CHANGE, Change
from proxyctl.drains import goes_on_with, not_finished
from proxyctl.families import ServerColumns
from proxyctl.plan import ModulePlan, Plan
from proxyctl.state import Key, Layer
from proxyctl.survey import TableSurvey, is_offline_hard, taken_off


class LastLoad(NamedTuple):
    """When RUNTIME of an admin module was filled last.

    Units: `epoch` in unix seconds. `is_start`: by the start of ProxySQL. `alike`: the members of
    the cluster that hold the same, as host:port; this instance is one of them.
    """

    epoch: int
    is_start: bool
    alike: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """What an instance knows of its own past.

    Shape: `running` and `dead` are an apply under way, and one that did not finish, as the lock
    describes them; `modules` those that it had begun to write. `pulled` are those that it takes
    over from other members of its cluster. `loads` by admin module.
    """

    running: str = ""
    dead: str = ""
    modules: frozenset[str] = frozenset()
    pulled: frozenset[str] = frozenset()
    loads: Mapping[str, LastLoad] = field(default_factory=dict)


class Cause(NamedTuple):
    """What has probably happened: a name for machines, and a sentence."""

    code: str
    text: str


@dataclass(frozen=True)
class Drift:
    """The plan that would end the drift, and the evidence of how it came."""

    plan: Plan
    evidence: Evidence = Evidence()

    @property
    def is_none(self) -> bool:
        """Whether nothing differs."""
        return self.plan.is_in_sync

    def cause(self, module: ModulePlan, change: Change) -> Cause:
        """Return in which layers a row differs, and who could have done it."""
        return (
            _restart_only(change)
            or _of_an_apply(module, self.evidence)
            or _offline_soft(change)
            or _taken_off(module, change)
            or _placed_by_monitor(module, change)
            or _from_a_peer(module, change, self.evidence)
            or _by_layers(module, change, self.evidence)
        )


def _restart_only(change: Change) -> Cause | None:
    if TABLES[change.table].prefix is None or change.key[0] not in RESTART_ONLY:
        return None
    return Cause(
        "restart_only", "DISK, the only layer that counts for it: it is read there at a restart"
    )


def _of_an_apply(module: ModulePlan, evidence: Evidence) -> Cause | None:
    if module.name not in evidence.modules:
        return None
    if evidence.running:
        return Cause("running_apply", f"an apply is at work: {evidence.running}")
    return Cause("dead_apply", f"{not_finished(evidence.dead)}; {goes_on_with(evidence.dead)}")


def _offline_soft(change: Change) -> Cause | None:
    """Return the cause of a server that was taken out, or back in, and nothing else."""
    shown = change.shown
    if TABLES[change.table].role is not Role.SERVERS or change.action != CHANGE:
        return None
    status = change.layout.index["status"]
    if shown.columns != (status,) or shown.current is None:
        return None
    where = _listed(change)
    if str(shown.current[status]).upper() == "OFFLINE_SOFT":
        return Cause("offline_soft", f"{where}: an operator took it out of service")
    if shown.desired is not None and str(shown.desired[status]).upper() == "OFFLINE_SOFT":
        return Cause("back_online", f"{where}: an operator put it back into service")
    return None


_NO_LOAD = {
    frozenset({Layer.MEMORY}): Cause("pending_edit", "edited there, not saved"),
    frozenset({Layer.DISK}): Cause("unsaved", "not saved since"),
    frozenset({Layer.MEMORY, Layer.DISK}): Cause(
        "files_or_saved", "the files are newer, or an administrator saved this"
    ),
}


def _taken_off(module: ModulePlan, change: Change) -> Cause | None:
    """Return the cause of a server that RUNTIME lacks: nothing that is wanted of it is loaded."""
    survey, wanted = module.surveys[change.table], change.shown.desired
    held = survey.memory.get(change.key)
    if TABLES[change.table].role is not Role.SERVERS or held is None or wanted is None:
        return None
    if Layer.RUNTIME in change.layers or not is_offline_hard(change.layout, held):
        return None
    if not (is_offline_hard(change.layout, wanted) or change.key in taken_off(survey)):
        return None
    code, text = _NO_LOAD[frozenset(change.layers)]
    is_on_disk = survey.disk is None or change.key in survey.disk
    if len(change.layers) > 1 and not is_on_disk:
        # Only MEMORY has it: a SAVE would have brought it to DISK.
        code, text = "pending_edit", "edited in MEMORY, not saved"
    without = "RUNTIME is without the server, OFFLINE_HARD in MEMORY"
    return Cause(code, f"{_listed(change)}: {text}; {without}")


def _placed_by_monitor(module: ModulePlan, change: Change) -> Cause | None:
    """Return the cause of a node that stands elsewhere in its family, and at RUNTIME rightly so."""
    survey = module.surveys[change.table]
    if survey.place is None or survey.desired is None or Layer.RUNTIME in change.layers:
        return None
    place = survey.place(change.key)
    if place == change.key or change.action == CHANGE:
        return None
    if place not in set(map(survey.place, survey.desired.rows)):
        return None
    if change.action == ADD and not _stands_elsewhere(survey, change, place):
        return None
    return Cause(
        "monitor_placement",
        f"{_listed(change)}: where the monitor had placed it, as a SAVE FROM RUNTIME or a peer"
        " writes it",
    )


def _stands_elsewhere(survey: TableSurvey, change: Change, place: Key) -> bool:
    """Whether each layer that lacks the row has the node in another hostgroup of its family."""
    on_disk = survey.memory if survey.disk is None else survey.disk
    held = {Layer.MEMORY: survey.memory, Layer.DISK: on_disk}
    return survey.place is not None and all(
        place in set(map(survey.place, held[layer])) for layer in change.layers
    )


def _from_a_peer(module: ModulePlan, change: Change, evidence: Evidence) -> Cause | None:
    load = evidence.loads.get(module.name)
    if load is None or len(load.alike) < 2 or Layer.RUNTIME not in change.layers:
        return None
    if change.is_members_own:
        return None
    return Cause(
        "peer",
        f"{_listed(change)}: {_all(load.alike)} of the cluster hold the same; it was loaded at one"
        " of them",
    )


def _all(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


_MEMORY, _RUNTIME, _DISK = Layer.MEMORY, Layer.RUNTIME, Layer.DISK
_BY_LAYERS = {
    frozenset({_MEMORY}): Cause(
        "pending_edit", "edited there, not loaded: somebody may be at work"
    ),
    frozenset({_RUNTIME}): Cause(
        "not_loaded", "loaded by {who}, MEMORY is right again; or MEMORY was written, not loaded"
    ),
    frozenset({_DISK}): Cause("unsaved", "not saved since; a restart makes RUNTIME like it"),
    frozenset({_MEMORY, _RUNTIME}): Cause(
        "loaded_not_saved", "loaded by {who}, not saved; a restart takes it back"
    ),
    frozenset({_MEMORY, _DISK}): Cause(
        "saved_not_loaded", "saved, not loaded; a restart makes RUNTIME like them"
    ),
    frozenset({_RUNTIME, _DISK}): Cause(
        "not_loaded", "MEMORY holds what the files say, neither loaded nor saved"
    ),
    frozenset(Layer): Cause(
        "files_or_saved", "the files are newer, or {who} loaded and saved this"
    ),
}


def _by_layers(module: ModulePlan, change: Change, evidence: Evidence) -> Cause:
    layers = frozenset(change.layers)
    if _is_loaded_drain(module, change):
        layers |= {_RUNTIME}
    code, text = _BY_LAYERS[layers]
    who = ["an administrator"]
    if module.name in evidence.pulled and not change.is_members_own:
        who.append("a peer")
    place = module.surveys[change.table].place
    is_in_family = place is not None and place(change.key) != change.key
    # The monitor moves rows; it changes no attribute of theirs, and saves nothing.
    if is_in_family and change.action != CHANGE and _DISK not in change.layers:
        who.append("the monitor")
    names = who[0] if len(who) == 1 else f"{', '.join(who[:-1])} or {who[-1]}"
    since = _edited_since(change)
    return Cause(code, f"{_listed_layers(layers)}: {text.format(who=names)}{since}")


def _edited_since(change: Change) -> str:
    """Return that layers do not hold the same: somebody went on after the LOAD, or the SAVE."""
    others = [set(other.layers) for other in change.elsewhere]
    if Layer.RUNTIME not in change.layers:
        return "; MEMORY was edited since, not saved" if others else ""
    if not change.is_loaded and any(Layer.MEMORY in layers for layers in others):
        return "; MEMORY was edited since, not loaded"
    return "; DISK holds what was saved before" if {Layer.DISK} in others else ""


def _is_loaded_drain(module: ModulePlan, change: Change) -> bool:
    """Whether a node was drained by hand in MEMORY and loaded: at RUNTIME that is no difference."""
    survey, shown = module.surveys[change.table], change.shown
    if not survey.drained or change.action != CHANGE or shown.current is None:
        return False
    columns = ServerColumns.of(change.layout)
    in_memory = survey.memory.get(change.key)
    return (
        columns.node(shown.current) in set(survey.drained) - survey.drains.keys()
        and shown.columns == (columns.max_connections,)
        and in_memory is not None
        and in_memory[columns.max_connections] == 0
    )


def _listed(change: Change) -> str:
    return _listed_layers(change.layers)


def _listed_layers(found: Collection[Layer]) -> str:
    """Return the layers that differ: `MEMORY only`, `MEMORY and RUNTIME`, `all layers`."""
    layers = [layer.name for layer in Layer if layer in found]
    if len(layers) == 1:
        return f"{layers[0]} only"
    return "all layers" if len(layers) == len(Layer) else " and ".join(layers)
