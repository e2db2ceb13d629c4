"""Shared parts of the journeys: their first files, the commands, and the check of a refusal."""

from __future__ import annotations

from tests.support.commands.cli import SECRETS, Outcome, proxyctl

FILES = """\
version: 1
variables:
  mysql-server_version: "8.0.36"
hostgroups:
  writer: {id: 10}
  reader: {id: 20, multiplex: false}
mysql_servers:
  - {hostgroup_id: writer, hostname: db1, max_connections: 500}
  - {hostgroup_id: reader, hostname: db1, weight: 1}
  - {hostgroup_id: reader, hostname: db2, weight: 100}
  - {hostgroup_id: reader, hostname: db3, weight: 100}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: writer}
  - {username: batch, password: {env: OTHER_PASSWORD}, default_hostgroup: reader}
mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT.*FOR UPDATE', destination_hostgroup: writer, apply: true}
  - {rule_id: 20, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
"""

SHARDED = (
    FILES
    + "sharding:\n  - {name: t, tables: 't{1..2}', hostgroups: [writer, reader],"
    + " first_rule_id: 100, username: app}\n"
)

SERVERS = "version: 1\nmysql_servers: [{hostgroup_id: 10, hostname: db1}]\n"

MANY = FILES + "".join(
    f"  - {{rule_id: {number}, match_digest: '^SELECT {number}', comment: {'x' * 200}}}\n"
    for number in range(100, 3000)
)


def listed(ports: list[int], *more: str) -> str:
    """Return a section `instances` with sandboxes px1, px2 and so on, then more entries."""
    lines = [
        f"  - {{name: px{number}, host: 127.0.0.1, port: {port}, password: admin}}\n"
        for number, port in enumerate(ports, 1)
    ]
    return "instances:\n" + "".join([*lines, *(f"  - {entry}\n" for entry in more)])


def plan(*arguments: str) -> Outcome:
    return proxyctl("plan", "--detailed-exitcode", *arguments)


def apply(*arguments: str) -> Outcome:
    return proxyctl("apply", "--auto-approve", *arguments)


def applied(*arguments: str) -> Outcome:
    """Apply, and expect success."""
    found = apply(*arguments)
    assert found.code == 0, found.text
    return found


def rolled_back(*arguments: str) -> Outcome:
    """Roll back without a question, and expect success."""
    found = proxyctl("rollback", "--auto-approve", *arguments)
    assert found.code == 0, found.text
    assert not any(secret in found.text for secret in SECRETS.values())
    return found


def ended(found: Outcome, code: int, *parts: str) -> None:
    """Check that a command ended with this code and a message that contains these parts."""
    assert found.code == code, found.text
    assert "Traceback" not in found.text
    assert "internal error" not in found.text
    assert not any(secret in found.text for secret in SECRETS.values())
    for part in parts:
        assert part in found.err, f"{part!r} is not in\n{found.err}"


def offered(way: str) -> list[str]:
    """Return the statements that the plan offers for pending edits: `publish:` or `take back:`."""
    refusals = plan("--format", "json").json["instances"][0]["refusals"]
    lines = [line for refusal in refusals for line in refusal["details"] if line.startswith(way)]
    texts = [line.removeprefix(way).strip() for line in lines]
    return [part for text in texts for part in text.removesuffix(";").split("; ")]
