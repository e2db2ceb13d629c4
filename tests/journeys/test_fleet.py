"""Many instances at once: their selection, each distinct plan once, and an instance that fails."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from proxyctl.apply.apply import applied as reported
from proxyctl.apply.request import ApplyRequest
from proxyctl.apply.result import ApplyResult
from proxyctl.cli.connect import printed_instances
from proxyctl.config.files import ConfigFiles
from proxyctl.config.sources import Sources
from proxyctl.errors import ApplyError, ProxyctlError
from proxyctl.fleet.plan import plan_fleet
from proxyctl.fleet.rollout import RolloutRequest, roll_out
from proxyctl.fleet.targets import Target, at_all
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.plan.make import PlanOptions
from proxyctl.sandbox import AdminError, Sandbox
from tests.journeys.held_lock import hold_lock
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.logs import logged
from tests.support.commands.story import SERVERS, applied, ended, listed
from tests.support.servers.instances import Instance, free_port


def test_json_has_each_instance_under_its_own_name(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS + listed(ports))
    applied("--instance", "px2")
    document = proxyctl("plan", "--all", "--format", "json").json
    assert [instance["name"] for instance in document["instances"]] == ["px1", "px2", "px3"]
    assert [instance["in_sync"] for instance in document["instances"]] == [False, True, False]
    assert [instance["address"] for instance in document["instances"]] == [
        f"127.0.0.1:{p}" for p in ports
    ]
    assert len({instance["fingerprint"] for instance in document["instances"]}) == 3
    assert document["failed"] == []
    alone = proxyctl("plan", "--instance", "px3", "--format", "json").json["instances"]
    assert alone == document["instances"][2:]
    doctor = proxyctl("doctor", "--all", "--format", "json").json
    assert [instance["name"] for instance in doctor["instances"]] == ["px1", "px2", "px3"]
    alone = proxyctl("doctor", "--instance", "px2", "--format", "json").json
    assert {"format": 1, **doctor["instances"][1]} == alone


def test_each_instance_is_exported_to_a_file(offline: Project, ports: list[int]) -> None:
    down = "{name: 'a/b', host: 127.0.0.1, port: 1}"
    offline.write(SERVERS + listed(ports, down))
    applied("--instance", "px2")
    found = proxyctl("export", "--all", "-o", "out/all")
    ended(found, 1, "a/b", "cannot connect to 127.0.0.1:1", "3 exported, 1 not read: a/b.")
    folder = offline.folder / "out" / "all"
    assert sorted(path.name for path in folder.iterdir()) == ["px1.yaml", "px2.yaml", "px3.yaml"]
    alone = proxyctl("export", "--instance", "px2").out
    assert (folder / "px2.yaml").read_text() == alone
    ended(proxyctl("export", "--all", "-o", "out"), 3, "out: not empty")
    ended(proxyctl("export", "--all"), 64, "needs -o FOLDER")
    alike = "{name: 'p:1', host: a.example}, {name: p/1, host: b.example}"
    offline.write(SERVERS + f"instances: [{alike}]\n")
    ended(proxyctl("export", "--all", "-o", "other"), 64, "too similar")


def test_where_each_instance_has_each_node(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS + listed(ports, "{name: down, host: 127.0.0.1, port: 1}"))
    for name in ("px1", "px2", "px3"):
        applied("--instance", name)
    agreed = proxyctl("nodes", "list", "--all")
    assert agreed.code == 1
    assert agreed.out.splitlines()[0].split() == ["node", "px1,", "px2,", "px3"]
    assert agreed.out.endswith("Fleet of 4 instances: all agree, 1 not read: down.\n")
    Instance("127.0.0.1", ports[1]).execute(
        "UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='db1'",
        "LOAD MYSQL SERVERS TO RUNTIME",
    )
    found = proxyctl("nodes", "list", "--all")
    assert found.out.splitlines()[0].split() == ["node", "px1,", "px3", "px2"]
    assert "OFFLINE_SOFT 10" in found.out
    assert "they differ in db1:3306, 1 not read: down." in found.out
    ended(proxyctl("nodes", "list", "--all", "--backend-unverified"), 64, "asks no nodes")
    document = proxyctl("nodes", "list", "--all", "--format", "json").json
    assert document["differing"] == ["db1:3306"]
    assert [report["name"] for report in document["instances"]] == ["px1", "px2", "px3"]
    assert [failed["name"] for failed in document["failed"]] == ["down"]


def test_a_snapshot_of_each_instance(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS + listed(ports, "{name: down, host: 127.0.0.1, port: 1}"))
    found = proxyctl("snapshot", "--all")
    ended(found, 1, "cannot connect to 127.0.0.1:1")
    assert [Path(line).is_file() for line in found.out.splitlines()] == [True] * 3
    document = proxyctl("snapshot", "--all", "--format", "json").json
    addresses = [taken["address"] for taken in document["snapshots"]]
    assert addresses == [f"127.0.0.1:{port}" for port in ports]
    assert [failed["name"] for failed in document["failed"]] == ["down"]


def test_one_that_hangs_does_not_hold_the_others(offline: Project, ports: list[int]) -> None:
    """The hanging instance holds one of two slots; the others run in the second slot."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hangs = f"{{name: hangs, host: 127.0.0.1, port: {silent.getsockname()[1]}}}"
        text = SERVERS + listed(ports, hangs)
        offline.write(text)
        found = proxyctl("plan", "--all", "--parallel", "2")
    assert found.code == 1
    assert "px1, px2, px3  3 instances alike" in found.out
    assert "1 not read: hangs." in found.out


