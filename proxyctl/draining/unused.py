"""Waits until a drained node is not used any more."""

from __future__ import annotations

import time
from collections.abc import Callable

from proxyctl.admin.client import AdminClient
from proxyctl.admin.interrupts import interruptible
from proxyctl.admin.read import used_connections
from proxyctl.errors import ApplyError, InstanceError, InterruptedApplyError, counted
from proxyctl.families import Node, node_text

_POLL_S = 0.2


def wait_until_unused(
    client: AdminClient, node: Node, *, timeout_s: float, progress: Callable[[str], None]
) -> None:
    """Wait until no connection to the node is in use, saying how many are whenever that changes.

    Raises: ApplyError when some still are after `timeout_s`, or it cannot be read;
    InterruptedApplyError.
    """
    try:
        with interruptible():
            _wait(client, node, timeout_s, progress)
    except KeyboardInterrupt as error:
        raise InterruptedApplyError(
            f"interrupted: {node_text(node)} is drained, and may still be in use", hint=_hint(node)
        ) from error
    except InstanceError as error:
        # Nothing is taken back: the node is drained, unless ProxySQL itself went down.
        raise ApplyError(
            error.message,
            then=[*error.then, f"{node_text(node)} was drained; whether it is in use is not known"],
            hint=_hint(node),
        ) from error


def _wait(
    client: AdminClient, node: Node, timeout_s: float, progress: Callable[[str], None]
) -> None:
    end = time.monotonic() + timeout_s
    last = -1
    while True:
        used = sum(
            count for key, count in used_connections(client).items() if (key[1], key[2]) == node
        )
        if not used:
            return
        if used != last:
            progress(f"{node_text(node)}: {counted(used, 'connection')} in use")
            last = used
        if time.monotonic() >= end:
            raise ApplyError(
                f"{node_text(node)} is drained, but {counted(used, 'connection')} to it still in"
                f" use after {timeout_s:g} s",
                hint=_hint(node),
            )
        time.sleep(_POLL_S)


def _hint(node: Node) -> str:
    return (
        "it takes no new ones; run the command again to go on waiting, or"
        f" proxyctl nodes restore {node_text(node)}"
    )
