"""Which findings a change brings, and which were there before: by rows, gravity and cases."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from proxyctl.lint.run import LintReport
from proxyctl.plan.guards.lint import lint_change
from proxyctl.proxysql.configuration import BeforeAfter
from tests.unit.config_files import load

FAMILY = "mysql_replication_hostgroups: [{writer_hostgroup: 10, reader_hostgroup: 20}]\n"
SHARDS = "hostgroups: {shard: {id: 100}}\n"


def users(*names: str, hostgroup: int = 10, more: str = "") -> str:
    rows = (f"{{username: {name}, default_hostgroup: {hostgroup}{more}}}" for name in names)
    return f"mysql_users: [{', '.join(rows)}]\n"


def rules(*rows: str) -> str:
    numbered = (
        f"  - {{{row}}}\n" if "rule_id" in row else f"  - {{rule_id: {number}, {row}}}\n"
        for number, row in enumerate(rows, 10)
    )
    return f"mysql_query_rules:\n{''.join(numbered)}"


def to(hostgroup: int, pattern: str, more: str = "") -> str:
    return f"match_digest: '{pattern}', destination_hostgroup: {hostgroup}, apply: true{more}"


def galera(*writers: int, nodes: dict[str, tuple[int, ...]] | None = None, more: str = "") -> str:
    rows = (
        f"  - {{writer_hostgroup: {writer}, backup_writer_hostgroup: {writer + 1},"
        f" reader_hostgroup: {writer + 2}, offline_hostgroup: {writer + 3}{more}}}\n"
        for writer in writers
    )
    servers = (
        f"  - {{hostgroup_id: {hostgroup}, hostname: {node}}}\n"
        for node, hostgroups in (nodes or {}).items()
        for hostgroup in hostgroups
    )
    text = f"mysql_galera_hostgroups:\n{''.join(rows)}"
    return f"{text}mysql_servers:\n{''.join(servers)}" if nodes else text


def pgsql(text: str) -> str:
    return "proxysql_version: 3.0.3\n" + text.replace("mysql_", "pgsql_")


READS = to(20, "^SELECT")
LOOSE = users("app", more=", transaction_persistent: false")
MORE = "variables: {mysql-max_connections: 3000}\n"
FROM_SHARDS = "hostgroups: [shard], assign: modulo, first_rule_id:"
SECTION = f"sharding:\n  - {{name: a, tables: 'orders{{1..2}}', {FROM_SHARDS} 500}}\n"
OTHER_SECTION = f"  - {{name: b, tables: 'items{{1..2}}', {FROM_SHARDS} 800}}\n"
SCRIPT = (
    "scheduler:\n"
    "  - {id: 1, interval_ms: 1000, filename: /bin/galera_check.sh, arg1: '--hg=10,20'}\n"
)
POLICIES = (
    "policies:\n"
    "  - {name: a, for: mysql_users, that: row.max_connections <= 500, message: m}\n"
    "  - {name: b, for: mysql_users, that: row.comment != 'x', message: m}\n"
)

WORSE = {
    "more writes of a user": (
        "PX304",
        FAMILY + users("app", hostgroup=20) + rules(to(10, "^(INSERT|UPDATE|DELETE)")),
        FAMILY + users("app", hostgroup=20) + rules(to(10, "^(INSERT)")),
    ),
    "more locking reads of a rule": (
        "PX301",
        FAMILY + users("app") + rules(to(10, "FOR (UPDATE|SHARE)"), READS),
        FAMILY + users("app") + rules(to(10, "FOR UPDATE"), READS),
    ),
    "locking reads of another user of PostgreSQL": (
        "PX301",
        pgsql(FAMILY + users("app", "pay") + rules(to(10, "^SELECT", ", username: pay"), READS)),
        pgsql(FAMILY + users("app", "pay") + rules("rule_id: 11, " + READS)),
    ),
    "more functions of a rule": (
        "PX302",
        FAMILY + users("app") + rules(to(10, "FOR (UPDATE|SHARE)|LOCK IN|LOCK"), READS),
        FAMILY + users("app") + rules(to(10, "FOR (UPDATE|SHARE)|LOCK IN"), READS),
    ),
    "locking reads of another user": (
        "PX301",
        FAMILY + users("app", "pay") + rules(to(10, "^SELECT", ", username: pay"), READS),
        FAMILY + users("app", "pay") + rules("rule_id: 11, " + READS),
    ),
    "locking reads in another schema": (
        "PX301",
        FAMILY + users("app") + rules(to(10, "^SELECT", ", schemaname: pay"), READS),
        FAMILY + users("app") + rules("rule_id: 11, " + READS),
    ),
    "reads of another reader": (
        "PX301",
        FAMILY + users("app") + rules(READS),
        FAMILY.replace("20", "21") + users("app") + rules(READS.replace("20", "21")),
    ),
    "more reads from the cache": (
        "PX411",
        rules(to(10, "NOW"), to(20, "^SELECT", ", cache_ttl: 5000")),
        rules(to(10, "^NOWHERE"), to(20, "^SELECT", ", cache_ttl: 5000")),
    ),
    "a longer name": (
        "PX109",
        rules(to(1, "FROM orders"), to(2, r"FROM orders_old\b")),
        rules(to(1, "FROM orders"), to(2, r"FROM orders_new\b")),
    ),
    "one more flag": (
        "PX205",
        rules(
            'attributes: \'{"flagOUTs": [{"id": 5, "weight": 1}, {"id": 6, "weight": 1}]}\'',
            "flagIN: 6, destination_hostgroup: 1",
        ),
        rules('attributes: \'{"flagOUTs": [{"id": 5, "weight": 1}, {"id": 6, "weight": 1}]}\''),
    ),
    "a user's queries to one more hostgroup": (
        "PX307",
        LOOSE + rules(READS),
        LOOSE + rules(READS, to(30, "^INSERT INTO log")),
    ),
    "another table of the section": (
        "PX321",
        SHARDS + rules("rule_id: 1, " + READS) + SECTION,
        SHARDS + rules("rule_id: 1, " + READS) + SECTION.replace("..2", "..3"),
    ),
    "a table of another section": (
        "PX321",
        SHARDS + rules("rule_id: 1, " + READS) + SECTION,
        SHARDS + rules("rule_id: 1, " + READS) + SECTION + OTHER_SECTION,
    ),
    "a second column": (
        "PX124",
        "variables: {mysql-interfaces: '127.0.0.1:6033'}\n"
        + rules("schemaname: 'a%', proxy_addr: 127.0.0.1, destination_hostgroup: 1"),
        "variables: {mysql-interfaces: '0.0.0.0:6033'}\n"
        + rules("schemaname: 'a%', proxy_addr: 127.0.0.1, destination_hostgroup: 1"),
    ),
    "a warning becomes an error": (
        "PX208",
        users("app") + rules("username: pay, destination_hostgroup: 1"),
        users("app", "pay", more=", fast_forward: true")
        + rules("username: pay, destination_hostgroup: 1"),
    ),
    "a node in another family": (
        "PX501",
        galera(10, 30, nodes={"a": (10, 30), "b": (10,), "c": (30,)}),
        galera(20, 30, nodes={"a": (20, 30), "b": (20,), "c": (30,)}),
    ),
    "a family shares another hostgroup": (
        "PX502",
        galera(10) + FAMILY.replace("10", "11"),
        galera(10) + FAMILY.replace("10", "11").replace("20", "12"),
    ),
    "another family without a monitor": (
        "PX505",
        "variables: {mysql-monitor_enabled: false}\n" + galera(10),
        "variables: {mysql-monitor_enabled: false}\n" + galera(10, 20),
    ),
    "a script moves the nodes of another family": (
        "PX521",
        galera(10) + SCRIPT,
        galera(10, 20) + SCRIPT,
    ),
    "another well-known password": (
        "PX532",
        "variables: {admin-admin_credentials: 'admin:admin;radmin:bay'}\n",
        "variables: {admin-admin_credentials: 'admin:admin;radmin:radmin'}\n",
    ),
    "another server without a limit": (
        "PX551",
        "variables: {mysql-default_max_latency_ms: 0}\n"
        "mysql_servers: [{hostgroup_id: 1, hostname: a}]\n",
        "variables: {mysql-default_max_latency_ms: 0}\n"
        "mysql_servers: [{hostgroup_id: 1, hostname: a}, {hostgroup_id: 1, hostname: b}]\n",
    ),
    "a policy and more connections": (
        "PX601",
        POLICIES + users("app", more=", max_connections: 700"),
        POLICIES + users("app", more=", max_connections: 900"),
    ),
    "another policy": (
        "PX601",
        POLICIES + users("app", more=", max_connections: 700"),
        POLICIES + users("app", more=", max_connections: 700, comment: x"),
    ),
}
"""A check, and files before and after a change that gives one of its findings more cases."""

AS_BEFORE = {
    "less": (
        "PX301",
        FAMILY + users("app") + rules(to(10, "FOR UPDATE"), READS),
        FAMILY + users("app") + rules(to(10, "FOR (UPDATE|SHARE)"), READS),
    ),
    "one flag less": (
        "PX205",
        rules('attributes: \'{"flagOUTs": [{"id": 5, "weight": 1}, {"id": 6, "weight": 1}]}\''),
        rules(
            'attributes: \'{"flagOUTs": [{"id": 5, "weight": 1}, {"id": 6, "weight": 1}]}\'',
            "flagIN: 6, destination_hostgroup: 1",
        ),
    ),
    "a new user like the others": (
        "PX301",
        FAMILY + users("app") + rules(READS),
        FAMILY + users("aaa", "app") + rules(READS),
    ),
    "a new rule for a user": (
        "PX301",
        FAMILY + users("app", "pay") + rules(READS),
        FAMILY + users("app", "pay") + rules(READS, to(10, "^UPDATE x", ", username: pay")),
    ),
    "a rule in another schema": (
        "PX411",
        users("app") + rules(to(20, "^SELECT", ", cache_ttl: 5000")),
        users("app")
        + rules(to(20, "^SELECT", ", cache_ttl: 5000"), to(20, "^SHOW", ", schemaname: pay")),
    ),
    "a user is gone": (
        "PX301",
        FAMILY + users("aaa", "app") + rules(to(20, "^SELECT .* FROM orders")),
        FAMILY + users("app") + rules(to(20, "^SELECT .* FROM orders")),
    ),
    "another rule to the same hostgroup": (
        "PX307",
        LOOSE + rules(READS),
        LOOSE + rules(READS, to(20, "^SHOW")),
    ),
    "an error becomes a warning": (
        "PX208",
        users("app", "pay", more=", fast_forward: true")
        + rules("username: pay, destination_hostgroup: 1"),
        users("app") + rules("username: pay, destination_hostgroup: 1"),
    ),
    "a column that the policy does not read": (
        "PX601",
        POLICIES + users("app", more=", max_connections: 700"),
        POLICIES + users("app", more=", max_connections: 700, comment: note"),
    ),
}
"""The same for changes that leave the finding as it was, or make it less."""


@pytest.mark.parametrize(
    ("code", "before", "after", "is_worse"),
    [
        *((*change, True) for change in WORSE.values()),
        *((*change, False) for change in AS_BEFORE.values()),
    ],
    ids=[*WORSE, *AS_BEFORE],
)
def test_a_finding_with_a_new_case_is_one_that_the_change_brings(
    tmp_path: Path, code: str, before: str, after: str, is_worse: bool
) -> None:
    first, last = (load(tmp_path, f"version: 1\n{text}", version=None) for text in (before, after))
    unchanged = BeforeAfter(first.configuration, first.configuration)
    changed = BeforeAfter(first.configuration, last.configuration)
    assert code in {located.finding.code for located in lint_change(unchanged, first).known}
    found = lint_change(changed, last)
    assert (code in {located.finding.code for located in found.introduced}) is is_worse
    assert is_worse or code in {located.finding.code for located in found.known}


def test_instances_that_hold_the_same_are_linted_once(tmp_path: Path) -> None:
    many = rules(*(to(20, f"^SELECT {number} ") for number in range(50)))
    project = load(tmp_path, f"version: 1\n{users('app')}{many}", version=None)
    begin = Barrier(4)

    def report(_instance: int) -> LintReport:
        change = BeforeAfter(project.configuration, project.configuration)
        begin.wait()
        return project.lint_reports.of_change(change).before

    with ThreadPoolExecutor(4) as pool:
        assert len({*map(id, [*pool.map(report, range(4))])}) == 1


def test_what_lint_found_ends_with_the_files(tmp_path: Path) -> None:
    """A watch compiles them anew in each round."""
    project = load(tmp_path, f"version: 1\n{users('app')}{rules(READS)}", version=None)
    configuration = project.configuration
    lint_change(BeforeAfter(configuration, configuration), project)
    seen = weakref.ref(project)
    del project
    gc.collect()
    assert seen() is None
