"""Evaluate a query against rules, fast routing, hints and users."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256

from proxyctl.catalog import TABLES, Layout, layout_of, releases
from proxyctl.catalog.destinations import is_hidden_by_last_rule
from proxyctl.errors import ProxyctlError
from proxyctl.proxysql.configuration import Configuration
from proxyctl.routing.dialect import MYSQL, PGSQL, Dialect
from proxyctl.routing.digest import Digest, Digester, DigestOptions
from proxyctl.routing.open_questions import Assumptions, DigestWalk, Rewriting
from proxyctl.routing.query import ClientQuery, Digested, DigestOf
from proxyctl.routing.regex import Patterns
from proxyctl.routing.result import (
    NO_SETTINGS,
    Explanation,
    FastRoutingUse,
    HostgroupOrigin,
    PossibleRoute,
    Route,
)
from proxyctl.routing.rule import Rule, compile_rules
from proxyctl.routing.set_statements import read_set
from proxyctl.routing.special import (
    LAST_INSERT_ID,
    Special,
    Stage,
    after_rules,
    before_rules,
    hints,
    is_set,
    of_set,
    of_use,
)
from proxyctl.routing.tables import (
    AFTER_RULES,
    BEFORE_RULES,
    FastRouting,
    Frontend,
    RoutingVariables,
    Users,
    frontends,
)
from proxyctl.routing.walk import Choose, Lane, Walk, heaviest

ROUTING_TABLES = MYSQL.routing_tables
SERVING_TABLES = MYSQL.serving_tables

_ANSWERS = frozenset({"OK_msg", "error_msg"})
_MAX_OUTCOMES = 1_000
_MAX_DRAWS = 16


class Router:
    """The rules, fast routing and users of one instance, compiled once for many queries."""

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
        dialect: Dialect = MYSQL,
    ) -> None:
        """Compile the rules: rows of MEMORY or RUNTIME, in any order.

        Without `digest_of` each ClientQuery must have its digest, unless digests are off.
        `patterns`: from another router with the same engine, so that both compile a pattern once.
        With the dialect PGSQL, ProxySQL handles no MySQL statements by itself, and the default
        schema of a user is the database with the same name.
        """
        self.dialect = dialect
        self.variables = variables or RoutingVariables()
        version = self.variables.version
        self.patterns = patterns or Patterns(self.variables.engine)
        self.rules: tuple[Rule, ...] = compile_rules(layout, rules, self.patterns, version)
        self.fast_routing = fast_routing or FastRouting()
        self.last_rule_applies = bool(self.rules) and self.rules[-1].apply
        self.hides_fast_routing = self.last_rule_applies and is_hidden_by_last_rule(version)
        """Whether ProxySQL skips fast routing for queries that no rule matches."""
        self._hints_before = bool(self.variables.first_comment & BEFORE_RULES)
        self._hints_after = bool(self.variables.first_comment & AFTER_RULES)
        self._hints_of_rewritten = version.has(releases.FIRST_COMMENT_BITS)
        self._digest_of = digest_of
        self.users = users or {}
        """The users that may log in, by name."""
        self._lanes = self._make_lanes()

    def _make_lanes(self) -> dict[int, Lane]:
        by_flag: dict[int, list[Rule]] = {}
        for rule in self.rules:
            by_flag.setdefault(rule.flag_in, []).append(rule)
        engine, with_digests = self.variables.engine, self.variables.query_digests
        return {
            flag: Lane(rules, engine, with_digests=with_digests) for flag, rules in by_flag.items()
        }

    def evaluate(self, request: ClientQuery, choose: Choose = heaviest) -> Route:
        """Return the route of a query. `choose` draws for rules with weighted flagOUTs."""
        route = self._without_rules(request)
        if route is not None:
            return route
        walk = Walk(request, self.schema_of(request), self._digest(request), choose)
        return self._followed(walk)

    def explain(self, request: ClientQuery) -> Explanation:
        """Return the route of a query, and the rules that it tried."""
        route = self._without_rules(request)
        if route is not None:
            return Explanation(route, (), FastRoutingUse.NOT_ASKED, None, NO_SETTINGS)
        walk = Walk(request, self.schema_of(request), self._digest(request))
        walk.trace = []
        route = self._followed(walk)
        return Explanation(
            route, tuple(walk.steps(self.rules)), walk.fast_routing, walk.fast_key, walk.hinted
        )

    def outcomes(self, request: ClientQuery) -> list[PossibleRoute]:
        """Return each route that weighted flagOUTs allow, with its probability; at most 1,000.

        After sixteen draws a route takes the first flagOUT.
        """
        outcomes: list[PossibleRoute] = []
        open_scripts: list[tuple[int, ...]] = [()]
        while open_scripts and len(outcomes) < _MAX_OUTCOMES:
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
            drawn = script + (0,) * (len(draws) - len(script))
            for place in range(len(script), min(len(draws), _MAX_DRAWS)):
                for choice in range(1, len(draws[place])):
                    open_scripts.append((*drawn[:place], choice))
            probability = 1.0
            for weights, choice in zip(draws, drawn, strict=True):
                probability *= weights[choice] / sum(weights)
            outcomes.append(PossibleRoute(route, probability))
        return outcomes

    def evaluate_digest(
        self, request: ClientQuery, assumptions: Assumptions
    ) -> tuple[Route, Rewriting]:
        """Return the route of a query of which only the digest is known, or not the port.

        `request` has a digest and no query, or a query; its client_addr is None if it is not known.
        Changes: assumptions, which record the questions.
        """
        route = self._without_rules(request)
        if route is not None:
            return route, ()
        walk = DigestWalk(request, self.schema_of(request), self._digest(request), assumptions)
        return self._followed(walk), walk.rewriting

    def copy_of(self, request: ClientQuery, route: Route) -> Route | None:
        """Return the route of the copy that a mirror makes of a query; None if it makes none.

        The copy goes to mirror_hostgroup unless fast routing has a row for it. Rules see it only
        with mirror_flagOUT, and hints in it are not read. Queries of the PostgreSQL side are never
        copied. Source: ProxySQL 2.7.1 and 3.0.3, run.
        """
        if self.dialect is PGSQL:
            return None
        hostgroup, flag = (
            None if (value := route.settings.get(name)) is None else int(value)
            for name in ("mirror_hostgroup", "mirror_flagOUT")
        )
        query = route.rewritten_query or request.query
        is_mirrored = not (hostgroup is None and flag is None) and request.rewrites
        if query is None or not is_mirrored or route.is_answered:
            return None
        copy = replace(request, query=query, flagIN=flag or 0, digest=None)
        walk = Walk(copy, self.schema_of(request), self._digest(copy))
        walk.destination = hostgroup
        if flag is None:
            self._find_fast_route(walk)
        else:
            walk.follow(self.rules, self._lanes, self.variables.query_processor_iterations)
            self._use_fast_routing(walk)
        if walk.destination is None:
            walk.use_default_hostgroup(self.user(request.username))
        return walk.route(None if walk.text == query else walk.text, None, None)

    def user(self, name: str | None) -> Frontend | None:
        """Return the defaults of a user's sessions; None for a user that cannot log in."""
        return None if name is None else self.users.get(name)

    def schema_of(self, request: ClientQuery) -> str:
        """Return the schema that rules see: the session's, else the user's, else the default."""
        if request.schemaname:
            return request.schemaname
        if self.dialect is PGSQL:
            return request.username or ""
        user = self.user(request.username)
        return (user and user.default_schema) or self.variables.default_schema

    def _digest(self, request: ClientQuery) -> Digested | None:
        if not self.variables.query_digests:
            return None
        if request.digest is not None:
            return request.digest
        if self._digest_of is None or request.query is None:
            raise ValueError("digests are on: a request needs its digest, or the router digest_of")
        return self._digest_of(request.query)

    def _without_rules(self, request: ClientQuery) -> Route | None:
        """Return the route of a query for which ProxySQL does not evaluate rules, else None."""
        user = self.user(request.username)
        is_forwarded = user is not None and user.fast_forward
        special = None
        if not is_forwarded:
            if request.query is None or self.dialect is PGSQL or not request.rewrites:
                return None
            special = before_rules(
                request.query,
                with_digests=self.variables.query_digests,
                loads_local_files=self.variables.enable_load_data_local_infile,
            )
            if special is None:
                return None
        digest = self._digest(request)
        return Route(
            destination_hostgroup=user.default_hostgroup if user and is_forwarded else None,
            source=HostgroupOrigin.DEFAULT_HOSTGROUP if is_forwarded else HostgroupOrigin.NOTHING,
            digest=digest,
            final_digest=digest,
            flagIN=request.flagIN,
            special=special,
        )

    def _followed(self, walk: Walk) -> Route:
        """Follow a walk to its end: rules, fast routing, hints, the user's default.

        Changes: walk.
        """
        if self._hints_before:
            _apply_hints(walk, walk.digest)
        walk.follow(self.rules, self._lanes, self.variables.query_processor_iterations)
        self._use_fast_routing(walk)
        rewritten = None if walk.text == walk.request.query else walk.text
        final = walk.digest
        if rewritten is not None and final is not None:
            final = self._digest_of(rewritten) if self._digest_of else None
        if self._hints_after:
            _apply_hints(walk, final if self._hints_of_rewritten else walk.digest)
        if walk.destination is None or walk.destination < 0:
            walk.use_default_hostgroup(self.user(walk.request.username))
        special = self._special_after(walk, final)
        if special is None:
            return walk.route(rewritten, final, special)
        if special.stage is Stage.BEFORE_MESSAGES:
            rewritten, final = None, walk.digest
            walk.sets = {name: walk.sets[name] for name in walk.sets if name not in _ANSWERS}
        elif special.goes_home:
            walk.use_default_hostgroup(self.user(walk.request.username))
        elif special is LAST_INSERT_ID:
            walk.sets.pop("cache_ttl", None)  # ProxySQL forgets it on the way to a backend
        return walk.route(rewritten, final, special)

    def _use_fast_routing(self, walk: Walk) -> None:
        """Let fast routing decide if no matching rule had apply. Changes: walk."""
        if walk.applied:
            walk.fast_routing = FastRoutingUse.APPLIED
        elif self.hides_fast_routing:
            walk.fast_routing = FastRoutingUse.SHUT_OFF
        else:
            self._find_fast_route(walk)

    def _find_fast_route(self, walk: Walk) -> None:
        """Let the row of fast routing decide, if there is one. Changes: walk."""
        key = self.fast_routing.find(walk.request.username, walk.schemaname, walk.flag)
        if key is not None:
            walk.fast_routing, walk.fast_key = FastRoutingUse.FOUND, key
            walk.destination, walk.source = self.fast_routing[key], HostgroupOrigin.FAST_ROUTING

    def _special_after(self, walk: Walk, final: Digested | None) -> Special | None:
        """Return what ProxySQL does by itself with a statement after the rules."""
        query, variables = walk.request.query, self.variables
        if query is None or walk.text is None or not walk.request.rewrites:
            return None
        if self.dialect is PGSQL:
            return None
        special = of_use(query, None if walk.digest is None else walk.digest.text)
        if special is not None:
            return special
        if not _ANSWERS.isdisjoint(walk.sets):
            return None
        if final is None or not is_set(final.text):
            return after_rules(walk.text, None if final is None else final.text)
        algorithm = variables.set_parser_algorithm
        reading = read_set(walk.text, final.text, version=variables.version, algorithm=algorithm)
        can_lock = variables.set_query_lock_on_hostgroup
        return of_set(reading, can_lock=can_lock, has_multiplex="multiplex" in walk.sets)


