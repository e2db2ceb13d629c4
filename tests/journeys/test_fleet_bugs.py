"""A bug in proxyctl that shows at one instance of many: it is told as any other failure there.

What fails here is put in place of a function of ours: nobody knows a way to it from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proxyctl.fleet import plan as fleet_plan
from proxyctl.fleet import rollout
from proxyctl.instance.lock import Lock
from tests.journeys.fleet import SERVERS, listed
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import Instance

SECRET = "s3cret-in-an-exception"
APPLY = ("apply", "--all", "--auto-approve")
BUG = "internal error, a bug in proxyctl: KeyError"

Break = Callable[[Any, str, int], None]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Let a function of a module raise for the instance at a port."""

    def breaks(module: Any, name: str, port: int) -> None:
        works = getattr(module, name)

        def fails(client: Any, *rest: Any, **named: Any) -> Any:
            if client.login.port == port:
                raise KeyError(SECRET)
            return works(client, *rest, **named)

        monkeypatch.setattr(module, name, fails)

    return breaks


def servers(ports: list[int]) -> list[str | None]:
    """Return how many servers each instance has at RUNTIME."""
    count = "SELECT count(*) FROM runtime_mysql_servers"
    return [Instance("127.0.0.1", port).query(count)[0][0] for port in ports]


def told(found: Outcome, code: int, *parts: str) -> None:
    assert found.code == code, found.text
    for part in parts:
        assert part in found.text
    assert SECRET not in found.text
    assert "Traceback" not in found.text


@pytest.mark.parametrize(
    ("command", "others"),
    [
        ("plan", "2 would change: px1, px3, 1 not read: px2."),
        ("drift", "2 drifted: px1, px3, 1 not read: px2."),
    ],
)
def test_the_others_are_told(
    offline: Project, ports: list[int], broken: Break, command: str, others: str
) -> None:
    offline.write(SERVERS + listed(ports))
    broken(fleet_plan, "plan_files", ports[1])
    told(proxyctl(command, "--all"), 1, f"error: {BUG} at fleet/plan.py:", others)
    (failed,) = proxyctl(command, "--all", "--format", "json").json["failed"]
    assert (failed["name"], failed["exit_code"]) == ("px2", 1)
    assert "run again with --debug" in failed["error"]


def test_doctor_tells_of_the_others(offline: Project, ports: list[int], broken: Break) -> None:
    from proxyctl.doctor import facts

    offline.write(SERVERS + listed(ports))
    broken(facts, "read_facts", ports[1])
    told(
        proxyctl("doctor", "--all"),
        1,
        f"error: {BUG} at cli/commands/doctor.py:",
        "1 not read: px2.",
    )


def test_debug_says_where_it_is(offline: Project, ports: list[int], broken: Break) -> None:
    offline.write(SERVERS + listed(ports))
    broken(fleet_plan, "plan_files", ports[1])
    found = proxyctl("plan", "--all", "--debug")
    told(found, 1, BUG, "px2: KeyError at fleet/plan.py:", "hint: report what it says")


def test_no_instance_changes_where_one_has_no_plan(
    offline: Project, ports: list[int], broken: Break
) -> None:
    offline.write(SERVERS + listed(ports))
    broken(fleet_plan, "plan_files", ports[1])
    told(proxyctl(*APPLY), 1, "no instance was changed: there is no plan for px2")
    assert servers(ports) == ["0", "0", "0"]


def test_a_rollout_stops_there(offline: Project, ports: list[int], broken: Break) -> None:
    offline.write(SERVERS + listed(ports))
    broken(rollout, "apply_files", ports[1])
    found = proxyctl(*APPLY)
    told(found, 4, f"px2  127.0.0.1:{ports[1]}: failed\n  {BUG} at fleet/rollout.py:")
    assert "  what it has changed there is not known" in found.out
    assert "1 applied: px1; 1 failed: px2; 1 not touched: px3.\n" in found.out
    assert servers(ports) == ["1", "0", "0"]


@pytest.mark.parametrize("options", [("--instance", "px1"), ("--all",)])
def test_one_that_shows_after_all_is_applied_does_not_hide_that(
    offline: Project, ports: list[int], monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    def fails(*_: object) -> None:
        raise KeyError(SECRET)

    offline.write(SERVERS + listed(ports[:1]))
    monkeypatch.setattr(Lock, "finished", fails)
    found = proxyctl("apply", "--auto-approve", *options)
    told(found, 4, f"applied and read back, but then: {BUG} at apply/apply.py:", "MYSQL SERVERS: ")
    assert servers(ports) == ["1", "0", "0"]
