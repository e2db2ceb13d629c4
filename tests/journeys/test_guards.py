"""Guards: a refusal changes nothing, and a state that the change does not cause is not refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.commands.cli import Project
from tests.support.commands.story import FILES, SHARDED, applied, apply, ended, plan
from tests.support.servers.instances import Instance
from tests.support.servers.layers import Dump, dump

WRITER = "  - {hostgroup_id: writer, hostname: db1, max_connections: 500}\n"
ALSO_READER = "  - {hostgroup_id: reader, hostname: db1, weight: 1}\n"
DB3 = "  - {hostgroup_id: reader, hostname: db3, weight: 100}\n"
APP = "password: {env: APP_PASSWORD}, default_hostgroup: writer}"
BATCH = "password: {env: OTHER_PASSWORD}, default_hostgroup: reader}"
REPORTS = "  - {hostgroup_id: 30, hostname: db4}\n"
ARCHIVE = "  - {hostgroup_id: 40, hostname: db5}\n"
MONITORED = """\
mysql_replication_hostgroups:
  - {writer_hostgroup: writer, reader_hostgroup: reader}
"""
# Nothing answers the monitor here: it must not come to its own conclusions.
MONITOR = """\
variables:
  mysql-monitor_enabled: true
  mysql-monitor_ping_interval: 600000
  mysql-monitor_ping_max_failures: 1000000
  mysql-monitor_read_only_interval: 600000
  mysql-monitor_read_only_max_timeout_count: 999
