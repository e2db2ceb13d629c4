"""The rules that digests lead to, and those that are not proposed."""

from __future__ import annotations

import pytest

from proxyctl.routing.digest import Digester
from proxyctl.routing.probes import MYSQL_SAMPLES, QueryKind
from proxyctl.stats.suggest.kind import SuggestionKind
from proxyctl.stats.suggest.reads import find_readers
from proxyctl.stats.suggest.run import suggest
from proxyctl.stats.suggest.texts import is_cacheable, is_plain_read, tables_in
from tests.unit.suggest_inputs import APP, configuration, digest, rule, table


def found(seen, given, kind, **options):
    result = suggest(table(*seen), given, only=[kind], **options)
    return result.suggestions, result.notes


READ = "SELECT a FROM t WHERE id = 1"
SMALL = "SELECT code FROM countries"


def test_a_read_of_the_default_hostgroup_gets_a_rule_behind_all():
    seen = [digest(READ), digest("UPDATE t SET a = 1")]
    result = suggest(table(*seen), configuration(rule(30, "^INSERT")), only=[SuggestionKind.READS])
    (one,) = result.suggestions
    proposed = one.rule
    assert proposed["rule_id"] == 40
    assert proposed["destination_hostgroup"] == 20
    assert "replayed together on 2 entries" in result.proof


def test_without_a_gap_the_rule_moves_up():
    given = configuration(rule(5, "^X"), rule(9, "FOR UPDATE"), rule(10, "^SELECT"))
    (one,), _ = found([digest(READ)], given, SuggestionKind.READS)
    assert 5 < one.rule["rule_id"] < 9


def test_a_rule_that_may_block_keeps_its_say():
    blocks = {"rule_id": 10, "match_pattern": "secret", "error_msg": "no", "apply": 1}
    (one,), _ = found(
        [digest(READ)], configuration(blocks, rule(20, "^SELECT")), SuggestionKind.READS
    )
    assert 10 < one.rule["rule_id"] < 20


def test_without_a_known_reader_only_the_reason_is_shown():
    some, notes = found([digest(READ)], configuration(family=()), SuggestionKind.READS)
    assert some == []
    assert "no reader hostgroup is known" in notes[0]


def test_readers_by_name_have_to_be_a_pair():
    names = {10: "shop-writer", 20: "shop-reader", 30: "reports", 40: "crm-reader"}
    given = configuration(family=(), names=names)
    assert find_readers(given) == {10: 20}


@pytest.mark.parametrize("drained", [{"status": "OFFLINE_SOFT"}, {"max_connections": 0}])
def test_a_reader_without_servers(drained: dict[str, object]):
    servers = ({"hostgroup_id": 20, "hostname": "b", **drained},)
    some, notes = found([digest(READ)], configuration(servers=servers), SuggestionKind.READS)
    assert some == []
    assert "has no server that is up" in notes[0]


def test_a_cache_rule_has_no_apply_and_precedes_the_rule_that_decides():
    seen = [digest(SMALL, calls=10_000)]
    (one,), _ = found(seen, configuration(rule(20, "^SELECT")), SuggestionKind.CACHE)
    proposed = one.rule
    assert proposed["rule_id"] < 20
    assert "apply" not in proposed
    assert one.evidence["saved_calls"] == 10_000 - 200


def peers(count=8):
    return [digest(f"SELECT c{'x' * n} FROM t WHERE id = 1", average=900 + n) for n in range(count)]


def test_an_average_far_above_the_peers_of_its_hostgroup():
    slow = digest("SELECT a FROM t WHERE note = 'x'", average=80_000)
    (one,), _ = found([*peers(), slow], configuration(), SuggestionKind.SLOW)
    assert one.digest == slow.digest
    assert one.evidence["peers"] == 8
    assert one.evidence["median_of_peers_us"] == pytest.approx(904, abs=1)


