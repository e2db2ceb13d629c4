"""No command shows a text that the files take from a reference.

Lint finds fault with each text, and its findings repeat parts of the values that they are about.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import applied, apply, plan
from tests.support.servers.instances import Instance
from tests.support.servers.monitor import place

TEXTS = {
    "NUMBER": "user_sesame = [0-9]+",
    "NAME": "FROM sesame1",
    "RAW": "^SELECT sesame.*x",
    "REPLACEMENT": r"sesame \7",
    "ADDRESS": "sesame/8",
    "ANY_NAME": "sesame%",
    "DIGEST": "0x5E5A3E00112233",
    "WORD": "sesame",
    "PROGRAM": "sesame/check.sh",
    "CERTIFICATE": "sesame/ca.pem",
}
"""What the files name with {env: ...}."""

FILES = """\
version: 1
variables:
  mysql-monitor_enabled: true
  mysql-eventslog_filename: {{env: PROGRAM}}
  mysql-max_connections: {number}
mysql_galera_hostgroups:
  - {{writer_hostgroup: 1, backup_writer_hostgroup: 2, reader_hostgroup: 3, offline_hostgroup: 4,
     comment: {{env: WORD}}, max_transactions_behind: {number}}}
mysql_servers:
  - {{hostgroup_id: 1, hostname: db1, comment: {{env: WORD}}, weight: {number}}}
  - {{hostgroup_id: 1, hostname: db2, comment: {{env: WORD}}, weight: {number}}}
  - {{hostgroup_id: {number}, hostname: db3, comment: {{env: WORD}}}}
mysql_servers_ssl_params:
  - {{hostname: db{row}, port: 1, ssl_ca: {{env: CERTIFICATE}}, comment: "{number}"}}
mysql_users:
  - {{username: app{row}, password: {{env: WORD}}, default_schema: {{env: ANY_NAME}},
     default_hostgroup: {number}}}
scheduler:
  - {{id: {row}, interval_ms: {number}, filename: {{env: PROGRAM}}, arg1: {{env: WORD}}}}
restapi_routes:
  - {{id: {row}, timeout_ms: {number}, method: GET, uri: {{env: WORD}}, script: {{env: PROGRAM}}}}
mysql_query_rules:
  - {{rule_id: {row}1, match_digest: {{env: NUMBER}}, destination_hostgroup: {number}}}
  - {{rule_id: {row}2, match_digest: {{env: NAME}}, destination_hostgroup: {number}}}
  - {{rule_id: {row}3, match_pattern: {{env: RAW}}, destination_hostgroup: {number}}}
  - {{rule_id: {row}4, match_pattern: {{env: RAW}}, replace_pattern: {{env: REPLACEMENT}},
     destination_hostgroup: {number}}}
  - {{rule_id: {row}5, client_addr: {{env: ADDRESS}}, destination_hostgroup: {number}}}
  - {{rule_id: {row}6, schemaname: {{env: ANY_NAME}}, destination_hostgroup: {number}}}
  - {{rule_id: {row}7, username: {{env: ANY_NAME}}, destination_hostgroup: {number}}}
  - {{rule_id: {row}8, digest: {{env: DIGEST}}, destination_hostgroup: {number}}}
  - {{rule_id: {row}9, proxy_addr: {{env: WORD}}, OK_msg: {{env: WORD}}, error_msg: {{env: WORD}},
     destination_hostgroup: {number}}}
"""
FIRST = FILES.format(number=100, row=10)
IN_HALVES = """\
  - {username: app10, password: {env: WORD}, default_hostgroup: 200, frontend: 0}
  - {username: app10, password: {env: WORD}, default_hostgroup: 200, backend: 0}
