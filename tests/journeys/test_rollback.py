"""rollback brings back what served traffic: after a change of every kind, in all three layers."""

from __future__ import annotations

import shutil

import pytest

from proxyctl.catalog import TABLES
from tests.cli import SECRETS, Outcome, Project, proxyctl
from tests.journeys.layers import LAYERS, Dump, everywhere, in_layers
from tests.journeys.story import FILES, applied, apply, plan, said
from tests.servers import Instance

SQL_NAMES = sorted({table.sql_name for table in TABLES.values() if table.exists_in((2, 7, 1))})


def everything(instance: Instance) -> Dump:
    """Return every row of every configuration table that this version has, in each layer."""
    tables = {name for (name,) in instance.query("SELECT name FROM main.sqlite_master")}
    return {
        (layer, table): sorted(instance.query(f"SELECT * FROM {schema}{table}"), key=repr)
        for layer, schema in LAYERS.items()
        for table in SQL_NAMES
        if table in tables
    }


def rolled_back(*arguments: str) -> Outcome:
    """Go back without asking, and expect that it worked."""
    found = proxyctl("rollback", "--auto-approve", *arguments)
    assert found.code == 0, found.text
    assert not any(secret in found.text for secret in SECRETS.values())
    return found


KINDS = {
    "servers": (
        """
mysql_servers:
  - {hostgroup_id: 10, hostname: stays}
  - {hostgroup_id: 10, hostname: changes, weight: 7, status: OFFLINE_SOFT, comment: "größe 'x'"}
  - {hostgroup_id: 20, hostname: leaves, port: 3307}
""",
        """
mysql_servers:
  - {hostgroup_id: 10, hostname: stays}
  - {hostgroup_id: 10, hostname: changes, weight: 8, status: ONLINE}
  - {hostgroup_id: 30, hostname: comes}
""",
    ),
    "servers with tls": (
        "mysql_servers_ssl_params: [{hostname: a, ssl_ca: /ca}, {hostname: b, ssl_ca: /cb}]",
        "mysql_servers_ssl_params: [{hostname: b, ssl_ca: /cc}, {hostname: c, ssl_ca: /cc}]",
    ),
    "families, monitor off": (
        """
mysql_galera_hostgroups:
  - {writer_hostgroup: 10, backup_writer_hostgroup: 11, reader_hostgroup: 12, offline_hostgroup: 13}
mysql_group_replication_hostgroups:
  - {writer_hostgroup: 50, backup_writer_hostgroup: 51, reader_hostgroup: 52, offline_hostgroup: 53}
mysql_replication_hostgroups: [{writer_hostgroup: 20, reader_hostgroup: 21, comment: old}]
mysql_aws_aurora_hostgroups:
  - {writer_hostgroup: 40, reader_hostgroup: 41, domain_name: .example.com}
""",
        """
mysql_galera_hostgroups:
  - {writer_hostgroup: 14, backup_writer_hostgroup: 15, reader_hostgroup: 16, offline_hostgroup: 17}
mysql_group_replication_hostgroups: []
mysql_replication_hostgroups: [{writer_hostgroup: 20, reader_hostgroup: 22}]
mysql_aws_aurora_hostgroups:
  - {writer_hostgroup: 40, reader_hostgroup: 41, domain_name: .example.com, active: 0}
""",
    ),
    "attributes of hostgroups": (
        """
mysql_hostgroup_attributes:
  - {hostgroup_id: 10, ignore_session_variables: [sql_mode, tmp], servers_defaults: {weight: 3}}
  - {hostgroup_id: 20, multiplex: false}
""",
        """
mysql_hostgroup_attributes:
  - {hostgroup_id: 10, servers_defaults: {weight: 4}, init_connect: "SET @a='b'"}
  - {hostgroup_id: 30, comment: new}
""",
    ),
    "users": (
        """
mysql_users:
  - {username: clear, password: {env: APP_PASSWORD}, attributes: {spiffe_id: 'a'}}
  - {username: hashed, password: "*00A51F3F48415C7D4E8908980D443C29C69B60C9", comment: "ü"}
  - {username: leaves, password: {env: OTHER_PASSWORD}, default_schema: shop}
  - {username: idle, password: {env: APP_PASSWORD}, active: false}
  - {username: "null", password: null}
""",
        """
mysql_users:
  - {username: clear, password: {env: OTHER_PASSWORD}, max_connections: 5}
  - {username: hashed, password: {env: APP_PASSWORD}}
  - {username: comes, password: {env: APP_PASSWORD}}
  - {username: idle, password: {env: APP_PASSWORD}}
  - {username: "null", password: "x"}
""",
    ),
    "rules": (
        r"""
mysql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT \d+', destination_hostgroup: 10, comment: "it's"}
  - {rule_id: 2, active: false, match_pattern: 'a"b', replace_pattern: ''}
  - {rule_id: 3, match_digest: leaves, error_msg: '', apply: true, attributes: {flagOUTs: []}}
mysql_query_rules_fast_routing:
  - {username: app, schemaname: shop1, flagIN: 0, destination_hostgroup: 10, comment: ''}
  - {username: app, schemaname: shop2, flagIN: 0, destination_hostgroup: 20, comment: ''}
""",
        r"""
mysql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT \d+', destination_hostgroup: 11}
  - {rule_id: 2, match_pattern: 'a"b', replace_pattern: 'c'}
  - {rule_id: 9, match_digest: comes}
mysql_query_rules_fast_routing:
  - {username: app, schemaname: shop2, flagIN: 0, destination_hostgroup: 21, comment: ''}
  - {username: app, schemaname: shop3, flagIN: 0, destination_hostgroup: 20, comment: ''}
""",
    ),
    "mysql variables": (
        """
variables:
  mysql-max_connections: 4096
  mysql-server_version: "8.0.36"
  mysql-default_charset: latin1
  mysql-monitor_password: {env: APP_PASSWORD}
  mysql-threads: 3
  mysql-query_processor_regex: 2
""",
        """
variables:
  mysql-max_connections: 2048
  mysql-server_version: "8.4.0"
  mysql-default_charset: utf8mb4
  mysql-monitor_password: {env: OTHER_PASSWORD}
  mysql-threads: 5
  mysql-query_processor_regex: 1
""",
    ),
    "admin variables": (
        "variables: {admin-refresh_interval: 1500, admin-stats_mysql_connections: 30}",
        """
variables:
  admin-refresh_interval: 2500
  admin-checksum_mysql_users: false
  admin-cluster_check_interval_ms: 700
""",
    ),
    "firewall": (
        """
mysql_firewall_whitelist_users:
  - {username: app, client_address: '', mode: DETECTING, comment: ''}
mysql_firewall_whitelist_rules:
  - {username: app, client_address: '', schemaname: s, flagIN: 0, digest: '0x1', comment: ''}
mysql_firewall_whitelist_sqli_fingerprints: [{fingerprint: abc}]
""",
        """
mysql_firewall_whitelist_users:
  - {username: app, client_address: '', mode: PROTECTING, comment: ''}
mysql_firewall_whitelist_rules: []
mysql_firewall_whitelist_sqli_fingerprints: [{fingerprint: def, active: 0}]
""",
    ),
    "scheduler": (
        """
scheduler:
  - {id: 1, active: 0, interval_ms: 1000, filename: 'a""b', arg1: '', arg2: x}
  - {id: 2, active: 0, interval_ms: 1000, filename: /bin/true}
""",
        """
scheduler:
  - {id: 1, active: 0, interval_ms: 2000, filename: /bin/false}
  - {id: 3, active: 0, interval_ms: 1000, filename: /bin/true}
""",
    ),
    "rest api": (
        "restapi_routes: [{id: 1, active: 0, timeout_ms: 1000, method: GET, uri: a, script: /x}]",
        "restapi_routes: [{id: 2, active: 0, timeout_ms: 1000, method: GET, uri: b, script: /y}]",
    ),
    "proxysql servers": (
        "proxysql_servers: [{hostname: 127.0.0.1, port: 1, comment: one}]",
        "proxysql_servers: [{hostname: 127.0.0.1, port: 1, comment: two, weight: 1}]",
    ),
}