def test_a_slow_query_without_peers_is_named():
    for count in (4, 5):
        _, notes = found([*peers(count), SLOW], configuration(), SuggestionKind.SLOW)
        named = [note for note in notes if note.startswith("slow: hostgroup 10 is not judged")]
        assert bool(named) == (count == 4)
        assert all(f"is {SLOW.digest}, 80.0 ms on average: SELECT a" in note for note in named)


def test_of_queries_that_are_fast_enough_nothing_is_said():
    assert found(peers(3), configuration(), SuggestionKind.SLOW) == ([], [])


def test_undecided_digests_do_not_prevent_a_rule():
    rewrites = rule(5, None, None, match_pattern="x", replace_pattern="DISTINCT y", apply=0)
    other_options = digest("SELECT 2 FROM t", digest_text="SELECT 2 FROM t", calls=1)
    seen = [digest(READ), other_options]
    result = suggest(
        table(*seen), configuration(rewrites, rule(20, "^SELECT")), only=[SuggestionKind.READS]
    )
    (one,) = result.suggestions
    assert one.rule
    assert "1 digest with an uncertain text" in result.proof
    assert result.notes[0].startswith("rule 5: replace_pattern rewrites queries")


def test_last_rules_and_fast_routing():
    fast = ({"username": "app", "schemaname": "crm", "flagIN": 0, "destination_hostgroup": 50},)
    given = configuration(fast=fast)
    crm = digest("SELECT x FROM y", schemaname="crm", hostgroup=50)
    (one,), notes = found([digest(READ), crm], given, SuggestionKind.READS)
    # A last rule with apply would end fast routing for everybody.
    assert one.rule is None
    assert "no rule is proposed: 1 digest would change" in notes


def test_the_rules_are_checked_on_the_entries_with_most_time():
    """The sums cover all entries; a replay covers the checked entries only."""
    few = [digest(f"SELECT a FROM t{n} WHERE b = 1", calls=n, average=1) for n in range(1, 40)]
    big = [
        digest("SELECT code FROM countries", calls=900),
        digest("SELECT name FROM cities", calls=900),
    ]
    result = suggest(table(*few, *big), configuration(), only=[SuggestionKind.READS], most_rows=2)
    assert [suggestion.evidence["calls"] for suggestion in result.suggestions] == [900, 900]
    assert "replayed together on 2 entries" in result.proof
    assert result.notes == [
        "the rules are checked on 2 of 41 entries, those with the most time: 69.8% of all queries."
        " The other entries are included in the sums and may include more reads on a writer",
    ]


