"""Lint, PX3xx: where queries go."""

from __future__ import annotations

import pytest

from proxyctl.lint.check import all_checks
from proxyctl.routing.probes import PROBES
from tests.unit.linted import READS, SPLIT, in_file, lint

__all__ = ["lint"]

RULES = "mysql_query_rules:\n"
LOCKS = "'^SELECT.*(FOR UPDATE|FOR SHARE|LOCK IN SHARE MODE)'"
TO_WRITER = f"  - {{rule_id: 1, match_digest: {LOCKS}, destination_hostgroup: 10, apply: true}}\n"


def test_locking_reads_that_meet_the_rule_for_reads(lint):
    assert lint("PX301", SPLIT + RULES + READS) == [
        "9: sends `SELECT c FROM t WHERE id=1 FOR UPDATE` of user app to hostgroup 20 (reader);"
        " also FOR UPDATE;, FOR UPDATE NOWAIT, FOR UPDATE SKIP LOCKED, FOR SHARE and 9 more"
    ]


@pytest.mark.parametrize(
    ("pattern", "missed"),
    [
        ("match_pattern: '^SELECT.*FOR UPDATE$'", "FOR UPDATE;"),
        ("match_digest: '^SELECT.*(FOR UPDATE|FOR SHARE)'", "LOCK IN SHARE MODE"),
        ("match_digest: '^SELECT.*(FOR UPDATE|LOCK IN SHARE MODE)'", "FOR SHARE"),
        (
            "match_pattern: '^SELECT.*(FOR UPDATE|FOR SHARE|LOCK IN SHARE MODE)'",
            r"SELECT c\nFROM t\nWHERE id=1\nFOR UPDATE",
        ),
    ],
)
def test_a_rule_for_locking_reads_that_misses_some(lint, pattern, missed):
    rule = f"  - {{rule_id: 1, {pattern}, destination_hostgroup: 10, apply: true}}\n"
    (found,) = lint("PX301", SPLIT + RULES + rule + READS)
    assert found.startswith("9: sends")
    assert missed in found


def test_lower_case_counts_where_a_rule_minds_it(lint):
    exact = f"{{rule_id: 1, match_digest: {LOCKS}, re_modifiers: '', destination_hostgroup: 10"
    (found,) = lint("PX301", SPLIT + RULES + f"  - {exact}, apply: true}}\n" + READS)
    assert "select c from t where id=1 for update" in found


def test_a_rule_without_apply_decides_if_it_is_the_last(lint):
    first = "  - {rule_id: 1, match_digest: '^SELECT.*FOR UPDATE', destination_hostgroup: 10}\n"
    (found,) = lint("PX301", SPLIT + RULES + first + READS)
    assert "`SELECT c FROM t WHERE id=1 FOR UPDATE`" in found


def test_a_rule_for_one_table_is_tried_with_a_query_of_its_own(lint):
    rule = "{rule_id: 5, match_digest: '^SELECT .* FROM orders', destination_hostgroup: 20}"
    assert lint("PX301", SPLIT + RULES + f"  - {rule}\n") == [
        "5: sends `SELECT c FROM orders FOR UPDATE` of user app to hostgroup 20 (reader)"
    ]
    assert lint("PX301", SPLIT + RULES + TO_WRITER + f"  - {rule}\n") == []


def test_rules_with_one_cause_are_one_finding(lint):
    rule = "  - {rule_id: %d, match_digest: '^SELECT .* FROM %s', destination_hostgroup: 20}\n"
    rules = "".join(rule % (number, f"orders_{number}") for number in range(5, 9))
    assert lint("PX301", SPLIT + RULES + rules) == [
        "5: sends `SELECT c FROM orders_5 FOR UPDATE` of user app to hostgroup 20 (reader)"
        " (also rules 6, 7, 8)"
    ]


@pytest.mark.parametrize(
    ("pattern", "query"),
    [
        (r"^SELECT COUNT\(", "SELECT COUNT(*) FROM t FOR UPDATE"),
        ("^SELECT DISTINCT", "SELECT DISTINCT c FROM t FOR UPDATE"),
        ("^SELECT .* WHERE", "SELECT c FROM t WHERE id=1 FOR UPDATE"),
        ("^SELECT .* FROM orders WHERE", "SELECT c FROM orders WHERE id=1 FOR UPDATE"),
        ("^SELECT .* FROM orders WHERE id =", "SELECT c FROM orders WHERE id = 1 FOR UPDATE"),
        ("WHERE tenant_id = ", "SELECT c FROM t WHERE tenant_id = 1 FOR UPDATE"),
        ("^SELECT a FROM", "SELECT a FROM t FOR UPDATE"),
        (r"^\(SELECT a FROM", "(SELECT a FROM t FOR UPDATE)"),
        ("^WITH b", "WITH b AS (SELECT 1) SELECT c FROM t FOR UPDATE"),
    ],
)
def test_the_query_that_is_shown_can_be_read(lint, pattern, query):
    rule = f"{{rule_id: 5, match_digest: '{pattern}', destination_hostgroup: 20}}"
    (found,) = lint("PX301", SPLIT + RULES + f"  - {rule}\n")
    assert f"sends `{query}` of" in found


