"""A drain that does not succeed is taken back, whatever of it was done."""

from __future__ import annotations

from collections.abc import Callable

from proxyctl.admin.interrupts import uninterrupted
from proxyctl.errors import ApplyError, ProxyctlError
from proxyctl.families import Node, node_text
from proxyctl.held_servers import HeldServers


def take_back(
    servers: HeldServers, node: Node, error: BaseException, undo: Callable[[], None]
) -> None:
    """Undo what was done, and take the node off the record.

    The record stays where that fails: `restore` needs it. Raises: ApplyError that says both.
    """
    try:
        with uninterrupted():
            servers.revive(error)
            undo()
            servers.forget(node)
    except ProxyctlError as second:
        said, then = "interrupted", list[str]()
        if isinstance(error, ProxyctlError):
            said, then = error.message, error.then
        raise ApplyError(
            said,
            then=[*then, f"{node_text(node)} could not be put back: {second.message}"],
            hint=f"proxyctl nodes restore {node_text(node)} tries again",
        ) from error
