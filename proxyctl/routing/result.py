"""What comes out of routing: a route, or its explanation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from proxyctl.routing.query import Digested
from proxyctl.routing.special import Reply, Special
from proxyctl.rows.row import SecretBytes

Settings = Mapping[str, int | str]
"""The values that rules and hints set, by ProxySQL's names; unset names are absent."""

NO_SETTINGS: Settings = MappingProxyType({})


class HostgroupOrigin(Enum):
    """The origin of the destination hostgroup."""

    RULE = "rule"
    FAST_ROUTING = "fast routing"
    HINT = "hint in the query's first comment"
    DEFAULT_HOSTGROUP = "default_hostgroup of the user"
    NOTHING = "nothing"
    """No rule and an unknown user, or a statement that ProxySQL answers by itself."""


class Loop(NamedTuple):
    """Rules that lead back to each other until mysql-query_processor_iterations runs out."""

    rule_ids: tuple[int, ...]
    """The rules of one turn."""
    turns: int
    """The number of equal turns that were skipped."""


@dataclass(frozen=True, slots=True)
class Route:
    """The route of one query."""

    destination_hostgroup: int | None
    """Where rules, hints and the user send it, even if ProxySQL answers by itself."""
    source: HostgroupOrigin
    """What decided the hostgroup: a rule, fast routing, a hint or the user."""
    digest: Digested | None
    """The digest that match_digest saw; None with mysql-query_digests=false."""
    final_digest: Digested | None
    """The digest in stats_mysql_query_digest: of the rewritten query."""
    flagIN: int  # noqa: N815 - the column's own name
    """The last flagIN of the query, which fast routing uses."""
    rule_id: int | None = None
    """The rule that set the destination, if a rule did."""
    matched_rules: tuple[int, ...] = ()
    """In the order of the matches; a rule can match twice if rules are evaluated again."""
    settings: Settings = field(default_factory=dict)
    """cache_ttl, timeout, OK_msg and the like; hints add max_lag_ms, min_gtid and others."""
    rewritten_query: bytes | None = None
    """None if no rule changes the text."""
    special: Special | None = None
    """What ProxySQL does by itself with the statement, before or after the rules.

    A message of a rule leaves nothing to do afterwards.
    """
    undecided: tuple[int, ...] = ()
    """Rules that are assumed not to match, or to change nothing: the query or its digest is not
    known, or the evaluation takes too long."""
    drawn: tuple[int, ...] = ()
    """Rules that drew their flagOUT by weight: the next time the query may go elsewhere."""
    loop: Loop | None = None
    """The rules that send the query round in a circle, if any."""

    @property
    def is_text_secret(self) -> bool:
        """Whether the rewritten query, and so its digest text, has a text from a reference."""
        return isinstance(self.rewritten_query, SecretBytes)

    @property
    def reply(self) -> Reply | None:
        """What ProxySQL answers instead of a server; None: a server gets the query.

        An empty message is an answer too.
        """
        if "OK_msg" in self.settings:
            return Reply.OK
        if "error_msg" in self.settings:
            return Reply.ERROR
        return None if self.special is None else self.special.reply

    @property
    def is_answered(self) -> bool:
        """Whether ProxySQL surely answers the client by itself."""
        return self.reply not in (None, Reply.UNKNOWN)

    @property
    def next_flag(self) -> int | None:
        """The flagIN with which the session's next query begins; None if it stays the same.

        ProxySQL forgets next_query_flagIN if it answers with OK_msg or error_msg, and after SET.
        """
        is_forgotten = self.is_answered or (self.special is not None and self.special.is_set)
        flag = None if is_forgotten else self.settings.get("next_query_flagIN")
        return None if flag is None else int(flag)


class PossibleRoute(NamedTuple):
    """One of the routes that weighted flagOUTs allow, and its probability."""

    route: Route
    probability: float


# The explanation of a route ----------------------------------------------------------------------


class Reason(Enum):
    """The first criterion that fails, in the order of ProxySQL."""

    FLAG_IN = "the query has a different flagIN"
    USERNAME = "only for username"
    SCHEMANAME = "only for schemaname"
    CLIENT_ADDR = "only for client_addr"
    PROXY_ADDR = "only for proxy_addr"
    PROXY_PORT = "only for proxy_port"
    DIGEST = "only for digest"
    UNKNOWN_DIGEST = "digest unknown: digests are off"
    MATCH_DIGEST = "match_digest does not match the digest text"
    NOT_MATCH_DIGEST = "match_digest matches the digest text, but the rule is negated"
    MATCH_PATTERN = "match_pattern does not match the query"
    NOT_MATCH_PATTERN = "match_pattern matches the query, but the rule is negated"
    UNKNOWN_QUERY = "match_pattern unknown: only the digest of the query is known"
    NOT_REACHED = "an earlier rule with apply ended the evaluation"


class FastRoutingUse(Enum):
    """How fast routing took part."""

    FOUND = "a fast-routing row decided"
    NO_ROW = "no fast-routing row matches"
    APPLIED = "a rule with apply matched: fast routing is skipped"
    SHUT_OFF = "skipped: the last rule has apply, even though it did not match"
    NOT_ASKED = "rules were not evaluated"


@dataclass(frozen=True, slots=True)
class Step:
    """A rule that was tried."""

    rule_id: int
    """The rule."""
    reason: Reason | None
    """The first criterion that fails; None: the rule matched."""
    flag: int
    """The flagIN of the query: only rules with this flagIN can match."""
    broken: Mapping[str, str]
    """Why a pattern does not compile, by column."""
    unverified: tuple[str, ...]
    """The columns whose pattern has unusual syntax: ProxySQL's engine may read it differently."""
    sets: Mapping[str, int | str]
    """The values that the rule set, with destination_hostgroup. This field and those below it have
    a meaning only if the rule matched."""
    flag_after: int
    """The flagIN of the query after the rule."""
    rewritten: bytes | None = None
    """The text after a rule with a replace_pattern, even if it did not change."""
    applied: bool = False
    """Whether the rule has apply, which ends the evaluation."""
    started_again: bool = False
    """Whether the evaluation went back to the first rule."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A route and its explanation."""

    route: Route
    """The route."""
    steps: tuple[Step, ...]
    """Each rule that ProxySQL tried, again for each time it is evaluated again; after a rule with
    apply, also the rules that were not reached."""
    fast_routing: FastRoutingUse
    """How fast routing took part."""
    fast_key: tuple[str, str, int] | None
    """The row of fast routing that decided."""
    hints: Mapping[str, int | str]
    """The values that the first comment set."""