def test_it_stops_where_one_fails(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS + listed(ports))
    hold_lock(Instance("127.0.0.1", ports[1]), host="elsewhere", pid=1, for_s=600)
    options = ("--auto-approve", "--lock-timeout", "0")
    found = proxyctl("apply", "--all", *options)
    assert found.code == 4, found.text
    assert f"px2  127.0.0.1:{ports[1]}: failed\n" in found.out
    assert "is locked: apply by pid 1 on elsewhere" in found.out
    last = "Fleet of 3 instances: 1 applied: px1; 1 failed: px2; 1 not touched: px3.\n"
    assert found.out.endswith(last)

    again = proxyctl("apply", "--all", *options, "--max-unavailable", "2")
    assert again.out.endswith("Fleet of 3 instances: 1 applied: px3; 1 in sync; 1 failed: px2.\n")
    plans = proxyctl("plan", "--all", "--format", "json").json["instances"]
    assert [instance["in_sync"] for instance in plans] == [True, False, True]


@pytest.fixture
def shunning() -> Iterator[list[int]]:
    """The ports of three sandboxes where db1 is SHUNNED as soon as it is loaded and saved."""
    with ExitStack() as stack:
        sandboxes = [stack.enter_context(Sandbox()) for _ in range(3)]
        for sandbox in sandboxes:

            def shun(sql: str, sandbox: Sandbox = sandbox) -> None:
                if sql.startswith("SAVE"):
                    sandbox.shun(10, "db1", 3306)

            sandbox.options.before_statement = shun
        yield [sandbox.port for sandbox in sandboxes]


def test_it_stops_where_a_server_gets_shunned(offline: Project, shunning: list[int]) -> None:
    """A server that was SHUNNED before does not stop the rollout."""
    ports = shunning
    offline.write(SERVERS + listed(ports))
    apply = ("apply", "--all", "--auto-approve")
    found = proxyctl(*apply)
    assert found.code == 4, found.text
    assert (
        f"px1  127.0.0.1:{ports[0]}: applied\n  SHUNNED since the change: db1:3306\n" in found.out
    )
    assert found.out.endswith("Fleet of 3 instances: 1 applied: px1; 2 not touched: px2, px3.\n")
    (one, *_) = proxyctl(*apply, "--format", "json").json["instances"]
    assert one["state"] == "in sync"
    applied("--instance", "px2")
    applied("--instance", "px3")
    offline.write(SERVERS.replace("db1", "db1, weight: 2") + listed(ports))
    assert proxyctl(*apply).code == 0


