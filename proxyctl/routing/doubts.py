"""What an answer rests on that nobody has seen on a running ProxySQL.

What releases behind the newest proven one do otherwise is known from source and release notes only.
Where it decides about a query, the answer says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog import releases
from proxyctl.routing.regex import Engine
from proxyctl.routing.regex.replacement import rewritten
from proxyctl.routing.request import Request
from proxyctl.routing.result import Explanation, FastRoutingUse, Reason, Step
from proxyctl.routing.router import Router
from proxyctl.routing.rule import Rule
from proxyctl.routing.special import hints
from proxyctl.routing.tables import BEHIND_RULES

_BEFORE_CLIENT_ADDR = (Reason.FLAG_IN, Reason.USERNAME, Reason.SCHEMANAME, Reason.NOT_REACHED)
_DEAD = {Reason.MATCH_DIGEST: "match_digest", Reason.MATCH_PATTERN: "match_pattern"}


def doubts(router: Router, request: Request, explanation: Explanation) -> tuple[str, ...]:
    """Return a sentence for each thing that decided about a query and is not verified."""
    rules = {rule.rule_id: rule for rule in router.rules}
    found = [
        *_of_digest(router, request, explanation),
        *_of_hints(router, explanation),
        *(text for step in explanation.steps for text in _of_rule(router, step, rules)),
    ]
    if explanation.fast_routing is FastRoutingUse.FOUND and router.last_rule_applies:
        found.append("fast routing is asked although the last rule has apply")
    return tuple(dict.fromkeys(found))


def _of_digest(router: Router, request: Request, explanation: Explanation) -> Iterator[str]:
    if explanation.route.digest is None:
        return
    if router.variables.has_parsersql:
        yield "the digest: with mysql-query_processor_parser=1 ParserSQL makes it, and no hints"
    version = router.variables.version
    if router.is_pgsql and version.has(releases.PGSQL_DIGESTS):
        yield "the digest: queries of PostgreSQL have digests of their own, not those of MySQL"
    if b"/*+" in (request.query or b"") and version.has(releases.KEEPS_OPTIMIZER_HINTS):
        yield "the digest and hints: /*+ ... */ may be kept apart from other comments"


def _of_hints(router: Router, explanation: Explanation) -> Iterator[str]:
    route, variables = explanation.route, router.variables
    if not variables.version.has(releases.FIRST_COMMENT_BITS) or route.digest is None:
        return
    is_usual = variables.first_comment == BEHIND_RULES and route.rewritten_query is None
    if not is_usual and hints(route.digest.comment or b""):
        yield "when the hints of the first comment are read, before or behind the rules"


def _of_rule(router: Router, step: Step, rules: dict[int, Rule]) -> Iterator[str]:
    rule = rules[step.rule_id]
    if rule.subnet is not None and step.reason not in _BEFORE_CLIENT_ADDR:
        yield f"rule {rule.rule_id}: client_addr {rule.client_addr} as a subnet"
    if rule.negated and step.reason in _DEAD and _DEAD[step.reason] in rule.dead:
        yield f"rule {rule.rule_id}: a pattern that does not compile never matches, also negated"
    is_asked = step.reason is None and router.variables.engine is Engine.PCRE2
    if is_asked and rule.replacement is not None and rule.match_pattern is not None:
        groups = rule.match_pattern.groups + 1
        is_valid = rewritten(rule.replacement, b"", ((-1, -1),) * groups, groups)[1]
        if not is_valid:
            yield f"rule {rule.rule_id}: its replace_pattern changes nothing"
