"""The catalogue of a version, compared with the real ProxySQL.

Differences, and names that the catalogue lacks, are recorded by name for `make test-version`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set

import pytest

from tests.support.servers.instances import Instance, ProxySQL, sandbox_of

pytestmark = [pytest.mark.sweep, pytest.mark.real]

OF_THIS_RUN = frozenset(
    {"admin-admin_credentials", "admin-mysql_ifaces", "admin-pgsql_ifaces", "admin-version"}
    | {"mysql-interfaces", "mysql-monitor_enabled", "pgsql-interfaces"}
)
"""Variables that the test itself sets, or that name the build."""


OUT_OF_SCOPE = frozenset(
    {"sqlite_sequence", "pgsql_ldap_mapping", "runtime_pgsql_ldap_mapping", "mysql_collations"}
    | {"coredump_filters", "runtime_coredump_filters", "global_settings", "ssl_ciphers"}
)
"""Tables that no file manages."""
_CHECK = re.compile(r"CHECK\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")

Facts = dict[str, tuple[object, ...]]
"""What there is, by its name: `table`, `table.column`, `table CHECK(...)`, or a variable."""
Note = Callable[[str, object], None]


@pytest.fixture
def twin(fresh_proxysql: ProxySQL) -> Iterator[Instance]:
    """A sandbox of the same version, which is made from the catalogue."""
    with sandbox_of(fresh_proxysql.instance.version) as handle:
        yield handle


def test_tables(fresh_proxysql: ProxySQL, twin: Instance, record_property: Note) -> None:
    compare(tables(fresh_proxysql.instance), tables(twin), record_property)


def test_variables_and_their_defaults(
    fresh_proxysql: ProxySQL, twin: Instance, record_property: Note
) -> None:
    compare(variables(fresh_proxysql.instance), variables(twin), record_property)


def compare(real: Facts, ours: Facts, note: Note) -> None:
    """Fail where the two differ, and record the differing and the unknown names."""
    unknown = outermost(real.keys() - ours.keys())
    differs = outermost({name for name, fact in ours.items() if real.get(name) != fact})
    note("known", len(set(map(whole, ours)) - set(map(whole, differs))))
    for name in unknown:
        note("unknown", name)
    for name in differs:
        note("differs", name)
    assert {name: real[name] for name in unknown} == {}
    assert {name: real.get(name) for name in differs} == {name: ours[name] for name in differs}


def whole(name: str) -> str:
    """Return the table or the variable of a fact."""
    return re.split("[. ]", name, maxsplit=1)[0]


def outermost(names: Set[str]) -> list[str]:
    """Return the names, without columns whose whole table is among the names."""
    return sorted(name for name in names if name == whole(name) or whole(name) not in names)


def tables(instance: Instance) -> Facts:
    """Return the tables of MEMORY, RUNTIME and DISK, their columns and checks."""
    found: Facts = {}
    for schema in ("main", "disk"):
        sql = f"SELECT name, sql FROM {schema}.sqlite_master WHERE type='table'"
        for table, ddl in instance.query(sql):
            if table is None or table in OUT_OF_SCOPE:
                continue
            columns = instance.query(
                "SELECT name, type, \"notnull\", coalesce(dflt_value,'NULL'), pk"
                f" FROM pragma_table_info('{table}', '{schema}')"
            )
            checks = _CHECK.findall(re.sub(r"\s+", "", str(ddl)))
            facts = [
                (table, True),
                *((f"{table}.{name}", column) for name, *column in columns),
                *((f"{table} CHECK({check})", checks.count(check)) for check in checks),
            ]
            for name, fact in facts:
                found[name] = (*found.get(name, ()), schema, fact)
    return found


def variables(instance: Instance) -> Facts:
    """Return the variables with what each layer holds."""
    found: Facts = {}
    for layer in ("main.", "main.runtime_", "disk."):
        for name, value in instance.query(f"SELECT * FROM {layer}global_variables"):
            if name is not None and name not in OF_THIS_RUN:
                found[name] = (*found.get(name, ()), layer, value)
    return found