def make_members(ports: list[int]) -> None:
    """Make the instances members of one ProxySQL Cluster."""
    for port in ports:
        instance = Instance("127.0.0.1", port)
        instance.execute("INSERT INTO proxysql_servers (hostname) VALUES ('px1')")
        instance.execute("LOAD PROXYSQL SERVERS TO RUNTIME")


def test_members_of_a_cluster_do_not_change_at_the_same_time(
    offline: Project, ports: list[int]
) -> None:
    make_members(ports[:2])
    offline.write(SERVERS + listed(ports))
    found = proxyctl("apply", "--all", "--auto-approve", "--max-unavailable", "2")
    # Sandboxes take nothing over from one another: each is changed, as part of one batch.
    assert found.code == 0, found.text
    assert "Fleet of 3 instances: 3 applied: px1, px2, px3.\n" in found.out
    assert "One ProxySQL Cluster: px1, px2; px1 is changed first.\n" in found.out
    assert "batch 1 of 1: px1 + px2 (one ProxySQL Cluster), px3\n" in found.err
    lines = found.err.splitlines()
    assert lines.index("px1: SAVE MYSQL SERVERS TO DISK") < lines.index(
        "px2: MYSQL SERVERS: write MEMORY"
    )


# -- instances that a command prints ---------------------------------------------------------------


def test_a_command_that_does_not_end_is_ended() -> None:
    with pytest.raises(ProxyctlError) as found:
        printed_instances("sleep 600", timeout_s=0.1)
    assert found.value.message == "--instances-from sleep: the command did not finish within 0.1 s"


