"""Three Galera clusters as shards, and what rewriting makes of a query on its way to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from testcontainers.core.network import Network

from tests.containers.conftest import PASSWORDS
from tests.containers.galera import GaleraCluster, Node, wait_until
from tests.containers.proxysql import ProxySQLContainer
from tests.containers.traffic import ask, prepare
from tests.support.cli import Project, proxyctl

SHARDS = 3
TABLES = 6
FILES = """\
version: 1
hostgroups:
{hostgroups}
variables:
  mysql-monitor_username: monitor
  mysql-monitor_password: {{env: MONITOR_PASSWORD}}
pxc_clusters:
{clusters}
mysql_users:
  - {{username: app, password: {{env: APP_PASSWORD}}, default_hostgroup: shard0}}
mysql_query_rules:
  - rule_id: 10
    match_pattern: '^SELECT DISTINCT (.*) ORDER BY c$'
    replace_pattern: 'SELECT DISTINCT \\1'
sharding:
  - name: orders
    tables: "orders{{1..{tables}}}"
    hostgroups: [{names}]
    assign: modulo
    first_rule_id: 1000
    username: app
"""


def hostgroup(shard: int, role: int) -> int:
    """Return the hostgroup of a shard: 0 writes, 1 waits to write, 2 reads, 3 is offline."""
    return 100 + 10 * shard + role


def hosts(shard: int) -> list[str]:
    """Return the nodes of a shard, its writer first."""
    return [f"shard{shard}{name}.example.com" for name in "ab"]


def files() -> str:
    """Return a configuration with one cluster a shard."""
    shards = range(SHARDS)
    roles = ("", "_backup", "_reader", "_offline")
    keys = ("writer", "backup_writer", "reader", "offline")
    return FILES.format(
        hostgroups="\n".join(
            f"  shard{shard}{name}: {{id: {hostgroup(shard, role)}}}"
            for shard in shards
            for role, name in enumerate(roles)
        ),
        clusters="\n".join(
            f"  - name: shard{shard}\n"
            + "".join(
                f"    {key}_hostgroup: shard{shard}{role}\n"
                for key, role in zip(keys, roles, strict=True)
            )
            + "    writer_is_also_reader: 1\n    nodes:\n"
            + "\n".join(
                f"      - {{hostname: {host}, weight: {weight}}}"
                for host, weight in zip(hosts(shard), (10, 5), strict=True)
            )
            for shard in shards
        ),
        names=", ".join(f"shard{shard}" for shard in shards),
        tables=TABLES,
    )


@pytest.fixture(scope="module")
def shards(network: Network) -> Iterator[list[GaleraCluster]]:
    with ExitStack() as stack:
        clusters = [
            stack.enter_context(GaleraCluster(f"shard{n}", hosts(n), network))
            for n in range(SHARDS)
        ]
        for cluster in clusters:
            prepare(cluster.any_node)
        for table in range(1, TABLES + 1):
            # modulo: the number in the name
            node = clusters[table % SHARDS].any_node
            node.sql(f"CREATE TABLE app.orders{table} (id INT PRIMARY KEY, c VARCHAR(60))")
        yield clusters


def everyone_writes_on(port: int, names: str) -> bool:
    """Write a row into each table, and return whether each went to this node of its shard.

    `names`: of the nodes, in the order of the shards. It is never a node of another shard.
    """
    found = []
    for table in range(1, TABLES + 1):
        ask(port, f"REPLACE INTO orders{table} VALUES ({table}, node())")
        ((node,),) = ask(port, f"SELECT c FROM orders{table}")
        assert str(node)[:-1] == f"shard{table % SHARDS}"
        found.append(str(node)[-1] == names[table % SHARDS])
    return all(found)


def test_each_table_is_written_and_read_on_its_own_cluster(
    shards: list[GaleraCluster],
    network: Network,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = Project(tmp_path, monkeypatch)
    for name, value in PASSWORDS.items():
        monkeypatch.setenv(name, value)
    project.write(files())
    with ProxySQLContainer("proxysql1.example.com", network) as proxysql:
        project.connect(proxysql.instance)
        done = proxyctl("apply", "--auto-approve")
        assert done.code == 0, done.text
        port = proxysql.traffic_port
        wait_until(lambda: everyone_writes_on(port, "aaa"), "the writers are those of the files")
        for shard, cluster in enumerate(shards):
            for table in range(1, TABLES + 1):
                if table % SHARDS == shard:
                    rows = cluster.any_node.sql(f"SELECT DISTINCT c FROM app.orders{table}")
                    assert rows == [(f"shard{shard}a",)]
        assert proxyctl("drift").code == 0

        # A shard whose writer is out of step fails over by itself, to a node of its own cluster.
        writer = shards[1].nodes[hosts(1)[0]]
        writer.sql("SET GLOBAL wsrep_desync=ON")
        wait_until(lambda: everyone_writes_on(port, "aba"), "the other node of shard1 writes")
        assert proxyctl("plan", "--detailed-exitcode").code == 0
        writer.sql("SET GLOBAL wsrep_desync=OFF")
        wait_until(lambda: everyone_writes_on(port, "aaa"), "the first node writes again")
        assert proxyctl("drift").code == 0

        _a_rewritten_query_is_what_the_backend_sees(writer, port)


def _a_rewritten_query_is_what_the_backend_sees(node: Node, port: int) -> None:
    # A file: Percona XtraDB Cluster refuses a log in a table.
    node.sql("SET GLOBAL log_output='FILE'")
    node.sql("SET GLOBAL general_log_file='general.log'")
    node.sql("SET GLOBAL general_log=ON")
    sent = "SELECT DISTINCT c FROM orders1 WHERE id BETWEEN 1 AND 9 ORDER BY c"
    ask(port, sent)
    node.sql("SET GLOBAL general_log=OFF")
    lines = node.file("/var/lib/mysql/general.log").splitlines()
    seen = [line.rpartition("\t")[2] for line in lines]
    assert "SELECT DISTINCT c FROM orders1 WHERE id BETWEEN 1 AND 9" in seen
    assert sent not in seen
    explained = proxyctl("explain", sent, "-f", "proxyctl.yaml", "--username", "app")
    assert "SELECT DISTINCT c FROM orders1 WHERE id BETWEEN 1 AND 9" in explained.out, (
        explained.text
    )
