"""The regular expression engine that the patterns of the files meet where the files set none.

It is that of RUNTIME, or the one that an edit of others in MEMORY brings there, or to DISK.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from proxyctl import pending
from proxyctl.config.patterns import check_patterns, engine_in_files, engine_of
from proxyctl.errors import Mistake
from proxyctl.pending import INCLUDE, Pending
from proxyctl.plan import REGEX_ENGINE, ModulePlan
from proxyctl.state import SNAPSHOT, Desired, Layer


def mistakes_at_runtime(desired: Desired, at_runtime: int) -> list[Mistake]:
    """Return the patterns that the engine at RUNTIME does not compile.

    `at_runtime`: the value of the variable there. None for a snapshot: it has the patterns that
    ran, also those that never match anything.
    """
    variables = desired.tables.get("mysql_variables")
    is_set = variables is not None and (REGEX_ENGINE,) in variables.rows
    engine = engine_of(at_runtime)
    if is_set or engine is engine_in_files(desired) or desired.source is SNAPSHOT:
        return []
    return check_patterns(desired, engine).active


def mistakes_with_edits(
    desired: Desired, at_runtime: int, modules: Iterable[ModulePlan], *, saves: bool
) -> list[Mistake]:
    """Return the patterns that an engine does not compile once the edits of others went along."""
    if desired.source is SNAPSHOT:
        return []
    found: dict[tuple[str, int, int, str], Mistake] = {}
    is_replaced = False
    for edit in (edit for module in modules for edit in _edits(module, saves=saves)):
        is_replaced = is_replaced or Layer.RUNTIME in edit.layers
        row = edit.difference.desired
        value = row[1] if row else None
        hint = (
            f"{REGEX_ENGINE} is {value} in MEMORY, edited by others, and would go along ({INCLUDE})"
        )
        for mistake in check_patterns(desired, engine_of(value)).active:
            found[_place(mistake)] = replace(mistake, hint=hint)
    if not is_replaced:
        for mistake in mistakes_at_runtime(desired, at_runtime):
            found.setdefault(_place(mistake), mistake)
    return list(found.values())


def _place(mistake: Mistake) -> tuple[str, int, int, str]:
    return mistake.path, mistake.line, mistake.column, mistake.key


def comes_to_runtime(module: ModulePlan, *, saves: bool) -> bool:
    """Return whether an edit of others, let go along, brings another engine to RUNTIME."""
    return any(Layer.RUNTIME in edit.layers for edit in _edits(module, saves=saves))


def _edits(module: ModulePlan, *, saves: bool) -> Iterator[Pending]:
    """Yield the edits of the engine by others that the LOAD or SAVE of a module takes along."""
    if "mysql_variables" not in module.surveys:
        return
    for edit in pending.pending_edits(module, saves=saves):
        if edit.key == (REGEX_ENGINE,) and not edit.is_ours:
            yield edit