scheduler:
"""
OTHERS = """\
INSERT INTO mysql_query_rules (rule_id, active, match_digest)
VALUES (900, 1, 'user_sesame = [0-9]+')
"""
CHANGED = "UPDATE mysql_query_rules SET match_digest='user_sesame = 1' WHERE rule_id=101"

CHANGES: dict[str, tuple[str, dict[str, str], str]] = {
    "nothing": (FIRST, {}, ""),
    "other columns": (FILES.format(number=200, row=10), {}, ""),
    "the keys": (FILES.format(number=100, row=20), {}, ""),
    "the texts": (
        FIRST,
        {**{name: f"{text}sesame" for name, text in TEXTS.items()}, "DIGEST": "0x5E5A3E00112244"},
        "",
    ),
    "a user in halves": (
        FILES.format(number=200, row=10)
        .replace("scheduler:\n", IN_HALVES)
        .replace("app10,", "b,", 1),
        {},
        "",
    ),
    "the same text in another row": (FIRST, {}, OTHERS),
    "edited by hand": (FIRST, {}, CHANGED),
}
"""The files after the change, the texts that change, and a statement that somebody loads."""


def outputs() -> Iterator[str]:
    for form in ("text", "json", "markdown", "sql"):
        yield plan("--force", "--discard-pending", "--format", form).text
    yield plan("--force", "--verbose").text
    for form in ("text", "json", "prometheus"):
        yield proxyctl("drift", "--format", form).text


@pytest.mark.parametrize("change", CHANGES)
def test_no_text_of_a_reference_is_shown(
    sandbox_project: Project, sandbox_instance: Instance, change: str
) -> None:
    files, texts, statement = CHANGES[change]
    for name, text in TEXTS.items():
        sandbox_project.monkeypatch.setenv(name, text)
    sandbox_project.write(FIRST)
    shown = [applied("--debug").text]
    assert sandbox_instance.sandbox is not None
    place(sandbox_instance.sandbox, 1, writers=[("db2", 3306)])

    for name, text in texts.items():
        sandbox_project.monkeypatch.setenv(name, text)
    sandbox_project.write(files)
    if statement:
        sandbox_instance.execute(statement)
        sandbox_instance.load("MYSQL QUERY RULES")
    shown += [*outputs(), apply("--force", "--discard-pending", "--debug").text]
    in_sync = plan()
    shown += [in_sync.text, proxyctl("drift").text]
    for text in shown:
        assert "sesame" not in text
        assert "5E5A3E" not in text
        assert "is in clear text" not in text
        assert "internal error" not in text
    assert "No changes" in in_sync.out


RULES = """\
version: 1
mysql_servers: [{hostgroup_id: 1, hostname: db1}]
mysql_query_rules:
  - {rule_id: 1, match_digest: {env: RAW}, destination_hostgroup: 1, apply: true}
  - {rule_id: 2, match_pattern: {env: RAW}, destination_hostgroup: 1, apply: true}
  - {rule_id: 3, client_addr: {env: ADDRESS}, destination_hostgroup: 1}
  - {rule_id: 4, username: {env: WORD}, destination_hostgroup: 1}
  - {rule_id: 5, schemaname: {env: WORD}, destination_hostgroup: 1}
  - {rule_id: 6, match_digest: '^SELECT', error_msg: {env: WORD}, comment: {env: WORD}, apply: true}
"""


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_explain_shows_none(offline: Project, form: str) -> None:
    for name, text in TEXTS.items():
        offline.monkeypatch.setenv(name, text)
    offline.write(RULES)
    found = proxyctl("explain", "SELECT 1", "--format", form)
    assert found.code == 0, found.text
    assert "sensitive" in found.out
    assert "sesame" not in found.text


def test_a_file_names_none_of_our_own_variables(offline: Project) -> None:
    """Whoever may change the files could show the admin password."""
    offline.write("version: 1\nvariables: {mysql-init_connect: {env: PROXYCTL_PASSWORD}}\n")
    offline.monkeypatch.setenv("PROXYCTL_PASSWORD", "admin")
    found = proxyctl("validate")
    assert found.code == 1
    assert "PROXYCTL_PASSWORD is for proxyctl itself, not for files" in found.text
