"""The `policies` section: house rules about the rows of a table, or about changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from proxyctl.catalog import TABLES
from proxyctl.config.context import Compilation, FileSection
from proxyctl.config.mistakes import ValueProblem
from proxyctl.config.validation import check_items, missing_table
from proxyctl.text import printable

if TYPE_CHECKING:
    from proxyctl.config.models import PolicyModel
    from proxyctl.lint.policy import Policy


def compile_policies(parts: Iterable[FileSection], context: Compilation) -> tuple[Policy, ...]:
    """Return the policies of all files, in their order. Changes: context.mistakes."""
    policies = [
        _policy(part, position, model, context)
        for part in parts
        for position, model in check_items(part, context).items()
    ]
    return tuple(filter(None, policies))


def _policy(
    part: FileSection, position: int, model: PolicyModel, context: Compilation
) -> Policy | None:
    """Return the policy of an item; None after a mistake. Changes: context.mistakes."""
    # Imported here: Jinja2 and the engines of lint, and most files have no policy.
    from proxyctl.config.expressions import compiled
    from proxyctl.lint.finding import Severity
    from proxyctl.lint.policy import CHANGE_NAMES, FOR_CHANGE, ROW_NAMES, Policy

    target = model.for_
    names: tuple[str, ...] = CHANGE_NAMES
    columns: tuple[str, ...] = ()
    if target != FOR_CHANGE:
        if target not in TABLES:
            fix = context.mistakes.did_you_mean(target, TABLES, (FOR_CHANGE,))
            context.note(part, (position, "for"), "no such table", fix)
            return None
        if missing := missing_table(TABLES[target], context):
            context.note(part, (position, "for"), missing)
            return None
        names, columns = ROW_NAMES, context.layouts[target].names
    try:
        holds, read = compiled(model.that, names, columns)
    except ValueProblem as problem:
        context.note(part, (position, "that"), problem.message, problem.fix)
        return None
    return Policy(
        name=printable(model.name),
        target=target,
        message=printable(model.message),
        severity=Severity.ERROR if model.action == "refuse" else Severity.WARNING,
        columns=read,
        where=part.where(position, "that"),
        holds=holds,
    )
