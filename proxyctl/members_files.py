"""What the files say for the other members of an instance's cluster, by the `vars` of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from proxyctl.cluster.differing import differs, taken_by
from proxyctl.cluster.membership import Membership
from proxyctl.config.load import Instance, ParsedFiles, Project
from proxyctl.errors import ConfigError
from proxyctl.families import Node


def different_members(
    files: ParsedFiles,
    compiled: Callable[[ParsedFiles], Project],
    modules: Iterable[str],
    membership: Membership,
) -> dict[str, list[str]]:
    """Return the names of the members for which the files say something else, by admin module.

    `modules`: those that are loaded. Members that take nothing over are left out, and such whose
    files are wrong. `compiled` compiles files for the version of the instance.
    """
    loaded = [*modules]
    found: dict[str, list[str]] = {}
    for instance in files.instances() if membership.listed and loaded else ():
        theirs = files.with_vars(instance.vars)
        if theirs is files:
            continue
        taken = taken_by(_node(instance), loaded, membership)
        if not taken:
            continue
        try:
            tables = compiled(theirs).desired.tables
        except ConfigError:
            continue
        ours = compiled(files).desired.tables
        for module in taken:
            if differs(module, ours, tables):
                found.setdefault(module, []).append(instance.name)
    return found


def _node(instance: Instance) -> Node:
    return (instance.host or "", instance.port)