@pytest.mark.parametrize(
    ("pattern", "fix"),
    [
        ("^SELECT", "'^SELECT.*(FOR UPDATE|FOR SHARE|LOCK IN SHARE MODE)'"),
        ("^(SELECT|WITH)", r"'\b(FOR UPDATE|FOR SHARE|LOCK IN SHARE MODE)'"),
        (r"^\(SELECT", r"'\b(FOR UPDATE|FOR SHARE|LOCK IN SHARE MODE)'"),
        ("^[^IUDB]", r"'\b(FOR UPDATE|FOR SHARE|LOCK IN SHARE MODE)'"),
    ],
)
def test_the_fix_takes_the_locking_reads_that_are_reported(lint, tmp_path, pattern, fix):
    rule = (
        f"  - {{rule_id: 9, match_digest: '{pattern}', destination_hostgroup: 20, apply: true}}\n"
    )
    assert len(lint("PX301", SPLIT + RULES + rule)) == 1
    (found,) = all_checks()["PX301"].find(in_file(tmp_path, SPLIT + RULES + rule))
    assert f"match_digest {fix} to" in found.fix
    first = f"  - {{rule_id: 1, match_digest: {fix}, destination_hostgroup: 10, apply: true}}\n"
    assert lint("PX301", SPLIT + RULES + first + rule) == []


def test_a_pattern_that_came_by_a_reference_is_not_shown(lint):
    rule = "  - {rule_id: 5, match_digest: {env: APP}, destination_hostgroup: 20}\n"
    assert lint("PX301", SPLIT + RULES + rule) == lint("PX304", SPLIT + RULES + rule) == []


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"/\* ProxySQL read-only \*/", "-- ro", "user_id = 1", "USE INDEX", r"next_val\("),
        *("^SELECT @@", "^SELECT c FROM t UNION", "^SHOW"),
    ],
)
def test_nothing_is_claimed_where_no_query_can_be_seen_in_a_pattern(lint, pattern):
    rule = f"  - {{rule_id: 5, match_pattern: '{pattern}', destination_hostgroup: 20}}\n"
    assert lint("PX301", SPLIT + RULES + rule) == lint("PX304", SPLIT + RULES + rule) == []


def test_each_user_that_rules_name_is_tried(lint):
    users = "  - {username: web, password: {env: APP}, default_hostgroup: writer}\n"
    rules = "  - {rule_id: 5, username: web, match_digest: '^SELECT', destination_hostgroup: 20}\n"
    (found,) = lint("PX301", SPLIT + users + RULES + rules)
    assert "of user web to" in found


def test_each_schema_and_address_that_rules_name_is_tried(lint):
    rules = (
        "  - {rule_id: 5, schemaname: shop, match_digest: '^SELECT', destination_hostgroup: 20}\n"
        "  - {rule_id: 6, client_addr: '10.0.%', match_digest: '^SELECT',"
        " destination_hostgroup: 20}\n"
    )
    (found,) = lint("PX301", SPLIT + RULES + rules)
    assert "of user app in schema shop to" in found
    assert found.endswith("(also rule 6)")
    (found,) = lint("PX301", SPLIT + RULES + rules[rules.index("\n") + 1 :])
    assert "of user app from 10.0.0.1 to" in found


def test_a_session_behind_next_query_flagin_is_tried(lint):
    rules = (
        "  - {rule_id: 5, match_digest: '^SET', next_query_flagIN: 7}\n"
        "  - {rule_id: 6, flagIN: 7, match_digest: '^SELECT', destination_hostgroup: 20}\n"
    )
    (found,) = lint("PX301", SPLIT + RULES + rules)
    assert found.startswith("6: ")
    assert "with flagIN 7" in found


def test_the_rule_that_leads_to_fast_routing_is_the_culprit(lint):
    fast = """
mysql_query_rules_fast_routing:
  - {username: app, schemaname: shop, flagIN: 1, destination_hostgroup: 20}
  - {username: app, schemaname: shop, flagIN: 0, destination_hostgroup: 10}
"""
    rules = "  - {rule_id: 5, match_digest: '^SELECT', flagOUT: 1}\n"
    (found,) = lint("PX301", SPLIT + fast + RULES + rules)
    assert found.startswith("5: sends `SELECT c FROM t WHERE id=1 FOR UPDATE` of user app in")


