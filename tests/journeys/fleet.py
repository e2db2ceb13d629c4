"""Files for several instances on loopback, and a lock at one of them."""

from __future__ import annotations

from tests.journeys.held_lock import hold_lock
from tests.support.servers import Instance

SERVERS = "version: 1\nmysql_servers: [{hostgroup_id: 10, hostname: db1}]\n"
RULE = "mysql_query_rules: [{rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 10}]\n"


def listed(ports: list[int], *more: str) -> str:
    """Return a section `instances`: px1, px2 and so on."""
    lines = [
        f"  - {{name: px{number}, host: 127.0.0.1, port: {port}, password: admin}}\n"
        for number, port in enumerate(ports, 1)
    ]
    return "instances:\n" + "".join([*lines, *(f"  - {one}\n" for one in more)])


def hold_lock_of(port: int) -> None:
    """Let somebody on another machine hold the lock of an instance."""
    hold_lock(Instance("127.0.0.1", port), host="elsewhere", pid=1, for_s=600)
