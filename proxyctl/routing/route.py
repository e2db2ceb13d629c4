"""The answer: where a query goes, as what, and which rules said so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from proxyctl.routing.request import Digested
from proxyctl.routing.special import SET, SET_AT_HOME, Special

Settings = Mapping[str, int | str]
"""What rules and hints set, by ProxySQL's names; what nobody sets is not there."""


class Source(Enum):
    """What the destination hostgroup comes from."""

    RULE = "rule"
    FAST_ROUTING = "fast routing"
    HINT = "hint in the query's first comment"
    DEFAULT_HOSTGROUP = "default_hostgroup of the user"
    NOTHING = "nothing"
    """No rule, and a user that is not known; or a statement that ProxySQL answers by itself."""


class Loop(NamedTuple):
    """Rules that lead back to each other until mysql-query_processor_iterations runs out.

    Shape: `rule_ids` is one turn; `turns` more turns were not followed, since nothing changes.
    """

    rule_ids: tuple[int, ...]
    turns: int


@dataclass(frozen=True, slots=True)
class Route:
    """What becomes of one query."""

    destination_hostgroup: int | None
    source: Source
    rule_id: int | None
    """The rule that set the destination, where a rule did."""
    matched_rules: tuple[int, ...]
    """In the order of the matches; a rule can match twice where rules are evaluated again."""
    settings: Settings
    """cache_ttl, timeout, OK_msg and the like; hints add max_lag_ms, min_gtid and others."""
    rewritten_query: bytes | None
    """None if the text stays as it is."""
    digest: Digested | None
    """What match_digest saw; None with mysql-query_digests=false."""
    final_digest: Digested | None
    """What stats_mysql_query_digest shows: the digest of a rewritten query."""
    flagIN: int  # noqa: N815 - the column's own name
    """Where the query stood in the end; fast routing looks there."""
    special: Special | None = None
    """What ProxySQL does by itself with such a statement, before or behind the rules."""
    undecided: tuple[int, ...] = ()
    """Rules that were taken not to match, or to change nothing, since it cannot be told: for want
    of the query or of digests, or since it takes too long to follow."""
    drawn: tuple[int, ...] = ()
    """Rules that drew their flagOUT by weight: another time the query may go elsewhere."""
    loop: Loop | None = None

    @property
    def is_answered(self) -> bool:
        """Whether ProxySQL answers the client by itself. An empty message is an answer, too."""
        if "OK_msg" in self.settings or "error_msg" in self.settings:
            return True
        return self.special is not None and self.special.is_answered

    @property
    def next_flag(self) -> int | None:
        """The flagIN with which the session's next query begins; None if it stays what it is.

        ProxySQL forgets next_query_flagIN where it answers with OK_msg or error_msg, and with SET.
        """
        is_forgotten = self.is_answered or self.special in (SET, SET_AT_HOME)
        found = None if is_forgotten else self.settings.get("next_query_flagIN")
        return None if found is None else int(found)
