"""Files with a secret wherever one can stand, and what may show none of them."""

from __future__ import annotations

from proxyctl.sandbox import Sandbox
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.sentinels import Sentinels, native_hash

_SHOWS_HASHES = ("export", "render", "import")
_SHOWS_REFERENCES = ("export", "rules", "digest")
"""What these read of an instance does not say that it came by a reference."""


class SecretStory:
    """Files with a secret wherever one can stand, and an instance that holds other ones."""

    def __init__(self, project: Project, sandbox: Sandbox, version: str) -> None:
        self.project = project
        self.sandbox = sandbox
        self.version = version
        self.sentinels = Sentinels()
        self.login = self.sentinels.secret("login")

    def connect(self) -> None:
        """Log in as an administrator whose password is a secret as well."""
        self.project.monkeypatch.setenv("PROXYCTL_HOST", self.sandbox.host)
        self.project.monkeypatch.setenv("PROXYCTL_PORT", str(self.sandbox.port))
        self.project.monkeypatch.setenv("PROXYCTL_USER", "boss")
        self.project.monkeypatch.setenv("PROXYCTL_PASSWORD", self.login)

    def write(self, side: str, *, users: bool = True) -> None:
        """Write the files of one side, with secrets of its own."""
        secret, reference = self.sentinels.secret, self.sentinels.reference
        self.project.monkeypatch.setenv("ENV_PASSWORD", secret(f"env-password-{side}"))
        self.project.monkeypatch.setenv("ENV_ARGUMENT", reference(f"argument-{side}"))
        self.project.monkeypatch.setenv("ENV_COMMENT", reference(f"comment-{side}"))
        self.project.write(secret(f"file-password-{side}") + "\n", "one.password")
        self.project.write(reference(f"script-{side}") + "\n", "script.txt")
        pgsql = f"""\
pgsql_users:
  - {{username: pg, password: {secret(f"pgsql-{side}")}}}
  - {{username: pge, password: {{env: ENV_PASSWORD}}}}
"""
        second = f"{{additional_password: {secret(f'second-{side}')}}}"
        pgsql_monitor = f"  pgsql-monitor_password: {secret(f'pgsql-monitor-{side}')}"
        rows = f"""\
mysql_users:
  - {{username: app, password: {secret(f"clear-{side}")}, default_hostgroup: 10}}
  - {{username: env, password: {{env: ENV_PASSWORD}}}}
  - {{username: two, password: {{env: ENV_PASSWORD}}, attributes: {second}}}
  - {{username: filed, password: {{file: one.password}}}}
  - {{username: hashed, password: "*{native_hash(secret(f"hashed-{side}"))}"}}
"""
        logins = f"admin:admin;boss:{self.login};next:{secret(f'admin-{side}')}"
        self.project.write(f"""\
version: 1
instances:
  - {{name: px, host: "{self.sandbox.host}", port: {self.sandbox.port}, user: boss,
      password: {{env: PROXYCTL_PASSWORD}}}}
{rows if users else "mysql_users: []"}
{pgsql if users and self.version.startswith("3") else ""}
mysql_servers:
  - {{hostgroup_id: 10, hostname: db1, comment: {{env: ENV_COMMENT}}}}
mysql_query_rules:
  - {{rule_id: 1, match_digest: '^SELECT', comment: {{env: ENV_COMMENT}}, apply: true}}
scheduler:
  - {{id: 1, interval_ms: 1000, filename: /bin/true, arg1: {{env: ENV_ARGUMENT}}, arg5: plain}}
restapi_routes:
  - {{id: 1, timeout_ms: 1000, method: GET, uri: /x, script: {{file: script.txt}}}}
variables:
  mysql-monitor_password: {secret(f"monitor-{side}")}
{pgsql_monitor if self.version.startswith("3") else ""}
  admin-admin_credentials: "{logins}"
  admin-stats_credentials: "stats:{secret(f"stats-{side}")}"
  admin-cluster_password: {{env: ENV_PASSWORD}}
  mysql-default_schema: {{env: ENV_COMMENT}}
routing_tests:
  - {{query: SELECT 1, username: app, expect: {{hostgroup: 10}}}}
""")
        self.project.write(f"""\
mysql_users: ( {{ username = "cnf"; password = "{secret(f"cnf-{side}")}"; }} )
admin_variables: {{ admin_credentials = "admin:{secret(f"cnf-admin-{side}")}"; }}
mysql_variables: {{ monitor_password = "{secret(f"cnf-monitor-{side}")}"; }}
""", "proxysql.cnf")  # fmt: skip

    def check(self, found: Outcome, command: str) -> Outcome:
        """Check what was written, to the terminal or to files that are not asked for in clear."""
        self.check_text(found.text, command)
        assert found.code in (0, 1, 2, 3, 4), found.text
        assert "internal error" not in found.text, found.text
        return found

    def check_text(self, text: str, command: str) -> None:
        shown = self.sentinels.shown_in(
            text,
            hashes=not command.startswith(_SHOWS_HASHES),
            references=not command.startswith(_SHOWS_REFERENCES),
        )
        assert not shown, f"proxyctl {command} shows {shown}:\n{text}"

    def run(self, *arguments: str) -> Outcome:
        return self.check(proxyctl(*arguments), " ".join(arguments))
