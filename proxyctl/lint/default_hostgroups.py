"""What the rules leave to the default hostgroups of users."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice

from proxyctl.cells import number
from proxyctl.configuration import Configuration
from proxyctl.lint.effects_samples import samples
from proxyctl.lint.rules_in_play import that_may_match
from proxyctl.lint.sample_queries import READS, WRITES
from proxyctl.lint.subject import RULES
from proxyctl.lint.users_taken import taken_users
from proxyctl.routing import Request, Router, Source
from proxyctl.routing.of_configuration import router_of

_OTHERS = (
    "SHOW TABLES",
    "BEGIN",
    "START TRANSACTION READ ONLY",
    "CALL close_month(7)",
    "CREATE TABLE t (id INT)",
    "ALTER TABLE t ADD c INT",
    "TRUNCATE TABLE t",
    "LOCK TABLES t READ",
    "EXPLAIN SELECT c FROM t",
    "DO 1",
)
_ADDRESS = "192.0.2.1"
"""One that is kept for documentation: no rule is meant for it."""
_MOST_USERS = 100
_MOST_PATTERNS = 20
_MOST_FLAGS = 10


class Left(Enum):
    """What comes to the default hostgroup of a user."""

    QUERIES = "queries that no rule takes"
    PERHAPS = "rules take each sample query, but maybe not each SET"
    NOTHING = "rules answer each query"


def left_to_defaults(
    configuration: Configuration, usernames: Collection[str]
) -> Mapping[str, Left]:
    """Return what comes to the default hostgroup of each of these users, without fast_forward.

    QUERIES where a sample query is known to get there, or nobody looked, of very many users.
    Raises: as `Subject.router`.
    """
    found = dict.fromkeys(usernames, Left.QUERIES)
    taken = taken_users(configuration, usernames)
    for username, is_answered in taken.items():
        found[username] = Left.NOTHING if is_answered else Left.PERHAPS
    rest = sorted(found.keys() - taken.keys())[:_MOST_USERS]
    if rest:
        queries = [*READS, *WRITES, *_OTHERS, *_of_patterns(configuration)]
        router = router_of(that_may_match(configuration, queries))
        found |= {one: Left.PERHAPS for one in rest if not _is_left_any(router, one, queries)}
    return found


def _of_patterns(configuration: Configuration) -> Iterator[str]:
    """Yield queries for patterns of rules that may leave what matches: negated, or without a say.

    Shape: ASCII, of the first few rules.
    """
    held = configuration.tables.get(RULES)
    if held is None:
        return
    names = ("match_digest", "match_pattern", "negate_match_pattern", "destination_hostgroup")
    rows = zip(*(held.column(name) for name in names), strict=True)
    patterns = (
        str(pattern)
        for digest, query, is_negated, destination in rows
        for pattern in (digest, query)
        if pattern is not None and (number(is_negated) == 1 or destination is None)
    )
    for pattern in islice(patterns, _MOST_PATTERNS):
        found = samples(pattern, limit=2, fill=" c ")
        # No query is without a letter.
        whole = (t if re.search("[A-Za-z]", t) else f"SELECT {t}c" for t in found if t.isascii())
        yield from whole


def _is_left_any(router: Router, username: str, queries: Sequence[str]) -> bool:
    """Return whether a query of the user gets to no rule that says where it goes.

    Also a later one of a session, where one before it sets a next_query_flagIN.
    """
    flags = [0]
    for flag in flags:
        for query in queries:
            asked = Request(query.encode(), username, client_addr=_ADDRESS, flagIN=flag)
            route = router.evaluate(asked)
            is_left = route.source in (Source.DEFAULT_HOSTGROUP, Source.NOTHING)
            if is_left and route.special is None and not route.is_answered:
                return True
            after = route.next_flag
            if after is not None and after not in flags and len(flags) < _MOST_FLAGS:
                flags.append(after)  # and the loop goes on with it
    return False
