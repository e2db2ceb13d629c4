"""The example for Kubernetes, with a real ProxySQL in the place of a pod."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from tests.support.commands.cli import Project
from tests.support.kubernetes import SECRETS, base_objects, container_of, localized, write_secrets
from tests.support.paths import ROOT
from tests.support.servers.instances import Instance, ProxySQL, free_port, needed_binary
from tests.support.waiting import until

pytestmark = pytest.mark.real

WATCH = container_of(base_objects()["Deployment", "proxyctl"])


class Pod(ProxySQL):
    """A ProxySQL that starts with the cnf of the example, and so without servers and users."""

    def __init__(self, binary: str, folder: Path, secrets: Path) -> None:
        config = localized(
            "proxysql.cnf",
            {
                "{": "{{",
                "}": "}}",
                SECRETS: str(secrets),
                "/var/lib/proxysql": "{folder}",
                "0.0.0.0:6032": "127.0.0.1:{port}",
                "0.0.0.0:6033": "127.0.0.1:{traffic_port}",
            },
        )
        super().__init__(binary, folder, config=config)
        password = (secrets / "proxysql-admin" / "password").read_text("utf-8").strip()
        self.instance = Instance("127.0.0.1", self.port, "proxyctl", password)
        self.metrics_port = free_port()

    def is_ready(self) -> bool:
        """Return what the readiness probe says."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.metrics_port)) == 0

    def is_login(self, password: str) -> bool:
        """Return whether the application can log in. Raises: OperationalError but for 1045."""
        try:
            pymysql.connect(
                host="127.0.0.1", port=self.traffic_port, user="app", password=password
            ).close()
        except pymysql.err.OperationalError as error:
            if error.args[0] == pymysql.constants.ER.ACCESS_DENIED_ERROR:
                return False
            raise
        return True


class Mounted:
    """A ConfigMap in a pod: Kubernetes moves a link to another folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "proxyctl.yaml").symlink_to(Path("..data", "proxyctl.yaml"))
        self._versions = 0

    def write(self, text: str) -> None:
        """Replace the content at once."""
        self._versions += 1
        version = self.folder / f"..{self._versions}"
        version.mkdir()
        (version / "proxyctl.yaml").write_text(text, "utf-8")
        (self.folder / "..data_tmp").symlink_to(version.name)
        (self.folder / "..data_tmp").replace(self.folder / "..data")


@pytest.fixture
def pod(offline: Project) -> Iterator[Pod]:
    write_secrets(offline.folder)
    with Pod(needed_binary(), offline.folder / "proxysql", offline.folder) as started:
        yield started


@pytest.fixture
def mounted(offline: Project, pod: Pod) -> Mounted:
    made = Mounted(offline.folder / "mounted")
    made.write(files(offline.folder, pod))
    return made


@pytest.fixture
def watch(offline: Project, mounted: Mounted) -> Iterator[subprocess.Popen[bytes]]:
    """Run the watch with the arguments and variables of the Deployment."""
    here = {
        "/etc/proxyctl": str(mounted.folder),
        "/var/lib/proxyctl": str(offline.folder / "volume"),
        "--every=15s": "--every=1s",
        "--metrics=0.0.0.0:9273": f"--metrics=127.0.0.1:{free_port()}",
    }

    def local(text: str) -> str:
        for old, new in here.items():
            text = text.replace(old, new)
        return text

    with Path("watch.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "proxyctl", *map(local, WATCH["args"])],
            env={
                **os.environ,
                **{variable["name"]: local(variable["value"]) for variable in WATCH["env"]},
                "PYTHONPATH": str(ROOT),
            },
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    yield process
    if process.poll() is None:
        process.kill()
        process.wait()


def files(secrets: Path, pod: Pod) -> str:
    ports = f"admin-restapi_enabled: true\n  admin-restapi_port: {pod.metrics_port}"
    return localized(
        "proxyctl.yaml",
        {
            SECRETS: str(secrets),
            "dns: proxysql-pods": f"dns: localhost, port: {pod.port}",
            "admin-restapi_enabled: true": ports,
        },
    )


def password_file(offline: Project) -> Path:
    return offline.folder / "proxysql-users" / "app"


def test_an_empty_pod_takes_connections_and_no_login(offline: Project, pod: Pod) -> None:
    assert not pod.is_login(password_file(offline).read_text("utf-8").strip())
    assert not pod.is_ready()


def test_a_pod_is_ready_once_it_is_filled(
    offline: Project, pod: Pod, watch: subprocess.Popen[bytes]
) -> None:
    password = password_file(offline).read_text("utf-8").strip()
    until(pod.is_ready, most_s=120)
    assert pod.is_login(password)
    # It is ready before the apply has read everything back; a signal would end that.
    until(lambda: "every layer was read back" in Path("watch.log").read_text("utf-8"), most_s=120)
    watch.send_signal(signal.SIGTERM)
    assert watch.wait(60) == 0
    assert offline.folder.joinpath("volume", "state", "snapshots").is_dir()
    # The container restarts in its pod.
    pod.restart()
    until(pod.is_ready)
    assert pod.is_login(password)


def test_a_change_of_config_map_and_secret_is_applied(
    offline: Project, pod: Pod, mounted: Mounted, watch: subprocess.Popen[bytes]
) -> None:
    until(pod.is_ready, most_s=120)
    mounted.write(files(offline.folder, pod).replace("mysql-2.mysql", "mysql-3.mysql"))
    hosts = "SELECT DISTINCT hostname FROM runtime_mysql_servers ORDER BY hostname"
    until(lambda: pod.instance.query(hosts)[-1] == ("mysql-3.mysql",), most_s=120)
    password_file(offline).write_text("another\n", "utf-8")
    until(lambda: pod.is_login("another"), most_s=120)
    assert watch.poll() is None
