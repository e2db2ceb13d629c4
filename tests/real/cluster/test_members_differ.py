"""Members of a native cluster of real ProxySQL for which the files say different things."""

from __future__ import annotations

import json

import pytest

from tests.real.cluster.files import hostgroups, keep_apart
from tests.real.cluster.rig import set_admin
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

TEMPLATE = """\
mysql_users: [{username: app, password: x, default_hostgroup: {{ home }}}]
mysql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 5}
  - {rule_id: 2, active: false, match_digest: '^SHOW', destination_hostgroup: {{ home }}}
"""
FILES = ("-f", "proxyctl.yaml", "-f", "users.yaml.j2")
SAID = (
    "MYSQL USERS: by `vars` the files say something else for px3 of this ProxySQL Cluster, and it"
    " takes over what is loaded here (guards.members_differ"
)


def write(project: Project, three: list[ProxySQL], *homes: int, more: str = "") -> None:
    rows = "".join(
        f"  - {{name: px{number}, host: 127.0.0.1, port: {one.port}, password: admin,"
        f" vars: {{home: {home}}}}}\n"
        for number, (one, home) in enumerate(zip(three, homes, strict=True), 1)
    )
    project.write(f"version: 1\ninstances:\n{rows}{more}")
    project.write(TEMPLATE, "users.yaml.j2")


def apply_at(instance: str, *arguments: str) -> tuple[int, str]:
    done = proxyctl("apply", "--auto-approve", "--instance", instance, *FILES, *arguments)
    return done.code, done.text


@pytest.fixture(autouse=True)
def _nobody_is_named_by_the_environment(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROXYCTL_HOST")
    monkeypatch.delenv("PROXYCTL_PORT")


def test_one_is_not_given_what_is_meant_for_another(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, three, 10, 10, 20)
    plan = proxyctl("plan", "--instance", "px1", *FILES)
    assert plan.code == 0
    assert f"refused      {SAID})   allow with --force\n" in plan.out
    assert plan.out.count("guards.members_differ") == 1  # inactive rules do not travel
    of_all = proxyctl("plan", "--all", *FILES)
    assert SAID in of_all.out
    assert "something else for px1, px2 of" in of_all.out
    for arguments in (("--instance", "px1"), ("--all",)):
        done = proxyctl("apply", "--auto-approve", *arguments, *FILES)
        assert done.code == 3, done.text
        assert SAID in done.err
    assert [hostgroups(one) for one in three] == [set()] * 3

    write(project, three, 10, 10, 20, more="guards: {members_differ: warn}\n")
    code, text = apply_at("px1")
    assert code == 0, text
    assert f"warning      {SAID}: warn)\n" in text
    assert [hostgroups(one) for one in three] == [{"10"}] * 3

    write(project, three, 30, 30, 20)
    code, text = apply_at("px1", "--force")
    assert code == 0, text
    assert [hostgroups(one) for one in three] == [{"30"}] * 3


def test_members_that_take_nothing_over_may_differ(three: list[ProxySQL], project: Project) -> None:
    keep_apart(three)
    set_admin(three[2], cluster_mysql_users_diffs_before_sync=0)
    write(project, three, 10, 10, 20)
    code, text = apply_at("px1", "--peer-timeout", "1")
    assert "members_differ" not in text
    assert code == 4, text  # it does not follow, as it should be
    code, text = apply_at("px3", "--peer-timeout", "1")
    assert "something else for px1, px2 of" in text
    assert code == 3, text
    assert [hostgroups(one) for one in three] == [{"10"}, {"10"}, set()]


def test_an_instance_may_have_another_name_than_the_member(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, three, 10, 10, 20)
    text = (project.folder / "proxyctl.yaml").read_text(encoding="utf-8")
    project.write(text.replace("host: 127.0.0.1", "host: localhost"))
    code, said = apply_at("px1")
    assert code == 3, said
    assert SAID in said
    assert [hostgroups(one) for one in three] == [set()] * 3


SECRET = """\
mysql_users:
  - username: app
    password: {{ '{env: PW_THREE}' if needs_secret else 'x' }}
    default_hostgroup: {{ home }}
"""


def with_secret(project: Project, three: list[ProxySQL], home: object) -> None:
    """The files of the third member need a secret that is not at hand."""
    write(project, three, 10, 10, 20)
    text = (project.folder / "proxyctl.yaml").read_text(encoding="utf-8")
    text = text.replace("{home: 10}", "{home: 10, needs_secret: false}")
    project.write(text.replace("{home: 20}", f"{{home: {home}, needs_secret: true}}"))
    project.write(SECRET, "users.yaml.j2")


def test_what_differs_beside_a_secret_of_another_member_is_found(
    three: list[ProxySQL], project: Project
) -> None:
    with_secret(project, three, 20)
    code, said = apply_at("px1")
    assert code == 3, said
    assert SAID in said


@pytest.mark.parametrize(
    ("home", "why"),
    [
        (10, "a secret of theirs is not at hand here"),
        (
            "nowhere",
            "they are wrong (users.yaml.j2:4:24: mysql_users[0].default_hostgroup: no hostgroup is",
        ),
    ],
)
def test_a_member_whose_files_cannot_be_compared_is_named(
    three: list[ProxySQL], project: Project, home: object, why: str
) -> None:
    with_secret(project, three, home)
    code, said = apply_at("px1")
    assert code == 0, said
    assert "warning      MYSQL USERS: what the files say for px3 of this ProxySQL Cluster" in said
    assert why in said, said
    assert [hostgroups(one) for one in three] == [{"10"}] * 3


def test_those_that_a_command_prints_are_members_too(
    three: list[ProxySQL], project: Project
) -> None:
    rows = [
        {
            "name": f"px{number}",
            "host": "127.0.0.1",
            "port": one.port,
            "password": "admin",
            "vars": {"home": home},
        }
        for number, (one, home) in enumerate(zip(three, (10, 10, 20), strict=True), 1)
    ]
    project.write("version: 1\n")
    project.write(TEMPLATE, "users.yaml.j2")
    project.write(json.dumps(rows), "instances.json")
    fleet = ("--all", "--instances-from", f"cat {project.folder / 'instances.json'}", *FILES)
    plan = proxyctl("plan", *fleet)
    assert SAID in plan.out, plan.text
    assert "something else for px1, px2 of" in plan.out
    done = proxyctl("apply", "--auto-approve", *fleet)
    assert done.code == 3, done.text
    assert SAID in done.err
    assert [hostgroups(one) for one in three] == [set()] * 3
