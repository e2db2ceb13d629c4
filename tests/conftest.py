"""Fixtures: the sandbox, a real ProxySQL, and each of the two in turn.

`instance` runs a test on the sandbox and, where there is a binary, on a real ProxySQL. The session
has one real ProxySQL, reset between tests; `fresh_proxysql` gives a test its own.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from pathlib import Path

import hypothesis
import pymysql
import pytest

from proxyctl.catalog import parse_version
from proxyctl.sandbox import Sandbox
from tests.support.commands.cli import Project, signals_restored
from tests.support.commands.warm import Warm
from tests.support.servers.instances import (
    NO_BINARY,
    Instance,
    ProxySQL,
    binary_version,
    needed_binary,
    proxysql_binary,
)
from tests.support.servers.reset import Baseline

hypothesis.settings.register_profile("quick", max_examples=25, deadline=None)
hypothesis.settings.register_profile("all", max_examples=500, deadline=None)
hypothesis.settings.load_profile("quick")

_REAL_FIXTURES = frozenset({"real_proxysql", "fresh_proxysql", "_proxysql_process"})


# Under nohup, or in the background of a script, they are ignored, and stay so in every child.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update-golden`: write the expected outputs again; then read the difference."""
    parser.addoption("--update-golden", action="store_true", help="record golden files again")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that asks for a real ProxySQL by name."""
    for item in items:
        if _REAL_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("real")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests that need an older or a newer ProxySQL than the binary."""
    since, before = (item.get_closest_marker(name) for name in ("since", "before"))
    binary = proxysql_binary()
    if not (since or before) or binary is None or item.get_closest_marker("real") is None:
        return
    found = binary_version(binary)
    if since is not None and found < parse_version(since.args[0]):
        pytest.skip(f"this ProxySQL is older than {since.args[0]}: {since.args[1]}")
    if before is not None and found >= parse_version(before.args[0]):
        pytest.skip(f"this ProxySQL is not older than {before.args[0]}: {before.args[1]}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report all tests without a binary at one place, so that the summary has one line."""
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        if reason.endswith(NO_BINARY):
            report.longrepr = ("tests/support/servers/instances.py", 0, reason)
    return report


@pytest.fixture(autouse=True)
def _signals_restored() -> Iterator[None]:
    """Restore signals after a test: an interrupted proxyctl ignores all signals but the first."""
    with signals_restored():
        yield


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    """A process that has imported proxyctl and forks for every command."""
    with Warm(tmp_path_factory.mktemp("warm")) as process:
        yield process


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A folder for files, without an instance."""
    folder = tmp_path / "files"
    folder.mkdir()
    return Project(folder, monkeypatch)


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox, served on a free port; its monitor is off, as on the real ProxySQL."""
    with Sandbox(variables={"mysql-monitor_enabled": "false"}) as served:
        yield served


@pytest.fixture
def sandbox_instance(sandbox: Sandbox) -> Iterator[Instance]:
    """A handle on the sandbox's admin port."""
    handle = Instance(sandbox.host, sandbox.port, sandbox=sandbox)
    yield handle
    handle.close()


class _Process:
    """The real ProxySQL of the session, replaced when a test locked us out."""

    def __init__(self, start: Callable[[], ProxySQL]) -> None:
        self._start = start
        self.server = start()
        self._baseline = Baseline.of(self.server.instance)

    def reset(self) -> Instance:
        """Reset the ProxySQL to the state after its start, and return a handle."""
        try:
            is_clean = self._baseline.restore(self.server.instance)
        except pymysql.err.MySQLError:
            is_clean = False
        if not is_clean:
            self.server.stop()
            self.server = self._start()
            self._baseline = Baseline.of(self.server.instance)
        return self.server.instance


@pytest.fixture(scope="session")
def _proxysql_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Process]:
    binary = needed_binary()

    def start() -> ProxySQL:
        server = ProxySQL(binary, tmp_path_factory.mktemp("proxysql"))
        server.start(initial=True)
        return server

    process = _Process(start)
    yield process
    process.server.stop()


@pytest.fixture
def real_proxysql(request: pytest.FixtureRequest) -> Iterator[Instance]:
    """A handle on a real ProxySQL in the state after its start."""
    needed_binary()
    process: _Process = request.getfixturevalue("_proxysql_process")
    handle = process.reset()
    yield handle
    handle.close()


@pytest.fixture
def fresh_proxysql(tmp_path: Path) -> Iterator[ProxySQL]:
    """A real ProxySQL of the test's own, to restart or kill."""
    server = ProxySQL(needed_binary(), tmp_path / "proxysql")
    server.start(initial=True)
    yield server
    with suppress(ProcessLookupError):
        server.stop()


@pytest.fixture(params=["sandbox", pytest.param("real", marks=pytest.mark.real)])
def instance(request: pytest.FixtureRequest) -> Instance:
    """A handle on the sandbox, then on a real ProxySQL: the test runs on both."""
    fixture = "sandbox_instance" if request.param == "sandbox" else "real_proxysql"
    handle: Instance = request.getfixturevalue(fixture)
    return handle
