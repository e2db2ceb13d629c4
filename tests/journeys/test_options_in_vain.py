"""An option that would do nothing here is a wrong command line: nobody is connected to."""

from __future__ import annotations

import pytest

from tests.journeys.story import said
from tests.support.cli import Project, proxyctl


@pytest.mark.parametrize(
    "options",
    [
        "--strategy rolling",
        "--max-unavailable 2",
        "--skip-unreachable",
        "--parallel 3",
    ],
)
def test_what_is_for_a_fleet_needs_all(offline: Project, options: str) -> None:
    offline.write("version: 1\ninstances: [{name: px1, host: 127.0.0.1, port: 1}]\n")
    command = ["apply", "--auto-approve", "--instance", "px1", *options.split()]
    said(proxyctl(*command), 64, f"{options.split()[0]} needs --all")


@pytest.mark.parametrize("command", ["plan", "drift", "doctor", "apply"])
def test_so_many_at_the_same_time_needs_all(offline: Project, command: str) -> None:
    said(proxyctl(command, "--port", "1", "--parallel", "3"), 64, "--parallel needs --all")


def test_so_many_unavailable_goes_with_rolling(offline: Project) -> None:
    offline.write("version: 1\ninstances: [{name: px1, host: 127.0.0.1, port: 1}]\n")
    command = ("apply", "--all", "--strategy", "canary", "--max-unavailable", "2")
    said(proxyctl(*command), 64, "--max-unavailable goes with --strategy rolling")


@pytest.mark.parametrize(
    "command",
    [
        ("import", "--users-from", "127.0.0.1:1"),
    ],
)
def test_an_account_without_a_name(offline: Project, command: tuple[str, ...]) -> None:
    found = proxyctl(*command, "--backend-user", "")
    said(found, 64, "--backend-user: the name is empty")