TLS = "servers with tls"
SINCE = pytest.mark.since("2.6.0", "no mysql_servers_ssl_params")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=SINCE) if kind == TLS else kind for kind in KINDS]
)
def test_after_a_change_of(project: Project, instance: Instance, kind: str) -> None:
    older, newer = (f"version: 1\n{text}" for text in KINDS[kind])
    project.write(older)
    applied()
    before = everything(instance)
    project.write(newer)
    applied("--force")
    after = everything(instance)
    assert after != before

    done = rolled_back("--force")
    assert "Applied to" in done.out
    assert everything(instance) == before
    project.write(older)
    assert plan().code == 0

    rolled_back("--force")
    assert everything(instance) == after, "rolling back the rollback"


@SINCE
def test_everything_at_once(project: Project, instance: Instance) -> None:
    """What an instance held by itself counts as much as what files put there."""
    fresh = everything(instance)
    older, newer = ("version: 1\n" + "".join(kind[n] for kind in _mixed()) for n in (0, 1))
    project.write(older)
    applied()
    before = everything(instance)
    project.write(newer)
    applied("--force")
    rolled_back("--force")
    assert everything(instance) == before
    rolled_back("3", "--force")
    assert everything(instance) == fresh


def _mixed() -> list[tuple[str, str]]:
    """One section a table: variables of two modules cannot stand in a file twice."""
    return [
        tuple(f"{text}\n" for text in texts)  # type: ignore[misc]
        for kind, texts in KINDS.items()
        if kind != "admin variables"
    ]