def _apply_hints(walk: Walk, digest: Digested | None) -> None:
    """Let the hints in a text's first comment override earlier values. Changes: walk."""
    if digest is not None and digest.comment:
        walk.apply_hints(hints(digest.comment))


def digester_of(configuration: Configuration, dialect: Dialect = MYSQL) -> Digester:
    """Return the digester for the variables in force.

    Raises: ProxyctlError for variables that ProxySQL refuses, or that can end it.
    """
    try:
        options = DigestOptions.from_variables(
            configuration.all_variables(),
            configuration.version,
            prefix=dialect.variable("query_digests_"),
        )
    except ValueError as error:
        raise ProxyctlError(str(error)) from error
    return Digester(options)


def _with_nul(digest_of: Callable[[bytes], Digest], query: bytes) -> Digest:
    return digest_of(query + b"\0")


def routing_likeness(configuration: Configuration, dialect: Dialect = MYSQL) -> str:
    """Return a hash that two configurations share if they route every query alike.

    Comments do not count. Raises: as `router_of`.
    """
    held = configuration.tables.get(dialect.users)
    users = frontends(held.layout, held.rows.values()) if held else {}
    variables = configuration.all_variables()
    content = (
        RoutingVariables.from_values(variables, configuration.version, dialect),
        digester_of(configuration, dialect).options,
        sorted(users.items()),
        _rows_of(configuration, dialect.rules),
        _rows_of(configuration, dialect.fast_routing),
    )
    return sha256(repr(content).encode("utf-8", "surrogateescape")).hexdigest()


