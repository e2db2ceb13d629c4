"""Members that a plan takes out of the list, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.plan import ModulePlan

_TABLE = "proxysql_servers"


def leaving(modules: Iterable[ModulePlan]) -> list[str]:
    """Return the members that RUNTIME lists and will not list any more, as host:port.

    Also those that others took out, where that goes along.
    """
    return [
        f"{change.key[0]}:{change.key[1]}"
        for module in modules
        for change in module.at_runtime(_TABLE)
        if change.desired is None
    ]


def going_on(modules: Iterable[ModulePlan], here: str) -> Iterator[str]:
    """Yield who leaves and follows all the same. `here`: the host:port of the instance itself.

    One that leaves takes the new list over as well, and from then on asks those who are on it.
    Source: ProxySQL 2.7.1, run.
    """
    for module in modules:
        found = module.surveys.get(_TABLE)
        if found is None or not module.final.get(_TABLE, found.target):
            continue
        for name in leaving([module]):
            if name != here:
                yield (
                    f"{name} leaves the cluster, but goes on to take over what is loaded here while"
                    " it runs: apply `proxysql_servers: []` there when it has followed"
                )
