"""The time for a large file grows only linearly with its size, whatever its mistakes.

Each shape repeats one element up to 30,000 times, which takes some seconds. A search through all
elements for each of them takes ten times as long.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest

from proxyctl.config.files import Sources, load_project
from proxyctl.errors import ConfigError
from proxyctl.interchange.cnf_reader import read_cnf
from proxyctl.routing.regex import BadPattern, RegexEngine, compile_pattern

pytestmark = pytest.mark.sweep

COUNT = 30_000
LOOPS = 150
"""The limit, in runs of `yardstick_s`. What grows linearly takes up to 60 of them; a search through
all elements for each of them takes several hundred."""


def yardstick_s() -> float:
    """Return the processor time of a loop of plain Python, as this machine runs it now."""
    start = time.process_time()
    sum(len(str(number)) for number in range(600_000))
    return time.process_time() - start


def many(line: str, count: int = COUNT) -> str:
    return "".join(line.replace("@", str(number)) for number in range(count))


SHAPES = {
    "routing tests": "routing_tests:\n" + many("- {query: a@, expect: {hostgroup: 1}}\n"),
    "tests that expect nothing": "routing_tests:\n" + many("- {query: a@, expect: {}}\n"),
    "keys that stand twice": "variables:\n" + many("  a@: 1\n") * 2,
    "variables that are unknown": "variables:\n" + many("  mysql-max_connection@s: 1\n"),
    "values that are wrong": "variables:\n" + many("  mysql-max_connections: x@\n"),
    "sections that are unknown": many("mysql_server@: []\n"),
    "keys that are unknown": "mysql_servers:\n" + many("- {hostname: a@, weigh@: 1}\n"),
    "rows with equal keys": "mysql_servers:\n" + many("- {hostgroup_id: 1, hostname: a}\n"),
    "hostgroups that are unknown": "hostgroups:\n"
    + many("  writer@: {id: @}\n")
    + "mysql_servers:\n"
    + many("- {hostgroup_id: writr@, hostname: a}\n"),
    "hostgroups that are wrong": "hostgroups:\n" + many("  writer@: {id: x}\n"),
    "references that lead nowhere": "mysql_users:\n"
    + many("- {username: u@, password: {env: NOT_SET_@}}\n"),
    "findings that are meant": "lint:\n  ignore:\n" + many("  - PX101\n"),
    "checks that are unknown": "lint:\n  ignore:\n" + many("  - PY@\n"),
    "clusters": "pxc_clusters:\n"
    + many(
        "- {name: c@, writer_hostgroup: 1@1, backup_writer_hostgroup: 1@2, reader_hostgroup: 1@3,"
        " offline_hostgroup: 1@4, nodes: [{hostname: a}]}\n",
        COUNT // 3,
    ),
    "clusters that share hostgroups": "pxc_clusters:\n"
    + many(
        "- {name: c@, writer_hostgroup: 1, backup_writer_hostgroup: 2, reader_hostgroup: 3,"
        " offline_hostgroup: 4, nodes: [{hostname: a}]}\n",
        COUNT // 10,
    ),
    "shards": "sharding:\n"
    + many(
        "- {name: s@, tables: [t@], hostgroups: [1], assign: modulo, first_rule_id: 1@}\n",
        COUNT // 10,
    ),
    "schemas of shards": "hostgroups: {a: {id: 1}}\nsharding:\n  - name: t\n    schemas:\n"
    + many("      s@: a\n"),
    "columns that are ignored": "mysql_servers: []\nmanage:\n  ignore:\n    mysql_servers:\n"
    + many("    - weigh@\n"),
    "instances": "instances:\n" + many("- {name: i@, host: h, prt: 1}\n"),
    "words of re_modifiers": "mysql_query_rules:\n"
    + many("- {rule_id: 1@, re_modifiers: CASELES@}\n"),
}


@pytest.mark.parametrize("part", [b"[", b"(", b"\\Q", b"[[:", b"(?<", b"[^]"])
@pytest.mark.parametrize("engine", RegexEngine)
def test_a_large_pattern_is_read_in_time(part: bytes, engine: RegexEngine) -> None:
    start = time.process_time()
    with suppress(BadPattern):
        compile_pattern(part * 20_000, engine, caseless=True)
    assert time.process_time() - start < LOOPS * yardstick_s()


CNF_SHAPES = {
    "keys": many("mysql_server@=1;\n"),
    "variables": "mysql_variables={" + many("thread@s=1;\n") + "}",
    "columns": "mysql_users=(" + many('{username="a@";pasword@="b"},\n') + "{})",
}


@pytest.mark.parametrize("shape", CNF_SHAPES)
def test_a_large_cnf_is_read_in_time(shape: str) -> None:
    start = time.process_time()
    read_cnf(CNF_SHAPES[shape], "proxysql.cnf")
    assert time.process_time() - start < LOOPS * yardstick_s()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_large_file_is_read_in_time(shape: str, tmp_path: Path) -> None:
    path = tmp_path / "proxyctl.yaml"
    path.write_text("version: 1\n" + SHAPES[shape])
    start = time.process_time()
    with suppress(ConfigError):
        load_project(Sources((str(path),), {}))
    assert time.process_time() - start < LOOPS * yardstick_s()
