"""What a change of the account does, with which members of a cluster log in to one another.

A member asks the others with its own account, and answers those whose account it knows. So a new
one has to be known everywhere before the first member uses it, and the old one until the last one
does not use it any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.cluster.membership import ACCOUNT, Membership
from proxyctl.guards.access import logins
from proxyctl.plan import ModulePlan

CREDENTIALS = "admin-admin_credentials"
_TABLE = "admin_variables"


def cut_off(modules: Iterable[ModulePlan], membership: Membership) -> Iterator[str]:
    """Yield how these plans would keep members from logging in to one another. Names no secret."""
    for module in modules:
        changed = {str(one.key[0]): one.current for one in module.at_runtime(_TABLE)}
        if changed.keys() & {*ACCOUNT, CREDENTIALS}:
            found = module.surveys[_TABLE]
            final = module.final.get(_TABLE, found.target)
            after = {str(name): str(value or "") for name, value in final.values()}
            current = {name: str(row[1]) for name, row in changed.items() if row is not None}
            yield from _cut_off({**after, **membership.variables, **current}, after)


def _cut_off(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    """Yield it for the variables at RUNTIME before and after."""
    old, new = (tuple(at.get(name, "") for name in ACCOUNT) for at in (before, after))
    known, will_know = (logins(at.get(CREDENTIALS, "")) for at in (before, after))
    if all(new) and new not in will_know:
        yield (
            f"{CREDENTIALS} does not have the account of {', '.join(ACCOUNT)}: this member refuses"
            " peers that log in with it, and they take nothing over from here"
        )
    if not all(old) or old == new:
        return
    if old not in will_know:
        yield (
            f"{CREDENTIALS} loses the account that the peers log in with: this member refuses them,"
            " and they do not take over the new one; remove it when every member has the new one"
        )
    if all(new) and new not in known:
        yield (
            f"{', '.join(ACCOUNT)}: the account is not in {CREDENTIALS} before, so that the peers"
            " need not know it: they refuse this member until they do; add it there first, at every"
            " member"
        )
