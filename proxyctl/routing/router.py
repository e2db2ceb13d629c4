"""The evaluation of a query against everything that routes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from proxyctl.catalog import TABLES, Layout, layout_of
from proxyctl.errors import ProxyctlError
from proxyctl.routing.digest import Digester, DigestOptions
from proxyctl.routing.lane import Lane
from proxyctl.routing.open_questions import DigestWalk, Rewriting, Way
from proxyctl.routing.regex import Patterns
from proxyctl.routing.request import Digested, DigestOf, Request
from proxyctl.routing.result import Explanation, FastRoutingUse, Outcome, Route, Settings, Source
from proxyctl.routing.rule import Rule, compile_rules
from proxyctl.routing.special import (
    LAST_INSERT_ID,
    SET_AT_HOME,
    USE,
    Special,
    before_rules,
    behind_rules,
    hints,
    is_use,
)
from proxyctl.routing.tables import (
    FastKey,
    FastRouting,
    Frontend,
    RoutingVariables,
    Users,
    frontends,
)
from proxyctl.routing.walk import Choose, Walk, heaviest, not_reached
from proxyctl.state.configuration import Configuration

_RULES, _FAST, _USERS = "mysql_query_rules", "mysql_query_rules_fast_routing", "mysql_users"
ROUTING_TABLES = (_RULES, _FAST, _USERS, "mysql_variables")
"""What to read of an instance for a router."""

_NOTHING_SET: Settings = MappingProxyType({})
_ANSWERS = frozenset({"OK_msg", "error_msg"})
_MAX_OUTCOMES = 1_000
_MAX_DRAWS = 16


class _End(NamedTuple):
    """What is decided behind the rules."""

    destination: int | None
    source: Source
    rule_id: int | None
    settings: Settings
    fast_routing: FastRoutingUse
    fast_key: FastKey | None
    hints: Mapping[str, int | str]


class Router:
    """Rules, fast routing and users of one instance, compiled once and asked often."""

    def __init__(
        self,
        layout: Layout,
        rules: Iterable[Sequence[object]],
        *,
        digest_of: DigestOf | None = None,
        variables: RoutingVariables | None = None,
        fast_routing: FastRouting | None = None,
        users: Users | None = None,
        patterns: Patterns | None = None,
    ) -> None:
        """Compile the rules: rows of MEMORY or RUNTIME, in any order.

        Without `digest_of`, each Request has to bring its digest, unless digests are off.
        `patterns`: of another router with the same engine, so that both compile a pattern once.
        """
        self.variables = variables or RoutingVariables()
        self.patterns = patterns or Patterns(self.variables.engine)
        self.rules: tuple[Rule, ...] = compile_rules(layout, rules, self.patterns)
        self._digest_of = digest_of
        self._fast_routing = fast_routing or FastRouting()
        self._users = users or {}
        self._lanes = self._arranged()
        self._last_rule_applies = bool(self.rules) and self.rules[-1].apply

    def _arranged(self) -> dict[int, Lane]:
        by_flag: dict[int, list[Rule]] = {}
        for rule in self.rules:
            by_flag.setdefault(rule.flag_in, []).append(rule)
        engine, with_digests = self.variables.engine, self.variables.query_digests
        return {
            flag: Lane(rules, engine, with_digests=with_digests) for flag, rules in by_flag.items()
        }

    def evaluate(self, request: Request, choose: Choose = heaviest) -> Route:
        """Return what becomes of a query. Where rules draw a flagOUT, `choose` draws."""
        if self._meets_no_rules(request):
            return self._untouched(request)
        walk = self._walk(request, choose, is_traced=False)
        walk.follow(self.rules, self._lanes)
        return self._route(walk, self._end(walk))

    def explain(self, request: Request, choose: Choose = heaviest) -> Explanation:
        """Return what becomes of a query, and the rules that were looked at on the way."""
        if self._meets_no_rules(request):
            route = self._untouched(request)
            return Explanation(route, (), FastRoutingUse.NOT_ASKED, None, {})
        walk = self._walk(request, choose, is_traced=True)
        walk.follow(self.rules, self._lanes)
        end = self._end(walk)
        route = self._route(walk, end)
        steps = walk.trace or []
        if walk.applied:
            steps += [not_reached(rule, walk.flag) for rule in self.rules[walk.position + 1 :]]
        return Explanation(route, tuple(steps), end.fast_routing, end.fast_key, end.hints)

    def outcomes(self, request: Request) -> list[Outcome]:
        """Return each route that weighted flagOUTs allow, with its probability; at most 1,000.

        Draws behind the sixteenth of a route take the first way.
        """
        found: list[Outcome] = []
        open_scripts: list[tuple[int, ...]] = [()]
        while open_scripts and len(found) < _MAX_OUTCOMES:
            script = open_scripts.pop()
            draws: list[Sequence[int]] = []

            def choose(
                weights: Sequence[int],
                script: tuple[int, ...] = script,
                draws: list[Sequence[int]] = draws,
            ) -> int:
                draws.append(weights)
                return script[len(draws) - 1] if len(draws) <= len(script) else 0

            route = self.evaluate(request, choose)
            taken = script + (0,) * (len(draws) - len(script))
            for place in range(len(script), min(len(draws), _MAX_DRAWS)):
                for other in range(1, len(draws[place])):
                    open_scripts.append((*taken[:place], other))
            probability = 1.0
            for weights, place in zip(draws, taken, strict=True):
                probability *= weights[place] / sum(weights)
            found.append(Outcome(route, probability))
        return found

    def evaluate_digest(self, request: Request, way: Way) -> tuple[Route, Rewriting]:
        """Return what becomes of a query of which only the digest is known, taken one way.

        `request` has a digest and no query; its client_addr is None where that is not known.
        Changes: way, which remembers what was asked.
        """
        if self._meets_no_rules(request):
            return self._untouched(request), ()
        walk = DigestWalk(
            request,
            way,
            schemaname=self.schema_of(request),
            digest=self._digest(request),
            iterations=self.variables.query_processor_iterations,
        )
        walk.follow(self.rules, self._lanes)
        return self._route(walk, self._end(walk)), walk.rewriting

    def user(self, name: str) -> Frontend | None:
        """Return what a user's sessions begin with; None for one who cannot log in."""
        return self._users.get(name)

    @property
    def fast_routing(self) -> FastRouting:
        """The rows of fast routing."""
        return self._fast_routing

    @property
    def last_rule_applies(self) -> bool:
        """Whether fast routing is skipped for queries that no rule matches."""
        return self._last_rule_applies

    def _meets_no_rules(self, request: Request) -> bool:
        user = self._users.get(request.username) if request.username is not None else None
        if user is not None and user.fast_forward:
            return True
        return self._special_before(request) is not None

    def _special_before(self, request: Request) -> Special | None:
        if request.query is None:
            return None
        return before_rules(request.query, with_digests=self.variables.query_digests)

    def _untouched(self, request: Request) -> Route:
        """Return the route of a query for which rules are not evaluated."""
        special = self._special_before(request)
        user = self._users.get(request.username or "")
        digest = self._digest(request)
        is_forwarded = user is not None and user.fast_forward
        return Route(
            destination_hostgroup=user.default_hostgroup if user and is_forwarded else None,
            source=Source.DEFAULT_HOSTGROUP if is_forwarded else Source.NOTHING,
            rule_id=None,
            matched_rules=(),
            settings=_NOTHING_SET,
            rewritten_query=None,
            digest=digest,
            final_digest=digest,
            flagIN=request.flagIN,
            special=None if is_forwarded else special,
        )

    def _digest(self, request: Request) -> Digested | None:
        if not self.variables.query_digests:
            return None
        if request.digest is not None:
            return request.digest
        if self._digest_of is None or request.query is None:
            raise ValueError("digests are on: a request needs its digest, or the router digest_of")
        return self._digest_of(request.query)

    def schema_of(self, request: Request) -> str:
        """Return the schema that rules see: the session's, else the user's, else the default."""
        if request.schemaname:
            return request.schemaname
        user = self._users.get(request.username or "")
        return (user and user.default_schema) or self.variables.default_schema

    def _walk(self, request: Request, choose: Choose, *, is_traced: bool) -> Walk:
        return Walk(
            request,
            schemaname=self.schema_of(request),
            digest=self._digest(request),
            choose=choose,
            iterations=self.variables.query_processor_iterations,
            is_traced=is_traced,
        )

    def _end(self, walk: Walk) -> _End:
        """Return what fast routing, hints and the user's default make of the walk."""
        destination, source = walk.destination, Source.RULE
        settings: Settings = walk.sets or _NOTHING_SET
        use, key = self._fast_route(walk)
        if key is not None:
            destination, source = self._fast_routing[key], Source.FAST_ROUTING
        hinted: Mapping[str, int | str] = _NOTHING_SET
        if walk.digest is not None and walk.digest.comment:
            hinted = hints(walk.digest.comment)
            if "destination_hostgroup" in hinted:
                destination, source = int(hinted["destination_hostgroup"]), Source.HINT
            settings = _with_hints(settings, hinted)
        if destination is None or destination < 0:
            user = self._users.get(walk.request.username or "")
            destination = user.default_hostgroup if user else None
            source = Source.DEFAULT_HOSTGROUP if user else Source.NOTHING
        rule_id = walk.decided_by if source is Source.RULE else None
        return _End(destination, source, rule_id, settings, use, key, hinted)

    def _fast_route(self, walk: Walk) -> tuple[FastRoutingUse, FastKey | None]:
        if walk.applied:
            return FastRoutingUse.APPLIED, None
        if self._last_rule_applies:
            return FastRoutingUse.SHUT_OFF, None
        key = self._fast_routing.find(walk.request.username, walk.schemaname, walk.flag)
        return (FastRoutingUse.NO_ROW if key is None else FastRoutingUse.FOUND), key

    def _route(self, walk: Walk, end: _End) -> Route:
        rewritten = None if walk.text is walk.request.query else walk.text
        if rewritten == walk.request.query:
            rewritten = None
        final = walk.digest
        if rewritten is not None and final is not None:
            final = self._digest_of(rewritten) if self._digest_of else None
        settings = end.settings
        destination, source, rule_id = end.destination, end.source, end.rule_id
        special = self._special_behind(walk, final, settings)
        if special is USE:
            rewritten, final = None, walk.digest
        elif special is SET_AT_HOME:
            user = self._users.get(walk.request.username or "")
            destination = user.default_hostgroup if user else None
            source, rule_id = (Source.DEFAULT_HOSTGROUP if user else Source.NOTHING), None
        if special is LAST_INSERT_ID and _ANSWERS.isdisjoint(settings):
            # ProxySQL forgets it on the way to a backend.
            settings = {name: settings[name] for name in settings if name != "cache_ttl"}
        return Route(
            destination_hostgroup=destination,
            source=source,
            rule_id=rule_id,
            matched_rules=tuple(walk.matched),
            settings=settings,
            rewritten_query=rewritten,
            digest=walk.digest,
            final_digest=final,
            flagIN=walk.flag,
            special=special,
            undecided=tuple(dict.fromkeys(walk.undecided)),
            drawn=tuple(walk.drawn),
            loop=walk.loop,
        )

    def _special_behind(
        self, walk: Walk, final: Digested | None, settings: Settings
    ) -> Special | None:
        """Return what ProxySQL does by itself with a statement that went along the rules."""
        query = walk.request.query
        if query is None or walk.text is None:
            return None
        if is_use(query, None if walk.digest is None else walk.digest.text):
            return USE
        # A rule with multiplex says what becomes of the connection: then nothing is locked.
        locks = self.variables.set_query_lock_on_hostgroup and "multiplex" not in settings
        text = None if final is None else final.text
        return behind_rules(walk.text, text, locks_on_set=locks)


