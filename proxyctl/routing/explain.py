"""Explain the route of a query under a configuration. Pure.

The behaviour of releases after the newest proven release is known from source and release notes
only. Where it decides about a query, the answer reports a doubt.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from proxyctl.catalog import releases
from proxyctl.errors import ConfigError, Mistake
from proxyctl.proxysql.configuration import Configuration
from proxyctl.proxysql.load_image import ignored_rows
from proxyctl.routing.criteria import Criteria
from proxyctl.routing.dialect import MYSQL, PGSQL, Dialect
from proxyctl.routing.firewall import FirewallVerdict, WhitelistRule
from proxyctl.routing.query import ClientQuery
from proxyctl.routing.regex import RegexEngine
from proxyctl.routing.regex.pattern import rewritten
from proxyctl.routing.result import Explanation, FastRoutingUse, PossibleRoute, Reason, Route, Step
from proxyctl.routing.router import Router, digester_of, router_of
from proxyctl.routing.rule import Rule
from proxyctl.routing.servers import Destination, HostgroupServers
from proxyctl.routing.special import Stage, hints, is_set
from proxyctl.routing.tables import AFTER_RULES
from proxyctl.rows.row import ColumnValues, Secret, SecretBytes

_UNKNOWN_SQLI = "SQL injection detection, which may block the query"
_OWN_PGSQL = "what ProxySQL itself does with SET, DISCARD and similar PostgreSQL statements"

_AFTER_PATTERNS = (
    None,
    Reason.MATCH_DIGEST,
    Reason.NOT_MATCH_DIGEST,
    Reason.MATCH_PATTERN,
    Reason.NOT_MATCH_PATTERN,
)
"""The results of a rule whose pattern was tried; None is a match."""


@dataclass(frozen=True)
class ExplainedQuery:
    """The route of one query: everything that `explain`, `test` and the batch form show."""

    request: ClientQuery
    """The query."""
    route: Route
    """Where the query goes, and how it is rewritten. An answer for one of the outcomes has the
    route of that outcome."""
    outcomes: tuple[PossibleRoute, ...]
    """All routes that weighted flagOUTs allow; a single one without a draw."""
    explainer: Explainer
    """The configuration that the answer is about."""

    @cached_property
    def explanation(self) -> Explanation:
        """The rules that the likeliest route tries, and why each did or did not match."""
        explanation = self.explainer.router.explain(self.request)
        route = self.explainer.guarded(self.request, explanation.route)
        return replace(explanation, route=route)

    @cached_property
    def copy(self) -> Route | None:
        """The route of the copy that a mirror makes; None if it makes none."""
        return self.explainer.router.copy_of(self.request, self.explanation.route)

    @cached_property
    def firewall(self) -> FirewallVerdict | None:
        """The verdict of the firewall whitelist; None if it is not asked."""
        return self.explainer.firewall_verdict(self.request, self.explanation.route)

    @cached_property
    def unverified(self) -> dict[int, tuple[str, ...]]:
        """The rules whose pattern was tried and may mean something else to ProxySQL.

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
        """The behaviour behind the answer that was never tested on a running ProxySQL."""
        if self.explainer.router.variables.version <= releases.NEWEST_PROVEN:
            return ()
        return (
            *doubts(self.explainer.router, self.request, self.explanation),
            *_of_plugins(self.explainer, self.explanation),
        )

    @property
    def hostgroup(self) -> int | None:
        """The hostgroup that gets the query; None: ProxySQL itself answers, or it is not known.

        If a rule answers (OK_msg, error_msg), it is where the query would have gone.
        """
        return None if self.is_left_to_proxysql else self.route.destination_hostgroup

    @property
    def cache_ttl(self) -> int | str | None:
        """How long the result is cached; None if it is not, or ProxySQL itself answers.

        Units: milliseconds.
        """
        return None if self.is_left_to_proxysql else self.route.settings.get("cache_ttl")

    @property
    def is_left_to_proxysql(self) -> bool:
        """Whether ProxySQL answers whatever rules say, or may do so."""
        special = self.route.special
        return special is not None and special.reply is not None

    @property
    def destination(self) -> Destination | None:
        """The servers of the hostgroup; None: no server, or an unknown hostgroup."""
        hostgroup = self.hostgroup
        if hostgroup is None or self.route.is_answered:
            return None
        is_placed = self.explainer.is_placed
        return self.explainer.servers.destination(hostgroup, is_placed=is_placed)

    @property
    def digest(self) -> str | None:
        """The column `digest` of stats_mysql_query_digest, for the rewritten query."""
        final = self.route.final_digest
        return None if final is None else f"0x{final.number:016X}"

    @property
    def digest_text(self) -> str | None:
        """The column `digest_text` of stats_mysql_query_digest, truncated like the column."""
        final = self.route.final_digest
        if final is None:
            return None
        text = final.text[: self.explainer.max_digest_length]
        return text_of(SecretBytes(text) if self.route.is_text_secret else text)

    @property
    def rewritten_query(self) -> str | None:
        """The query as rules rewrote it; None if it stays unchanged."""
        return text_of(self.route.rewritten_query)


