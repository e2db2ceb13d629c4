"""Members of a ProxySQL Cluster that do not follow, by the checksums that this member saw."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding, duration
from proxyctl.instance.members import Member, configured, switch

_SETTLES_S = 30
"""A change takes two to three seconds to travel; from here on something keeps it."""


def find(facts: Facts) -> Iterator[Finding]:
    """Yield the peers that do not answer, and those that hold other rows."""
    here = facts.membership
    if not here.has_peers:
        return
    names = ("admin-cluster_username", "admin-cluster_password")
    missing = [name for name in names if not facts.variables.get(name)]
    if missing:
        yield Finding(
            "cluster-no-account",
            "cluster",
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} empty: this instance"
            " cannot synchronise with its peers",
            "set both on every member to an account of admin-admin_credentials",
        )
        return
    patience_s = max(_SETTLES_S, 5 * facts.number("admin-cluster_check_interval_ms") / 1000)
    silent = [member for member in here.listed if member.silence(patience_s)]
    for member in silent:
        yield Finding(
            "peer-silent",
            f"peer {member.name}",
            member.silence(patience_s),
            "start it; check the network, its admin-cluster_username and its version"
            f" ({facts.version_text}); or delete it from proxysql_servers",
        )
    for module, name in configured(here.own).items():
        for member, reason, fix in here.not_following(name, patience_s):
            if member not in silent:
                yield from _differing(facts, member, module, name, (reason, fix))


def _differing(
    facts: Facts, member: Member, module: str, name: str, why: tuple[str, str]
) -> Iterator[Finding]:
    """Yield that a peer holds other rows than this instance, and for long enough to say so."""
    own, seen = facts.membership.own[name], member.checksums.get(name)
    if seen is None:
        return
    where, off = f"{module}, peer {member.name}", switch(name)
    age_s = facts.now - max(own.epoch, seen.epoch)
    if facts.variables.get(off) == "0":
        yield Finding(
            "peer-not-synchronised",
            where,
            f"its rows differ, and {off} is 0: this instance never takes them over",
            f"variables: {{{off}: 3}}, or apply the same files to both",
        )
    elif age_s >= _SETTLES_S:
        reason, fix = why
        yield Finding("peer-differs", where, f"{reason}, for {duration(age_s)}", fix)
