"""Lint, PX2xx: rules that no query reaches. Each check has its mistake and near misses."""

from __future__ import annotations

import pytest

from proxyctl.routing.probes import MYSQL_SAMPLES
from tests.unit.linted import digest, findings, in_file, keys_found, pattern

READS = digest("^SELECT", destination_hostgroup=2)
LOCKS = digest("^SELECT .*FOR UPDATE")
APP = {"username": "app", "default_hostgroup": 1}


SHADOWED = [
    (READS, LOCKS),
    (digest("^select"), digest("^SELECT c FROM t$")),
    (digest("FROM t1"), digest("FROM t10 ")),
    (digest("^SELECT"), digest("^SELECT", username="app")),
    (digest("^SELECT", username="app"), digest("^SELECT .*x", username="app", schemaname="s")),
    (digest("^SELECT", client_addr="10.%"), digest("^SELECT", client_addr="10.0.%")),
    (pattern("SELECT"), pattern("^SELECT", match_digest="x")),
    (digest("a|b"), digest("a|b", schemaname="s")),
    ({"username": "app", "apply": 1}, digest("x", username="app")),
    ({"digest": "0x11", "apply": 1}, digest("x", digest="0x11")),
    (digest("x", negate_match_pattern=1), digest("x", negate_match_pattern=1, proxy_port=1)),
    (digest("^SELECT", flagIN=5), digest("^SELECT .*x", flagIN=5)),
]


@pytest.mark.parametrize(("first", "second"), SHADOWED, ids=str)
def test_a_rule_behind_a_wider_one_with_apply(first, second):
    enter = {"rule_id": 1, "username": "u", "flagOUT": 5}
    rules = [enter, {**first, "rule_id": 2}, {**second, "rule_id": 3}]
    assert keys_found("PX201", *rules) == [3]
    # Not without apply, not the other way round, not in another flagIN.
    assert keys_found("PX201", enter, {**rules[1], "apply": 0}, rules[2]) == []
    assert keys_found("PX201", enter, {**second, "rule_id": 2}, {**first, "rule_id": 3}) == []
    assert keys_found("PX201", enter, {**rules[1], "flagIN": 7}, rules[2]) == []


NOT_SHADOWED = [
    (digest("^SELECT "), digest("^SELECT")),
    (digest("^SELECT", re_modifiers=""), digest("^select .*x")),
    (digest("SELECT .*FOR UPDATE"), digest("^SELECT .*FOR SHARE")),
    (digest("^SELECT", username="app"), digest("^SELECT .*x")),
    (digest("^SELECT", username="app"), digest("^SELECT .*x", username="web")),
    (digest("^SELECT", client_addr="10.0.%"), digest("^SELECT", client_addr="10.%")),
    (digest("^SELECT", digest="0x11"), digest("^SELECT .*x")),
    # A digest text and a query are two texts.
    (digest("^SELECT"), pattern("^SELECT")),
    (digest("x", negate_match_pattern=1), digest("y", negate_match_pattern=1)),
    (digest("x", negate_match_pattern=1), digest("y")),
    (digest("(x"), digest("(xy")),
    (digest("^(?!SELECT)"), digest("^UPDATE .*x")),
    (digest("a$"), digest("a$b|a")),
    (digest(r"\bt1\b"), digest("t1")),
    # `.` does not match a line break, and a query may have one.
    (pattern("^SELECT.*x"), pattern(r"^SELECT\s+x")),
]


@pytest.mark.parametrize(("first", "second"), NOT_SHADOWED, ids=str)
def test_unproven_rules_are_not_reported(first, second):
    assert keys_found("PX201", first, second) == []


TO_5 = digest("x", flagOUT=5, apply=0)
AT_5 = digest("y", flagIN=5)
LOCKS_ON = {**LOCKS, "apply": 0}
ALL = {"destination_hostgroup": 1, "apply": 1}
LAST = {"flagIN": 2147483647, "apply": 0}
WAYS = '{"flagOUTs": [{"id": 5, "weight": 1}, {"id": 6, "weight": 0}]}'
FAST_0 = {"username": "", "schemaname": "s", "flagIN": 0, "destination_hostgroup": 1}
FAST_5 = {**FAST_0, "flagIN": 5}
FAST_OF = [
    {"schemaname": "s", "flagIN": 0, "destination_hostgroup": 1, "username": name}
    for name in ("", "app", "who")
]
OF_USERS = [digest(name, username=name) for name in ("dump", "who", "app")]
USERS = [APP, {"username": "dump", "default_hostgroup": 1, "fast_forward": 1}]
ENTER, WEB = ({"rule_id": n, "flagOUT": 5, "username": u} for n, u in ((1, "app"), (15, "web")))
IN_5 = [digest("^SELECT", rule_id=10, flagIN=5), digest("^SELECT .*x", rule_id=20, flagIN=5)]
SHOWN = [pattern("SELECT a", rule_id=10), pattern("SELECT a FROM", rule_id=20)]
REWRITES = {"rule_id": 15, "match_pattern": "b", "replace_pattern": "SELECT a FROM"}