def test_a_split_without_a_family_shows_by_its_writes(lint):
    text = """
mysql_users:
  - {username: app, password: {env: APP}, default_hostgroup: 1}
mysql_query_rules:
  - {rule_id: 5, match_pattern: '^SELECT.*FOR UPDATE$', destination_hostgroup: 1, apply: true}
  - {rule_id: 6, match_pattern: '^SELECT', destination_hostgroup: 2, apply: true}
"""
    (found,) = lint("PX301", text)
    assert found.startswith("6: sends `SELECT c FROM t WHERE id=1 FOR UPDATE;`")
    one_place = text.replace("default_hostgroup: 1}", "default_hostgroup: 2}")
    assert lint("PX301", one_place) == []


def test_two_names_for_the_same_servers_are_no_split(lint):
    text = """
mysql_users: [{username: app, password: {env: APP}, default_hostgroup: 1}]
mysql_servers: [{hostgroup_id: 1, hostname: db1}, {hostgroup_id: 2, hostname: db1}]
mysql_query_rules: [{rule_id: 6, match_digest: '^SELECT', destination_hostgroup: 2}]
"""
    assert lint("PX301", text) == []


def test_hostgroups_by_name_need_a_writer_beside_the_reader(lint):
    text = """
hostgroups: {%s: {id: 10}, reader: {id: 20}}
mysql_users: [{username: app, password: {env: APP}, default_hostgroup: 20}]
mysql_query_rules:
  - {rule_id: 1, match_digest: '^(INSERT|UPDATE|DELETE)', destination_hostgroup: 10, apply: true}
"""
    assert len(lint("PX304", text % "writer")) == 1
    assert lint("PX304", text % "shop") == []


def test_a_user_who_only_reads_may_go_to_a_reader(lint):
    report = "  - {username: report, password: {env: APP}, default_hostgroup: reader}\n"
    rule = "  - {rule_id: 0, username: report, destination_hostgroup: reader, apply: true}\n"
    for rules in (TO_WRITER + READS, rule + TO_WRITER + READS):
        text = SPLIT + report + RULES + rules
        assert lint("PX301", text) == lint("PX304", text) == []


def test_a_query_that_is_answered_goes_nowhere(lint):
    rule = "  - {rule_id: 1, match_digest: 'FOR UPDATE|SHARE', error_msg: no locks, apply: true}\n"
    assert lint("PX301", SPLIT + RULES + rule + READS) == []


def test_lock_functions(lint):
    (found,) = lint("PX302", SPLIT + RULES + TO_WRITER + READS)
    assert found.startswith("9: sends `SELECT GET_LOCK('nightly', 10)`")
    assert "LAST_INSERT_ID" not in found
    functions = r"GET_LOCK|RELEASE_LOCK|RELEASE_ALL_LOCKS|IS_FREE_LOCK|IS_USED_LOCK|ROW_COUNT"
    rule = f"  - {{rule_id: 1, match_digest: '({functions}) ?\\(', destination_hostgroup: 10"
    assert lint("PX302", SPLIT + RULES + rule + ", apply: true}\n" + READS) == []


@pytest.mark.parametrize("who", ["username: gone", "client_addr: '10.0.*'"])
def test_a_session_that_nobody_can_have_is_not_tried(lint, who):
    rule = f"  - {{rule_id: 5, {who}, match_digest: '^SELECT', destination_hostgroup: 20"
    assert lint("PX301", SPLIT + RULES + rule + "}\n") == []
    assert lint("PX411", SPLIT + RULES + rule + ", cache_ttl: 1000}\n") == []


def test_writes_that_an_unanchored_pattern_catches(lint):
    rule = "  - {rule_id: 1, match_digest: 'SELECT', destination_hostgroup: 20, apply: true}\n"
    (found,) = lint("PX304", SPLIT + RULES + rule)
    assert "`GRANT SELECT ON shop.* TO report`" in found
    assert "INSERT ... SELECT" in found
    assert lint("PX304", SPLIT + RULES + READS) == []


def test_writes_that_a_list_of_writes_forgets(lint):
    rules = (
        "  - {rule_id: 1, match_digest: '^(INSERT|UPDATE|DELETE)', destination_hostgroup: 10,"
        " apply: true}\n"
        "  - {rule_id: 2, destination_hostgroup: 20, apply: true}\n"
    )
    (found,) = lint("PX304", SPLIT + RULES + rules)
    assert found.startswith("2: sends `BEGIN` of user app to hostgroup 20 (reader); also REPLACE")


