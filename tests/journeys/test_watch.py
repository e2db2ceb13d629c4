"""apply --watch on sandboxes: their counters move whenever somebody reads them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from proxyctl.errors import ExitCode
from proxyctl.sandbox import CutConnectionError, Sandbox
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.pseudo_terminal import shown
from tests.support.commands.story import apply, ended, listed
from tests.support.servers.instances import Instance
from tests.support.servers.layers import everywhere

BEFORE = """\
version: 1
mysql_servers:
  - {hostgroup_id: 10, hostname: db1}
  - {hostgroup_id: 20, hostname: db2}
mysql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 10, apply: true}
"""
AFTER = BEFORE.replace("destination_hostgroup: 10", "destination_hostgroup: 20")
WATCH = ("--watch", "5s")
RULES = "SELECT destination_hostgroup FROM {}mysql_query_rules"


@dataclass
class PlayedTraffic:
    """Queries of clients that a sandbox counts; those to a hostgroup in `broken` wait."""

    sandbox: Sandbox
    queries_per_sample: int = 100
    broken: tuple[int, ...] = ()
    samples: int = 0
    at_sample: dict[int, Callable[[], None]] = field(default_factory=dict)
    """What else happens at a sample after the change, by its number from 1."""

    def __post_init__(self) -> None:
        self._queries = 0
        self.sandbox.options.before_statement = self._move
        self._move("stats_mysql_global")

    def _move(self, sql: str) -> None:
        destinations = {
            row["destination_hostgroup"] for row in self.sandbox.runtime["mysql_query_rules"]
        }
        if "stats_mysql_processlist" in sql:
            if 20 in destinations:
                self.samples += 1
                self.at_sample.pop(self.samples, lambda: None)()
            self.sandbox.stats["stats_mysql_processlist"] = [
                (0, session, "app", "", "", 0, hostgroup, "", 0, "", 0, "Connect", 1500, "", 0, "")
                for hostgroup in self.broken
                if hostgroup in destinations
                for session in range(3)
            ]
        if "stats_mysql_global" in sql:
            self._queries += self.queries_per_sample
            self.sandbox.stats["stats_mysql_global"] = [("Questions", str(self._queries))]


@pytest.fixture
def played(offline: Project) -> Iterator[PlayedTraffic]:
    with Sandbox(variables={"mysql-monitor_enabled": "false"}) as sandbox:
        offline.connect(Instance(sandbox.host, sandbox.port))
        offline.write(BEFORE)
        assert apply().code == 0
        offline.write(AFTER)
        yield PlayedTraffic(sandbox)


def destination(sandbox: Sandbox) -> str | None:
    """Return the hostgroup of the rule, which all layers have."""
    [(hostgroup,)] = everywhere(Instance(sandbox.host, sandbox.port), RULES)
    return hostgroup


def test_harm_is_rolled_back(offline: Project, played: PlayedTraffic) -> None:
    played.broken = (20,)
    done = apply(*WATCH, "--format", "json")
    assert done.code == ExitCode.INCOMPLETE, done.text
    error = done.json["error"]
    assert error["type"] == "ApplyError"
    first, seen, restored = error["message"].splitlines()
    assert re.search(r": the apply did harm within \d+ s, and was rolled back$", first)
    assert seen == (
        "seen: 3 sessions wait for a connection in hostgroup 20, which answers no queries; before 0"
    )
    assert restored.startswith("restored: 0 added, 1 changed, 0 deleted at RUNTIME")
    assert error["fix"].startswith("correct the files, too, or the next apply")
    assert error["layers"] == [
        "MYSQL QUERY RULES: MEMORY as in the snapshot, RUNTIME as in the snapshot,"
        " DISK as in the snapshot"
    ]
    assert destination(played.sandbox) == "10"
    assert played.samples == 3
    purposes = [
        snapshot["before"] for snapshot in proxyctl("history", "--format", "json").json["snapshots"]
    ]
    assert purposes == ["rollback", "apply", "apply"]


def test_a_harmless_change_stays_and_says_what_was_seen(played: PlayedTraffic) -> None:
    done = apply(*WATCH)
    assert done.code == 0, done.text
    *_, report, snapshot, last = done.out.splitlines()
    assert report.startswith("Applied to ")
    assert snapshot.startswith("The previous state")
    assert re.search(r": within the bounds. queries/s [\d.]+ \(before [\d.]+\), errors/s 0 ", last)
    assert last.endswith(
        "waiting 0 (before 0), failed connections/s 0 (before 0), query times not compared."
    )
    assert "watching the traffic before the apply, for at least 5 s\n" in done.err
    assert destination(played.sandbox) == "20"


def test_without_traffic_nothing_is_called_fine(played: PlayedTraffic) -> None:
    played.queries_per_sample = 0
    done = apply(*WATCH)
    assert done.code == 0, done.text
    assert (
        "no query came before the apply or since, so this says nothing about the change" in done.out
    )
    assert "within the bounds" not in done.text


def test_a_bound_of_the_command_line(played: PlayedTraffic) -> None:
    played.broken = (20,)
    done = apply(*WATCH, "--abort-if", "waiting>3", "--abort-if", "errors>1/s", "--format", "json")
    assert done.code == 0, done.text
    watch = done.json["watch"]
    assert watch["bounds"] == ["errors>1/s", "waiting>3", "failures>3x", "time>5x"]
    assert (watch["before"]["waiting"], watch["after"]["waiting"]) == (0, 3)


def test_a_terminal_shows_one_line_that_ends_before_the_result(played: PlayedTraffic) -> None:
    command = [sys.executable, "-m", "proxyctl", "apply", "--auto-approve", *WATCH]
    written = shown(command, columns=120, TERM="xterm", NO_COLOR="1")
    _, *lines = written.split("\r\x1b[2K")
    *live, result = lines
    assert len([line for line in live if line]) >= 2
    assert all("\n" not in line and len(line) < 120 for line in live)
    assert re.match(r"127\.0\.0\.1:\d+ 0:0\d of 0:05  within the bounds  queries/s [1-9]", live[0])
    assert result.startswith("Watched 127.0.0.1:")


def test_a_terminal_shows_what_is_beyond_a_bound(played: PlayedTraffic) -> None:
    played.broken = (20,)
    command = [sys.executable, "-m", "proxyctl", "apply", "--auto-approve", *WATCH]
    written = shown(command, columns=120, TERM="xterm", NO_COLOR="1")
    _, first, second, third, *_ = written.split("\r\x1b[2K")
    expected = (
        "  beyond the bounds: 3 sessions wait for a connection in hostgroup 20, which answers"
    )
    assert expected in first
    assert expected in second
    assert third.startswith("rolling back to ")


def test_where_nothing_differs_nothing_is_waited_for(
    offline: Project, played: PlayedTraffic
) -> None:
    offline.write(BEFORE)
    done = apply("--watch", "1d")
    assert done.code == 0, done.text
    assert "watching" not in done.err


def test_a_refused_plan_is_refused_at_once(offline: Project, played: PlayedTraffic) -> None:
    offline.write("version: 1\nmysql_servers: []\n")
    ended(apply("--watch", "1d"), ExitCode.REFUSED, "not applied")


@pytest.mark.parametrize("options", [(), ("--all",)])
def test_postgresql_alone_is_not_watched(offline: Project, options: tuple[str, ...]) -> None:
    with Sandbox("3.0.3") as sandbox:
        offline.connect(Instance(sandbox.host, sandbox.port))
        servers = "version: 1\npgsql_servers: [{hostgroup_id: 1, hostname: pg1}]\n"
        offline.write(servers + listed([sandbox.port]))
        ended(
            apply(*WATCH, *options),
            ExitCode.REFUSED,
            ": --watch compares the traffic of MySQL clients",
            "but the plan changes only PGSQL SERVERS",
            "fix: leave out --watch",
        )


def test_a_saved_plan_is_watched(played: PlayedTraffic) -> None:
    assert proxyctl("plan", "--out", "reviewed.plan").code == 0
    done = proxyctl("apply", "reviewed.plan", "--auto-approve", *WATCH)
    assert "within the bounds" in done.out


def test_a_connection_that_breaks_decides_nothing(played: PlayedTraffic) -> None:
    played.broken = (20,)

    def cut() -> None:
        raise CutConnectionError

    played.at_sample[2] = cut
    done = apply(*WATCH)
    assert done.code == ExitCode.INCOMPLETE
    assert "applied, but the watch failed: " in done.err
    assert ": no verdict, so the change stays in place\n" in done.err
    assert "MYSQL QUERY RULES: MEMORY as in the files, RUNTIME as in the files" in done.err
    assert destination(played.sandbox) == "20"
    taken_back(done, played)


def taken_back(done: Outcome, played: PlayedTraffic) -> None:
    """Run the command that an error names for taking the change back."""
    command = done.err.rpartition("roll it back: proxyctl ")[2].split()
    assert proxyctl(*command, "--auto-approve").code == 0
    assert destination(played.sandbox) == "10"


def test_an_interrupt_keeps_the_change(played: PlayedTraffic) -> None:
    played.at_sample[2] = lambda: os.kill(os.getpid(), signal.SIGINT)
    done = apply(*WATCH)
    assert done.code == ExitCode.INTERRUPTED
    assert "interrupted while watching: no verdict, so the change stays in place\n" in done.err
    assert destination(played.sandbox) == "20"
    taken_back(done, played)


def test_the_way_back_has_the_account(offline: Project, played: PlayedTraffic) -> None:
    offline.monkeypatch.setenv("PROXYCTL_PASSWORD", "radmin")
    played.at_sample[1] = lambda: os.kill(os.getpid(), signal.SIGINT)
    done = apply(*WATCH, "--user", "radmin")
    assert done.err.endswith(" --user radmin\n"), done.text
    taken_back(done, played)


def test_an_interrupt_before_the_change(played: PlayedTraffic) -> None:
    def interrupt(sql: str) -> None:
        if "PROMETHEUS" in sql:
            os.kill(os.getpid(), signal.SIGINT)

    played.sandbox.options.before_statement = interrupt
    done = apply(*WATCH)
    assert (done.code, done.err) == (ExitCode.INTERRUPTED, "interrupted; nothing was changed\n")
    assert destination(played.sandbox) == "10"


def test_a_rollback_that_a_guard_refuses(offline: Project, played: PlayedTraffic) -> None:
    played.sandbox.run("DELETE FROM mysql_query_rules")
    played.sandbox.run("LOAD MYSQL QUERY RULES TO RUNTIME")
    played.sandbox.run("SAVE MYSQL QUERY RULES TO DISK")
    played.broken = (20,)
    done = apply(*WATCH)
    assert done.code == ExitCode.INCOMPLETE
    assert re.search(r"did harm within \d+ s, but the rollback was refused\n", done.err)
    assert "mysql_query_rules: nothing would be left; 1 row would be deleted" in done.err
    assert "with the option that the reason names: proxyctl rollback 2" in done.err
    assert destination(played.sandbox) == "20"


def test_a_later_change_of_somebody_else_is_not_taken_back(
    offline: Project, played: PlayedTraffic
) -> None:
    played.broken = (20,)
    other = BEFORE.replace("10, hostname: db1", "10, hostname: db1, weight: 5")
    offline.write(
        other.replace("destination_hostgroup: 10", "destination_hostgroup: 20"), "other.yaml"
    )
    played.at_sample[2] = lambda: _apply_elsewhere(offline.folder)
    done = apply(*WATCH)
    assert done.code == ExitCode.INCOMPLETE, done.text
    assert "but the rollback was refused: another change has been applied since" in done.err
    assert destination(played.sandbox) == "20"


def _apply_elsewhere(folder: Path) -> None:
    command = ["apply", "--auto-approve", "-f", "other.yaml"]
    subprocess.run([sys.executable, "-m", "proxyctl", *command], cwd=folder, check=True)


@pytest.mark.parametrize(
    "edit",
    [
        "INSERT INTO mysql_query_rules (rule_id, match_digest) VALUES (77, '^X')",
        "UPDATE mysql_query_rules SET comment='by hand'",
    ],
)
def test_an_edit_of_somebody_else_is_not_taken_back(played: PlayedTraffic, edit: str) -> None:
    played.broken = (20,)
    played.at_sample[2] = lambda: publish(played.sandbox, edit)
    done = apply(*WATCH)
    assert done.code == ExitCode.INCOMPLETE, done.text
    assert "but the rollback was refused: the configuration has been changed since" in done.err
    assert "to roll this change back anyway: proxyctl rollback 2" in done.err
    rules = "SELECT destination_hostgroup, comment FROM main.mysql_query_rules ORDER BY rule_id"
    found = Instance(played.sandbox.host, played.sandbox.port).query(rules)
    assert found in ([("20", None), (None, None)], [("20", "by hand")])


def test_a_change_that_somebody_took_back_meanwhile(played: PlayedTraffic) -> None:
    played.broken = (20,)
    edit = "UPDATE mysql_query_rules SET destination_hostgroup=10"
    played.at_sample[3] = lambda: publish(played.sandbox, edit)
    done = apply(*WATCH)
    assert done.code == ExitCode.INCOMPLETE, done.text
    assert "nothing had to be restored: another session has already reverted the change" in done.err
    assert destination(played.sandbox) == "10"


def publish(sandbox: Sandbox, edit: str) -> None:
    """Edit rules by hand in all layers."""
    for sql in (edit, "LOAD MYSQL QUERY RULES TO RUNTIME", "SAVE MYSQL QUERY RULES TO DISK"):
        sandbox.run(sql)


def test_a_rollback_without_save(played: PlayedTraffic) -> None:
    played.broken = (20,)
    done = apply(*WATCH, "--no-save")
    assert done.code == ExitCode.INCOMPLETE, done.text
    assert "and was rolled back\n" in done.err
    assert destination(played.sandbox) == "10"


def test_an_interrupt_of_the_rollback(played: PlayedTraffic) -> None:
    played.broken = (20,)
    play = played.sandbox.options.before_statement

    def interrupt(sql: str) -> None:
        play(sql)
        if played.samples == 3 and sql == "LOAD MYSQL QUERY RULES TO RUNTIME":
            os.kill(os.getpid(), signal.SIGINT)

    played.sandbox.options.before_statement = interrupt
    done = apply(*WATCH)
    assert done.code == ExitCode.INTERRUPTED, done.text
    assert ", but the rollback failed: interrupted\n" in done.err
    assert "the rollback: everything was restored\n" in done.err
    assert "  MYSQL QUERY RULES: MEMORY as before the rollback, RUNTIME as before the" in done.err
    assert destination(played.sandbox) == "20"
    played.sandbox.options.before_statement = play
    taken_back(done, played)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--abort-if", "errors>2x"), "--abort-if needs --watch"),
        (("--watch", "5"), "--watch: '5' is not a time such as 500us, 10ms, 1.5s"),
        (("--watch", "1s"), "--watch: 1s is not between 2s and 1d"),
        (
            (*WATCH, "--abort-if", "errors"),
            "--abort-if: 'errors' has no limit; quote a bound, since a shell redirects at >",
        ),
        (
            (*WATCH, "--abort-if", "errors>2x", "--abort-if", "errors>1/s"),
            "--abort-if errors>2x and errors>1/s: a counter can have only one bound",
        ),
        (
            (*WATCH, "--abort-if", "errors>2"),
            "--abort-if: 'errors>2' is not a bound; allowed: errors>2x",
        ),
        (
            (*WATCH, "--abort-if", "time>2x"),
            "--abort-if time>2x needs a watch of at least 10s: times are read every five seconds",
        ),
        ((*WATCH, "--dry-run"), "no such option: --dry-run"),
    ],
)
def test_options_that_make_no_sense(
    played: PlayedTraffic, options: tuple[str, ...], expected: str
) -> None:
    ended(apply(*options), ExitCode.USAGE, expected)
    assert destination(played.sandbox) == "10"


def test_a_plan_is_not_watched(played: PlayedTraffic) -> None:
    ended(proxyctl("plan", *WATCH), ExitCode.USAGE, "no such option: --watch")


# -- all instances --------------------------------------------------------------------------------


@pytest.fixture
def fleet(offline: Project) -> Iterator[list[PlayedTraffic]]:
    """Three instances px1, px2, px3 with traffic, whose next apply changes the rule."""
    with ExitStack() as stack:
        sandboxes = [stack.enter_context(Sandbox()) for _ in range(3)]
        instances = listed([sandbox.port for sandbox in sandboxes])
        offline.write(BEFORE + instances)
        assert apply("--all", "--max-unavailable", "3").code == 0
        offline.write(AFTER + instances)
        yield [*map(PlayedTraffic, sandboxes)]


def test_a_terminal_is_clear_between_two_batches(fleet: list[PlayedTraffic]) -> None:
    command = [sys.executable, "-m", "proxyctl", "apply", "--all", "--auto-approve", *WATCH]
    written = shown(command, columns=120, TERM="xterm", NO_COLOR="1")
    # Planning itself may take that long on a busy machine.
    assert written.count("watching the traffic before the apply, for at least 5 s") <= 1
    assert "\r\x1b[2Kbatch 2 of 3: px2\r\n" in written
    assert re.search(r"px1 0:0\d of 0:05  within the bounds  queries/s ", written)


def test_harm_in_a_batch_stops_the_rollout(fleet: list[PlayedTraffic]) -> None:
    fleet[1].broken = (20,)
    done = apply("--all", *WATCH)
    assert done.code == ExitCode.INCOMPLETE, done.text
    assert [destination(traffic.sandbox) for traffic in fleet] == ["20", "10", "10"]
    assert re.search(r"px2: the apply did harm within \d+ s, and was rolled back\n", done.out)
    assert "; the change stays in place at px1; proxyctl rollback --all " in done.out
    assert done.out.endswith(
        "Fleet of 3 instances: 1 applied: px1; 1 rolled back: px2; 1 not touched: px3.\n"
    )
    assert "Watched px1 for 0:05: within the bounds." in done.out
    assert "Watched px2" not in done.out
    command = done.out.partition("stays in place at px1; proxyctl ")[2].split()[:3]
    assert proxyctl(*command, "--auto-approve").code == 0
    assert [destination(traffic.sandbox) for traffic in fleet] == ["10", "10", "10"]


def test_the_whole_batch_is_rolled_back(fleet: list[PlayedTraffic]) -> None:
    fleet[1].broken = (20,)
    done = apply("--all", *WATCH, "--max-unavailable", "2", "--format", "json")
    assert done.code == ExitCode.INCOMPLETE, done.text
    assert [destination(traffic.sandbox) for traffic in fleet] == ["10", "10", "10"]
    states = {instance["name"]: instance["state"] for instance in done.json["instances"]}
    assert states == {"px1": "rolled back", "px2": "rolled back", "px3": "not touched"}
    problems = {instance["name"]: instance["problems"] for instance in done.json["instances"]}
    assert problems["px1"][0] == "px1: its batch did harm at px2, and was rolled back"
    assert problems["px1"][1].startswith("seen: px2: 3 sessions wait for a connection")
    verdicts = {watched["name"]: watched["verdict"] for watched in done.json["watch"]}
    assert verdicts["px2"] == "harm"


def test_a_rollout_without_harm(fleet: list[PlayedTraffic]) -> None:
    done = apply("--all", *WATCH, "--strategy", "canary", "--format", "json")
    assert done.code == 0, done.text
    assert [destination(traffic.sandbox) for traffic in fleet] == ["20", "20", "20"]
    assert [watched["name"] for watched in done.json["watch"]] == ["px1", "px2", "px3"]
    assert {watched["verdict"] for watched in done.json["watch"]} == {"within the bounds"}


def test_an_interrupt_of_a_watched_rollout(fleet: list[PlayedTraffic]) -> None:
    fleet[0].at_sample[2] = lambda: os.kill(os.getpid(), signal.SIGINT)
    done = apply("--all", *WATCH)
    assert done.code == ExitCode.INTERRUPTED, done.text
    said = "interrupted while watching: no verdict, so the change stays in place at px1; "
    assert f"{said}proxyctl rollback --all " in done.err
    assert "1 applied: px1; 2 not touched: px2, px3." in done.out


def test_an_instance_of_a_rollout_that_stops_answering(fleet: list[PlayedTraffic]) -> None:
    def cut() -> None:
        raise CutConnectionError

    fleet[0].at_sample[2] = cut
    done = apply("--all", *WATCH)
    assert done.code == ExitCode.INCOMPLETE, done.text
    assert "px1: applied, but the watch failed: " in done.out
    assert "roll it back: proxyctl rollback 2" in done.out
    assert [destination(traffic.sandbox) for traffic in fleet] == ["20", "10", "10"]


def test_an_instance_that_stops_before_its_batch_is_skipped(fleet: list[PlayedTraffic]) -> None:
    fleet[0].at_sample[1] = fleet[1].sandbox.close
    done = apply("--all", *WATCH, "--skip-unreachable")
    assert done.code == ExitCode.INCOMPLETE, done.text
    assert "2 applied: px1, px3; 1 not read: px2." in done.out
    assert [destination(fleet[number].sandbox) for number in (0, 2)] == ["20", "20"]
