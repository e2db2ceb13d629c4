"""What the rows of a ledger of plugins mean."""

from __future__ import annotations

import pytest

from proxyctl.catalog import TABLES, layout_of, parse_version
from proxyctl.catalog.plugins import PluginObject, object_type
from proxyctl.proxysql.plugin_ledger import PluginLedger

VERSION = parse_version("4.0.12")


@pytest.mark.parametrize(
    ("kind", "key", "held"),
    [
        ("hostgroup", "8000", (PluginObject.HOSTGROUP, 8000)),
        ("mysql_query_rule", "900001", (PluginObject.RULE, 900001)),
        ("mysql_user", "900001", (PluginObject.USER, "900001")),
        ("mysql_user_v2", "v2:1:1:726F757465", (PluginObject.USER, "route")),
        ("mysql_user_v2", "v2:0:1:c3a4FF", (PluginObject.USER, "ä\udcff")),
        ("mysql_interface", "0.0.0.0:6446", (PluginObject.INTERFACE, "0.0.0.0:6446")),
    ],
)
def test_an_object(kind: str, key: str, held: tuple[PluginObject, object]) -> None:
    assert PluginLedger.of([("router", kind, key)]).objects == {held[0]: {held[1]: "router"}}


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("pgsql_user", "app"),
        ("hostgroup", "-1"),
        ("hostgroup", ""),
        ("mysql_query_rule", "1e3"),
        ("mysql_user_v2", "v3:1:1:61"),
        ("mysql_user_v2", "v2:1:1:6"),
    ],
)
def test_an_object_that_is_not_known(kind: str, key: str) -> None:
    with pytest.raises(ValueError, match=kind):
        PluginLedger.of([("router", kind, key)])


def test_the_tables_with_rows_of_plugins() -> None:
    """Every table that names a hostgroup in its key belongs to the plugin with that hostgroup."""
    found = {name: kind for name, table in TABLES.items() if (kind := object_type(table))}
    of_hostgroups = {name for name, kind in found.items() if kind is PluginObject.HOSTGROUP}
    assert of_hostgroups == {
        "mysql_servers",
        "mysql_hostgroup_attributes",
        *(name for name in TABLES if name.startswith("mysql_") and name.endswith("_hostgroups")),
    }
    assert {name: found[name] for name in found.keys() - of_hostgroups} == {
        "mysql_users": PluginObject.USER,
        "mysql_query_rules": PluginObject.RULE,
    }


def test_a_family_belongs_to_the_plugin_that_owns_any_of_its_hostgroups() -> None:
    ledger = PluginLedger.of([("router", "hostgroup", "8001"), ("other", "hostgroup", "9")])
    layout = layout_of(TABLES["mysql_replication_hostgroups"], VERSION)
    rows = [(10, 20, "read_only", ""), (10, 8001, "read_only", ""), (9, 20, "read_only", "")]
    assert [ledger.owner_of(layout, row) for row in rows] == [None, "router", "other"]
    owner = ledger.owner_by_key(layout)
    assert owner is not None
    assert [owner((hostgroup,)) for hostgroup in (8001, 8002, 9)] == ["router", None, "other"]
    users = layout_of(TABLES["mysql_users"], VERSION)
    assert ledger.owner_by_key(users) is None
    assert ledger.plugins == ("other", "router")