ALL = rule(20, "^SELECT")
ELSEWHERE = {"rule_id": 10, "match_pattern": "x", "destination_hostgroup": 7, "apply": 1}
TEMPORARY = digest("CREATE TEMPORARY TABLE IF NOT EXISTS t (a INT)", calls=1)
CUT = digest(READ, digest_text="SELECT a FROM t WHERE " + "x" * 3_000)
WRITES = digest("UPDATE countries SET code = 1", calls=2_000, rows_sent=0)
SLOW = digest("SELECT a FROM t WHERE note = 'x'", average=80_000)
NO_PLAIN_READS = (
    "SELECT a FROM t FOR UPDATE", "SELECT a FROM t LOCK IN SHARE MODE",
    "SELECT GET_LOCK('a', 1) FROM t", "SELECT @a FROM t", "SELECT next_number('a') FROM t",
    "SELECT a FROM t INTO OUTFILE '/x'", "SELECT NEXT VALUE FOR s", "SELECT s.nextval",
    "SELECT user FROM mysql.user", "SELECT id FROM `information_schema`.`processlist`",
    "SELECT SQL_CALC_FOUND_ROWS a FROM t", "UPDATE t SET a = 1", "SHOW TABLES",
)  # fmt: skip
NOTHING = {
    **{
        f"{query} is no plain read": (
            SuggestionKind.READS,
            [digest(query)],
            configuration(rule(20, "^(SELECT|UPDATE|SHOW)")),
        )
        for query in NO_PLAIN_READS
    },
    "a rule may send it elsewhere": (
        SuggestionKind.READS,
        [digest(READ)],
        configuration(ELSEWHERE, ALL),
    ),
    "what rules send elsewhere was in a transaction": (
        SuggestionKind.READS,
        [digest(READ)],
        configuration(rule(20, "^SELECT", 20)),
    ),
    "rules tear the transactions of the user apart": (
        SuggestionKind.READS,
        [digest(READ)],
        configuration(ALL, users=({**APP, "transaction_persistent": 0},)),
    ),
    "a read of a table of the connection alone": (
        SuggestionKind.READS,
        [digest(READ), TEMPORARY],
        configuration(ALL),
    ),
    "a cached read of such a table": (
        SuggestionKind.CACHE,
        [digest(READ, calls=10_000), TEMPORARY],
        configuration(ALL),
    ),
    "a digest that was cut": (SuggestionKind.READS, [CUT], configuration(ALL)),
    **{
        f"not worth caching: {query} {more}": (
            SuggestionKind.CACHE,
            [digest(query, calls=10_000, **more), digest("SELECT b FROM u", calls=10)],
            configuration(ALL),
        )
        for query, more in (
            ("SELECT NOW() FROM t", {}),
            ("SELECT CURRENT_DATE FROM t", {}),
            ("SELECT a FROM t ORDER BY RAND()", {}),
            (SMALL, {"rows_sent": 5_000}),
            (SMALL, {"rows_sent": 0.0}),
            (SMALL, {"first_seen": -1_000_000}),
        )
    },
    "a table that is written much": (
        SuggestionKind.CACHE,
        [digest(SMALL, calls=10_000), WRITES],
        configuration(ALL),
    ),
    "what a rule caches already": (
        SuggestionKind.CACHE,
        [digest(SMALL, calls=10_000)],
        configuration(rule(20, "^SELECT", cache_ttl=500)),
    ),
    "too few peers to be slow": (SuggestionKind.SLOW, [*peers(3), SLOW], configuration()),
    "too few calls to be slow": (
        SuggestionKind.SLOW,
        [*peers(), SLOW._replace(count_star=2, sum_time=160_000)],
        configuration(),
    ),
}


@pytest.mark.parametrize("case", NOTHING)
def test_what_gets_no_suggestion(case):
    kind, seen, given = NOTHING[case]
    assert found(seen, given, kind)[0] == []


def text_of(query):
    return Digester().digest(query.encode()).text.decode()


@pytest.mark.parametrize("probe", MYSQL_SAMPLES.probes, ids=lambda probe: probe.name)
def test_what_lint_keeps_off_readers_is_kept_off_them_here(probe):
    assert is_plain_read(text_of(probe.query)) == (probe.kind is QueryKind.READ)


@pytest.mark.parametrize(
    "probe", [*MYSQL_SAMPLES.changing, *MYSQL_SAMPLES.locking], ids=lambda probe: probe.name
)
def test_what_lint_keeps_off_the_cache_is_kept_off_it_here(probe):
    assert not is_cacheable(text_of(probe.query))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*), MAX(a) FROM t WHERE id IN (1, 2) AND (b = 1 OR c = 2)",
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)",
        "SELECT IFNULL(a, 0) FROM t JOIN u USING (id) GROUP BY a HAVING COUNT(*) > 1",
        "select a, b from (select 1 as a, 2 as b) x",
    ],
)
def test_plain_reads(query):
    assert is_plain_read(text_of(query))
    assert is_cacheable(text_of(query))


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("SELECT a FROM t", ("t",)),
        ("SELECT a FROM `Shop`.`Orders` o JOIN users u ON u.id = o.id", ("orders", "users")),
        ("SELECT a FROM t1 a, t2 b WHERE a.id = b.id", ("t1", "t2")),
        ("UPDATE t SET a = 1", ("t",)),
        ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE c = 2", ("t",)),
        ("DELETE FROM t WHERE id IN (SELECT id FROM u)", ("t", "u")),
        ("SELECT a FROM t FOR UPDATE", ("t",)),
        ("SELECT 1", ()),
    ],
)
def test_tables(query, tables):
    assert tables_in(text_of(query)) == tables
