"""What must not be loaded at a member: content that is older than what the others hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from proxyctl.cluster.membership import Membership, named
from proxyctl.guards import Danger

STALE_MEMBER = "stale_member"
FRESH_MEMBER = "fresh_member"
BEHIND = frozenset({STALE_MEMBER, FRESH_MEMBER})
PEER_CLOCK = "peer_clock"
MEMBERS_DIFFER = "members_differ"
MOST_AHEAD_S = 30
"""A LOAD waits so long for a second that comes after the last LOAD of a peer."""


def dangers(loaded: Iterable[str], membership: Membership) -> Iterator[Danger]:
    """Yield what a LOAD of these admin modules would do to newer content of the others."""
    for module in loaded:
        name = membership.name_of(module)
        if name is None:
            continue
        ahead = membership.ahead(module)
        if ahead and membership.own[name].version > 1:
            verb = "was" if len(ahead) == 1 else "were"
            yield Danger(
                STALE_MEMBER,
                f"{module}: {named(ahead)} {verb} loaded later, with other content that this member"
                " is about to take over: a LOAD here would make the old content the newest",
            )
        elif ahead:
            verb = "has" if len(ahead) == 1 else "have"
            yield Danger(
                FRESH_MEMBER,
                f"{module}: not loaded here since the start (version 1), and {named(ahead)} {verb}"
                " other content that this member is about to take over: a LOAD here would replace"
                " it everywhere",
            )
        late_s = membership.newest_epoch(module) - membership.now
        if late_s > MOST_AHEAD_S:
            yield Danger(
                PEER_CLOCK,
                f"{module}: loaded last by a clock that is {late_s:.0f} s ahead of this member's:"
                " no LOAD here would be taken for newer; set the clocks, then LOAD there again",
                is_certain=True,
            )


def different_members(wanted: Mapping[str, Sequence[str]]) -> Iterator[Danger]:
    """Yield that members for which the files say something else take over what is loaded here.

    `wanted`: names of such members by admin module.
    """
    for module, names in wanted.items():
        take = "takes" if len(names) == 1 else "take"
        yield Danger(
            MEMBERS_DIFFER,
            f"{module}: by `vars` the files say something else for {', '.join(names)} of this"
            f" ProxySQL Cluster, and {'it' if len(names) == 1 else 'they'} {take} over what is"
            " loaded here",
        )