def text_of(raw: bytes | None) -> str | None:
    """Return bytes as text. Bytes that are not UTF-8 become surrogate escapes."""
    if raw is None:
        return None
    text = raw.decode("utf-8", "surrogateescape")
    return Secret(text) if isinstance(raw, SecretBytes) else text


class Explainer:
    """Explains queries under one side of a configuration.

    `is_placed`: the servers come from RUNTIME, where the monitor has placed them.
    """

    def __init__(
        self, configuration: Configuration, dialect: Dialect = MYSQL, *, is_placed: bool = False
    ) -> None:
        self.configuration = configuration
        self.dialect = dialect
        self.names = configuration.hostgroup_names
        self.router = router_of(configuration, dialect)
        self.max_digest_length = digester_of(configuration, dialect).options.max_digest_length
        self.has_fast_routing = any(True for _ in configuration.rows(dialect.fast_routing))
        detection = configuration.variable(dialect.variable("automatic_detect_sqli"))
        self.not_evaluated = (
            *([_UNKNOWN_SQLI] if detection == "true" else []),
            *([_OWN_PGSQL] if dialect is PGSQL else []),
        )
        self.is_placed = is_placed
        self.has_unusual_syntax = any(rule.unverified for rule in self.router.rules)

    def owner(self, rule_id: int | None) -> str:
        """Return ` (in no file)` for a rule of the instance that the known files lack, else ''."""
        return self.configuration.owner(self.dialect.rules, (rule_id,))

    @cached_property
    def criteria(self) -> Criteria:
        """What is known about the criteria of the rules."""
        return Criteria(self.configuration, self.router)

    def flaw(self, step: Step, column: str) -> str | None:
        """Return what is wrong with a criterion of a rule that was tried; None if it may work."""
        cells = self.rules.get(step.rule_id, {})
        flaw = self.criteria.flaw(cells, self._rules_by_id[step.rule_id], column)
        return None if flaw is None else flaw.problem

    @cached_property
    def dropped_rules(self) -> dict[str, str]:
        """The active rules that ProxySQL does not load, each with the reason."""
        held = self.configuration.tables.get(self.dialect.rules)
        reasons = ignored_rows(held.layout, held.rows) if held else {}
        return {str(rule_id): reason for (rule_id,), reason in reasons.items()}

    @cached_property
    def _rules_by_id(self) -> dict[int, Rule]:
        return {rule.rule_id: rule for rule in self.router.rules}

    @cached_property
    def servers(self) -> HostgroupServers:
        """The servers of each hostgroup."""
        return HostgroupServers(self.configuration, self.dialect)

    @cached_property
    def rules(self) -> dict[int, ColumnValues]:
        """The rules as rows, by rule_id and column name."""
        held = self.configuration.tables.get(self.dialect.rules)
        if held is None:
            return {}
        names = [column.name for column in held.layout.columns]
        position = held.layout.index["rule_id"]
        return {
            int(row[position] or 0): dict(zip(names, row, strict=True))
            for row in held.rows.values()
        }

    def answer(self, request: ClientQuery) -> ExplainedQuery:
        """Return the answer for a query."""
        route = self.guarded(request, self.router.evaluate(request))
        outcomes = self.router.outcomes(request) if route.drawn else (PossibleRoute(route, 1.0),)
        judged = (
            outcome._replace(route=self.guarded(request, outcome.route)) for outcome in outcomes
        )
        return ExplainedQuery(request, route, tuple(judged), self)

    def guarded(self, request: ClientQuery, route: Route) -> Route:
        """Return the route with the firewall's error if the firewall blocks the query.

        A message that a rule sets comes before that error.
        """
        verdict = self.firewall_verdict(request, route)
        has_message = "OK_msg" in route.settings or "error_msg" in route.settings
        if has_message or not (verdict and verdict.is_blocked):
            return route
        settings = {**route.settings, "error_msg": self.criteria.firewall.error}
        return replace(route, settings=settings, special=None)

    def firewall_verdict(self, request: ClientQuery, route: Route) -> FirewallVerdict | None:
        """Return the verdict of the firewall whitelist on a query; None if it is not asked."""
        firewall = self.criteria.firewall
        user = self.router.user(request.username)
        is_early = route.special is not None and route.special.stage is not Stage.AFTER_MESSAGES
        if not firewall.is_on or is_early or (user is not None and user.fast_forward):
            return None
        if request.username is None:
            return FirewallVerdict(None, "it depends on --username")
        query = None
        if route.digest is not None:
            digest = f"0x{route.digest.number:016X}"
            query = WhitelistRule(self.router.schema_of(request), route.flagIN, digest)
        return firewall.verdict(request.username, request.client_addr, query)


