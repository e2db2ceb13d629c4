"""A query, a configuration, and everything that is known of what becomes of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from proxyctl.catalog import Value
from proxyctl.catalog.releases import NEWEST_PROVEN
from proxyctl.routing import Explanation, Outcome, Reason, Request, Route
from proxyctl.routing.doubts import doubts
from proxyctl.routing.router import ROUTING_TABLES, digester_of, router_of
from proxyctl.routing.servers import Destination, HostgroupServers
from proxyctl.state.configuration import Configuration
from proxyctl.state.families import FAMILY_TABLES

TABLES = (*ROUTING_TABLES, "mysql_servers", *FAMILY_TABLES)
"""What to read of an instance for an answer."""

_FAST_ROUTING = "mysql_query_rules_fast_routing"

_NOT_ASKED = {
    "mysql-firewall_whitelist_enabled": "the firewall whitelist, which may block it",
    "mysql-automatic_detect_sqli": "the detection of SQL injection, which may block it",
}
"""What a variable switches on, and is not evaluated here."""

_OWN_PGSQL = "what ProxySQL itself does with SET, DISCARD and the like of PostgreSQL"

_AFTER_PATTERNS = (
    None,
    Reason.MATCH_DIGEST,
    Reason.NOT_MATCH_DIGEST,
    Reason.MATCH_PATTERN,
    Reason.NOT_MATCH_PATTERN,
)
"""What can become of a rule whose pattern was asked; None is a match."""

Cells = Mapping[str, Value]


@dataclass(frozen=True)
class Answer:
    """What becomes of one query: all that `explain`, `test` and the batch form say of it.

    Shape: `outcomes` are all ways that chance can take; a single one where nothing is drawn. An
    `Answer` of one of these ways has that way's `route`.
    """

    request: Request
    route: Route
    outcomes: tuple[Outcome, ...]
    explainer: Explainer

    @cached_property
    def explanation(self) -> Explanation:
        """The rules that were looked at on the likeliest way, and why each did or did not match."""
        return self.explainer.router.explain(self.request)

    @cached_property
    def unverified(self) -> dict[int, tuple[str, ...]]:
        """The rules whose pattern was asked and may mean something else to ProxySQL.

        Shape: the columns with unusual syntax, by rule_id.
        """
        if not self.explainer.has_unusual_syntax:
            return {}
        return {
            step.rule_id: step.unverified
            for step in self.explanation.steps
            if step.unverified and step.reason in _AFTER_PATTERNS
        }

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """What it rests on that nobody has seen on a running ProxySQL."""
        if self.explainer.router.variables.version <= NEWEST_PROVEN:
            return ()
        return doubts(self.explainer.router, self.request, self.explanation)

    @property
    def destination(self) -> Destination | None:
        """The servers of the hostgroup; None: no server, or it is not known which hostgroup."""
        hostgroup = self.route.destination_hostgroup
        if hostgroup is None or self.route.is_answered:
            return None
        is_placed = self.explainer.is_placed
        return self.explainer.servers.destination(hostgroup, is_placed=is_placed)

    @property
    def digest(self) -> str | None:
        """The column `digest` of stats_mysql_query_digest: that of the text that rules made."""
        final = self.route.final_digest
        return None if final is None else f"0x{final.number:016X}"

    @property
    def digest_text(self) -> str | None:
        """The column `digest_text` of stats_mysql_query_digest, cut as it is there."""
        final = self.route.final_digest
        return None if final is None else text_of(final.text[: self.explainer.max_digest_length])

    @property
    def rewritten_query(self) -> str | None:
        """The query as rules made it; None if it stays."""
        return text_of(self.route.rewritten_query)


def text_of(raw: bytes | None) -> str | None:
    """Return bytes as text; what is not UTF-8 as surrogate escapes."""
    return None if raw is None else raw.decode("utf-8", "surrogateescape")


class Explainer:
    """Answers for queries under one configuration.

    `is_placed`: its servers are those of RUNTIME, where the monitor has placed them.
    """

    def __init__(self, configuration: Configuration, *, is_placed: bool = False) -> None:
        self.configuration = configuration
        self.names = configuration.hostgroup_names
        self.router = router_of(configuration)
        self.max_digest_length = digester_of(configuration).options.max_digest_length
        self.has_fast_routing = any(True for _ in configuration.rows(_FAST_ROUTING))
        self.not_asked = tuple(
            what for name, what in _NOT_ASKED.items() if configuration.variable(name) == "true"
        )
        if configuration.is_pgsql:
            self.not_asked += (_OWN_PGSQL,)
        self.is_placed = is_placed
        self.has_unusual_syntax = any(rule.unverified for rule in self.router.rules)

    @cached_property
    def servers(self) -> HostgroupServers:
        """The servers of each hostgroup."""
        return HostgroupServers(self.configuration)

    @cached_property
    def rules(self) -> dict[int, Cells]:
        """The rules as rows, by rule_id and name of the column."""
        held = self.configuration.tables.get("mysql_query_rules")
        if held is None:
            return {}
        names = [column.name for column in held.layout.columns]
        position = held.layout.index["rule_id"]
        return {
            int(row[position] or 0): dict(zip(names, row, strict=True))
            for row in held.rows.values()
        }

    def answer(self, request: Request) -> Answer:
        """Return what becomes of a query."""
        route = self.router.evaluate(request)
        outcomes = self.router.outcomes(request) if route.drawn else (Outcome(route, 1.0),)
        return Answer(request, route, tuple(outcomes), self)
