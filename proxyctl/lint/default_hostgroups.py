"""What the rules leave to the default hostgroups of users."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum

from proxyctl.configuration import Configuration
from proxyctl.lint.answers_to_samples import READS, WRITES
from proxyctl.lint.rules_in_play import that_may_match
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
_QUERIES = (*READS, *WRITES, *_OTHERS)
_ADDRESS = "192.0.2.1"
"""One that is kept for documentation: no rule is meant for it."""
_MOST_USERS = 100


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
        router = router_of(that_may_match(configuration, _QUERIES))
        found |= {one: Left.PERHAPS for one in rest if not _is_left_any(router, one)}
    return found


def _is_left_any(router: Router, username: str) -> bool:
    """Return whether a sample query of the user gets to no rule that says where it goes."""
    for query in _QUERIES:
        route = router.evaluate(Request(query.encode(), username, client_addr=_ADDRESS))
        is_left = route.source in (Source.DEFAULT_HOSTGROUP, Source.NOTHING)
        if is_left and route.special is None and not route.is_answered:
            return True
    return False
