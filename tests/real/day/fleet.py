"""What runs all day: two MariaDB, three ProxySQL without disks before them, files, and a watch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.watched_pods import DNS, NAME, PATIENCE_S, Pod, Watcher, resolve
from tests.support.commands.cli import SECRETS, Project
from tests.support.servers.instances import free_port, needed_binary
from tests.support.servers.mariadb import MariaDB
from tests.support.waiting import until

LOGIN = {"user": "app", "password": SECRETS["APP_PASSWORD"], "schema": "shop"}
SHOP = f"""\
CREATE DATABASE shop;
CREATE TABLE shop.item (id INT PRIMARY KEY, sold INT NOT NULL);
INSERT INTO shop.item SELECT seq, 0 FROM shop.seq_1_to_1000;
CREATE USER app@'127.0.0.1' IDENTIFIED BY '{SECRETS["APP_PASSWORD"]}';
GRANT ALL ON shop.* TO app@'127.0.0.1';
CREATE USER monitor@'127.0.0.1' IDENTIFIED BY '{SECRETS["OTHER_PASSWORD"]}'
"""
"""Both servers have the same items; nobody compares how many were sold."""
FILES = """\
version: 1
instances: [{{dns: {name}, port: {port}, password: admin}}]
mysql_servers:
  - {{hostgroup_id: 10, hostname: 127.0.0.1, port: {writer}, weight: 100, max_connections: 200}}
  - {{hostgroup_id: 20, hostname: 127.0.0.1, port: {reader}, weight: 100, max_connections: 200}}
mysql_replication_hostgroups: [{{writer_hostgroup: 10, reader_hostgroup: 20}}]
mysql_users: [{{username: app, password: {{env: APP_PASSWORD}}, default_hostgroup: 10}}]
mysql_query_rules:
  - {{rule_id: 100, match_digest: ^SELECT, destination_hostgroup: 20, apply: true}}
variables:
  mysql-monitor_username: monitor
  mysql-monitor_password: {{env: OTHER_PASSWORD}}
"""


@dataclass
class Fleet:
    """The servers, the pods before them, and the files."""

    project: Project
    writer: MariaDB
    reader: MariaDB
    pods: list[Pod]
    watcher: Watcher

    def commit(self, old: str = "", new: str = "") -> None:
        """Write the files with one change."""
        text = FILES.format(
            name=NAME, port=self.pods[0].port, writer=self.writer.port, reader=self.reader.port
        )
        assert old in text
        self.project.write(text.replace(old, new))

    def placed(self, pod: Pod, hostgroup: int) -> list[int]:
        """Return the ports of the servers ONLINE in a hostgroup."""
        rows = pod.instance.query(
            "SELECT port FROM runtime_mysql_servers WHERE status = 'ONLINE'"
            f" AND hostgroup_id = {hostgroup} ORDER BY port"
        )
        return [int(port or 0) for (port,) in rows]

    def wait_for(self, writer: MariaDB, *readers: MariaDB) -> None:
        """Wait until all pods write to this server and read from these, and from no other one."""
        wanted = [writer.port], sorted(reader.port for reader in readers)
        for pod in self.pods:
            until(
                lambda pod=pod: (self.placed(pod, 10), self.placed(pod, 20)) == wanted,
                most_s=PATIENCE_S,
                what=f"{pod.address}: {wanted} are not the servers of the hostgroups 10 and 20",
            )

    def limits(self) -> set[tuple[str | None, ...]]:
        """Return the connection limits of the servers of all pods at RUNTIME."""
        sql = "SELECT DISTINCT max_connections FROM runtime_mysql_servers"
        return {row for pod in self.pods for row in pod.instance.query(sql)}

    @property
    def addresses(self) -> list[str]:
        """The addresses of the pods."""
        return [pod.address for pod in self.pods]

    def of_all(self, *events: str) -> dict[str | None, tuple[str, ...]]:
        """Return the same events for every pod."""
        return dict.fromkeys(self.addresses, events)


@contextmanager
def running_fleet(project: Project, folder: Path) -> Iterator[Fleet]:
    """Start the servers and empty pods behind one name, but no watch."""
    binary, port = needed_binary(), free_port()
    with ExitStack() as stack:
        servers = []
        for name, options in (("writer", ()), ("reader", ("--read-only",))):
            (folder / name).mkdir()
            server = MariaDB(folder / name, setup=SHOP, options=options)
            servers.append(stack.enter_context(server))
        pods = [
            stack.enter_context(Pod(binary, folder / address, address, port, monitor=True))
            for address in ("127.0.0.21", "127.0.0.22", "127.0.0.23")
        ]
        project.write(DNS, "sitecustomize.py")
        resolve(*pods)
        watcher = Watcher(project, free_port())
        stack.callback(watcher.stop)
        yield Fleet(project, *servers, pods, watcher)
