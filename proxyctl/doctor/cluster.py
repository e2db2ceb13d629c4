"""Members of a ProxySQL Cluster that do not follow, by the checksums that this member saw."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding, duration
from proxyctl.instance.members import MODULES, Checksum, PeerChecksum, is_source, switch
from proxyctl.state.families import Node, node_text

_SETTLES_S = 30
"""A change takes two to three seconds to travel; from here on something keeps it."""


def find(facts: Facts) -> Iterator[Finding]:
    """Yield the peers that do not answer, and those that hold other rows."""
    names = ("admin-cluster_username", "admin-cluster_password")
    missing = [name for name in names if not facts.variables.get(name)]
    if not facts.peers:
        return
    if missing:
        yield Finding(
            "cluster-no-account",
            "cluster",
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} empty: no peer is"
            " asked for anything",
            "set both on every member, to an account of admin-admin_credentials",
        )
        return
    silent = _silent(facts)
    for peer, seen_at in silent.items():
        since = f"for {duration(facts.now - seen_at)}" if seen_at else "this instance yet"
        yield Finding(
            "peer-silent",
            f"peer {node_text(peer)}",
            f"has not answered {since}",
            "start it, check the network, its account of admin-cluster_username and its version"
            f" ({facts.version_text}), or take it out of proxysql_servers",
        )
    for one in facts.peer_checksums:
        if one.peer not in silent:
            yield from _differing(facts, one)


def _silent(facts: Facts) -> dict[Node, int]:
    """Return the peers that do not answer, and when they answered last; 0 for never."""
    last = dict.fromkeys(facts.peers, 0)
    for one in facts.peer_checksums:
        if one.seen.is_known and one.peer in last:
            last[one.peer] = max(last[one.peer], one.seen_at)
    patience_s = max(_SETTLES_S, 5 * facts.number("admin-cluster_check_interval_ms") / 1000)
    return {peer: at for peer, at in last.items() if facts.now - at > patience_s}


def _differing(facts: Facts, one: PeerChecksum) -> Iterator[Finding]:
    """Yield that a peer holds other rows than this instance, and for long enough to say so."""
    own = facts.own.get(one.name)
    if own is None or one.name not in MODULES or own.checksum == one.seen.checksum:
        return
    if one.name == "mysql_servers" and "mysql_servers_v2" in facts.own:
        return  # each side's monitor places nodes by itself: v2 is the configuration
    module, off = MODULES[one.name], switch(one.name)
    where = f"{module}, peer {node_text(one.peer)}"
    if facts.variables.get(off) == "0":
        yield Finding(
            "peer-not-synchronised",
            where,
            f"it differs, and this instance takes nothing over from it: {off} is 0",
            f"variables: {{{off}: 3}}, or apply the same files at both",
        )
    elif (age_s := facts.now - max(own.epoch, one.seen.epoch)) >= _SETTLES_S:
        message, fix = _reason(own, one.seen, module, duration(age_s))
        yield Finding("peer-differs", where, message, fix)


def _reason(own: Checksum, seen: Checksum, module: str, since: str) -> tuple[str, str]:
    """Return who does not follow whom, and the fix."""
    load = f"LOAD {module} TO RUNTIME once more at the one that is right"
    if is_source(own, seen):
        return (
            f"it does not take over what was loaded here {since} ago",
            "read its log; its synchronisation may be switched off there, or its cluster account"
            " be wrong",
        )
    if is_source(seen, own):
        return (
            f"this instance does not take over what was loaded there {since} ago",
            "read the log of this instance; LOAD nothing here, which would become the newest",
        )
    if own.version <= 1 and seen.version <= 1:
        return "neither was loaded since it started, so neither follows the other", load
    return "both were loaded in the same second, so neither follows the other", load
