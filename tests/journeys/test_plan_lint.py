"""What lint finds stands in the plan that a person reads, and may refuse an apply."""

from __future__ import annotations

import pytest

from tests.journeys.story import apply, plan, said
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.pseudo_terminal import shown
from tests.support.warm import Warm

FILES = """\
version: 1
hostgroups: {writer: {id: 10}, reader: {id: 20}}
mysql_replication_hostgroups: [{writer_hostgroup: writer, reader_hostgroup: reader}]
mysql_servers:
  - {hostgroup_id: writer, hostname: db1}
  - {hostgroup_id: reader, hostname: db2}
mysql_users: [{username: app, password: example, default_hostgroup: writer}]
mysql_query_rules:
  - {rule_id: 1, match_digest: ^SELECT, destination_hostgroup: reader, apply: true}
"""
LOCKING = "proxyctl.yaml:9:64: PX301 [error] rule 1: sends `SELECT"


def test_an_error_stands_in_the_plan_in_full(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    found = plan()
    assert found.code == 2
    assert LOCKING in found.out
    assert "lint: 1 error" in found.out
    assert LOCKING in plan("--format", "markdown").out.replace("\\", "")
    assert LOCKING in proxyctl("apply").out  # which then asks


def test_the_guard_can_refuse(sandbox_project: Project) -> None:
    sandbox_project.write(FILES + "guards: {lint: refuse}\n")
    assert plan().code == 3
    refused = apply()
    said(refused, 3, "lint finds 1 error in what changes (guards.lint)", "allow it with --force")
    assert LOCKING in refused.out
    assert "fix: put a rule before it" in refused.out
    assert apply("--force").code == 0


FAMILY = "mysql_replication_hostgroups: [{writer_hostgroup: writer, reader_hostgroup: reader}]\n"
READER = "  - {hostgroup_id: reader, hostname: db2}\n"
REFUSING = FILES + "guards: {lint: refuse}\n"


@pytest.mark.parametrize(
    ("now", "wanted", "only"),
    [
        (FILES, REFUSING + "variables: {mysql-max_connections: 3000}\n", ()),
        (
            FILES.replace("^SELECT", "^SELECT 1$"),
            REFUSING.replace("db2", "db3"),
            ("MYSQL SERVERS",),
        ),
    ],
    ids=["at-runtime-already", "not-selected"],
)
def test_the_guard_leaves_alone_what_the_change_does_not_bring(
    sandbox_project: Project, now: str, wanted: str, only: tuple[str, ...]
) -> None:
    sandbox_project.write(now)
    assert apply().code == 0
    sandbox_project.write(wanted)
    found = plan("--detailed-exitcode", *[word for one in only for word in ("--only", one)])
    assert found.code == 2, found.text
    assert LOCKING in found.out


@pytest.mark.parametrize(
    ("now", "wanted"),
    [
        (FILES, REFUSING.replace("apply: true}", "apply: true, comment: changed}")),
        (FILES.replace("^SELECT", "^SELECT 1$"), REFUSING),
        (FILES.replace(FAMILY, ""), REFUSING.replace(FAMILY, "").replace(READER, "")),
    ],
    ids=["touched", "changed", "by-another-row"],
)
def test_the_guard_refuses_what_the_change_brings(
    sandbox_project: Project, now: str, wanted: str
) -> None:
    sandbox_project.write(now)
    assert apply().code == 0
    sandbox_project.write(wanted)
    found = plan()
    assert found.code == 3, found.text
    assert "(guards.lint)" in found.out


def test_on_a_terminal_a_refusal_stands_once_within_the_width(
    warm: Warm, sandbox_project: Project
) -> None:
    sandbox_project.write(FILES + "guards: {lint: refuse}\n")
    command = [*warm.command, "apply", "--auto-approve", "--no-color"]
    lines = shown(command).splitlines()
    assert [line for line in lines if len(line) > 80] == []
    text = " ".join(" ".join(lines).split())
    assert text.count(LOCKING) == 1
    assert text.count("allow it with --force") == 1


@pytest.mark.parametrize(
    "changed",
    [
        FILES + "guards: {lint: off}\n",
        FILES + "lint: {ignore: [PX301, PX5]}\n",
        FILES.replace("^SELECT", "^SELECT 1$"),
    ],
    ids=["off", "ignored", "mended"],
)
def test_without_a_finding_the_plan_says_nothing_of_lint(
    sandbox_project: Project, changed: str
) -> None:
    sandbox_project.write(changed)
    assert "PX301" not in plan().out


def test_an_apply_that_nobody_is_asked_about_says_it_too(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    assert plan("--out", "reviewed.plan").code == 2
    for done in (proxyctl("apply", "reviewed.plan"), _after_a_new_user(sandbox_project)):
        assert done.code == 0
        assert LOCKING in done.out
        assert "lint: 1 error" in done.out
        assert done.out.index("lint: 1 error") < done.out.index("Applied to")


def _after_a_new_user(project: Project) -> Outcome:
    project.write(FILES + "variables: {mysql-max_connections: 3000}\n")
    return apply()


def test_a_plan_in_sync_names_the_errors_too(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    apply()
    for found in (plan("--detailed-exitcode"), apply()):
        assert found.code == 0
        assert LOCKING in found.out
    sandbox_project.write(FILES.replace("^SELECT", "^SHOW"))
    apply()
    assert "lint" not in plan().text


def test_many_rows_are_left_to_lint_itself(sandbox_project: Project) -> None:
    rules = "".join(f"  - {{rule_id: {n}, match_digest: ^A{n}$}}\n" for n in range(10, 2010))
    sandbox_project.write(FILES + rules)
    found = plan()
    assert "lint: skipped for more than 2,000 rows" in found.out
    assert "PX301" not in found.out
