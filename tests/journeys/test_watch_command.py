"""`watch`: round after round it reports what differs, and with --apply corrects it."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.watched_fleet import CHANGED, EDIT, Fleet, events, line_of, nothing
from tests.support.commands.cli import SECRETS, Project, proxyctl
from tests.support.commands.story import FILES, ended, listed
from tests.support.metrics import samples
from tests.support.servers.instances import Instance, free_port


def test_without_apply_it_reports_each_state_once_and_changes_nothing(synced: Fleet) -> None:
    found = synced.watch(steps=[nothing, synced.edit, nothing, nothing])
    assert (found.code, found.err) == (0, "")
    assert events(found, "px1") == ["in_sync", "differs"]
    assert events(found, "px2") == ["in_sync"]
    assert events(found)[-1] == "stopped"
    line = line_of(found, "differs")
    assert line["message"] == "someone else changed the instance"
    (change,) = line["changes"]
    assert change["fields"]["weight"] == {"current": 7, "desired": 100}
    assert synced.weight() == "7"


def test_empty_instances_are_filled_in_the_first_round(fleet: Fleet) -> None:
    found = fleet.watch("--apply", steps=[nothing])
    assert (found.code, found.err) == (0, "")
    for number, name in enumerate(("px1", "px2")):
        assert events(found, name) == ["differs", "applied"]
        assert fleet.weight(number) == "100"
    assert len(fleet.project.snapshots()) == 2


def test_an_instance_that_comes_back_empty_is_filled_in_one_round(synced: Fleet) -> None:
    with Sandbox(variables={"mysql-monitor_enabled": "false"}) as empty:
        found = synced.watch(
            "--apply", steps=[lambda: synced.proxy.lead_to(empty.host, empty.port), nothing]
        )
        assert events(found, "px1") == ["in_sync", "differs", "applied"]
        again = Instance(empty.host, empty.port)
        assert again.query("SELECT count(*) FROM mysql_servers") == [("4",)]
        again.close()


def test_a_hand_edit_stays_for_the_grace_and_changed_files_do_not_wait(synced: Fleet) -> None:
    found = synced.watch(
        *("--apply", "--grace", "1h"),
        steps=[synced.edit, lambda: synced.write(CHANGED), nothing],
    )
    assert events(found, "px1") == ["in_sync", "edited", "edited"]
    assert events(found, "px2") == ["in_sync", "differs", "applied"]
    assert synced.weight() == "7"


def test_a_hand_edit_is_taken_back_after_the_grace(synced: Fleet) -> None:
    found = synced.watch(
        *("--apply", "--grace", "1s"),
        steps=[synced.edit, lambda: time.sleep(1.1), nothing],
    )
    assert events(found, "px1") == ["in_sync", "edited", "differs", "applied"]
    assert synced.weight() == "100"


def test_a_slow_answer_is_not_taken_for_a_restart(synced: Fleet) -> None:
    """After a restart a difference would not wait for the grace."""

    def delay(_connection: int, sql: str, _answer: bytes) -> None:
        if "ProxySQL_Uptime" in sql:
            time.sleep(4)

    def edit() -> None:
        synced.proxy.watch = delay
        synced.edit()

    found = synced.watch("--apply", "--grace", "1h", steps=[edit])
    assert events(found, "px1") == ["in_sync", "edited"]
    assert synced.weight() == "7"


def test_pending_edits_of_others_are_never_overwritten(synced: Fleet) -> None:
    px1 = synced.instances[0]
    found = synced.watch(
        *("--apply", "--grace", "0s"), steps=[lambda: px1.execute(EDIT), nothing, nothing]
    )
    assert events(found, "px1") == ["in_sync", "refused"]
    assert "weight edited in MEMORY" in str(line_of(found, "refused")["details"])
    assert px1.query("SELECT weight FROM mysql_servers WHERE hostname='db2'") == [("7",)]


def test_a_failed_change_is_tried_once_until_the_files_change(synced: Fleet) -> None:
    loads: list[str] = []

    def fail_the_load() -> None:
        synced.instances[0].sandbox.options.before_statement = refuse  # type: ignore[union-attr]
        synced.write(CHANGED)

    def refuse(sql: str) -> None:
        if sql.startswith("LOAD MYSQL SERVERS TO RUNTIME") and not loads:
            loads.append(sql)
            synced.instances[0].sandbox.run("DELETE FROM mysql_servers")  # type: ignore[union-attr]

    found = synced.watch(
        "--apply",
        steps=[
            fail_the_load,
            nothing,
            nothing,
            lambda: synced.write(CHANGED.replace("501", "502")),
            nothing,
        ],
    )
    assert events(found, "px1") == ["in_sync", "differs", "failed", "differs", "applied"]
    assert len(loads) == 1


def test_files_with_mistakes_apply_nothing(synced: Fleet) -> None:
    found = synced.watch(
        *("--apply", "--grace", "0s"),
        steps=[
            lambda: synced.write(FILES.replace("default_hostgroup", "defaul_hostgroup")),
            synced.edit,
            lambda: synced.project.write("mysql_servers: [\n"),
            nothing,
            synced.write,
        ],
    )
    events_of_files = ["files_invalid", "files_invalid", "files_valid"]
    assert [event for event in events(found) if event.startswith("files")] == events_of_files
    first = line_of(found, "files_invalid")
    assert first["message"] == "2 mistakes in the files: nothing is applied"
    assert first["details"][0].startswith("proxyctl.yaml:13:52: mysql_users[0].defaul_hostgroup")
    assert events(found, "px1") == ["in_sync", "differs", "applied"]
    assert events(found, "px2") == ["in_sync"]


def test_files_with_mistakes_are_not_compared(synced: Fleet) -> None:
    found = synced.watch(steps=[lambda: synced.project.write("mysql_servers: [\n"), synced.edit])
    message = line_of(found, "files_invalid")["message"]
    assert message == "1 mistake in the files: nothing is compared"
    assert events(found, "px1") == ["in_sync"]


def test_a_mistake_for_one_instance_keeps_the_others_from_changing(synced: Fleet) -> None:
    """As it keeps `apply --all` from changing any."""
    ports = [synced.proxy.port, synced.instances[1].port]
    entries = listed(ports).replace("admin}", "admin, vars: {w: 1}}", 1)
    entries = entries.replace("admin}", "admin, vars: {w: heavy}}")
    text = CHANGED.replace("weight: 1}", "weight: {{ w }}}")

    def write_template() -> None:
        Path("proxyctl.yaml").unlink()
        synced.project.write(text, "rows.yaml.j2")
        synced.project.write(entries, "instances.yaml")

    found = synced.watch("--apply", "-f", ".", steps=[write_template, nothing])
    assert events(found, "px1") == ["in_sync", "differs"]
    assert events(found, "px2") == ["in_sync"]
    message = line_of(found, "files_invalid")["message"]
    assert message == "1 mistake in the files: nothing is applied"
    found = synced.watch("-f", ".")
    message = line_of(found, "files_invalid")["message"]
    assert message == "1 mistake in the files: instances that have one are not compared"
    assert events(found, "px1") == ["differs"]


def test_a_mistake_stays_known_while_no_instance_answers(synced: Fleet) -> None:
    def break_all() -> None:
        synced.proxy.lead_to("127.0.0.1", 1)
        synced.instances[1].sandbox.stop()  # type: ignore[union-attr]

    found = synced.watch(
        steps=[lambda: synced.write(FILES.replace("weight: 1}", "weight: heavy}")), break_all]
    )
    assert "files_valid" not in events(found)
    assert events(found, "px1") == ["in_sync", "unreachable"]


def test_files_that_are_removed_while_it_runs(synced: Fleet) -> None:
    found = synced.watch(
        "--apply", steps=[lambda: Path("proxyctl.yaml").unlink(), nothing, synced.write]
    )
    assert events(found) == ["in_sync", "in_sync", "files_invalid", "files_valid", "stopped"]
    assert "proxyctl.yaml: no such configuration file" in str(
        line_of(found, "files_invalid")["details"]
    )
    assert synced.weight() == "100"


def test_a_password_file_is_read_again(synced: Fleet) -> None:
    Path("password").write_text("wrong\n")
    found = synced.watch(
        *("--password-file", "password"), steps=[lambda: Path("password").write_text("admin\n")]
    )
    assert events(found, "px1") == ["unreachable", "in_sync"]


def test_nothing_is_applied_while_the_pause_file_exists(synced: Fleet) -> None:
    pause = Path("pause")

    def begin() -> None:
        pause.touch()
        synced.write(CHANGED)

    found = synced.watch(
        *("--apply", "--pause-file", "pause"), steps=[begin, nothing, pause.unlink]
    )
    assert events(found, "px1") == ["in_sync", "paused", "differs", "applied"]
    assert [event for event in events(found) if event in ("paused", "resumed")].count(
        "resumed"
    ) == 1
    said = [line for line in map(json.loads, found.out.splitlines()) if line["name"] is None]
    assert [line["event"] for line in said] == ["paused", "resumed", "stopped"]


def test_a_pause_that_begins_during_a_rollout_holds_the_next_batch(synced: Fleet) -> None:
    pause = Path("pause")

    def touch(_connection: int, sql: str, _answer: bytes) -> None:
        if sql.startswith("LOAD MYSQL SERVERS TO RUNTIME"):
            pause.touch()

    def begin() -> None:
        synced.proxy.watch = touch
        synced.write(CHANGED)

    found = synced.watch(
        *("--apply", "--pause-file", "pause"), steps=[begin, nothing, pause.unlink, nothing]
    )
    assert events(found, "px1") == ["in_sync", "differs", "applied"]
    assert events(found, "px2") == [
        *("in_sync", "differs", "not_applied", "paused"),
        *("differs", "applied"),
    ]
    assert "been paused in the meantime" in line_of(found, "not_applied")["message"]


def test_an_instance_that_does_not_answer_does_not_stop_the_others(synced: Fleet) -> None:
    def break_px1() -> None:
        synced.proxy.lead_to("127.0.0.1", 1)
        synced.write(CHANGED)

    px1 = synced.instances[0]
    found = synced.watch(
        "--apply", steps=[break_px1, nothing, lambda: synced.proxy.lead_to(px1.host, px1.port)]
    )
    assert events(found, "px1") == ["in_sync", "unreachable", "differs", "applied"]
    assert events(found, "px2") == ["in_sync", "differs", "applied"]


def test_an_instance_that_leaves_the_files_is_gone(synced: Fleet) -> None:
    found = synced.watch(
        steps=[lambda: synced.project.write(FILES + listed([synced.proxy.port])), nothing]
    )
    assert events(found, "px2") == ["in_sync", "gone"]


def test_an_instance_that_moves_is_another_one(synced: Fleet) -> None:
    """As a replacement with the same name: what the watch knows of the old one does not hold."""
    with Sandbox(variables={"mysql-monitor_enabled": "false"}) as other:
        ports = [other.port, synced.instances[1].port]
        found = synced.watch("--apply", steps=[lambda: synced.project.write(FILES + listed(ports))])
        address = f"{other.host}:{other.port}"
    assert events(found, "px1") == ["in_sync", "gone", "differs", "applied"]
    assert line_of(found, "gone")["address"] == f"127.0.0.1:{synced.proxy.port}"
    assert line_of(found, "differs")["message"] == "the instance has none of the managed rows"
    assert {line_of(found, event)["address"] for event in ("differs", "applied")} == {address}


def test_a_signal_during_an_apply_restores_it(synced: Fleet) -> None:
    sent: list[str] = []

    def interrupt(_connection: int, sql: str, _answer: bytes) -> None:
        if sql.startswith("LOAD MYSQL SERVERS TO RUNTIME") and not sent:
            sent.append(sql)
            os.kill(os.getpid(), signal.SIGTERM)

    def begin() -> None:
        synced.proxy.watch = interrupt
        synced.write(CHANGED)

    found = synced.watch("--apply", steps=[begin, nothing])
    assert found.code == 130
    assert events(found, "px1") == ["in_sync", "differs", "failed"]
    assert "everything was restored" in found.out
    assert events(found)[-1] == "stopped"
    limit = "SELECT max_connections FROM runtime_mysql_servers WHERE hostgroup_id = 10"
    assert synced.instances[0].query(limit) == [("500",)]


def test_metrics_tell_the_story(synced: Fleet) -> None:
    port, seen = free_port(), []

    def look(then: Callable[[], object] = nothing) -> Callable[[], None]:
        def step() -> None:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
                seen.append(answer.read().decode())
            assert urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=30).status
            then()

        return step

    found = synced.watch(
        *("--apply", "--grace", "1h", "--metrics", f"127.0.0.1:{port}"),
        steps=[
            look(synced.edit),
            look(lambda: synced.write("mysql_servers: [\n")),
            look(lambda: synced.write(CHANGED)),
            look(),
        ],
    )
    assert found.code == 0, found.text
    first, edited, broken, last = map(samples, seen)
    servers = ("instance_in_sync", "px1", "MYSQL SERVERS")
    assert (first[servers], edited[servers]) == (1, 0)
    assert edited["instance_in_sync", "px1", "MYSQL USERS"] == 1
    assert edited["instance_state", "px1", "edited"] == 1
    assert edited["instance_differing_rows", "px1", "runtime"] == 1
    assert (first["files_valid",], broken["files_valid",], last["files_valid",]) == (1, 0, 1)
    assert servers not in broken
    assert broken["instance_plan_success", "px1"] == 0
    assert last["instance_applies_total", "px2", "success"] == 1
    assert last["instance_state", "px2", "in_sync"] == 1
    assert last["watch_rounds_total",] == 4
    assert not any(secret in text for secret in SECRETS.values() for text in seen)


def test_errors_of_lint_are_counted_while_the_instance_differs(synced: Fleet) -> None:
    port, seen = free_port(), []
    wrong = FILES.replace("^SELECT.*FOR UPDATE", "^SELECT 1$")  # readers get SELECT ... FOR UPDATE

    def look(then: Callable[[], object]) -> Callable[[], None]:
        def step() -> None:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
                found = samples(answer.read().decode())
            seen.append([found["instance_lint_errors", name] for name in ("px1", "px2")])
            then()

        return step

    synced.watch(
        *("--apply", "--grace", "1h", "--metrics", f"127.0.0.1:{port}"),
        steps=[look(lambda: synced.write(wrong)), look(synced.edit), look(nothing)],
    )
    errors = proxyctl("lint", "--instance", "px1", "--format", "json").json["findings"]
    count = sum(finding["severity"] == "error" for finding in errors)
    assert seen == [[count - 1] * 2, [count] * 2, [count] * 2]


def test_an_instance_is_up_while_the_files_have_mistakes(synced: Fleet) -> None:
    port, seen = free_port(), []

    def look() -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            seen.append(samples(answer.read().decode()))

    synced.write(FILES.replace("weight: 1}", "weight: heavy}"))
    synced.instances[1].sandbox.stop()  # type: ignore[union-attr]
    synced.watch("--metrics", f"127.0.0.1:{port}", steps=[look])
    assert seen[0]["files_mistakes",] == 1
    assert (seen[0]["instance_up", "px1"], seen[0]["instance_up", "px2"]) == (1, 0)


def test_an_apply_is_noted_before_the_next_one_begins(synced: Fleet) -> None:
    """A rollout over a large fleet takes long."""
    port, seen = free_port(), []

    def look(sql: str) -> None:
        if sql.startswith("LOAD MYSQL SERVERS TO RUNTIME"):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
                seen.append(samples(answer.read().decode()))

    def begin() -> None:
        synced.instances[1].sandbox.options.before_statement = look  # type: ignore[union-attr]
        synced.write(CHANGED)

    found = synced.watch("--apply", "--metrics", f"127.0.0.1:{port}", steps=[begin])
    assert events(found)[-5:] == ["differs", "differs", "applied", "applied", "stopped"]
    (meanwhile,) = seen
    assert meanwhile["instance_state", "px1", "in_sync"] == 1
    assert meanwhile["instance_applies_total", "px1", "success"] == 1
    assert meanwhile["instance_applies_total", "px2", "success"] == 0


def test_metrics_that_cannot_be_served(synced: Fleet) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        found = synced.watch("--metrics", address)
    ended(found, 1, f"--metrics {address}: address already in use")
    synced.project.monkeypatch.setitem(sys.modules, "prometheus_client", None)
    found = synced.watch("--metrics", address)
    ended(found, 1, "--metrics needs the Python package prometheus_client")
    assert "proxyctl-proxysql[metrics]" in found.err


def test_the_text_has_a_line_for_each_state_and_no_secret(fleet: Fleet) -> None:
    found = fleet.watch("--apply", "--log-format", "text", steps=[nothing])
    assert f"px1  127.0.0.1:{fleet.proxy.port}  applied: 9 added" in found.out
    assert "  + user app\n" in found.out
    assert not any(secret in found.text for secret in SECRETS.values())


def test_one_instance_without_all(sandbox_project: Project, sandbox_instance: Instance) -> None:
    sandbox_project.write(FILES)
    fleet = Fleet(sandbox_project, None, [sandbox_instance])  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "sleep", _stop)
        found = proxyctl("watch", "--apply", "--log-format", "json")
    assert events(found) == ["differs", "applied", "stopped"]
    assert fleet.weight() == "100"


def _stop(_seconds: float) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--every", "0"), "--every: '0' is not a time such as"),
        (("--every", "0s"), "--every: at least 1s"),
        (("--every", "500ms"), "--every: at least 1s"),
        (("--grace", "5m"), "--grace needs --apply"),
        (("--pause-file", "pause"), "--pause-file needs --apply"),
        (("--apply", "--grace", "8d"), "--grace: 8d is more than 7d"),
        (("--metrics", "9273"), "--metrics: 9273 is not HOST:PORT"),
        (("--metrics", "::1:9273"), "--metrics: ::1:9273 is not HOST:PORT"),
        (("--metrics", "h:70000"), "--metrics: h:70000 is not HOST:PORT"),
        (("--parallel", "2"), "--parallel needs --all"),
        (("--all", "--only", "mysql_nothing"), "--only mysql_nothing"),
        (("--instance", "px9"), "no such instance in the files"),
    ],
)
def test_wrong_command_lines(fleet: Fleet, arguments: tuple[str, ...], message: str) -> None:
    ended(proxyctl("watch", *arguments), 64, message)
