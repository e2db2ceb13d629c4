"""Files and an instance with a secret in every possible place, and whether a text shows one."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field

from proxyctl.sandbox import Sandbox
from tests.support.commands.cli import Outcome, Project, proxyctl


def native_hash(text: str) -> str:
    """Return what mysql_native_password stores of a password, without its asterisk."""
    return hashlib.sha1(hashlib.sha1(text.encode()).digest()).hexdigest().upper()


@dataclass
class Sentinels:
    """Secrets by their place.

    `in_columns` are in columns and variables for secrets. `referenced` came by a reference into
    other columns: an export of an instance cannot know them.
    """

    in_columns: dict[str, str] = field(default_factory=dict)
    referenced: dict[str, str] = field(default_factory=dict)

    def secret(self, place: str) -> str:
        """Return a new secret for a column or variable that holds secrets."""
        return self.in_columns.setdefault(place, f"SeNtInEl-{place}-{len(self.in_columns)}-x")

    def reference(self, place: str) -> str:
        """Return a new secret for a column that is not meant for secrets."""
        return self.referenced.setdefault(place, f"ReFeReNcE-{place}-{len(self.referenced)}-x")

    def shown_in(
        self, text: str | bytes, *, hashes: bool = True, references: bool = True
    ) -> list[str]:
        """Return the secrets that a text shows, in clear or in an encoded form.

        `hashes` and `references` False: those may be shown, as in an export.
        """
        found = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        lowered = found.lower()
        known = {**self.in_columns, **(self.referenced if references else {})}
        shown = [place for place, secret in known.items() if secret.lower() in lowered]
        for place, secret in known.items():
            digests = [kind(secret.encode()).hexdigest() for kind in (hashlib.sha1, hashlib.sha256)]
            forms = [
                secret.encode().hex(),
                base64.b64encode(secret.encode()).decode().rstrip("=").lower(),
                *(digests if hashes else ()),
                *([native_hash(secret).lower()] if hashes else ()),
            ]
            shown += [f"{place} as {form}" for form in forms if form in lowered]
        return shown


_SHOWS_HASHES = ("export", "render", "import")
_SHOWS_REFERENCES = ("export", "rules", "digest")
"""What these read of an instance does not say that it came by a reference."""


class SecretStory:
    """Files with a secret in every possible place, and an instance with other secrets."""

    def __init__(self, project: Project, sandbox: Sandbox, version: str) -> None:
        self.project = project
        self.sandbox = sandbox
        self.version = version
        self.sentinels = Sentinels()
        self.login = self.sentinels.secret("login")

    def write(self, side: str, *, users: bool = True) -> None:
        """Write the files of one side, with their own secrets."""
        secret, reference = self.sentinels.secret, self.sentinels.reference
        self.project.monkeypatch.setenv("ENV_PASSWORD", secret(f"env-password-{side}"))
        self.project.monkeypatch.setenv("ENV_ARGUMENT", reference(f"argument-{side}"))
        self.project.monkeypatch.setenv("ENV_COMMENT", reference(f"comment-{side}"))
        self.project.write(secret(f"file-password-{side}") + "\n", "one.password")
        self.project.write(secret(f"printed-password-{side}") + "\n", "printed.password")
        self.project.write(reference(f"script-{side}") + "\n", "script.txt")
        pgsql = f"""\
pgsql_users:
  - {{username: pg, password: {secret(f"pgsql-{side}")}}}
  - {{username: pge, password: {{env: ENV_PASSWORD}}}}
"""
        self.project.monkeypatch.setenv("ENV_SECOND", secret(f"second-{side}"))
        second = "{additional_password: {env: ENV_SECOND}}"
        pgsql_monitor = f"  pgsql-monitor_password: {secret(f'pgsql-monitor-{side}')}"
        rows = f"""\
mysql_users:
  - {{username: app, password: {secret(f"clear-{side}")}, default_hostgroup: 10}}
  - {{username: env, password: {{env: ENV_PASSWORD}}}}
  - {{username: two, password: {{env: ENV_PASSWORD}}, attributes: {second}}}
  - {{username: filed, password: {{file: one.password}}}}
  - {{username: printed, password: {{command: [cat, printed.password]}}}}
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
  - {{id: 1, timeout_ms: 1000, method: GET, uri: x, script: {{file: script.txt}}}}
variables:
  mysql-monitor_password: {secret(f"monitor-{side}")}
{pgsql_monitor if self.version.startswith("3") else ""}
  admin-admin_credentials: "{logins}"
  admin-stats_credentials: "stats:{secret(f"stats-{side}")}"
  admin-cluster_password: {{command: [cat, printed.password]}}
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
        """Check the output, and written files unless clear secrets were requested."""
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


def writes(sql: str) -> bool:
    """Return whether a statement changes or publishes rows, apart from those of the lock."""
    words = ("INSERT", "UPDATE", "DELETE", "LOAD", "SAVE")
    lock = tuple(f"{verb} proxyctl_lock" for verb in ("INSERT INTO", "UPDATE", "DELETE FROM"))
    return sql.startswith(words) and not sql.startswith(lock)
