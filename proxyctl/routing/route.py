"""A query goes in, and a route comes out: where it goes, as what, and which rules said so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, Protocol

from proxyctl.routing.special import SET, SET_AT_HOME, Special


class Digested(Protocol):
    """What ProxySQL makes of a query before it looks at rules, as `routing.digest` computes it."""

    @property
    def text(self) -> bytes:
        """What match_digest sees."""

    @property
    def number(self) -> int:
        """What the column `digest` is compared with."""

    @property
    def comment(self) -> bytes | None:
        """The first block comment, where hints stand."""

    @property
    def certain(self) -> bool:
        """Whether ProxySQL makes the same text of it each time."""


DigestOf = Callable[[bytes], Digested]


@dataclass(frozen=True, slots=True)
class Request:
    """A query as its bytes arrive, in a session.

    None is "not known": a rule that asks for it does not match. But for schemaname, where it means
    that the client chose none, so that the user's or mysql-default_schema is in force. `query` None
    leaves rules with match_pattern undecided; `digest` has to be given then.
    """

    query: bytes | None
    username: str | None = None
    schemaname: str | None = None
    client_addr: str | None = None
    proxy_addr: str | None = None
    proxy_port: int | None = None
    flagIN: int = 0  # noqa: N815 - the column's own name
    """Where the session stands: what next_query_flagIN of an earlier query left."""
    digest: Digested | None = None
    """The digest where it is known; else it is computed from the query."""
    rewrites: bool = True
    """False for COM_STMT_EXECUTE: the text is that of the prepared statement, and stays."""


# What comes out ----------------------------------------------------------------------------------

Settings = Mapping[str, int | str]
"""What rules and hints set, by ProxySQL's names; what nobody sets is not there."""

NO_SETTINGS: Settings = MappingProxyType({})


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
    digest: Digested | None
    """What match_digest saw; None with mysql-query_digests=false."""
    final_digest: Digested | None
    """What stats_mysql_query_digest shows: the digest of a rewritten query."""
    flagIN: int  # noqa: N815 - the column's own name
    """Where the query stood in the end; fast routing looks there."""
    rule_id: int | None = None
    """The rule that set the destination, where a rule did."""
    matched_rules: tuple[int, ...] = ()
    """In the order of the matches; a rule can match twice where rules are evaluated again."""
    settings: Settings = field(default_factory=dict)
    """cache_ttl, timeout, OK_msg and the like; hints add max_lag_ms, min_gtid and others."""
    rewritten_query: bytes | None = None
    """None if the text stays as it is."""
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


class Outcome(NamedTuple):
    """One of the routes that chance can take, and how likely it is."""

    route: Route
    probability: float


# How a route came about -------------------------------------------------------------------------


class Reason(Enum):
    """The first criterion that fails, in the order of ProxySQL."""

    FLAG_IN = "the query has another flagIN"
    USERNAME = "only for username"
    SCHEMANAME = "only for schemaname"
    CLIENT_ADDR = "only for client_addr"
    PROXY_ADDR = "only for proxy_addr"
    PROXY_PORT = "only for proxy_port"
    DIGEST = "only for digest"
    UNKNOWN_DIGEST = "digest unknown: digests are off"
    MATCH_DIGEST = "match_digest does not match the digest text"
    NOT_MATCH_DIGEST = "match_digest matches the digest text, and the rule is negated"
    MATCH_PATTERN = "match_pattern does not match the query"
    NOT_MATCH_PATTERN = "match_pattern matches the query, and the rule is negated"
    UNKNOWN_QUERY = "match_pattern unknown: only the digest of the query is known"
    NOT_REACHED = "an earlier rule with apply ended the evaluation"


class FastRoutingUse(Enum):
    """What became of fast routing."""

    FOUND = "a fast-routing row decided"
    NO_ROW = "no fast-routing row matches"
    APPLIED = "a rule with apply matched: fast routing is skipped"
    SHUT_OFF = (
        "the last rule has apply, and ProxySQL then skips fast routing although it did not match"
    )
    NOT_ASKED = "rules were not evaluated"


@dataclass(frozen=True, slots=True)
class Step:
    """A rule that was looked at.

    Shape: `reason` None means that it matched, and only then the fields below it say something.
    """

    rule_id: int
    reason: Reason | None
    flag: int
    """Where the query stood: only rules with this flagIN are tried."""
    broken: Mapping[str, str]
    """What is wrong with a pattern that does not compile, by column."""
    unverified: tuple[str, ...]
    """The columns whose pattern has unusual syntax: ProxySQL's engine may read it otherwise."""
    sets: Mapping[str, int | str]
    """What the rule set, destination_hostgroup as well."""
    flag_after: int
    rewritten: bytes | None = None
    """The text behind this rule, if it has a replace_pattern; it may be what it was."""
    applied: bool = False
    started_again: bool = False
    """Whether the evaluation went back to the first rule."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A route, and how it came about.

    Shape: `steps` hold each rule that ProxySQL looked at, one more than once where rules are
    evaluated again, and behind a rule with apply those that were not reached.
    """

    route: Route
    steps: tuple[Step, ...]
    fast_routing: FastRoutingUse
    fast_key: tuple[str, str, int] | None
    """The row of fast routing that decided."""
    hints: Mapping[str, int | str]
    """What the first comment set."""
