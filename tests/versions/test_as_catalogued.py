"""Whether a real ProxySQL of another version has what the catalogue says of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from proxyctl.sandbox import Sandbox
from tests.versions.test_versions import Server, server

pytestmark = pytest.mark.sweep

__all__ = ["server"]

OF_THIS_RUN = frozenset(
    {"admin-admin_credentials", "admin-mysql_ifaces", "admin-pgsql_ifaces", "admin-version"}
    | {"mysql-interfaces", "mysql-monitor_enabled", "pgsql-interfaces"}
)
"""Variables that the test itself sets, or that name the build."""


OUT_OF_SCOPE = frozenset(
    {"sqlite_sequence", "pgsql_ldap_mapping", "runtime_pgsql_ldap_mapping", "mysql_collations"}
    | {"coredump_filters", "runtime_coredump_filters", "global_settings"}
)
"""Tables that no file manages."""
_CHECK = re.compile(r"CHECK\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")


@pytest.fixture(autouse=True)
def _real_only(server: Server) -> None:
    if isinstance(server.running, Sandbox):
        pytest.skip("the sandbox is made from the catalogue")


@pytest.fixture
def twin(server: Server) -> Sandbox:
    """A sandbox of the same version."""
    return Sandbox(str(server.version))


@pytest.mark.parametrize("schema", ["main", "disk"])
def test_tables(server: Server, twin: Sandbox, schema: str) -> None:
    real, ours = _tables(server.instance.query, schema), _tables(twin.query, schema)
    for tables in (real, ours):
        for name in OUT_OF_SCOPE:
            tables.pop(name, None)
    assert ours == real


def test_variables_and_their_defaults(server: Server, twin: Sandbox) -> None:
    sql = "SELECT variable_name, variable_value FROM {}global_variables"
    for layer in ("main.", "main.runtime_", "disk."):
        real = {n: v for n, v in server.instance.query(sql.format(layer)) if n not in OF_THIS_RUN}
        ours = {n: v for n, v in twin.query(sql.format(layer)) if n not in OF_THIS_RUN}
        assert ours == real


def _tables(query: Callable[[str], list[Any]], schema: str) -> dict[str, Any]:
    """Return columns and checks by table."""
    found: dict[str, Any] = {}
    for name, sql in query(f"SELECT name, sql FROM {schema}.sqlite_master WHERE type='table'"):
        columns = query(
            "SELECT name, type, \"notnull\", coalesce(dflt_value,'NULL'), pk"
            f" FROM pragma_table_info('{name}', '{schema}')"
        )
        checks = _CHECK.findall(re.sub(r"\s+", "", str(sql)))
        found[str(name)] = ([tuple(map(str, column)) for column in columns], sorted(checks))
    return found
