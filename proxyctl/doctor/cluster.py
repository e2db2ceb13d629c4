"""Members of a ProxySQL Cluster that are out of step, and why they do not follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from proxyctl.cluster.checksums import MODULES, Checksum, PeerChecksum, is_source, switch
from proxyctl.cluster.membership import is_off, off_by, turned_on
from proxyctl.cluster.refusing import MOST_AHEAD_S
from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding, Severity, check
from proxyctl.doctor.wording import lasting
from proxyctl.families import Node, node_text

_SETTLES_S = 30
"""A change takes two to three seconds to travel; from here on something keeps it."""
_CLOCKS_APART_S = 2
"""A LOAD waits for a later second anyway, and says so from here on."""


@check("cluster-no-account", Severity.ERROR)
def no_account(facts: Facts) -> Iterator[Finding]:
    """There are peers, and no account to ask them with."""
    names = ("admin-cluster_username", "admin-cluster_password")
    missing = [name for name in names if not facts.variables.get(name)]
    if facts.peers and missing:
        yield Finding(
            "cluster",
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} empty: no peer is asked"
            " for anything",
            "set both on every member, to an account of admin-admin_credentials",
        )


@check("peer-not-seen", Severity.ERROR)
def not_seen(facts: Facts) -> Iterator[Finding]:
    """A peer has never answered."""
    if not _has_account(facts):
        return
    seen = {one.peer for one in facts.peer_checksums if one.seen.is_known}
    for peer in facts.peers:
        if peer not in seen:
            yield Finding(
                f"peer {node_text(peer)}",
                "has not answered this instance yet",
                "it has to run, to have the account of admin-cluster_username in"
                " admin-admin_credentials, TLS (mysql-have_ssl) on both sides, and the same version"
                f" {facts.version_text}",
            )


@check("peer-lost", Severity.ERROR)
def lost(facts: Facts) -> Iterator[Finding]:
    """A peer has answered before, and does so no more: what it holds now is not known."""
    for peer, seen_at in _lost(facts).items():
        yield Finding(
            f"peer {node_text(peer)}",
            f"has not answered for {lasting(facts.now - seen_at)}",
            "start it, look at the network between them, or take it out of proxysql_servers",
        )


def _lost(facts: Facts) -> dict[Node, int]:
    """Return the peers that stopped answering, and when they answered last."""
    last: dict[Node, int] = {}
    for one in facts.peer_checksums:
        if one.seen.is_known:
            last[one.peer] = max(last.get(one.peer, 0), one.seen_at)
    patience_s = max(_SETTLES_S, 5 * facts.number("admin-cluster_check_interval_ms") / 1000)
    return {peer: at for peer, at in last.items() if facts.now - at > patience_s}


@dataclass(frozen=True)
class _Apart:
    """A module in which a peer differs. `age_s`: since the newer side was loaded."""

    one: PeerChecksum
    own: Checksum
    age_s: int

    @property
    def module(self) -> str:
        return MODULES[self.one.name]

    @property
    def where(self) -> str:
        return f"{self.module}, peer {node_text(self.one.peer)}"


def _has_account(facts: Facts) -> bool:
    names = ("admin-cluster_username", "admin-cluster_password")
    return all(facts.variables.get(name) for name in names)


def _apart(facts: Facts) -> Iterator[_Apart]:
    lost_ones = _lost(facts)
    for one in facts.peer_checksums:
        own = facts.own.get(one.name)
        if one.peer in lost_ones:
            continue
        if own is None or not one.seen.is_known or one.name not in MODULES:
            continue
        if one.name == "mysql_servers" and "mysql_servers_v2" in facts.own:
            continue  # each side's monitor places nodes by itself: v2 is the configuration
        if own.checksum != one.seen.checksum:
            yield _Apart(one, own, facts.now - max(own.epoch, one.seen.epoch))


def _is_off(facts: Facts, apart: _Apart) -> bool:
    return is_off(apart.one.name, facts.variables)


@check("peers-not-synchronised", Severity.WARNING)
def not_synchronised(facts: Facts) -> Iterator[Finding]:
    """A peer differs in a module that this instance does not synchronise."""
    for apart in _apart(facts):
        off = off_by(apart.one.name, facts.variables)
        if off:
            yield Finding(
                apart.where,
                f"it differs, and nothing is pulled from it: {off}",
                f"{turned_on(apart.one.name, facts.variables)}; or apply the same files at both",
            )


@check("peers-split", Severity.ERROR)
def split(facts: Facts) -> Iterator[Finding]:
    """Two members were loaded in the same second, and stay different for ever."""
    for apart in _apart(facts):
        own, seen = apart.own, apart.one.seen
        if not _is_off(facts, apart) and own.epoch == seen.epoch and own.version > 1 < seen.version:
            yield Finding(
                apart.where,
                "both were loaded in the same second with different content: neither follows the"
                " other",
                f"LOAD {apart.module} TO RUNTIME once more, at the one that is right",
            )


@check("peers-without-source", Severity.WARNING)
def without_source(facts: Facts) -> Iterator[Finding]:
    """Two members differ, and neither was loaded since it started, so that none is followed."""
    for apart in _apart(facts):
        if not _is_off(facts, apart) and apart.own.version <= 1 and apart.one.seen.version <= 1:
            yield Finding(
                apart.where,
                "it differs, and neither was loaded since it started: at version 1 nobody is"
                " followed",
                f"LOAD {apart.module} TO RUNTIME at the one that is right",
            )


@check("peer-behind", Severity.ERROR)
def behind(facts: Facts) -> Iterator[Finding]:
    """A peer has not taken over what was loaded here a while ago, or the other way round."""
    for apart in _following(facts):
        if apart.age_s < _SETTLES_S:
            continue
        since = lasting(apart.age_s)
        if is_source(apart.own, apart.one.seen):
            yield Finding(
                apart.where,
                f"it does not take over what was loaded here {since} ago",
                f"look into its log; there {switch(apart.one.name)} may be 0, or the cluster's"
                " account missing",
            )
        else:
            yield Finding(
                apart.where,
                f"this instance does not take over what was loaded there {since} ago",
                "look into the log of this instance; LOAD nothing here, it would become the newest",
            )


@check("peer-catching-up", Severity.INFO)
def catching_up(facts: Facts) -> Iterator[Finding]:
    """A change is on its way to a peer."""
    for apart in _following(facts):
        if apart.age_s < _SETTLES_S:
            yield Finding(
                apart.where,
                f"it differs; the last LOAD was {lasting(max(apart.age_s, 0))} ago",
                "look again in some seconds",
            )


@check("peer-clock", Severity.WARNING)
def clocks_apart(facts: Facts) -> Iterator[Finding]:
    """The clock of a peer is ahead or behind, and members follow whoever was loaded last."""
    for peer, ahead_s in facts.peer_clocks.items():
        if abs(ahead_s) < _CLOCKS_APART_S:
            continue
        slow, side = ("this instance", "ahead") if ahead_s > 0 else ("the peer", "behind")
        yield Finding(
            f"peer {node_text(peer)}",
            f"its clock is {lasting(round(abs(ahead_s)))} {side}: a LOAD at {slow} may be taken for"
            " older than what the others hold, and not travel, or be undone",
            "set the clocks of all members by the same source (NTP)",
        )


@check("loaded-in-future", Severity.ERROR)
def loaded_in_future(facts: Facts) -> Iterator[Finding]:
    """A module was loaded by a clock that is ahead: until then no LOAD here is taken for newer."""
    held = [(one.name, one.seen) for one in facts.peer_checksums]
    newest: dict[str, int] = {}
    for name, one in [*facts.own.items(), *held]:
        # At version 1 nobody is followed, whatever his clock says.
        if name in facts.own and name in MODULES and one.is_known and one.version > 1:
            newest[MODULES[name]] = max(newest.get(MODULES[name], 0), one.epoch)
    late = {module: at - facts.now for module, at in newest.items()}
    modules = [module for module, late_s in late.items() if late_s > MOST_AHEAD_S]
    if modules:
        longest_s = max(late[module] for module in modules)
        yield Finding(
            ", ".join(modules),
            f"loaded last by a clock that is up to {lasting(longest_s)} ahead: until then no LOAD"
            " here is taken for newer, and `apply` refuses",
            "set the clocks of all members, then LOAD "
            + ", ".join(f"{module} TO RUNTIME" for module in modules)
            + " at each of them, one after another",
        )


def _following(facts: Facts) -> Iterator[_Apart]:
    """Yield the differences in which one side should take over from the other."""
    for apart in _apart(facts):
        own, seen = apart.own, apart.one.seen
        if not _is_off(facts, apart) and (is_source(own, seen) or is_source(seen, own)):
            yield apart
