"""What a store keeps of a configuration covers what routing reads of it."""

from __future__ import annotations

from collections import UserDict
from dataclasses import fields

from proxyctl.catalog.variables import VARIABLES
from proxyctl.routing.digest import DigestOptions
from proxyctl.routing.digest.options import PREFIX
from proxyctl.routing.tables import RoutingVariables
from proxyctl.stats.store.routing import is_routing_variable


class AskedNames(UserDict[str, str]):
    """Variables that remember which of them were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()

    def get(self, name: str, default: object = None) -> object:  # type: ignore[override]
        self.asked.add(name)
        return default


def test_every_variable_that_routing_reads_is_kept() -> None:
    variables = AskedNames()
    RoutingVariables.from_values(variables)
    assert len(variables.asked) > 5
    names = {PREFIX + field.name for field in fields(DigestOptions) if field.name != "version"}
    assert [name for name in names | variables.asked if not is_routing_variable(name)] == []


def test_no_variable_with_a_password_is_kept() -> None:
    kept = [name for name in VARIABLES if is_routing_variable(name)]
    assert len(kept) > 10
    assert not [name for name in kept if "password" in name or "credentials" in name]