def test_a_reader_as_default_hostgroup_beside_a_list_of_writes(lint):
    text = SPLIT.replace("default_hostgroup: writer}", "default_hostgroup: reader}")
    listed = (
        "  - {rule_id: 1, match_digest: '^(INSERT|UPDATE|DELETE)', destination_hostgroup: 10}\n"
    )
    (found,) = lint("PX304", text + RULES + listed)
    assert found.startswith("app/1: sends `BEGIN` of user app to hostgroup 20 (reader); also")
    # Where another user's transactions begin on the writer, this one is meant to read.
    writing = "  - {username: web, password: {env: APP}, default_hostgroup: writer}\n"
    assert lint("PX304", text + writing + RULES + listed) == []


def test_transactions_that_part(lint):
    loose = SPLIT.replace("{username: app,", "{username: app, transaction_persistent: false,")
    (found,) = lint("PX307", loose + RULES + READS)
    assert found.startswith("app/1: transaction_persistent is 0")
    assert lint("PX307", SPLIT + RULES + READS) == []
    everything = "  - {rule_id: 9, destination_hostgroup: 10, apply: true}\n"
    assert lint("PX307", loose + RULES + everything) == []


def test_transactions_that_a_single_rule_parts(lint):
    loose = SPLIT.replace("{username: app,", "{username: app, transaction_persistent: false,")
    rule = "  - {rule_id: 5, %s, destination_hostgroup: 20, apply: true}\n"
    one_table = RULES + rule % "match_digest: '^SELECT a FROM b$'"
    assert lint("PX307", loose + one_table) == [
        "app/1: transaction_persistent is 0, and inside a transaction"
        " `INSERT INTO t (c) VALUES ('a')` goes to hostgroup 10 (writer), queries that match rule 5"
        " go to hostgroup 20 (reader)"
    ]
    assert lint("PX307", SPLIT + one_table) == []
    assert len(lint("PX307", loose + RULES + rule % "digest: '0xD7C9A2A3B4C5D6E6'")) == 1
    assert (
        len(lint("PX307", loose + RULES + rule % "schemaname: s, match_digest: '^SELECT a'")) == 1
    )
    # It takes the writes of that schema as well, is for somebody else, or takes nothing at all.
    assert lint("PX307", loose + RULES + rule % "schemaname: s") == []
    assert lint("PX307", loose + RULES + rule % "username: web, match_digest: '^SELECT a'") == []
    assert lint("PX307", loose + RULES + rule % "match_digest: 'a', flagIN: 7") == []
    assert lint("PX307", loose + RULES + rule % "match_digest: 'a', error_msg: never") == []
    first = "  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 10, apply: true}\n"
    shadowed = RULES + first + rule % "match_digest: '^SELECT a FROM b$'"
    assert lint("PX307", loose + shadowed) == []


def test_twins_go_where_they_would_go_by_themselves(tmp_path, monkeypatch):
    monkeypatch.setenv("APP", "sesame")
    text = "mysql_users:\n"
    rules, fast = [], ""
    for n in range(12):
        text += f"  - {{username: u{n}, password: {{env: APP}}, default_hostgroup: {n % 3}}}\n"
        who = f"username: u{n}" if n % 4 else f"schemaname: s{n}"
        lock = f"match_digest: 'FOR UPDATE{'$' * (n % 2)}', destination_hostgroup: {50 + n}"
        rules += [f"{who}, {lock}, apply: true"] * (n % 5 > 0)
        rules += [f"{who}, match_digest: '^SELECT', destination_hostgroup: {70 + n}, flagOUT: 1"]
        rules += ["match_digest: '^INSERT', destination_hostgroup: 90"] * (n == 6)
        fast += f"  - {{username: u{n}, schemaname: s{n}, flagIN: 1, destination_hostgroup: {n}}}\n"
    text += "mysql_query_rules_fast_routing:\n" + fast + RULES
    text += "".join(f"  - {{rule_id: {n}, {rule}}}\n" for n, rule in enumerate(rules, 1))
    subject = in_file(tmp_path, text)
    asked = 0
    for session in subject.reach.sessions:
        for probe in PROBES:
            found = subject.reach.route(session, probe.query)
            direct = subject.router.evaluate(session.request(probe.query))
            assert (found.rule_id, found.matched_rules) == (direct.rule_id, direct.matched_rules)
            assert found.destination_hostgroup == direct.destination_hostgroup
            assert found.source is direct.source
            asked += 1
    assert asked > len(PROBES) * 12