# Behaviour behind an answer that was never tested on a running ProxySQL --------------------------

_BEFORE_CLIENT_ADDR = (Reason.FLAG_IN, Reason.USERNAME, Reason.SCHEMANAME, Reason.NOT_REACHED)
_DEAD = {Reason.MATCH_DIGEST: "match_digest", Reason.MATCH_PATTERN: "match_pattern"}


def doubts(router: Router, request: ClientQuery, explanation: Explanation) -> tuple[str, ...]:
    """Return a sentence for each unverified behaviour that decided about a query."""
    rules = {rule.rule_id: rule for rule in router.rules}
    sentences = [
        *_of_digest(router, request, explanation),
        *_of_hints(router, explanation),
        *_of_set(explanation.route),
        *(text for step in explanation.steps for text in _of_rule(router, step, rules)),
    ]
    if explanation.fast_routing is FastRoutingUse.FOUND and router.last_rule_applies:
        sentences.append("fast routing is used although the last rule has apply")
    return tuple(dict.fromkeys(sentences))


def _of_digest(router: Router, request: ClientQuery, explanation: Explanation) -> Iterator[str]:
    if explanation.route.digest is None:
        return
    if router.variables.has_parsersql:
        yield "the digest: with mysql-query_processor_parser=1 ParserSQL computes it, without hints"
    version = router.variables.version
    if router.dialect is PGSQL and version.has(releases.PGSQL_DIGESTS):
        yield "the digest: PostgreSQL queries have their own digests, not MySQL's"
    if b"/*+" in (request.query or b"") and version.has(releases.KEEPS_OPTIMIZER_HINTS):
        yield "the digest and hints: /*+ ... */ may be kept apart from other comments"


def _of_hints(router: Router, explanation: Explanation) -> Iterator[str]:
    route, variables = explanation.route, router.variables
    if not variables.version.has(releases.FIRST_COMMENT_BITS) or route.digest is None:
        return
    is_usual = variables.first_comment == AFTER_RULES and route.rewritten_query is None
    if not is_usual and hints(route.digest.comment or b""):
        yield "whether hints in the first comment are read before or after the rules"