def _with_hints(settings: Settings, hinted: Mapping[str, int | str]) -> Settings:
    """Return settings with those of a comment over them; a negative number unsets one."""
    merged = {**settings, **hinted}
    merged.pop("destination_hostgroup", None)
    return {
        name: value for name, value in merged.items() if not isinstance(value, int) or value >= 0
    }


def digester_of(configuration: Configuration) -> Digester:
    """Return what makes digests under the variables in force.

    Raises: ProxyctlError for variables that ProxySQL refuses, or under which it ends.
    """
    try:
        return Digester(DigestOptions.from_variables(configuration.all_variables()))
    except ValueError as error:
        raise ProxyctlError(str(error)) from error


def router_of(configuration: Configuration, *, patterns: Patterns | None = None) -> Router:
    """Return the router that ProxySQL would be with this configuration loaded.

    `patterns`: those of another router, to be shared. Raises: as `digester_of`.
    """
    variables = configuration.all_variables()
    rules = configuration.tables.get(_RULES)
    fast = configuration.tables.get(_FAST)
    users = configuration.tables.get(_USERS)
    layout = rules.layout if rules else layout_of(TABLES[_RULES], configuration.version)
    return Router(
        layout,
        configuration.rows(_RULES),
        digest_of=digester_of(configuration).digest,
        variables=RoutingVariables.from_values(variables),
        fast_routing=FastRouting(fast.layout, fast.rows.values()) if fast else None,
        users=frontends(users.layout, users.rows.values()) if users else None,
        patterns=patterns,
    )
