"""What is asked for when a node is drained or put back, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from proxyctl.admin.backend import Account
from proxyctl.admin.login import Login
from proxyctl.admin.members import same_account
from proxyctl.catalog import Value
from proxyctl.drains import Drain, DrainMethod
from proxyctl.families import Family, Node
from proxyctl.state import DesiredTable, Key


@dataclass(frozen=True)
class DrainRequest:
    """One node to drain or to put back. `node` is HOST or HOST:PORT.

    `force` lets a hostgroup go without a server that is used, and puts a node back that MEMORY
    itself has drained; `files` returns what the files say of mysql_servers then, None without.
    `include_pending` lets edits in MEMORY go live.
    `method` None: that on record, or by ProxySQL. `account` is who logs in to the node, None for
    the one of ProxySQL's monitor. `login_at`: who we are at another member of a ProxySQL Cluster,
    given our login here and the member. Units: `lock_timeout_s` seconds.
    """

    node: str
    who: str = ""
    purpose: str = ""
    force: bool = False
    include_pending: bool = False
    lock_timeout_s: float = 30.0
    progress: Callable[[str], None] = lambda _text: None
    method: DrainMethod | None = None
    account: Account | None = None
    login_at: Callable[[Login, Node], Login] = same_account
    files: Callable[[], DesiredTable | None] = lambda: None


@dataclass(frozen=True)
class Drained:
    """A drained node. `was_before`: it was drained already, and nothing was changed.

    `families` are those of Galera for which the monitors of the peers choose the writers again.
    """

    node: Node
    drain: Drain
    was_before: bool = False
    families: Sequence[Family] = ()


@dataclass(frozen=True)
class StillUsed:
    """Who used a drained node when the time of a wait was over.

    Shape: `in_use` are connections by the address of the instance, and there by the key of
    mysql_servers. `unused_at`: the addresses of members that use it no more.
    """

    in_use: Mapping[str, Mapping[Key, int]]
    unused_at: Sequence[str] = ()


@dataclass(frozen=True)
class Restored:
    """A node that was put back. `drain`: what was on record of it.

    `was_drained` False: RUNTIME did not show it drained. `is_changed`: it came back with other
    values than it had, since its configuration was changed in the meantime. `is_gone`: neither
    MEMORY nor RUNTIME has it any more, and it is off the record. `is_unsaved`: DISK still has it
    drained, or still has it though it is gone. `is_loaded`: the peers are to take something over.
    `out_in`: hostgroups where RUNTIME has it and it is meant to take no connection; None where what
    was done is nothing that peers take over. `families` as with `Drained`. Of what nobody knows:
    `left_out` are hostgroups where MEMORY lets no connection to it, and how; in those `unnamed` it
    was put back.
    """

    node: Node
    drain: Drain | None
    was_drained: bool = True
    is_changed: bool = False
    is_gone: bool = False
    is_unsaved: bool = False
    is_loaded: bool = False
    out_in: frozenset[Value] | None = None
    families: Sequence[Family] = ()
    left_out: Mapping[Value, str] = field(default_factory=dict)
    unnamed: Sequence[Value] = ()
