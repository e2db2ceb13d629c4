"""What an upgrade changes: for files, for an instance, for a fleet, and in the other direction."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest

from proxyctl.catalog import parse_version
from proxyctl.routing.digest import digest
from proxyctl.upgrade.finding import CODES
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import FILES, applied, ended, listed
from tests.support.digests.events import line, write_log
from tests.support.paths import ROOT
from tests.support.servers.instances import Instance, sandbox_of

HEAD = "version: 1\nhostgroups: {writer: {id: 10}, reader: {id: 20}}\n"
SERVERS = "mysql_servers: [{hostgroup_id: 10, hostname: db1}, {hostgroup_id: 20, hostname: db2}]\n"
USERS = "mysql_users: [{username: app, password: app, default_hostgroup: 10}]\n"


class UpgradeCase(NamedTuple):
    """Files, two releases, and what is found."""

    code: str
    before: str
    to: str
    files: str
    message: str
    relies_on: tuple[str, ...]


def _rule(columns: str) -> str:
    return f"mysql_query_rules: [{{rule_id: 7, destination_hostgroup: 20, {columns}}}]\n"


FAST = (
    "mysql_query_rules_fast_routing: [{username: app, schemaname: s, flagIN: 0,"
    " destination_hostgroup: 20}]\n"
)
ASLEEP = "keep_fast_routing_alive: false\n" + _rule("match_digest: x, apply: true") + FAST
HASHED = "$A$010$aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

CASES = [
    UpgradeCase("downgrade", "3.0.3", "2.7.1", SERVERS, "does not listen for PostgreSQL", ()),
    UpgradeCase(
        "cluster-stops-syncing",
        "3.0.3",
        "3.0.4",
        "proxysql_servers: [{hostname: px1, port: 6032}]\n",
        "do not sync",
        ("proxysql server px1:6032",),
    ),
    UpgradeCase("listener-opens", "2.7.1", "3.0.3", SERVERS, "0.0.0.0:6133", ()),
    UpgradeCase(
        "listener-opens",
        "2.7.1",
        "3.0.3",
        'variables: {mysql-interfaces: "127.0.0.1:6133"}\n',
        "mysql-interfaces already uses the same port",
        ("mysql-interfaces = 127.0.0.1:6133",),
    ),
    UpgradeCase(
        "variable-gone",
        "3.0.3",
        "2.7.1",
        "variables: {mysql-protocol_compression_level: 5}\n",
        "ProxySQL 2.7.1 has no such variable",
        ("mysql-protocol_compression_level = 5",),
    ),
    UpgradeCase(
        "variable-gone",
        "3.0.3",
        "3.0.12",
        "variables: {pgsql-handle_warnings: 0}\n",
        "does not list it",
        ("pgsql-handle_warnings = 0",),
    ),
    UpgradeCase(
        "variable-refused",
        "3.0.9",
        "3.0.3",
        "variables: {mysql-set_parser_algorithm: 3}\n",
        "it accepts 1 to 2",
        ("mysql-set_parser_algorithm = 3",),
    ),
    UpgradeCase(
        "variable-refused",
        "3.0.3",
        "2.7.1",
        "variables: {mysql-query_digests_grouping_limit: 200}\n",
        "one signed byte",
        ("mysql-query_digests_grouping_limit = 200",),
    ),
    UpgradeCase(
        "routing-not-compared",
        "3.0.3",
        "2.7.1",
        "variables: {mysql-query_digests_grouping_limit: 200}\n",
        "queries were not routed",
        (),
    ),
    UpgradeCase(
        "default-changed",
        "2.5.5",
        "2.7.1",
        SERVERS,
        "the default changes from 5.5.30 to 8.0.11",
        ("mysql-server_version, which is not set",),
    ),
    UpgradeCase(
        "table-gone",
        "3.0.3",
        "2.7.1",
        "pgsql_servers: [{hostgroup_id: 1, hostname: pg1}]\n",
        "ProxySQL 2.7.1 has no such table",
        ("pgsql server pg1:5432 in hostgroup 1",),
    ),
    UpgradeCase(
        "column-gone",
        "3.0.9",
        "3.0.3",
        "mysql_aws_aurora_hostgroups: [{writer_hostgroup: 10, reader_hostgroup: 20,"
        " domain_name: .example.com, max_lag_ms: 20, autopurge_missing_checks: 3}]\n",
        "has no such column",
        ("aurora hostgroups 10",),
    ),
    UpgradeCase(
        "value-refused",
        "3.0.10",
        "3.0.9",
        "mysql_hostgroup_attributes: [{hostgroup_id: 10, hostgroup_settings:"
        " {default_query_timeout: 5000}}]\n",
        "ignores the key default_query_timeout",
        ("hostgroup attributes 10",),
    ),
    UpgradeCase(
        "value-refused",
        "3.0.1",
        "3.0.3",
        "pgsql_replication_hostgroups: [{writer_hostgroup: 1, reader_hostgroup: 2,"
        " check_type: super_read_only}]\n",
        "accepts only read_only",
        ("pgsql replication hostgroups 1",),
    ),
    UpgradeCase(
        "fast-routing-starts", "3.0.3", "3.0.9", ASLEEP, "skips 1 row after rule 7", ("rule 7",)
    ),
    UpgradeCase(
        "fast-routing-stops", "3.0.9", "3.0.3", ASLEEP, "skips 1 row after rule 7", ("rule 7",)
    ),
    UpgradeCase(
        "keep-alive-rule",
        "3.0.3",
        "3.0.9",
        _rule("match_digest: x, apply: true") + FAST,
        "does not need the rule",
        ("rule 8",),
    ),
    UpgradeCase(
        "pattern-changes",
        "3.0.3",
        "3.0.12",
        _rule(r"match_digest: '[\w-.]'"),
        "match_digest compiles only in PCRE",
        ("rule 7",),
    ),
    UpgradeCase(
        "pattern-changes",
        "3.0.3",
        "3.0.12",
        _rule(r"match_pattern: 'a(b)', replace_pattern: '\a\1'"),
        "PCRE2 leaves the query unchanged",
        ("rule 7",),
    ),
    UpgradeCase(
        "subnet-changes",
        "3.0.3",
        "3.0.12",
        _rule("client_addr: 10.1.0.0/16"),
        "matches no client now",
        ("rule 7",),
    ),
    UpgradeCase(
        "digest-may-change",
        "2.7.1",
        "3.0.3",
        _rule("digest: '0x0D606F0A70E52E6E'"),
        "queries that end with a comment",
        ("rule 7",),
    ),
    UpgradeCase(
        "password-rounds",
        "3.0.3",
        "3.0.8",
        f"mysql_users: [{{username: app, password: '{HASHED}', default_hostgroup: 10}}]\n",
        "hexadecimal",
        ("user app",),
    ),
    UpgradeCase(
        "blue-green-discovery",
        "3.0.3",
        "3.0.10",
        "mysql_servers: [{hostgroup_id: 10, hostname: a.b.rds.amazonaws.com}]\n",
        "the monitor adds servers",
        ("server a.b.rds.amazonaws.com:3306 in hostgroup 10",),
    ),
    UpgradeCase(
        "routing-test-fails",
        "2.7.1",
        "3.0.3",
        _rule("digest: '0x0D606F0A70E52E6E'")
        + "routing_tests: [{query: SELECT 1 -- tail, username: app, expect: {rule_id: 7}}]\n",
        "rule_id: expected 7, ProxySQL 3.0.3 gives None",
        ("SELECT 1 -- tail",),
    ),
    UpgradeCase("security-fixes", "3.0.3", "3.0.9", SERVERS, "CVE-2026-48772", ()),
    UpgradeCase("security-fixes-lost", "3.0.9", "3.0.3", SERVERS, "CVE-2026-48772", ()),
    UpgradeCase("security-fixes-missing", "2.7.1", "3.0.9", SERVERS, "eight advisories", ()),
    UpgradeCase("statistics-change", "2.7.1", "3.0.3", SERVERS, "also counts 9001", ()),
    UpgradeCase("known-defect", "2.7.1", "3.0.3", SERVERS, "answered twice", ()),
    UpgradeCase("known-defect", "3.0.12", "3.0.3", SERVERS, "answered twice", ()),
    UpgradeCase("known-defect", "3.0.8", "3.0.7", SERVERS, "rewriteBatchedStatements", ()),
    UpgradeCase("statistics-change", "3.0.3", "2.7.1", SERVERS, "their 2.x names again", ()),
    UpgradeCase("statistics-change", "3.0.6", "3.0.5", SERVERS, "lose the protocol label", ()),
    UpgradeCase(
        "password-rounds",
        "3.0.8",
        "3.0.3",
        f"mysql_users: [{{username: app, password: '{HASHED}', default_hostgroup: 10}}]\n",
        "decimal number again",
        ("user app",),
    ),
    UpgradeCase("not-proven", "3.0.3", "3.0.4", SERVERS, "run on releases up to 3.0.3", ()),
    UpgradeCase("new-in-release", "2.7.1", "3.0.3", SERVERS, "adds 6 variables", ()),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.code}-{case.before}-{case.to}")
def test_each_finding(offline: Project, case: UpgradeCase) -> None:
    offline.write(f"{HEAD}proxysql_version: {case.before}\n{case.files}")
    found = proxyctl("upgrade-check", "--to", case.to, "--format", "json")
    of_code = [finding for finding in found.json["findings"] if finding["code"] == case.code]
    fitting = [finding for finding in of_code if case.message in finding["message"]]
    assert fitting, found.out
    assert tuple(reliance["text"] for reliance in fitting[0]["relies_on"]) == case.relies_on
    assert all(
        reliance["where"].startswith("proxyctl.yaml:")
        for reliance in fitting[0]["relies_on"]
        if not (reliance["text"].endswith("is not set"))
    )
    assert found.code == (2 if found.json["decisions"] else 0)


def test_files_that_rely_on_nothing(offline: Project) -> None:
    offline.write(f"{HEAD}proxysql_version: 3.0.3\n{SERVERS}{USERS}{_rule('match_digest: x')}")
    found = proxyctl("upgrade-check", "--to", "3.0.4", "--format", "json")
    codes = [finding["code"] for finding in found.json["findings"]]
    assert codes == ["security-fixes-missing", "new-in-release", "not-proven"]
    assert (found.code, found.json["decisions"]) == (0, 0), found.out


def test_what_a_release_repairs_is_no_finding(offline: Project) -> None:
    for before, to in (("3.0.3", "3.0.6"), ("3.0.7", "3.0.8"), ("3.0.3", "2.7.1")):
        offline.write(f"{HEAD}proxysql_version: {before}\n{SERVERS}")
        found = proxyctl("upgrade-check", "--to", to, "--format", "json")
        assert "known-defect" not in _by_code(found), found.out


def test_a_mistake_of_the_files_under_the_release(offline: Project) -> None:
    offline.write(f"{HEAD}proxysql_version: 3.0.3\nmysql_firewall_whitelist_users: []\n")
    assert proxyctl("upgrade-check", "--to", "3.0.12").code == 0
    offline.write(f"{HEAD}proxysql_version: 3.0.3\npgsql_servers: []\n{SERVERS}")
    found = proxyctl("upgrade-check", "--to", "2.7.1")
    assert found.code == 2
    assert "pgsql_servers: files-refused [decision] ProxySQL 2.7.1 has no table" in found.out


def test_a_log_decides_which_digests_change(offline: Project) -> None:
    hashes = {10: "0x0D606F0A70E52E6E", 11: "0x1C46AE529DD5A40E", 12: "0x1111111111111111"}
    hinted = digest("SELECT /*+ x */ a FROM t").hexadecimal
    listed_rules = "".join(
        f"  - {{rule_id: {number}, digest: '{hashed}', destination_hostgroup: 20, apply: true}}\n"
        for number, hashed in {**hashes, 13: hinted}.items()
    )
    offline.write(
        f"{HEAD}proxysql_version: 2.7.1\n{SERVERS}{USERS}mysql_query_rules:\n{listed_rules}"
    )
    queries = ("SELECT 1 -- tail", "SELECT 1", "SELECT /*+ x */ a FROM t")
    log = write_log(offline.folder / "ev", map(line, queries))
    found = proxyctl("upgrade-check", "--to", "3.0.3", "--format", "json", "--events", log)
    by_code = _by_code(found)
    assert _texts(by_code["digest-may-change"]) == [
        "rule 10: SELECT ? tail becomes 0x1C46AE529DD5A40E",
        "rule 12: not in the log",
    ]
    assert _texts(by_code["digests-count-anew"]) == [
        "0x0D606F0A70E52E6E SELECT ? tail: 0x1C46AE529DD5A40E"
    ]
    assert "routing-changes" not in by_code  # rule 11 takes it to the same hostgroup
    later = proxyctl("upgrade-check", "--to", "3.0.6", "--format", "json", "--events", log)
    assert "rule 13: has an optimizer hint" in _texts(_by_code(later)["digest-may-change"])
    rule = _rule(f"digest: '{hinted}'")
    offline.write(f"{HEAD}proxysql_version: 2.7.1\n{SERVERS}{USERS}{rule}")
    alone = proxyctl("upgrade-check", "--to", "3.0.3", "--format", "json", "--events", log)
    assert "digest-may-change" not in _by_code(alone)


def test_logged_queries_that_go_elsewhere(offline: Project) -> None:
    rule = _rule("digest: '0x0D606F0A70E52E6E'")
    offline.write(f"{HEAD}proxysql_version: 2.7.1\n{SERVERS}{USERS}{rule}")
    log = write_log(offline.folder / "ev", map(line, ("SELECT 1 -- tail", "SELECT 2")))
    found = proxyctl("upgrade-check", "--to", "3.0.3", "--format", "json", "--events", log)
    (changed,) = _texts(_by_code(found)["routing-changes"])
    assert changed.endswith("SELECT ? tail: hostgroup 20 -> 10")


@pytest.mark.parametrize("written", ["2.7.1", "'2.7.1'", '"2.7.1"', "2.7.1  # not 2.6.1"])
def test_the_version_is_written(offline: Project, written: str) -> None:
    text = f"# é: 2.7.1\r\nproxysql_version: {written}\n{HEAD}{SERVERS}  # 2.7.1"
    offline.write(text)
    found = proxyctl("upgrade-check", "--to", "3.0.3", "--write")
    ended(found, 2, "proxyctl.yaml: proxysql_version is now 3.0.3")
    after = (offline.folder / "proxyctl.yaml").read_bytes().decode()
    changed = written.replace("2.7.1", "3.0.3", 1)
    assert after == text.replace(f"proxysql_version: {written}", f"proxysql_version: {changed}")
    _shows(proxyctl("upgrade-check", "--to", "3.0.3"), 0, "files: they are already for 3.0.3")
    unchanged = proxyctl("upgrade-check", "--to", "3.0.3", "--write")
    _shows(unchanged, 0, "they are already for 3.0.3")
    assert not unchanged.err


def test_the_version_is_not_written(offline: Project) -> None:
    def refused(text: str, code: int, *parts: str, name: str = "proxyctl.yaml") -> None:
        offline.write(text, name)
        ended(proxyctl("upgrade-check", "--to", "2.7.1", "--write", "-f", name), code, *parts)
        assert (offline.folder / name).read_text() == text

    named = f"{HEAD}proxysql_version: 3.0.3\n"
    refused(f"{named}variables: {{mysql-protocol_compression_level: 5}}\n", 3, "was not changed")
    refused(named, 1, "write 2.7.1 there by hand", name="proxyctl.yaml.j2")
    offline.write(HEAD)
    found = proxyctl("upgrade-check", "--to", "2.7.1", "--write", "--proxysql-version", "3.0.3")
    ended(found, 64, "add the line `proxysql_version: 2.7.1`")
    found = proxyctl("upgrade-check", "--to", "2.7.1", "--write", "--host", "127.0.0.1")
    ended(found, 64, "--write is for files")


# An instance --------------------------------------------------------------------------------------


def test_disk_of_an_instance(offline: Project) -> None:
    with sandbox_of(parse_version("2.7.1")) as instance:
        offline.connect(instance)
        offline.write(FILES)
        applied()
        at = _at(instance)
        instance.execute(
            "UPDATE mysql_servers SET weight=7 WHERE hostname='db2'",
            "LOAD MYSQL SERVERS TO RUNTIME",
            "INSERT INTO mysql_query_rules (rule_id, active, digest, destination_hostgroup)"
            " VALUES (99, 1, '0x0D606F0A70E52E6E', 20)",
            "SAVE MYSQL QUERY RULES TO DISK",
        )
        found = proxyctl("upgrade-check", *at, "--to", "3.0.3", "--format", "json")
        assert found.code == 2, found.text
        by_code = _by_code(found)
        assert _texts(by_code["not-saved"]) == ["server db2:3306 in hostgroup 20"]
        assert by_code["not-saved"]["subject"] == "MYSQL SERVERS"
        assert _texts(by_code["not-loaded"]) == ["rule 99"]
        assert _texts(by_code["digest-may-change"]) == ["rule 99 (in no file)"]
        assert found.json["version"].startswith("2.7.1")
        assert "listener-opens" in by_code
        for name, address in (("pgsql-interfaces", 6133), ("admin-pgsql_ifaces", 6132)):
            instance.execute(
                f"INSERT INTO disk.global_variables VALUES ('{name}', '127.0.0.1:{address}')"
            )
        again = proxyctl("upgrade-check", *at, "--to", "3.0.3", "--format", "json")
        assert "listener-opens" not in _by_code(again)


def test_the_page_ends_with_the_number_of_decisions(offline: Project) -> None:
    with sandbox_of(parse_version("3.0.3")) as instance:
        offline.connect(instance)
        found = proxyctl("upgrade-check", *_at(instance), "--to", "3.0.4")
        _shows(found, 0, "ProxySQL 3.0.3", "-> 3.0.4", "Nothing needs a decision.")
        there = proxyctl("upgrade-check", *_at(instance), "--to", "3.0.3")
        _shows(there, 0, "it already runs this release")


def test_secrets_are_not_shown(offline: Project) -> None:
    with sandbox_of(parse_version("3.0.3")) as instance:
        offline.connect(instance)
        offline.write("version: 1\nvariables: {pgsql-monitor_password: {env: APP_PASSWORD}}\n")
        applied()
        found = proxyctl("upgrade-check", *_at(instance), "--to", "2.7.1")
        _shows(found, 2, "pgsql-monitor_password = (sensitive) (proxyctl.yaml:2:13)")
        assert "s3cret" not in found.text


def test_equal_instances_are_shown_together(offline: Project, ports: list[int]) -> None:
    offline.write(FILES + listed(ports, "{name: down, host: 127.0.0.1, port: 1}"))
    found = proxyctl("upgrade-check", "--all", "--to", "3.0.12")
    _shows(found, 1, "px1, px2, px3  3 instances alike", "1 not read: down.")
    assert found.out.count("listener-opens") == 1
    document = proxyctl("upgrade-check", "--all", "--to", "3.0.12", "--format", "json").json
    assert [instance["name"] for instance in document["instances"]] == ["px1", "px2", "px3"]
    alone = proxyctl("upgrade-check", "--instance", "px2", "--to", "3.0.12", "--format", "json")
    assert alone.json == {"format": 1, **document["instances"][1]}


# Refusals, and the page ---------------------------------------------------------------------------


def test_refusals(offline: Project) -> None:
    offline.write(HEAD + SERVERS)
    ended(proxyctl("upgrade-check", "--to", "3.0.12"), 64, "write `proxysql_version: X.Y.Z`")
    ended(proxyctl("upgrade-check", "--to", "4.0.0"), 64, "the catalogue does not know")
    ended(proxyctl("upgrade-check"), 64, "--to")
    found = proxyctl("upgrade-check", "--host", "h", "--to", "3.0.3", "--proxysql-version", "2.7.1")
    ended(found, 64, "an instance reports its own version")
    given = proxyctl("upgrade-check", "--to", "3.0.3", "--proxysql-version", "2.7.1")
    _shows(given, 2, "files  ProxySQL 2.7.1 -> 3.0.3")
    at = ("--to", "3.0.3", "--proxysql-version", "2.7.1")
    ended(
        proxyctl("upgrade-check", *at, "--events", "ev", "--all"), 64, "cannot be used with --all"
    )
    found = proxyctl("upgrade-check", *at, "--events", "stats_mysql_query_events")
    ended(found, 64, "files have no such table")
    ended(proxyctl("upgrade-check", *at, "--no-digests"), 64, "files have no digests")
    offline.write(HEAD + "mysql_serverz: []\n")
    ended(proxyctl("upgrade-check", "--to", "3.0.3", "--proxysql-version", "2.7.1"), 1, "serverz")


def test_the_page_lists_every_code() -> None:
    page = (ROOT / "docs" / "reference" / "upgrade-findings.md").read_text(encoding="utf-8")
    listed_codes = re.findall(r"^\| `([\w-]+)` \| (\w+) \| (\w+) \| (.*) \|$", page, re.MULTILINE)
    assert listed_codes == [
        (code, str(kind.moment), "yes" if kind.needs_decision else "no", kind.summary)
        for code, kind in CODES.items()
    ]


def _at(instance: Instance) -> tuple[str, ...]:
    return "--host", instance.host, "--port", str(instance.port)


def _shows(found: Outcome, code: int, *parts: str) -> None:
    assert found.code == code, found.text
    for part in parts:
        assert part in found.out, found.out


def _by_code(found: Outcome) -> dict[str, Any]:
    return {finding["code"]: finding for finding in found.json["findings"]}


def _texts(finding: Any) -> list[str]:
    return [reliance["text"] for reliance in finding["relies_on"]]
