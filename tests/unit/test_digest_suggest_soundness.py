"""Random rules and digests: proposals work as announced, alone and together."""

from __future__ import annotations

from random import Random

import pytest

from proxyctl.proxysql.configuration import BeforeAfter
from proxyctl.stats.replay.comparison import Comparison
from proxyctl.stats.replay.result import replay
from proxyctl.stats.suggest.context import with_rules
from proxyctl.stats.suggest.kind import SuggestionKind
from proxyctl.stats.suggest.run import suggest
from tests.support.parameters import some
from tests.unit.suggest_inputs import APP, configuration, digest, rule, table

_QUERIES = [
    *(f"SELECT c{i} FROM t{j} WHERE id = 1" for i in range(4) for j in range(3)),
    *(f"UPDATE t{j} SET a = 1" for j in range(3)),
    "SELECT a FROM t1 FOR UPDATE",
    "SELECT x FROM countries",
]
_PATTERNS = ["^SELECT", "^SELECT c1", "t1", "^UPDATE", "FOR UPDATE", "^SELECT c[0-2]"]
_FAST = {"username": "app", "schemaname": "crm", "flagIN": 0, "destination_hostgroup": 50}


def _configuration(random):
    rules, rule_id = [], 0
    for _ in range(random.randrange(8)):
        rule_id += random.choice((1, 2, 10))
        hostgroup = random.choice((10, 10, 10, 20, 50))
        cells = rule(rule_id, random.choice(_PATTERNS), hostgroup, apply=random.choice((0, 1, 1)))
        for column, values, chance in (
            ("flagOUT", (1, 2), 0.15),
            ("flagIN", (1, 2), 0.2),
            ("cache_ttl", (100,), 0.15),
            ("username", ("app", "web"), 0.15),
        ):
            if random.random() < chance:
                cells[column] = random.choice(values)
        if random.random() < 0.1:
            cells |= {"match_pattern": "secret", "error_msg": "no"}
        rules.append(cells)
    fast = () if random.random() < 0.7 else (_FAST,)
    return configuration(*rules, users=(APP, {**APP, "username": "web"}), fast=fast)


def _seen(random):
    found = {}
    for query in _QUERIES * 2:
        one = digest(
            query,
            calls=random.randrange(50, 9_000),
            hostgroup=random.choice((10, 10, 10, 20, 50)),
            username=random.choice(("app", "web")),
            schemaname=random.choice(("shop", "crm")),
        )
        found[(one.digest, one.username, one.schemaname, one.hostgroup)] = one
    return table(*found.values())


@pytest.mark.parametrize("seed", some(range(40), every=4))
def test_what_is_proposed_holds_alone_and_together(seed):
    random = Random(seed)
    given, seen = _configuration(random), _seen(random)
    proposed = [
        suggestion
        for suggestion in suggest(seen, given, limit=1_000).suggestions
        if suggestion.rule
    ]
    for suggestion in proposed:
        sides = BeforeAfter(given, with_rules(given, [suggestion.rule]))
        report = replay(seen, sides, limit=1_000)
        changed = {entry.seen.digest for entry in report.entries}
        assert changed == {suggestion.digest}
    ids = [suggestion.rule["rule_id"] for suggestion in proposed]
    assert len(ids) == len(set(ids))
    together = with_rules(given, [suggestion.rule for suggestion in proposed])
    before, after = (
        Comparison(BeforeAfter(configured, configured), {}) for configured in (given, together)
    )
    for suggestion in proposed:
        wanted = 20 if suggestion.kind is SuggestionKind.READS else 1_000
        for row in seen.rows:
            if row.digest != suggestion.digest:
                continue
            now = [way for way in before.verdict(row).before if way.answer is None]
            then = [way for way in after.verdict(row).before if way.answer is None]
            if suggestion.kind is SuggestionKind.CACHE:
                assert {way.cache_ttl for way in then} == {wanted}
            elif {way.hostgroup for way in now} == {suggestion.evidence["writer_hostgroup"]}:
                assert {way.hostgroup for way in then} == {wanted}
