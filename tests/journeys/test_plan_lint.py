"""The findings of lint in a change, and their guard. `golden/pages/findings.md` has the texts."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass

import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import applied, apply, listed, plan
from tests.support.servers.instances import Instance

FAMILY = "mysql_replication_hostgroups: [{writer_hostgroup: writer, reader_hostgroup: reader}]\n"
READER = "  - {hostgroup_id: reader, hostname: db2}\n"
FILES = f"""\
version: 1
hostgroups: {{writer: {{id: 10}}, reader: {{id: 20}}}}
{FAMILY}mysql_servers:
  - {{hostgroup_id: writer, hostname: db1}}
{READER}mysql_users: [{{username: app, password: example, default_hostgroup: writer}}]
mysql_query_rules:
  - {{rule_id: 1, match_digest: ^SELECT, destination_hostgroup: reader, apply: true}}
"""
LOCKING = "proxyctl.yaml:9:64: PX301 [error] rule 1: sends `SELECT"
REFUSING = FILES + "guards: {lint: refuse}\n"
MENDED = FILES.replace("^SELECT", "^SELECT 1$")
MORE = "variables: {mysql-max_connections: 3000}\n"


@dataclass(frozen=True)
class ChangeCase:
    """Files before and after, options, and the exit code: 3 where the change brings the finding."""

    now: str
    wanted: str
    code: int
    options: tuple[str, ...] = ()


CHANGES = {
    "at RUNTIME already": ChangeCase(now=FILES, wanted=REFUSING + MORE, code=2),
    "not selected": ChangeCase(
        now=MENDED,
        wanted=REFUSING.replace("db2", "db3"),
        options=("--only", "MYSQL SERVERS"),
        code=2,
    ),
    "commented": ChangeCase(
        now=FILES, wanted=REFUSING.replace("apply: true}", "apply: true, comment: x}"), code=2
    ),
    "worded otherwise": ChangeCase(
        now=FILES, wanted=REFUSING.replace("^SELECT", "^(SELECT|TABLE)"), code=2
    ),
    "sent elsewhere": ChangeCase(
        now=FILES,
        wanted=REFUSING.replace("reader: {id: 20}", "reader: {id: 21}"),
        options=("--allow-shard-moves",),
        code=3,
    ),
    "changed": ChangeCase(now=MENDED, wanted=REFUSING, code=3),
    "by another row": ChangeCase(
        now=FILES.replace(FAMILY, ""),
        wanted=REFUSING.replace(FAMILY, "").replace(READER, ""),
        code=3,
    ),
}


@pytest.mark.parametrize("case", CHANGES.values(), ids=CHANGES)
def test_the_guard_refuses_what_the_change_brings(
    sandbox_project: Project, case: ChangeCase
) -> None:
    sandbox_project.write(case.now)
    applied()
    sandbox_project.write(case.wanted)
    found = plan(*case.options)
    is_new = case.code == 3
    assert (found.code, "(guards.lint)" in found.out) == (case.code, is_new), found.text
    assert ("[error] rule 1: " in found.out, "there before: " in found.out) == (is_new, True)


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ((), "proxyctl lint --port PORT"),
        (("-f", "my files.yaml"), "proxyctl lint --port PORT -f 'my files.yaml'"),
        (("--host", "localhost"), "proxyctl lint --host localhost --port PORT -f proxyctl.yaml"),
        (
            ("-f", "listed.yaml", "--host", "127.0.0.1"),
            "proxyctl lint --host 127.0.0.1 --port PORT -f listed.yaml",
        ),
        (
            ("-f", "listed.yaml", "--instance", "px 2"),
            "proxyctl lint --instance 'px 2' -f listed.yaml",
        ),
    ],
    ids=["default", "files", "host", "host beside instances", "instance"],
)
def test_the_plan_prints_the_command_that_lists_the_findings(
    sandbox_project: Project, options: tuple[str, ...], command: str
) -> None:
    sandbox_project.write(FILES)
    applied()
    sandbox_project.monkeypatch.delenv("PROXYCTL_HOST")
    port = os.environ["PROXYCTL_PORT"]
    for path in ("proxyctl.yaml", "my files.yaml"):
        sandbox_project.write(FILES + MORE, path)
    two = listed([int(port)] * 2).replace("px2", "'px 2'").replace(port, "1", 1)
    sandbox_project.write(FILES + MORE + two, "listed.yaml")
    remark = re.search(r"(\d+) findings were there before: see (.*)", plan(*options).out)
    assert remark
    assert remark[2] == command.replace("PORT", port)
    found = proxyctl(*shlex.split(remark[2])[1:], "--format", "json").json["findings"]
    assert int(remark[1]) == sum(finding["severity"] != "note" for finding in found)


@pytest.mark.parametrize(
    "files",
    [FILES + "guards: {lint: off}\n", FILES + "lint: {ignore: [PX301, PX5]}\n", MENDED],
    ids=["off", "ignored", "mended"],
)
def test_without_a_finding_the_plan_says_nothing_of_lint(
    sandbox_project: Project, files: str
) -> None:
    sandbox_project.write(files)
    assert "PX301" not in plan().out


def test_an_apply_that_nobody_is_asked_about_says_it_too(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    assert plan("--out", "reviewed.plan").code == 2
    reviewed = proxyctl("apply", "reviewed.plan")
    sandbox_project.write(FILES + MORE)
    assert LOCKING in reviewed.out
    assert reviewed.out.index(LOCKING) < reviewed.out.index("Applied to")
    assert LOCKING not in applied().out
    for in_sync in (plan(), apply()):
        assert (in_sync.code, LOCKING in in_sync.out) == (0, True), in_sync.text


def test_a_fleet_names_what_lint_finds_where_nothing_changes(
    offline: Project, ports: list[int]
) -> None:
    offline.write(FILES + listed(ports[:2]))
    applied("--all")
    for in_sync in (plan("--all"), apply("--all"), proxyctl("drift", "--all")):
        assert (in_sync.code, LOCKING in in_sync.out) == (0, True), in_sync.text


def test_many_rows_of_others_are_counted_and_the_plan_says_so(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    users = ", ".join(f"('u{number}', 'x', 10)" for number in range(10_001))
    sandbox_instance.execute(
        f"INSERT INTO mysql_users (username, password, default_hostgroup) VALUES {users}"
    )
    sandbox_instance.load("MYSQL USERS", saves=True)
    sandbox_project.write("version: 1\nmysql_servers: [{hostgroup_id: 10, hostname: db1}]\n")
    unread = "mysql_users: 10,001 rows that the files do not manage were counted, not read"
    assert unread in plan().out
    applied()
    assert unread not in plan().out


MANY_RULES = "".join(f"  - {{rule_id: {n}, match_digest: ^A{n}$}}\n" for n in range(10, 2010))
SKIPPED = "checks did not run: there are more than 2,000 rules or 10,000 rows; run proxyctl lint"
ROUTES = """\
version: 1
mysql_users: [{username: app, password: example, default_hostgroup: 10}]
mysql_query_rules: [{rule_id: 10, match_digest: ^SELECT, destination_hostgroup: 10, apply: true}]
mysql_query_rules_fast_routing: {csv: routes.csv}
manage: {mysql_query_rules: {rule_id: 1-4000}}
"""


def test_many_rows_are_left_to_lint_itself(sandbox_project: Project) -> None:
    sandbox_project.write(FILES + MANY_RULES)
    found = plan()
    assert SKIPPED in found.out
    assert "PX301" not in found.out
    skipped = plan("--format", "json").json["instances"][0]["skipped_checks"]
    assert ("PX301" in skipped, "PX210" in skipped) == (True, False)
    assert f"lint: {len(skipped)} {SKIPPED}" in plan("--format", "markdown").out
    applied()
    for in_sync in (plan(), apply(), proxyctl("drift")):
        assert (in_sync.code, SKIPPED in in_sync.out) == (0, True), in_sync.text


@pytest.mark.parametrize(("action", "is_said"), [("refuse", True), ("warn", False), ("off", False)])
def test_a_guard_that_cannot_refuse_all_errors_says_so(
    sandbox_project: Project, action: str, is_said: bool
) -> None:
    sandbox_project.write(f'{FILES}{MANY_RULES}guards: {{lint: "{action}"}}\n')
    found = plan()
    assert (SKIPPED in found.out) is (action != "off")
    assert (
        "guards.lint cannot refuse errors of the checks that did not run" in found.out
    ) is is_said


def test_dead_fast_routing_of_any_size_is_an_error(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    routes = "".join(f"app,tenant_{number},0,10\n" for number in range(10_500))
    heading = "username,schemaname,flagIN,destination_hostgroup\n"
    sandbox_project.write(heading + routes, "routes.csv")
    sandbox_project.write(ROUTES)
    applied()
    sandbox_instance.execute(
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest, apply) VALUES (5000,1,'x',1)"
    )
    sandbox_instance.load("MYSQL QUERY RULES", saves=True)
    dead = "PX210 [error] route app:tenant_0:0: ProxySQL never uses mysql_query_rules_fast_routing"
    for in_sync in (plan(), apply(), proxyctl("drift")):
        assert (in_sync.code, dead in in_sync.out) == (0, True), in_sync.text
        assert "rule 5001" in in_sync.out

    sandbox_project.write(heading + routes + "app,tenant_x,0,10\n", "routes.csv")
    sandbox_project.write(f"{ROUTES}guards: {{lint: refuse}}\n")
    found = plan()
    assert (found.code, dead in found.out) == (3, True), found.text
