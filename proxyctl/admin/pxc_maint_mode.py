"""pxc_maint_mode of a node of Percona XtraDB Cluster: read and set on the node itself."""

from __future__ import annotations

from dataclasses import dataclass

from proxyctl.admin.backend import TIMEOUT_S, Account, BackendRefusedError, backend
from proxyctl.errors import ConnectionLostError, InstanceError
from proxyctl.families import Node

OFF = "DISABLED"
ON = "MAINTENANCE"


@dataclass(frozen=True)
class MaintMode:
    """What a node says of it. `mode` None: it has no pxc_maint_mode.

    Units: `transition_s` is how long the node keeps the client waiting that sets it.
    """

    mode: str | None
    version: str
    transition_s: float = 0.0


def read_maint_mode(node: Node, account: Account) -> MaintMode:
    """Return what the node says. Raises: InstanceError."""
    name = f"{node[0]}:{node[1]}"
    asked = f"it was asked as {account.user!r}, from this machine; " if account.user else ""
    try:
        with backend(node, account) as connection:
            rows = connection.query(
                "SHOW GLOBAL VARIABLES WHERE Variable_name IN"
                " ('pxc_maint_mode','pxc_maint_transition_period','version')"
            )
            values = {str(variable).lower(): value for variable, value in rows if value is not None}
            period = values.get("pxc_maint_transition_period", "0")
    except BackendRefusedError as error:
        raise InstanceError(
            f"{name}: {error.message.removeprefix(f'{name}: ')}",
            then=error.then,
            hint=f"{asked}--backend-user names another account",
        ) from error
    return MaintMode(values.get("pxc_maint_mode"), values.get("version", ""), float(period))


def set_maint_mode(node: Node, account: Account, mode: str, before: MaintMode) -> None:
    """Set it, and see that it is so. Asks again when the connection is lost meanwhile.

    Raises: InstanceError when the node refuses; ConnectionLostError when nobody knows.
    """
    timeout_s = TIMEOUT_S + before.transition_s
    try:
        with backend(node, account, timeout_s=timeout_s) as connection:
            connection.query(f"SET GLOBAL pxc_maint_mode = '{mode}'")
    except BackendRefusedError as error:
        name = f"{node[0]}:{node[1]}"
        raise InstanceError(
            f"{name}: {error.message.removeprefix(f'{name}: ')}",
            then=error.then,
            hint=f"{account.user!r} needs SYSTEM_VARIABLES_ADMIN (MySQL 8) or SUPER (5.7) there;"
            " --backend-user names another account",
        ) from error
    except ConnectionLostError:
        pass  # the node is asked what became of it
    try:
        found = read_maint_mode(node, account).mode
    except InstanceError as error:
        raise ConnectionLostError(
            error.message,
            then=[*error.then, f"whether pxc_maint_mode was set to {mode} is not known"],
            hint=error.hint,
        ) from error
    if found != mode:
        raise InstanceError(f"{node[0]}:{node[1]}: pxc_maint_mode is {found}, not {mode}")
