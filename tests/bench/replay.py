"""Speed of a replay.

50,000 digests run against 1,000 rules before and 1,000 after. No rule matches, so the replay has to
rule out all of them. Each digest has its own text, and every user its own schema: no answer can
come from a cache. Measured in processor time, without reading the digests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from proxyctl.catalog import REFERENCE
from proxyctl.proxysql.configuration import BeforeAfter, ConfigTable, Configuration
from proxyctl.routing.digest import Digester
from proxyctl.stats.model import DigestTable, SeenDigest
from proxyctl.stats.replay.result import Replay, replay
from tests.support.build import layout, rows
from tests.support.commands.measure import Line

DIGESTS = 50_000
RULES = 1_000
MOST_SECONDS = 60.0
USERS = 20

_PATTERNS: dict[str, Callable[[int], str]] = {
    "anchored": lambda number: f"^SELECT .* FROM table_{number} WHERE",
    "whole names": lambda number: f"(^|[^0-9A-Za-z_$])shard{number}($|[^0-9A-Za-z_$])",
    "look-around, which RE2 has not": lambda number: (
        f"^SELECT (?!.*FOR UPDATE).* FROM table_{number} "
    ),
    "back references, which RE2 has not": lambda number: rf"(\w+)_{number} .*\1_{number} ",
}


def digests() -> list[SeenDigest]:
    """Return digests of some 130 bytes, all different."""
    digester = Digester()
    found = []
    for number in range(DIGESTS):
        made = digester.digest(
            f"SELECT a{number}, b, c FROM some_table_{number % 5000}_x JOIN other ON a.id = b.id"
            " WHERE status = 'x' AND k IN (1,2,3) ORDER BY created LIMIT 10"
        )
        names = (f"db{number}", f"u{number % USERS}", "")
        text = made.text.decode()
        found.append(SeenDigest(1, *names, made.hexadecimal, text, 5, 1, 2, 1_000, 1, 1))
    return found


def configuration(pattern: Callable[[int], str], *, shift: int = 0) -> Configuration:
    """Return rules with a pattern each. `shift` is added to the numbers in the patterns."""
    rules = [
        {
            "rule_id": number,
            "match_digest": pattern(number + shift),
            "re_modifiers": "CASELESS",
            "destination_hostgroup": number % 20,
            "apply": 1,
        }
        for number in range(1, RULES + 1)
    ]
    users = [{"username": f"u{number}", "default_hostgroup": 1} for number in range(USERS)]
    tables = {"mysql_query_rules": rules, "mysql_users": users}
    held = {name: ConfigTable(layout(name), rows(name, *cells)) for name, cells in tables.items()}
    return Configuration(REFERENCE, held)


def lines() -> Iterator[Line]:
    """Measure each kind of pattern, with equal and with different rules on the two sides."""
    table = DigestTable("bench", "bench", str(REFERENCE), 0, digests())
    for name, pattern in _PATTERNS.items():
        for others, shift in (("the same after", 0), ("others after", RULES)):
            sides = BeforeAfter(configuration(pattern), configuration(pattern, shift=shift))
            start = time.process_time()
            report = replay(table, sides)
            seconds = time.process_time() - start
            _check(report)
            yield Line(f"replay, {name}; {others}", seconds, MOST_SECONDS, 1.0)


def _check(report: Replay) -> None:
    assert report.total.entries == report.unchanged.entries == DIGESTS