def test_bytes_that_are_not_utf8(project: Project, instance: Instance) -> None:
    with instance.connect() as connection, connection.cursor() as cursor:
        cursor.execute(
            b"INSERT INTO mysql_servers (hostgroup_id, hostname, comment)"
            b" VALUES (7, 'db7', 'caf\xe9')"
        )
    instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
    instance.execute("SAVE MYSQL SERVERS TO DISK")
    before = everything(instance)
    assert "\udce9" in repr(before[("RUNTIME", "mysql_servers")]).encode().decode("unicode_escape")
    project.write("version: 1\nmysql_servers: [{hostgroup_id: 1, hostname: db1}]\n")
    applied("--force")
    rolled_back("--force")
    assert everything(instance) == before


def test_an_interface_that_was_not_set(project: Project) -> None:
    project.write('version: 1\nvariables: {admin-telnet_admin_ifaces: "127.0.0.1:0"}\n')
    applied()
    found = rolled_back()
    assert "admin-telnet_admin_ifaces: left alone: it was not set then" in found.out


# -- what went before -----------------------------------------------------------------------------


def test_after_an_apply_that_failed(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    before = everything(instance)
    refused = "  mysql-eventslog_filename: /no/such/folder/events\n"
    project.write(FILES.replace("variables:\n", f"variables:\n{refused}"))
    said(apply(), 4, "everything was restored")
    assert proxyctl("history", "--format", "json").json["snapshots"][0]["outcome"] == (
        "did not finish"
    )
    assert "No changes: MEMORY, RUNTIME and DISK hold what the snapshot says." in rolled_back().out
    rolled_back("2", "--force")
    project.write(FILES)
    applied()
    assert everything(instance) == before


def test_edits_of_memory_that_nobody_loaded_are_said(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    instance.execute("UPDATE mysql_query_rules SET comment='not loaded' WHERE rule_id=20")
    project.write(FILES.replace("^SELECT.*FOR", "^SELECT .*FOR"))
    applied("--discard-pending")
    found = rolled_back()
    assert "mysql_query_rules: MEMORY and RUNTIME differed in 1 row then" in found.out
    assert everywhere(instance, "SELECT comment FROM {}mysql_query_rules WHERE rule_id=20") == [
        (None,)
    ]


def test_an_edit_made_since_is_not_lost_unasked(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    project.write(FILES.replace("weight: 100", "weight: 70"))
    applied()
    instance.execute("UPDATE mysql_servers SET comment='mine' WHERE hostname='db3'")
    found = proxyctl("rollback", "--auto-approve")
    said(found, 3, "comment edited in MEMORY", "the snapshot says otherwise", "--discard-pending")
    rolled_back("--discard-pending")
    assert in_layers(instance, "SELECT count(*) FROM {}mysql_servers WHERE comment='mine'") == {
        "RUNTIME": [("0",)],
        "MEMORY": [("0",)],
        "DISK": [("0",)],
    }


# -- what is somebody else's ----------------------------------------------------------------------

OURS = """\
version: 1
manage:
  mysql_query_rules: {rule_id: "100-199"}
  ignore: {mysql_servers: [weight]}
mysql_query_rules:
  - {rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 10}
mysql_servers:
  - {hostgroup_id: 10, hostname: db1, max_connections: 1}
"""


def test_only_what_the_apply_owned_goes_back(project: Project, instance: Instance) -> None:
    project.write(OURS)
    applied()
    project.write(OURS.replace("^SELECT", "^INSERT").replace("max_connections: 1", ""))
    applied()
    for sql in (
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES (7, 1, 'theirs')",
        "INSERT INTO mysql_query_rules_fast_routing VALUES ('app', 'tenant', 0, 3, '')",
        "UPDATE mysql_servers SET weight=9",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "SAVE MYSQL SERVERS TO DISK",
        "LOAD MYSQL QUERY RULES TO RUNTIME",
        "SAVE MYSQL QUERY RULES TO DISK",
    ):
        instance.execute(sql)
    found = rolled_back()
    assert "mysql_query_rules: 1 row outside rule_id 100-199" in found.out
    rules = "SELECT rule_id, match_digest FROM {}mysql_query_rules ORDER BY rule_id"
    assert everywhere(instance, rules) == [("7", "theirs"), ("100", "^SELECT")]
    assert everywhere(instance, "SELECT schemaname FROM {}mysql_query_rules_fast_routing") == [
        ("tenant",)
    ]
    servers = "SELECT weight, max_connections FROM {}mysql_servers"
    assert everywhere(instance, servers) == [("9", "1")]


def test_edits_of_others_that_went_along_go_back_too(project: Project, instance: Instance) -> None:
    project.write(OURS)
    applied()
    before = everything(instance)
    instance.execute(
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES (7, 1, 'theirs')"
    )
    project.write(OURS.replace("^SELECT", "^INSERT"))
    applied("--include-pending")
    rolled_back()
    assert everything(instance) == before


def test_further_back_undoes_what_later_applies_owned(project: Project, instance: Instance) -> None:
    project.write("version: 1\nscheduler: []\nmysql_servers: [{hostgroup_id: 1, hostname: a}]\n")
    applied()
    before = everything(instance)
    project.write("version: 1\nmysql_servers: [{hostgroup_id: 1, hostname: b}]\n")
    applied("--force")
    project.write("version: 1\nmysql_users: [{username: u, password: x}]\n")
    applied()
    found = rolled_back("2", "--force", "--dry-run")
    assert "mysql_users: left alone: it was changed since" in found.out
    rolled_back("--force")
    rolled_back("3", "--force")
    assert everything(instance) == before


def test_a_part_of_it(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    project.write(FILES.replace("8.0.36", "8.4.0").replace("weight: 100", "weight: 70"))
    applied()
    rolled_back("--only", "mysql_servers")
    assert everywhere(instance, "SELECT DISTINCT weight FROM {}mysql_servers ORDER BY 1") == [
        ("1",),
        ("100",),
    ]
    version = (
        "SELECT variable_value FROM {}global_variables WHERE variable_name='mysql-server_version'"
    )
    assert everywhere(instance, version) == [("8.4.0",)]


SHARDS = """\
version: 1
hostgroups: {shard0: {id: 10}, shard1: {id: 11}}
mysql_servers: [{hostgroup_id: 10, hostname: a}, {hostgroup_id: 11, hostname: b}]
mysql_users: [{username: app, password: x}]
sharding:
  - name: shop
    tables: {t1: shard0, t2: shard1}
    assign: explicit
    hostgroups: [shard0, shard1]
    first_rule_id: 100
"""


def test_a_table_does_not_change_shard_unasked(project: Project) -> None:
    project.write(SHARDS)
    applied()
    project.write(SHARDS.replace("t1: shard0", "t1: shard1").replace("t2: shard1", "t2: shard0"))
    assert apply().code == 3
    applied("--allow-shard-moves")
    said(proxyctl("rollback", "--auto-approve"), 3, "table t1 would go from 11 (shard1) to 10")
    rolled_back("--allow-shard-moves")
    project.write(SHARDS)
    assert plan().code == 0


# -- secrets --------------------------------------------------------------------------------------

REFERENCES = """\
version: 1
variables: {mysql-monitor_password: {env: APP_PASSWORD}}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, comment: {env: APP_PASSWORD}}
  - {username: leaves, password: {env: OTHER_PASSWORD}}
scheduler:
  - {id: 1, active: 0, interval_ms: 1000, filename: /bin/true, arg1: {env: OTHER_PASSWORD}}
"""


def test_no_secret_is_shown(project: Project, instance: Instance) -> None:
    project.write(REFERENCES)
    applied()
    swapped = REFERENCES.replace("APP_", "X_").replace("OTHER_", "APP_").replace("X_", "OTHER_")
    project.write(
        swapped + "  - {id: 2, active: 0, interval_ms: 9999, filename: a, arg1: "
        "{env: APP_PASSWORD}}\n"
    )
    applied()
    for arguments in (
        ("rollback", "--dry-run"),
        ("rollback", "--dry-run", "--format", "json"),
        ("rollback", "--auto-approve", "--debug"),
        ("rollback", "--auto-approve", "--format", "json"),
        ("snapshot", "--format", "json"),
        ("history",),
        ("history", "--format", "json"),
    ):
        found = proxyctl(*arguments)
        assert found.code == 0, found.text
        assert not any(secret in found.text for secret in SECRETS.values()), arguments


@pytest.mark.parametrize("known_from", ["the files", "an earlier snapshot"])
def test_a_snapshot_by_hand_hides_what_came_by_a_reference(
    project: Project, instance: Instance, known_from: str
) -> None:
    """It is shown where it does not stand any more, without files and other snapshots there."""
    project.write(REFERENCES)
    applied()
    if known_from == "the files":
        shutil.rmtree(project.state)
    else:
        project.write(REFERENCES.replace("1000", "2000"))
        applied("--snapshots-kept", "1")
        (project.folder / "proxyctl.yaml").unlink()
    assert proxyctl("snapshot", "-o", "by-hand.json").code == 0
    (project.folder / "proxyctl.yaml").unlink(missing_ok=True)
    shutil.rmtree(project.state, ignore_errors=True)
    instance.execute("DELETE FROM scheduler")
    instance.execute("LOAD SCHEDULER TO RUNTIME")
    instance.execute("SAVE SCHEDULER TO DISK")
    for arguments in (("--dry-run",), ("--dry-run", "--format", "json"), ("--auto-approve",)):
        found = proxyctl("rollback", "by-hand.json", *arguments)
        assert found.code == 0, found.text
        assert "/bin/true" in found.out
        assert not any(secret in found.text for secret in SECRETS.values()), found.text
    arguments = everywhere(instance, "SELECT arg1 FROM {}scheduler")
    assert arguments == [(SECRETS["OTHER_PASSWORD"],)]


def test_a_snapshot_by_hand_is_taken_whatever_is_wrong_in_the_files(project: Project) -> None:
    project.write("version: 1\nscheduler: [{id: x}]\n")
    found = proxyctl("snapshot", "-o", "by-hand.json")
    assert found.code == 0, found.text
    assert "warning: the files have mistakes" in found.err
    assert (project.folder / "by-hand.json").exists()


@pytest.mark.since("2.6.0", "RUNTIME shows a clear password as its hash")
def test_secrets_that_were_left_out_are_left_alone(project: Project, instance: Instance) -> None:
    project.write(REFERENCES)
    applied()
    changed = REFERENCES.replace("/bin/true", "/bin/false").replace(
        "username: app, password: {env: APP_PASSWORD}",
        "username: app, password: new, active: false",
    )
    project.write(changed)
    done = applied("--snapshot-secrets", "omit")
    assert "The state before, without its passwords, is kept in" in done.out
    newest = project.snapshots()[-1].read_text()
    assert not any(secret in newest for secret in SECRETS.values())
    assert '{"omitted": true}' in newest
    found = rolled_back()
    assert "left alone   mysql_users: secrets of 2 rows" in found.out
    assert everywhere(instance, "SELECT filename, arg1 FROM {}scheduler") == [
        ("/bin/true", SECRETS["OTHER_PASSWORD"])
    ]
    users = "SELECT DISTINCT password, active FROM {}mysql_users WHERE username='app'"
    assert everywhere(instance, users) == [("new", "1")]


def test_a_user_whose_password_was_left_out_cannot_come_back(
    project: Project, instance: Instance
) -> None:
    project.write(REFERENCES)
    applied()
    kept = [line for line in REFERENCES.splitlines() if "leaves" not in line]
    project.write("\n".join(kept).replace("1000", "2000"))
    applied("--snapshot-secrets", "omit")
    before = everything(instance)
    found = proxyctl("rollback", "--auto-approve")
    said(found, 3, "mysql_users leaves:1 is gone", "create it with files or by hand first")
    assert everything(instance) == before
    rolled_back("--only", "SCHEDULER")
    assert everywhere(instance, "SELECT interval_ms FROM {}scheduler") == [("1000",)]


def test_the_environment_may_ask_to_leave_secrets_out(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXYCTL_SNAPSHOT_SECRETS", "omit")
    monkeypatch.setenv("PROXYCTL_SNAPSHOTS_KEPT", "2")
    for weight in (1, 2, 3):
        project.write(FILES.replace("weight: 1}", f"weight: {weight}}}"))
        applied()
    assert len(project.snapshots()) == 2
    texts = "".join(path.read_text() for path in project.snapshots())
    assert not any(secret in texts for secret in SECRETS.values())