def _of_set(route: Route) -> Iterator[str]:
    is_read = route.special is not None and route.special.stage is Stage.AFTER_MESSAGES
    if is_read and route.final_digest is not None and is_set(route.final_digest.text):
        yield "what ProxySQL itself does with this SET"


def _of_rule(router: Router, step: Step, rules: dict[int, Rule]) -> Iterator[str]:
    rule = rules[step.rule_id]
    if rule.subnet is not None and step.reason not in _BEFORE_CLIENT_ADDR:
        yield f"rule {rule.rule_id}: client_addr {rule.client_addr} as a subnet"
    if rule.negated and step.reason in _DEAD and _DEAD[step.reason] in rule.dead:
        yield f"rule {rule.rule_id}: a pattern that does not compile never matches, even if negated"
    is_asked = step.reason is None and router.variables.engine is RegexEngine.PCRE2
    if is_asked and rule.replacement is not None and rule.match_pattern is not None:
        groups = rule.match_pattern.groups + 1
        is_valid = rewritten(rule.replacement, b"", ((-1, -1),) * groups, groups)[1]
        if not is_valid:
            yield f"rule {rule.rule_id}: its replace_pattern changes nothing"


_FAST_FORWARD = "switch_to_fast_forward"
"""The attribute of rules that plugins write."""


def _of_plugins(explainer: Explainer, explanation: Explanation) -> Iterator[str]:
    if explainer.dialect is MYSQL:
        for plugin in explainer.configuration.plugins:
            yield hook_text(plugin)
    for step in explanation.steps:
        attributes = explainer.rules.get(step.rule_id, {}).get("attributes")
        if step.reason is None and _FAST_FORWARD in str(attributes):
            yield f"rule {step.rule_id}: {_FAST_FORWARD}, so rules may not see the next queries"


def hook_text(plugin: str) -> str:
    """Return why the route of a query is not certain where a plugin owns rows."""
    return f"plugin {plugin}, whose routing hook may choose another hostgroup after the rules"


# Queries to explain, one JSON object per line ----------------------------------------------------

_TEXTS = ("username", "schemaname", "client_addr", "proxy_addr")
_NUMBERS = ("proxy_port", "flagIN")
_KEYS = ("query", *_TEXTS, *_NUMBERS)


def read_requests(lines: Iterable[bytes], path: str) -> Iterator[ClientQuery]:
    """Yield a request for each line that is not blank. Each request is its own session.

    Shape: `{"query": ..., "username": ..., "schemaname": ..., "client_addr": ..., "proxy_addr":
    ..., "proxy_port": ..., "flagIN": 0}`; only `query` is required, null means absent.

    Raises: ConfigError at the first invalid line.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        column = 1
        try:
            request = _request(json.loads(line.decode("utf-8", "surrogateescape")))
        except json.JSONDecodeError as error:
            column, request = error.colno, f"not JSON: {error.msg.removesuffix(' starting at')}"
        except RecursionError:
            request = "not JSON: too many brackets"
        if isinstance(request, str):
            raise ConfigError([Mistake(path, number, column, "", request)])
        yield request


def _request(item: Any) -> ClientQuery | str:  # noqa: ANN401 - anything that JSON has
    """Return the request of a line, or the text of its mistake."""
    if not isinstance(item, dict):
        return "expected an object with the key `query`"
    unknown = [key for key in item if key not in _KEYS]
    if unknown:
        return f"unknown key {unknown[0]!r}; the keys are {', '.join(_KEYS)}"
    query = item.get("query")
    if not isinstance(query, str):
        return "`query` is missing or not text"
    for key in _TEXTS:
        if not isinstance(item.get(key), str | None):
            return f"`{key}` is not text"
    for key in _NUMBERS:
        value = item.get(key)
        if value is not None and (type(value) is not int or value < 0):
            return f"`{key}` is not an integer of 0 or more"
    session = {key: item[key] for key in (*_TEXTS, *_NUMBERS) if item.get(key) is not None}
    try:
        return ClientQuery(query.encode("utf-8", "surrogateescape"), **session)
    except UnicodeEncodeError:
        return "`query` contains half a character (a lone surrogate)"