"""
BEFORE = (
    FILES.replace("variables:\n", MONITOR)
    .replace(ALSO_READER, REPORTS + ARCHIVE)
    .replace(BATCH, BATCH.replace("reader", "30"))
    + "  - {rule_id: 30, match_digest: 'FROM archive', destination_hostgroup: 40}\n"
    + MONITORED
)

Edit = Callable[[str], str]


def replaced(old: str, new: str) -> Edit:
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return edit


def variable(line: str) -> Edit:
    return replaced("variables:\n", f"variables:\n  {line}\n")


def rule(text: str) -> Edit:
    return replaced("mysql_query_rules:\n", f"mysql_query_rules:\n  - {text}\n")


def without_rules(text: str) -> str:
    start = text.index("mysql_query_rules:")
    return text[:start] + "mysql_query_rules: []\n" + MONITORED


KEEP_A_SERVER = (
    "keep a server in it, or delete it together with its family, after an apply that sends"
    " `mysql_query_rules` and `mysql_users` elsewhere"
)
CHOOSE_ANOTHER = "add a server to it in the same apply, or choose another hostgroup"
ANOTHER_LOGIN = "keep admin as it is, or apply as a login that stays (--user)"


@dataclass(frozen=True)
class GuardCase:
    """An edit of the files, the guard that refuses it, and the fix that the guard offers."""

    guard: str
    fix: str
    edit: Edit


REFUSED = {
    "all rules deleted": GuardCase(
        guard="table_emptied",
        fix="check that -f names every file; without its section a table is left alone",
        edit=without_rules,
    ),
    "the last writer": GuardCase(
        guard="empty_hostgroup", fix=KEEP_A_SERVER, edit=replaced(WRITER, "")
    ),
    "the last writer without connections": GuardCase(
        guard="empty_hostgroup", fix=KEEP_A_SERVER, edit=replaced("500", "0")
    ),
    "users sent to no server": GuardCase(
        guard="empty_hostgroup",
        fix=CHOOSE_ANOTHER,
        edit=replaced(APP, APP.replace("writer", "9")),
    ),
    "a rule sent there": GuardCase(
        guard="empty_hostgroup",
        fix=CHOOSE_ANOTHER,
        edit=replaced("hostgroup: 40}", "hostgroup: 9}"),
    ),
    "the monitor's password": GuardCase(
        guard="monitor_credentials",
        fix="set mysql-monitor_password in the files, or correct the reference that is empty",
        edit=variable('mysql-monitor_password: ""'),
    ),
}
LOCKED_OUT = {
    "the login in use": (ANOTHER_LOGIN, variable('admin-admin_credentials: "other:other"')),
    "its password": (ANOTHER_LOGIN, variable('admin-admin_credentials: "admin:other"')),
    "its name again": (ANOTHER_LOGIN, variable('admin-admin_credentials: "admin:admin;admin:x"')),
    "the address in use": (
        "keep the address, or apply through one that stays (--host, --port, --socket)",
        variable('admin-mysql_ifaces: "127.0.0.1:1"'),
    ),
}
ALLOWED: dict[str, Edit] = {
    "a server of several": replaced(DB3, ""),
    "a writer replaced": replaced(WRITER, WRITER.replace("db1", "db9")),
    "another default hostgroup": replaced(APP, APP.replace("writer", "reader")),
    "one rule switched off": replaced("reader, apply: true}", "reader, active: false}"),
    "one user switched off": replaced(APP, f"active: false, {APP}"),
    "another login": variable('admin-admin_credentials: "admin:admin;radmin:radmin;other:x"'),
    "another monitor": variable('mysql-monitor_password: "other"'),
    "a rule that blocks a table": rule("{rule_id: 1, match_digest: 'FROM old', error_msg: closed}"),
    "a rule that blocks a user": rule("{rule_id: 1, username: batch, error_msg: closed}"),
}


@pytest.fixture
def guarded(project: Project) -> Project:
    project.write(BEFORE)
    applied()
    return project


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_guard_refuses_once_and_then_it_is_a_state(
    guarded: Project, instance: Instance, case: GuardCase
) -> None:
    """The safe way comes before the option."""
    refused = case.edit(BEFORE)
    guarded.write(refused)
    before = held(instance)
    ended(apply(), 3, f"(guards.{case.guard})\n    fix: {case.fix}; or allow it with --force")
    assert held(instance) == before
    assert [refusal["code"] for refusal in refusals()] == [case.guard]

    forced = applied("--force")
    assert "(--force)" in forced.out
    later = refused.replace("weight: 100", "weight: 99").replace("multiplex: false", "")
    if case.guard != "table_emptied":
        later = rule("{rule_id: 7, match_digest: '^CALL', destination_hostgroup: writer}")(later)
    guarded.write(later)
    assert refusals() == []


def held(instance: Instance) -> Dump:
    """Return the layers, without the servers that the monitor could not reach meanwhile."""
    return {
        place: [tuple("ONLINE" if cell == "SHUNNED" else cell for cell in row) for row in rows]
        for place, rows in dump(instance).items()
    }


def refusals() -> list[dict[str, str]]:
    (found,) = plan("--format", "json").json["instances"]
    listed: list[dict[str, str]] = found["refusals"]
    return listed


@pytest.mark.parametrize(("fix", "edit"), LOCKED_OUT.values(), ids=LOCKED_OUT.keys())
def test_proxyctl_does_not_lock_itself_out(
    project: Project, instance: Instance, fix: str, edit: Edit
) -> None:
    listens = f"127.0.0.1:{instance.port}"
    (now,) = instance.query(
        "SELECT variable_value FROM runtime_global_variables"
        " WHERE variable_name='admin-mysql_ifaces'"
    )[0]
    if now != listens and "ifaces" in edit(FILES):
        pytest.skip("the sandbox listens on another port than its variable says")
    project.write(edit(FILES))
    before = held(instance)
    ended(
        apply(),
        3,
        "in use",
        f"(guards.admin_access)\n    fix: {fix}; or allow it with --force",
    )
    assert held(instance) == before


def test_nothing_makes_the_admin_interface_read_only(project: Project, instance: Instance) -> None:
    project.write(variable("admin-read_only: true")(FILES) + 'guards: {admin_access: "off"}\n')
    before = held(instance)
    ended(apply("--force"), 3, "PROXYSQL READONLY by hand")
    assert held(instance) == before


@pytest.mark.parametrize("edit", ALLOWED.values(), ids=ALLOWED.keys())
def test_a_guard_lets_ordinary_changes_pass(guarded: Project, edit: Edit) -> None:
    guarded.write(edit(BEFORE))
    assert refusals() == []
    applied()


def test_shard_moves_have_an_action_like_the_others(sandbox_project: Project) -> None:
    sandbox_project.write(SHARDED)
    applied()
    moved = SHARDED.replace("[writer, reader]", "[reader, writer]")
    sandbox_project.write(moved)
    assert {refusal["code"] for refusal in refusals()} == {"shard_moves"}
    sandbox_project.write(moved + "guards: {shard_moves: warn}\n")
    assert "warning      sharding t: table t2 would go from 10 (writer)" in plan().out
    assert refusals() == []
    sandbox_project.write(moved + 'guards: {shard_moves: "off"}\n')
    assert "would go from" not in plan().out
    applied()


def test_a_few_of_very_many_rows_are_too_many_to_delete(sandbox_project: Project) -> None:
    def tenants(count: int) -> str:
        rows = "".join(
            f"  - {{username: app, schemaname: t{n}, destination_hostgroup: 10}}\n"
            for n in range(count)
        )
        return f"version: 1\nmysql_query_rules_fast_routing:\n{rows}"

    sandbox_project.write(tenants(5000))
    applied()
    sandbox_project.write(tenants(3999))
    ended(apply(), 3, "1,001 of 5,000 rows would be deleted; the limit is 1,000 rows")
    sandbox_project.write(tenants(4000))
    applied()
