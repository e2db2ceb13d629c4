"""Whether a real ProxySQL of another version has what the catalogue says of it."""

from __future__ import annotations

import re

import pytest

from proxyctl.sandbox import Sandbox
from tests.versions.test_versions import Server, server

pytestmark = pytest.mark.sweep

__all__ = ["server"]

SCHEMAS = ("main", "disk", "stats", "monitor", "stats_history")
OF_THIS_RUN = frozenset(
    {"admin-admin_credentials", "admin-mysql_ifaces", "admin-pgsql_ifaces", "admin-version"}
    | {"mysql-interfaces", "mysql-monitor_enabled", "pgsql-interfaces"}
)
"""Variables that the test itself sets, or that name the build."""


OUT_OF_SCOPE = frozenset({"sqlite_sequence", "pgsql_ldap_mapping", "runtime_pgsql_ldap_mapping"})
"""Tables that no file manages: they belong to SQLite, and to a plugin."""


@pytest.fixture(autouse=True)
def _real_only(server: Server) -> None:
    if isinstance(server.running, Sandbox):
        pytest.skip("the sandbox is made from the catalogue")


@pytest.fixture
def twin(server: Server) -> Sandbox:
    """A sandbox of the same version."""
    return Sandbox(str(server.version))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_tables(server: Server, twin: Sandbox, schema: str) -> None:
    sql = f"SELECT name, sql FROM {schema}.sqlite_master WHERE type='table'"
    real = {str(name): _normal(str(text)) for name, text in server.instance.query(sql)}
    ours = {str(name): _normal(str(text)) for name, text in twin.query(sql)}
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


def _normal(sql: str) -> str:
    """Return a CREATE TABLE without what SQLite does not mind."""
    return re.sub(r"\s*([(),])\s*", r"\1", " ".join(sql.split())).lower()