KEYS = {
    "PX201": {
        "nothing in between": ([ENTER, *IN_5], {}, [20]),
        "queries may come in between": ([ENTER, IN_5[0], WEB, IN_5[1]], {}, []),
        "texts are not rewritten": (SHOWN, {}, [20]),
        "a query may be rewritten in between": ([*SHOWN, REWRITES], {}, []),
        "without digests there is no finding": ([READS, LOCKS], {"query_digests": False}, []),
        "RE2": ([READS, LOCKS], {"query_processor_regex": 2}, [2]),
        **{f"{text} takes all": ([digest(text), READS], {}, [2]) for text in (".*", "^.*", "^")},
        "RE2 takes all": ([pattern(".*"), READS], {"query_processor_regex": 2}, [2]),
        **{
            f"{near} does not take all": ([near, READS], {}, [])
            for near in (
                digest("."),
                digest("^$"),
                {**ALL, "username": "app"},
                {**ALL, "apply": 0},
                {**ALL, "flagIN": 5},
                digest(".*", negate_match_pattern=1),
            )
        },
        "what takes all comes last": ([READS, ALL], {}, []),
        "not active": ([READS, {**READS, "active": 0}], {}, []),
    },
    "PX202": {
        "overwritten": ([LOCKS_ON, READS], {}, [1]),
        "apply": ([LOCKS, READS], {}, []),
        "the same": ([LOCKS_ON, {**READS, "destination_hostgroup": 1}], {}, []),
        "none later": ([LOCKS_ON, {**READS, "destination_hostgroup": None}], {}, []),
        "a flagOUT": ([{**LOCKS_ON, "flagOUT": 5}, READS], {}, []),
        "only some of its queries": ([READS | {"apply": 0}, LOCKS], {}, []),
        "an end in between": ([LOCKS_ON, {"match_digest": "x", "apply": 1}, READS], {}, []),
        "a way out in between": ([LOCKS_ON, {"match_digest": "x", "flagOUT": 5}, READS], {}, []),
    },
    "PX204": {
        "nothing sets it": ([AT_5], {}, [1]),
        "flagOUT": ([TO_5, AT_5], {}, []),
        "next_query_flagIN": ([digest("x", next_query_flagIN=5), AT_5], {}, []),
        "mirror_flagOUT": ([digest("x", mirror_flagOUT=5), AT_5], {}, []),
        "drawn": ([digest("x", attributes=WAYS, apply=0), AT_5, digest("y", flagIN=6)], {}, [3]),
        "set by what is not reached": (
            [digest("x", flagIN=4, flagOUT=5, apply=0), AT_5],
            {},
            [1, 2],
        ),
        "the one that keeps fast routing alive": ([LAST], {}, []),
        "fast routing": ([digest("x")], {"fast_routing": [FAST_5]}, [("", "s", 5)]),
        "fast routing behind a flagOUT": ([TO_5], {"fast_routing": [FAST_5]}, []),
        "backwards": ([AT_5, TO_5], {}, [1]),
        "backwards with iterations": ([AT_5, TO_5], {"query_processor_iterations": 1}, []),
        "one of two stands before": ([AT_5, TO_5, digest("z", flagIN=5)], {}, [1]),
        "back to 0": ([TO_5, digest("y", flagIN=5, flagOUT=0, apply=0)], {}, []),
    },
    "PX205": {
        "to nowhere": ([TO_5], {}, [1]),
        "apply": ([{**TO_5, "apply": 1}], {}, []),
        "a rule is there": ([TO_5, AT_5], {}, []),
        "fast routing is there": ([TO_5], {"fast_routing": [FAST_5]}, []),
        "to 0": ([digest("x", flagOUT=0, apply=0)], {}, []),
    },
    "PX208": {
        "fast forward, and no row": (OF_USERS, {"users": USERS}, [1, 2]),
        "users are not managed": (OF_USERS, {}, []),
        "fast routing": ([], {"fast_routing": FAST_OF, "users": [APP]}, [("who", "s", 0)]),
        "fast routing without users": ([], {"fast_routing": FAST_OF}, []),
    },
    "PX210": {
        "switched off": ([READS], {"fast_routing": [FAST_0]}, [1]),
        "no fast routing": ([READS], {}, []),
        "kept alive": ([READS, LAST], {"fast_routing": [FAST_0]}, []),
        "a rule that a LOAD drops keeps nothing alive": (
            [READS, {**LAST, "client_addr": "1%2"}],
            {"fast_routing": [FAST_0]},
            [1],
        ),
    },
}
"""For each check: what is so, the rules, what else is given, and the keys of what is found."""


@pytest.mark.parametrize(
    ("code", "case"), [(code, case) for code, cases in KEYS.items() for case in cases]
)
def test_what_is_found(code, case):
    rules, given, keys = KEYS[code][case]
    assert keys_found(code, *rules, **given) == keys


def test_lint_knows_the_version():
    rows = [{"username": "", "schemaname": "shop", "flagIN": 0, "destination_hostgroup": 2}]
    last = {"match_digest": "^INSERT", "destination_hostgroup": 1, "apply": 1}
    subnet = {"client_addr": "10.0.0.0/8", "destination_hostgroup": 1}
    group = {"match_pattern": "(a|b)+", "destination_hostgroup": 1}
    for version, is_found in (("2.7.1", True), ("3.0.3", True), ("3.0.12", False)):
        given = {"version": version}
        assert keys_found("PX210", last, fast_routing=rows, **given) == [1] * is_found
        (in_vain,) = findings("PX122", subnet, **given)
        assert in_vain[1].endswith("never matches" if is_found else "as a subnet: not verified")
        assert keys_found("PX106", group, **given) == [1] * is_found


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
    text += "mysql_query_rules_fast_routing:\n" + fast + "mysql_query_rules:\n"
    text += "".join(f"  - {{rule_id: {n}, {rule}}}\n" for n, rule in enumerate(rules, 1))
    subject = in_file(tmp_path, text)
    asked = 0
    for session in subject.reach.sessions:
        for probe in MYSQL_SAMPLES.probes:
            found = subject.reach.route(session, probe.query)
            direct = subject.router.evaluate(session.request(probe.query))
            assert (found.rule_id, found.matched_rules) == (direct.rule_id, direct.matched_rules)
            assert found.destination_hostgroup == direct.destination_hostgroup
            assert found.source is direct.source
            asked += 1
    assert asked > len(MYSQL_SAMPLES.probes) * 12