def _rows_of(configuration: Configuration, table: str) -> list[str]:
    """Return the rows of a table as texts in a fixed order, without comments."""
    held = configuration.tables.get(table)
    if held is None:
        return []
    names = [name for name in held.layout.names if name != "comment"]
    places = [held.layout.index[name] for name in names]
    return sorted(repr([row[place] for place in places]) for row in held.rows.values())


def router_of(
    configuration: Configuration,
    dialect: Dialect = MYSQL,
    *,
    patterns: Patterns | None = None,
    fast_routing: FastRouting | None = None,
) -> Router:
    """Return a router that routes as ProxySQL does with this side of a configuration loaded.

    `patterns`, `fast_routing`: from another router, to share; `fast_routing` of the same rows.
    Raises: as `digester_of`.
    """
    variables = configuration.all_variables()
    digest_of = digester_of(configuration, dialect).digest
    if dialect is PGSQL:
        # The NUL that ends a query on the wire belongs to the query.
        digest_of = partial(_with_nul, digest_of)
    rules = configuration.tables.get(dialect.rules)
    fast = configuration.tables.get(dialect.fast_routing)
    if fast_routing is None and fast:
        fast_routing = FastRouting(fast.layout, fast.rows.values())
    users = configuration.tables.get(dialect.users)
    layout = rules.layout if rules else layout_of(TABLES[dialect.rules], configuration.version)
    return Router(
        layout,
        configuration.rows(dialect.rules),
        digest_of=digest_of,
        variables=RoutingVariables.from_values(variables, configuration.version, dialect),
        fast_routing=fast_routing,
        users=frontends(users.layout, users.rows.values()) if users else None,
        patterns=patterns,
        dialect=dialect,
    )
