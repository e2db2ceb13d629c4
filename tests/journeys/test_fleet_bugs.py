"""A bug in proxyctl that shows at one instance of many: it is told as any other failure there.

What fails is a function that the caller hands in.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.apply.apply import ApplyRequest, applied
from proxyctl.apply.result import ApplyResult
from proxyctl.config.files import Sources
from proxyctl.config.project import ParsedFiles
from proxyctl.errors import ApplyError
from proxyctl.fleet.rollout import RolloutRequest, roll_out
from proxyctl.fleet.targets import Target, at_all
from proxyctl.instance.connect import Login
from proxyctl.plan.make import PlanOptions
from tests.journeys.story import SERVERS, listed
from tests.journeys.test_fleet import loaded
from tests.support.cli import Project

SECRET = "s3cret-in-an-exception"
BUG = "internal error, a bug in proxyctl: KeyError"


@pytest.fixture
def targets(offline: Project, ports: list[int]) -> list[Target]:
    offline.write(SERVERS + listed(ports))
    files = ParsedFiles(Sources((str(offline.folder / "proxyctl.yaml"),)))
    return [
        Target(Login(port=port, password="admin", name=f"px{number}"), files)
        for number, port in enumerate(ports, 1)
    ]


def test_a_bug_at_one_instance_is_reported_beside_the_others(targets: list[Target]) -> None:
    traced: list[str] = []

    def work(target: Target) -> str:
        if target.name == "px2":
            raise KeyError(SECRET)
        return target.name

    targets = [replace(one, trace=traced.append) for one in targets]
    found, (failed,) = at_all(targets, work, workers=3)
    assert found == ["px1", "px3"]
    assert failed.name == "px2"
    assert failed.error.message.startswith(BUG)
    assert SECRET not in "\n".join([*failed.error.lines(), *traced])
    assert any(line.startswith("px2: KeyError at ") for line in traced)


def test_a_rollout_stops_there(targets: list[Target], ports: list[int]) -> None:
    def before(plan: object) -> None:
        if loaded(ports) == ["1", "0", "0"]:
            raise KeyError(SECRET)

    request = RolloutRequest(ApplyRequest(PlanOptions(), before=before))
    rolled = roll_out(targets, None, request).rolled
    assert [str(one.state) for one in rolled] == ["applied", "failed", "not touched"]
    error = rolled[1].error
    assert isinstance(error, ApplyError)
    assert error.message.startswith(BUG)
    assert "it is not known what changed there" in error.then[0]
    assert SECRET not in "\n".join(error.lines())
    assert loaded(ports) == ["1", "0", "0"]


def test_one_that_shows_after_all_is_applied_does_not_hide_that() -> None:
    message = "applied and read back, but then"
    with pytest.raises(ApplyError, match=message) as raised, applied(ApplyResult()):
        raise KeyError(SECRET)
    assert BUG in raised.value.message
    assert SECRET not in "\n".join(raised.value.lines())