@pytest.mark.parametrize("restricted", [False, True])
def test_files_that_it_names_stay_in_the_fence(
    offline: Project, tmp_path: Path, restricted: bool
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("admin\n")
    secret.chmod(0o600)
    inside = offline.folder / "inside"
    inside.mkdir()
    (inside / "proxyctl.yaml").write_text(SERVERS)
    with Sandbox() as sandbox:
        named = {"file": str(secret)}
        instance = {"name": "px1", "host": "127.0.0.1", "port": sandbox.port, "password": named}
        offline.write(json.dumps([instance]), "found.json")
        options = ("--restrict-paths",) if restricted else ()
        command = ("--instances-from", "cat found.json", *options)
        found = proxyctl("plan", "--all", "-f", "inside", *command)
        instance["tls_ca"] = str(secret)
        offline.write(json.dumps([instance]), "found.json")
        of_ca = proxyctl("plan", "--all", "-f", "inside", *command)
    out = "the path leads out of the folders of the -f paths"
    if restricted:
        ended(found, 1, "instances.px1.password", out)
        ended(of_ca, 1, "instances[0].tls_ca", out)
    else:
        assert found.code == 0, found.text


SKIP = "--skip-unreachable"


def apply_all(*arguments: str) -> Outcome:
    return proxyctl("apply", "--all", "--auto-approve", "--max-unavailable", "4", *arguments)


def loaded(ports: list[int]) -> list[str | None]:
    """Return how many servers each instance has at RUNTIME."""
    count = "SELECT count(*) FROM runtime_mysql_servers"
    return [Instance("127.0.0.1", port).query(count)[0][0] for port in ports]


def test_one_that_is_gone_after_its_plan_is_skipped(offline: Project) -> None:
    """`golden/pages/fleet.md` has an instance that is gone before."""
    with ExitStack() as stack:
        made = [stack.enter_context(Sandbox()) for _ in range(3)]
        made[1].options.before_statement = refuse_locks
        ports = [sandbox.port for sandbox in made]
        offline.write(SERVERS + listed(ports))
        found = apply_all(SKIP)
        ended(found, 4)
        last = "Fleet of 3 instances: 2 applied: px1, px3; 1 not read: px2.\n"
        assert found.out.endswith(last)
        assert loaded(ports) == ["1", "0", "1"]


def refuse_locks(sql: str) -> None:
    if "proxyctl_lock" in sql:
        raise AdminError("disk I/O error")


def test_with_one_skipped_and_the_first_one_failing_nothing_was_changed(
    offline: Project, ports: list[int]
) -> None:
    offline.write(SERVERS + listed(ports, f"{{name: gone, host: 127.0.0.1, port: {free_port()}}}"))
    hold_lock(Instance("127.0.0.1", ports[0]), host="elsewhere", pid=1, for_s=600)
    command = ("apply", "--all", "--auto-approve", SKIP, "--lock-timeout", "0")
    found = proxyctl(*command)
    assert found.code == 3, found.text
    assert loaded(ports) == ["0", "0", "0"]


def test_files_that_are_wrong_for_one_are_not_skipped(offline: Project, ports: list[int]) -> None:
    vars_of = (
        "  - {{name: px{0}, host: 127.0.0.1, port: {1}, password: admin, vars: {{id: {2}}}}}\n"
    )
    lines = [vars_of.format(n, port, n if n < 3 else "x") for n, port in enumerate(ports, 1)]
    offline.write("version: 1\ninstances:\n" + "".join(lines))
    offline.write("mysql_query_rules: [{rule_id: {{ id }}, match_digest: x}]\n", "rules.yaml.j2")
    found = apply_all(SKIP, "-f", "proxyctl.yaml", "-f", "rules.yaml.j2")
    ended(found, 1, "no instance was changed: there is no plan for px3")
    for port in ports:
        rules = Instance("127.0.0.1", port).query("SELECT count(*) FROM runtime_mysql_query_rules")
        assert rules == [("0",)]


# -- a bug in proxyctl that shows at one of them ---------------------------------------------------


SECRET = "s3cret-in-an-exception"
BUG = "internal error, a bug in proxyctl: KeyError"


@pytest.fixture
def targets(offline: Project, ports: list[int]) -> list[Target]:
    offline.write(SERVERS + listed(ports))
    files = ConfigFiles(Sources((str(offline.folder / "proxyctl.yaml"),)))
    return [
        Target(Login(port=port, password="admin", name=f"px{number}"), files)
        for number, port in enumerate(ports, 1)
    ]


def test_a_bug_at_one_instance_is_reported_beside_the_others(targets: list[Target]) -> None:
    records: list[str] = []

    def work(target: Target) -> str:
        if target.name == "px2":
            raise KeyError(SECRET)
        return target.name

    with logged(lambda record: records.append(record.getMessage()), "proxyctl.fleet"):
        found, (failed,) = at_all(targets, work, workers=3)
    assert found == ["px1", "px3"]
    assert failed.name == "px2"
    assert failed.error.message.startswith(BUG)
    assert SECRET not in "\n".join([*failed.error.lines(), *records])
    assert any(line.startswith("px2: KeyError at ") for line in records)


def test_a_rollout_stops_there(targets: list[Target], ports: list[int]) -> None:
    class Failing(Target):
        def connect(self) -> AdminClient:
            if loaded(ports) == ["1", "0", "0"]:
                raise KeyError(SECRET)
            return super().connect()

    targets[1] = Failing(targets[1].login, targets[1].files)
    approved = plan_fleet(targets, PlanOptions(), workers=1)
    rolled = roll_out(targets, approved, RolloutRequest(ApplyRequest(PlanOptions()))).rolled
    assert [str(outcome.state) for outcome in rolled] == ["applied", "failed", "not touched"]
    error = rolled[1].error
    assert isinstance(error, ApplyError)
    assert error.message.startswith(BUG)
    assert "it is not known what changed there" in error.then[0]
    assert SECRET not in "\n".join(error.lines())
    assert loaded(ports) == ["1", "0", "0"]


def test_one_that_shows_after_all_is_applied_does_not_hide_that() -> None:
    message = "applied and read back, but then"
    with pytest.raises(ApplyError, match=message) as raised, reported(ApplyResult()):
        raise KeyError(SECRET)
    assert BUG in raised.value.message
    assert SECRET not in "\n".join(raised.value.lines())
