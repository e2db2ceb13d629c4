"""Which findings a change brings, and which were there before: by rows, gravity and cases."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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


@dataclass(frozen=True)
class ChangeCase:
    """A check that finds something before a change, and the files before and after it."""

    code: str
    before: str
    after: str


WORSE = {
    "more writes of a user": ChangeCase(
        code="PX304",
        before=FAMILY + users("app", hostgroup=20) + rules(to(10, "^(INSERT|UPDATE|DELETE)")),
        after=FAMILY + users("app", hostgroup=20) + rules(to(10, "^(INSERT)")),
    ),
    "more locking reads of a rule": ChangeCase(
        code="PX301",
        before=FAMILY + users("app") + rules(to(10, "FOR (UPDATE|SHARE)"), READS),
        after=FAMILY + users("app") + rules(to(10, "FOR UPDATE"), READS),
    ),
    "locking reads of another user of PostgreSQL": ChangeCase(
        code="PX301",
        before=pgsql(
            FAMILY + users("app", "pay") + rules(to(10, "^SELECT", ", username: pay"), READS)
        ),
        after=pgsql(FAMILY + users("app", "pay") + rules("rule_id: 11, " + READS)),
    ),
    "more functions of a rule": ChangeCase(
        code="PX302",
        before=FAMILY + users("app") + rules(to(10, "FOR (UPDATE|SHARE)|LOCK IN|LOCK"), READS),
        after=FAMILY + users("app") + rules(to(10, "FOR (UPDATE|SHARE)|LOCK IN"), READS),
    ),
    "locking reads of another user": ChangeCase(
        code="PX301",
        before=FAMILY + users("app", "pay") + rules(to(10, "^SELECT", ", username: pay"), READS),
        after=FAMILY + users("app", "pay") + rules("rule_id: 11, " + READS),
    ),
    "locking reads in another schema": ChangeCase(
        code="PX301",
        before=FAMILY + users("app") + rules(to(10, "^SELECT", ", schemaname: pay"), READS),
        after=FAMILY + users("app") + rules("rule_id: 11, " + READS),
    ),
    "reads of another reader": ChangeCase(
        code="PX301",
        before=FAMILY + users("app") + rules(READS),
        after=FAMILY.replace("20", "21") + users("app") + rules(READS.replace("20", "21")),
    ),
    "more reads from the cache": ChangeCase(
        code="PX411",
        before=rules(to(10, "NOW"), to(20, "^SELECT", ", cache_ttl: 5000")),
        after=rules(to(10, "^NOWHERE"), to(20, "^SELECT", ", cache_ttl: 5000")),
    ),
    "a longer name": ChangeCase(
        code="PX109",
        before=rules(to(1, "FROM orders"), to(2, r"FROM orders_old\b")),
        after=rules(to(1, "FROM orders"), to(2, r"FROM orders_new\b")),
    ),
    "one more flag": ChangeCase(
        code="PX205",
        before=rules(
            'attributes: \'{"flagOUTs": [{"id": 5, "weight": 1}, {"id": 6, "weight": 1}]}\'',
            "flagIN: 6, destination_hostgroup: 1",
        ),
        after=rules(
            'attributes: \'{"flagOUTs": [{"id": 5, "weight": 1}, {"id": 6, "weight": 1}]}\''
        ),
    ),
    "a user's queries to one more hostgroup": ChangeCase(
        code="PX307",
        before=LOOSE + rules(READS),
        after=LOOSE + rules(READS, to(30, "^INSERT INTO log")),
    ),
    "another table of the section": ChangeCase(
        code="PX321",
        before=SHARDS + rules("rule_id: 1, " + READS) + SECTION,
        after=SHARDS + rules("rule_id: 1, " + READS) + SECTION.replace("..2", "..3"),
    ),
    "a table of another section": ChangeCase(
        code="PX321",
        before=SHARDS + rules("rule_id: 1, " + READS) + SECTION,
        after=SHARDS + rules("rule_id: 1, " + READS) + SECTION + OTHER_SECTION,
    ),
    "a second column": ChangeCase(
        code="PX124",
        before="variables: {mysql-interfaces: '127.0.0.1:6033'}\n"
        + rules("schemaname: 'a%', proxy_addr: 127.0.0.1, destination_hostgroup: 1"),
        after="variables: {mysql-interfaces: '0.0.0.0:6033'}\n"
        + rules("schemaname: 'a%', proxy_addr: 127.0.0.1, destination_hostgroup: 1"),
    ),
    "a warning becomes an error": ChangeCase(
        code="PX208",
        before=users("app") + rules("username: pay, destination_hostgroup: 1"),
        after=users("app", "pay", more=", fast_forward: true")
        + rules("username: pay, destination_hostgroup: 1"),
    ),
    "a node in another family": ChangeCase(
        code="PX501",
        before=galera(10, 30, nodes={"a": (10, 30), "b": (10,), "c": (30,)}),
        after=galera(20, 30, nodes={"a": (20, 30), "b": (20,), "c": (30,)}),
    ),
    "a family shares another hostgroup": ChangeCase(
        code="PX502",
        before=galera(10) + FAMILY.replace("10", "11"),
        after=galera(10) + FAMILY.replace("10", "11").replace("20", "12"),
    ),
    "another family without a monitor": ChangeCase(
        code="PX505",
        before="variables: {mysql-monitor_enabled: false}\n" + galera(10),
        after="variables: {mysql-monitor_enabled: false}\n" + galera(10, 20),
    ),
    "a script moves the nodes of another family": ChangeCase(
        code="PX521", before=galera(10) + SCRIPT, after=galera(10, 20) + SCRIPT
    ),
    "another well-known password": ChangeCase(
        code="PX532",
        before="variables: {admin-admin_credentials: 'admin:admin;radmin:bay'}\n",
        after="variables: {admin-admin_credentials: 'admin:admin;radmin:radmin'}\n",
    ),
    "another server without a limit": ChangeCase(
        code="PX551",
        before="variables: {mysql-default_max_latency_ms: 0}\n"
        "mysql_servers: [{hostgroup_id: 1, hostname: a}]\n",
        after="variables: {mysql-default_max_latency_ms: 0}\n"
        "mysql_servers: [{hostgroup_id: 1, hostname: a}, {hostgroup_id: 1, hostname: b}]\n",
    ),
    "a policy and more connections": ChangeCase(
        code="PX601",
        before=POLICIES + users("app", more=", max_connections: 700"),
        after=POLICIES + users("app", more=", max_connections: 900"),
    ),
    "another policy": ChangeCase(
        code="PX601",
        before=POLICIES + users("app", more=", max_connections: 700"),
        after=POLICIES + users("app", more=", max_connections: 700, comment: x"),
    ),
}
"""Changes that give a finding more cases."""

AS_BEFORE = {
    "less": ChangeCase(
        code="PX301",
        before=FAMILY + users("app") + rules(to(10, "FOR UPDATE"), READS),
        after=FAMILY + users("app") + rules(to(10, "FOR (UPDATE|SHARE)"), READS),
    ),
    "one flag less": ChangeCase(
        code="PX205",
        before=rules(
            'attributes: \'{"flagOUTs": [{"id": 5, "weight": 1}, {"id": 6, "weight": 1}]}\''
        ),
        after=rules(
            'attributes: \'{"flagOUTs": [{"id": 5, "weight": 1}, {"id": 6, "weight": 1}]}\'',
            "flagIN: 6, destination_hostgroup: 1",
        ),
    ),
    "a new user like the others": ChangeCase(
        code="PX301",
        before=FAMILY + users("app") + rules(READS),
        after=FAMILY + users("aaa", "app") + rules(READS),
    ),
    "a new rule for a user": ChangeCase(
        code="PX301",
        before=FAMILY + users("app", "pay") + rules(READS),
        after=FAMILY + users("app", "pay") + rules(READS, to(10, "^UPDATE x", ", username: pay")),
    ),
    "a rule in another schema": ChangeCase(
        code="PX411",
        before=users("app") + rules(to(20, "^SELECT", ", cache_ttl: 5000")),
        after=users("app")
        + rules(to(20, "^SELECT", ", cache_ttl: 5000"), to(20, "^SHOW", ", schemaname: pay")),
    ),
    "a user is gone": ChangeCase(
        code="PX301",
        before=FAMILY + users("aaa", "app") + rules(to(20, "^SELECT .* FROM orders")),
        after=FAMILY + users("app") + rules(to(20, "^SELECT .* FROM orders")),
    ),
    "another rule to the same hostgroup": ChangeCase(
        code="PX307", before=LOOSE + rules(READS), after=LOOSE + rules(READS, to(20, "^SHOW"))
    ),
    "an error becomes a warning": ChangeCase(
        code="PX208",
        before=users("app", "pay", more=", fast_forward: true")
        + rules("username: pay, destination_hostgroup: 1"),
        after=users("app") + rules("username: pay, destination_hostgroup: 1"),
    ),
    "a column that the policy does not read": ChangeCase(
        code="PX601",
        before=POLICIES + users("app", more=", max_connections: 700"),
        after=POLICIES + users("app", more=", max_connections: 700, comment: note"),
    ),
}
"""Changes that leave the finding as it was, or make it less."""


@pytest.mark.parametrize(
    ("case", "is_worse"),
    [
        *((case, True) for case in WORSE.values()),
        *((case, False) for case in AS_BEFORE.values()),
    ],
    ids=[*WORSE, *AS_BEFORE],
)
def test_a_finding_with_a_new_case_is_one_that_the_change_brings(
    tmp_path: Path, case: ChangeCase, is_worse: bool
) -> None:
    first, last = (
        load(tmp_path, f"version: 1\n{text}", version=None) for text in (case.before, case.after)
    )
    unchanged = BeforeAfter(first.configuration, first.configuration)
    changed = BeforeAfter(first.configuration, last.configuration)
    assert case.code in {located.finding.code for located in lint_change(unchanged, first).known}
    found = lint_change(changed, last)
    assert (case.code in {located.finding.code for located in found.introduced}) is is_worse
    assert is_worse or case.code in {located.finding.code for located in found.known}


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
