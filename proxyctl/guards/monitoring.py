"""Guard: the monitor's account taken away while hostgroups depend on the monitor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.compare import Difference
from proxyctl.families import Family
from proxyctl.guards.danger import Danger

MONITOR_CREDENTIALS = "monitor_credentials"
_NAMES = ("mysql-monitor_username", "mysql-monitor_password")
_SWITCH = "mysql-monitor_enabled"


def emptied_credentials(changes: Iterable[Difference]) -> list[str]:
    """Return the variables of the monitor's account that these changes at RUNTIME empty."""
    return [
        str(change.key[0])
        for change in changes
        if change.key[0] in _NAMES
        and change.current is not None
        and change.desired is not None
        and change.current[1]
        and not change.desired[1]
    ]


def is_switched_on(changes: Iterable[Difference]) -> bool:
    """Return whether these changes at RUNTIME switch the monitor on."""
    return any(
        change.key[0] == _SWITCH and change.desired is not None and change.desired[1] == "true"
        for change in changes
    )


def blind_monitor(emptied: Iterable[str], families: Iterable[Family]) -> Iterator[Danger]:
    """Yield the dangers, for the families that the monitor places."""
    writers = sorted((family.writer for family in families), key=str)
    if not writers:
        return
    plural = "" if len(writers) == 1 else "s"
    listed = ", ".join(map(str, writers))
    for name in emptied:
        yield Danger(
            MONITOR_CREDENTIALS,
            f"{name} would become empty, while the monitor places the servers of writer"
            f" hostgroup{plural} {listed}",
        )
