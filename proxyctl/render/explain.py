"""The routing of a query as text and JSON: rules tried and why, rewriting, destination."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from proxyctl.proxysql.servers import Server
from proxyctl.render.encode import Shape, document
from proxyctl.render.style import PLAIN, Style, hostgroup, shown
from proxyctl.routing.dialect import MYSQL, PGSQL, Dialect
from proxyctl.routing.explain import ExplainedQuery, Explainer, text_of
from proxyctl.routing.query import ClientQuery
from proxyctl.routing.result import (
    FastRoutingUse,
    HostgroupOrigin,
    PossibleRoute,
    Reason,
    Route,
    Step,
)
from proxyctl.routing.servers import Destination
from proxyctl.routing.special import Reply, Stage
from proxyctl.rows.row import SENSITIVE, Secret
from proxyctl.text import counted, printable

LONGEST_TEXT = 2_000
"""Characters shown of a query; a longer query is cut and its length added."""
LONGEST_CRITERION = 100
LISTED_ALIKE = 3
"""Consecutive rules that fail for the same reason are listed up to this number, else counted."""

_INDENT = " " * 13
"""The indent of further lines."""

_COLUMNS = {
    Reason.FLAG_IN: "flagIN",
    Reason.USERNAME: "username",
    Reason.CLIENT_ADDR: "client_addr",
    Reason.PROXY_ADDR: "proxy_addr",
    Reason.PROXY_PORT: "proxy_port",
    Reason.DIGEST: "digest",
    Reason.UNKNOWN_DIGEST: "digest",
    Reason.MATCH_DIGEST: "match_digest",
    Reason.NOT_MATCH_DIGEST: "match_digest",
    Reason.MATCH_PATTERN: "match_pattern",
    Reason.NOT_MATCH_PATTERN: "match_pattern",
    Reason.UNKNOWN_QUERY: "match_pattern",
}
"""The column that a reason is about, where dialects do not differ."""


def explain_text(
    answer: ExplainedQuery, *, source: str = "", lists_all: bool = False, style: Style = PLAIN
) -> str:
    """Return the answer for one query.

    `source`: where the rules come from. `lists_all`: list all rules, also those that fail for the
    same reason as their neighbours.
    """
    chain = chain_lines(answer, lists_all=lists_all, style=style)
    lines = [
        *_head(answer),
        *([f"rules        {printable(source)}"] if source else []),
        "",
        *chain,
        *([""] if chain else []),
        *end_lines(answer, style=style),
    ]
    return style.text("\n".join(lines))


def cut(text: str, limit: int = LONGEST_TEXT) -> str:
    """Return a query on one line, cut to `limit` characters; a secret is not shown."""
    if isinstance(text, Secret):
        return SENSITIVE
    safe = printable(text)
    if len(safe) <= limit:
        return safe
    return f"{safe[:limit]}... ({counted(len(text), 'character')})"


def _head(answer: ExplainedQuery) -> Iterator[str]:
    request, route = answer.request, answer.explanation.route
    query = text_of(request.query) or ""
    yield f"query        {cut(query) or '(empty)'}"
    yield f"session      {_session(answer)}"
    if route.digest is None:
        variable = answer.explainer.dialect.variable("query_digests")
        yield f"digest       none: {variable} is false"
        return
    yield f"digest       0x{route.digest.number:016X}  {cut(text_of(route.digest.text) or '')}"


def _session(answer: ExplainedQuery) -> str:
    """Return the session of the query; without a schema, that of the user and its origin."""
    request, router = answer.request, answer.explainer.router
    dialect = answer.explainer.dialect
    if request.username is not None and not request.schemaname:
        user = router.user(request.username)
        origin = "default_schema of the user" if user and user.default_schema else None
        origin = "the name of the user" if dialect is PGSQL else origin or "mysql-default_schema"
        schema = router.schema_of(request)
        text = SENSITIVE if isinstance(schema, Secret) else schema
        request = replace(request, schemaname=f"{text} ({origin})")
    return session_text(request, dialect)


def session_text(request: ClientQuery, dialect: Dialect = MYSQL) -> str:
    """Return a session: `user app, schema shop`, or `user app, database shop` for PostgreSQL."""
    parts = [
        "no user" if request.username is None else f"user {printable(request.username)}",
        *(
            f"{word} {printable(str(value))}"
            for word, value in (
                (dialect.schema, request.schemaname),
                ("client_addr", request.client_addr),
                ("proxy_addr", request.proxy_addr),
                ("proxy_port", request.proxy_port),
                ("flagIN", request.flagIN or None),
            )
            if value is not None
        ),
    ]
    return ", ".join(parts)


def chain_lines(
    answer: ExplainedQuery, *, lists_all: bool = False, style: Style = PLAIN
) -> list[str]:
    """Return a line for each rule that ProxySQL tries, in its order."""
    explanation, explainer = answer.explanation, answer.explainer
    width = max((len(str(step.rule_id)) for step in explanation.steps), default=0)
    text = answer.request.query
    lines: list[str] = []
    groups = groupby(explanation.steps, key=lambda step: (step.reason, step.broken))
    for (reason, _), group in groups:
        steps = list(group)
        if reason is None:
            for step in steps:
                lines += _match_lines(step, text, explainer, width, style)
                if flaw := explainer.flaw(step, "digest"):
                    lines += _row("", "", f"digest: {flaw}", width, style)
                text = text if step.rewritten is None else step.rewritten
        elif reason is Reason.NOT_REACHED and not lists_all:
            count = counted(len(steps), "rule")
            lines.append(f"  {'':{width}}  {count} after it not reached")
        elif len(steps) > LISTED_ALIKE and not lists_all:
            first, last = steps[0].rule_id, steps[-1].rule_id
            miss = _miss_text(reason, explainer.dialect)
            lines.append(f"  {first} to {last}: {counted(len(steps), 'rule')}: {miss}")
        else:
            for step in steps:
                lines += _miss_lines(step, explainer, width, style)
    for rule_id, reason in explainer.dropped_rules.items():
        lines += _row(rule_id, "no", f"not loaded: {reason}", width, style)
    return lines


def _row(number: int | str, word: str, text: str, width: int, style: Style) -> list[str]:
    head = f"  {number:>{width}}  {word:<5}  "
    return style.lines(text, first=head, then=" " * len(head))


def _column(reason: Reason, dialect: Dialect) -> str | None:
    """Return the column that a reason is about."""
    return dialect.schema_column if reason is Reason.SCHEMANAME else _COLUMNS.get(reason)


def _miss_text(reason: Reason, dialect: Dialect) -> str:
    if reason is Reason.SCHEMANAME:
        return f"only for {dialect.schema_column}"
    return str(reason.value)


def _miss_lines(step: Step, explainer: Explainer, width: int, style: Style) -> Iterator[str]:
    reason = step.reason
    column = _column(reason, explainer.dialect) if reason else None
    value = explainer.rules.get(step.rule_id, {}).get(column) if column else None
    text = _miss_text(reason, explainer.dialect) if reason else ""
    if column is not None and column in step.broken:
        text = f"{column} does not compile, so the rule never matches: {step.broken[column]}"
    criterion = "" if value is None else f"   {shown(value, limit=LONGEST_CRITERION)}"
    if column is not None and column not in step.broken and (flaw := explainer.flaw(step, column)):
        criterion += f"   ({flaw})"
    for line in _row(step.rule_id, "no", f"{text}{criterion}", width, style):
        yield style("dim", line)


def _match_lines(
    step: Step, text: bytes | None, explainer: Explainer, width: int, style: Style
) -> Iterator[str]:
    """Yield the effects of a matching rule on a query, whose text was `text` before."""
    effects = [_setting(name, value, explainer.names) for name, value in step.sets.items()]
    if step.rewritten is not None:
        effects.insert(0, "rewrites nothing" if step.rewritten == text else "rewrites")
    if step.flag_after != step.flag:
        effects.append(f"goes on with flagIN {step.flag_after}")
    if step.applied:
        effects.append("apply")
    if step.started_again:
        effects.append("rules are evaluated again from the first")
    effect = ("; ".join(effects) or "nothing set") + explainer.owner(step.rule_id)
    first, *further = _row(step.rule_id, "match", effect, width, style)
    yield from (first.replace("match", style("bold", "match"), 1), *further)
    for column, problem in step.broken.items():
        message = f"{column} does not compile, and the rule is negated: {problem}"
        yield from _row("", "", message, width, style)
    if step.rewritten is not None and step.rewritten != text:
        yield from _row("", "", f"becomes: {cut(text_of(step.rewritten) or '')}", width, style)


def _setting(name: str, value: int | str, names: Mapping[int, str]) -> str:
    if name in ("destination_hostgroup", "mirror_hostgroup"):
        return f"{name} {hostgroup(value, names)}"
    unit = " ms" if name in ("cache_ttl", "timeout", "delay") else ""
    return f"{name} {shown(value)}{unit}"


def end_lines(
    answer: ExplainedQuery, *, style: Style = PLAIN, with_servers: bool = True
) -> Iterator[str]:
    """Yield the result: the final text, the destination and its servers, and warnings."""
    explanation, explainer = answer.explanation, answer.explainer
    destination, route, names = answer.destination, explanation.route, explainer.names
    if explanation.fast_routing is FastRoutingUse.SHUT_OFF and explainer.has_fast_routing:
        yield f"fast routing {explanation.fast_routing.value}"
    if route.rewritten_query is not None:
        yield f"becomes      {cut(text_of(route.rewritten_query) or '')}"
        if route.final_digest is not None:
            counted_text = text_of(route.final_digest.text) or ""
            counted_text = SENSITIVE if route.is_text_secret else cut(counted_text)
            yield f"counted as   {answer.digest}  {counted_text}"
    if answer.firewall is not None and answer.firewall.is_blocked is not None:
        yield f"firewall     {printable(answer.firewall.reason)}"
    yield from _answers(answer, names)
    yield f"goes to      {style('bold', destination_text(route, names))}{_reason_text(answer)}"
    if destination is not None and with_servers:
        servers = servers_text(destination, explainer.dialect)
        yield from style.lines(servers, first="servers      ", then=_INDENT)
    if answer.copy is not None:
        yield from style.lines(
            _copy_text(answer.copy, explainer), first="copy to      ", then=_INDENT
        )
    if route.drawn:
        drawn = ", ".join(f"rule {rule}" for rule in dict.fromkeys(route.drawn))
        yield f"by chance    {drawn} draws flagOUT by weight; shown above is the likeliest of:"
        for outcome in sorted(answer.outcomes, key=lambda outcome: -outcome.probability):
            text = destination_text(outcome.route, names)
            yield f"{_INDENT}{outcome.probability:6.1%}  {text}"
    for warning in (*_warnings(route), *_unverified(answer), *_not_evaluated(answer)):
        yield from style.lines(warning, then=_INDENT)


def _answers(answer: ExplainedQuery, names: Mapping[int, str]) -> Iterator[str]:
    route = answer.explanation.route
    settings = {n: v for n, v in route.settings.items() if n not in ("OK_msg", "error_msg")}
    if route.special is not None:
        yield f"note         {route.special.effect} ({route.special.stage.value})"
    if "OK_msg" in route.settings:
        yield f"answered     OK {shown(route.settings['OK_msg'])}: no server sees it"
    elif "error_msg" in route.settings:
        yield f"answered     error 1148 {shown(route.settings['error_msg'])}: no server sees it"
    elif route.special is not None and route.special.is_answered:
        number = "" if route.special.errno is None else f" {route.special.errno}"
        yield f"answered     {route.special.reply}{number}: no server sees it"
    elif route.reply is Reply.UNKNOWN:
        yield "answered     unknown"
    if settings and not answer.is_left_to_proxysql:
        yield "set          " + "; ".join(_setting(n, v, names) for n, v in settings.items())


def destination_text(route: Route, names: Mapping[int, str]) -> str:
    """Return where a query goes: `hostgroup 10 (writer)`."""
    if route.is_answered:
        return "no server"
    if route.reply is Reply.UNKNOWN:
        return "unknown"
    if route.destination_hostgroup is None:
        if route.special is not None and route.special.stage is Stage.BEFORE_RULES:
            return "wherever the session is"
        return "default_hostgroup of the user"
    return f"hostgroup {hostgroup(route.destination_hostgroup, names)}"


def _reason_text(answer: ExplainedQuery) -> str:
    """Return why the query goes to its destination, as the end of a line."""
    explanation = answer.explanation
    route = explanation.route
    if route.reply is not None:
        return ""
    if route.special is not None and route.special.goes_home:
        return ", default_hostgroup of the user" if route.destination_hostgroup is not None else ""
    if route.source is HostgroupOrigin.RULE:
        return f", rule {route.rule_id}{answer.explainer.owner(route.rule_id)}"
    if route.source is HostgroupOrigin.FAST_ROUTING and explanation.fast_key is not None:
        username, schemaname, flag = explanation.fast_key
        key = f"{shown(username)}@{shown(schemaname)}"
        return f", fast routing {key}{f' flagIN {flag}' if flag else ''}"
    if route.source is HostgroupOrigin.DEFAULT_HOSTGROUP:
        if explanation.fast_routing is FastRoutingUse.NOT_ASKED:
            return ", default_hostgroup of the user: with fast_forward rules are skipped"
        return ", default_hostgroup of the user: no rule sets one"
    if route.source is HostgroupOrigin.HINT:
        return f", {route.source.value}"
    if route.special is not None and route.special.stage is Stage.BEFORE_RULES:
        return ""
    if answer.request.username is None:
        return ": no user was given (--username)"
    return f": {printable(answer.request.username)!r} is not among the users"


def _copy_text(copy: Route, explainer: Explainer) -> str:
    """Return where a mirror sends the copy of a query, and why there."""
    to = destination_text(copy, explainer.names)
    if copy.source is HostgroupOrigin.FAST_ROUTING:
        return f"{to}: fast routing also decides where copies go, before mirror_hostgroup"
    if copy.source is HostgroupOrigin.RULE:
        rule = "" if copy.rule_id is None else f"rule {copy.rule_id}{explainer.owner(copy.rule_id)}"
        return f"{to}, {rule or 'mirror_hostgroup'}"
    return f"{to}: default_hostgroup of the user" if copy.destination_hostgroup is not None else to


def servers_text(destination: Destination, dialect: Dialect) -> str:
    """Return the servers of a hostgroup on one line."""
    if not destination.is_known:
        return "not in these files"
    if not destination.backends:
        timeout = dialect.variable("connect_timeout_server_max")
        return f"none: a query waits for {timeout}, then fails"
    if not destination.family:
        return _listed(destination.backends, has_status=True)
    by_role = [
        f"{role} {_listed(servers, has_status=False)}"
        for role, servers in destination.by_role.items()
    ]
    return f"{'; '.join(by_role)}, as configured; the monitor of {destination.family} places them"


def _listed(servers: Sequence[Server], *, has_status: bool) -> str:
    """Return servers, with their weights if these differ, and with a status other than ONLINE."""
    weights = {server.weight for server in servers}
    parts = []
    for server in servers:
        status = f" {server.status}" if has_status and server.status != "ONLINE" else ""
        weight = f" weight {server.weight}" if len(weights) > 1 else ""
        parts.append(f"{printable(server.hostname)}:{server.port}{status}{weight}")
    return ", ".join(parts)


def _warnings(route: Route) -> Iterator[str]:
    if route.digest is not None and not route.digest.certain:
        yield (
            "warning      the digest may differ: after a line comment that directly follows text,"
            " ProxySQL reads a byte of the previous query"
        )
    if route.loop is not None:
        rules = ", ".join(map(str, route.loop.rule_ids))
        yield f"warning      rules {rules} form a loop; {route.loop.turns} more turns"
    if route.undecided:
        rules = ", ".join(map(str, route.undecided))
        yield (
            f"warning      undecided: rules {rules} needed too many steps and are treated as not"
            " matching"
        )


def _not_evaluated(answer: ExplainedQuery) -> Iterator[str]:
    parts = answer.explainer.not_evaluated
    verdict = answer.firewall
    if verdict is not None and verdict.is_blocked is None:
        parts = (
            f"the firewall whitelist, which blocks what is not on it: {verdict.reason}",
            *parts,
        )
    yield from (f"warning      not evaluated here: {part}" for part in parts)


def _unverified(answer: ExplainedQuery) -> Iterator[str]:
    for rule_id, columns in answer.unverified.items():
        listed = " and ".join(columns)
        yield f"warning      rule {rule_id}: unusual syntax in {listed}: not verified"
    version = answer.explainer.router.variables.version
    for doubt in answer.doubts:
        yield f"warning      not verified on ProxySQL {version}: {doubt}"


SOURCES = {
    HostgroupOrigin.RULE: "rule",
    HostgroupOrigin.FAST_ROUTING: "fast_routing",
    HostgroupOrigin.HINT: "hint",
    HostgroupOrigin.DEFAULT_HOSTGROUP: "default_hostgroup",
    HostgroupOrigin.NOTHING: None,
}
"""The key `decided_by` in JSON."""


def explain_json(answer: ExplainedQuery) -> str:
    """Return the answer for one query as a JSON document."""
    return document(_explained(answer))


def _explained(answer: ExplainedQuery) -> dict[str, object]:
    return {
        **REQUEST.encode(answer.request),
        **BATCH.encode(answer),
        **EXPLAINED.encode(answer),
    }


def batch_line(answer: ExplainedQuery) -> str:
    """Return one line of `--format jsonl`."""
    return json.dumps(BATCH.encode(answer))


BATCH: Shape[ExplainedQuery] = Shape(
    "destination of a query",
    "digest_text digest matched_rules destination_hostgroup rewritten_query cache_ttl error_msg"
    " OK_msg answered match_digest_text",
    matched_rules=lambda answer: answer.route.matched_rules,
    destination_hostgroup=lambda answer: answer.hostgroup,
    answered=lambda answer: answer.route.reply,
    error_msg=lambda answer: answer.route.settings.get("error_msg"),
    OK_msg=lambda answer: answer.route.settings.get("OK_msg"),
    match_digest_text=lambda answer: (
        text_of(answer.route.digest.text) if answer.route.digest else None
    ),
)
QUERIES: Shape[Iterable[ExplainedQuery]] = Shape(
    "explain --queries", "queries", queries=lambda answers: [*map(_explained, answers)]
)
REQUEST: Shape[ClientQuery] = Shape(
    "query and session",
    "query username schemaname client_addr proxy_addr proxy_port flagIN",
    query=lambda request: text_of(request.query),
)
EXPLAINED: Shape[ExplainedQuery] = Shape(
    "explanation of a query",
    "digest_certain hostgroup_name decided_by rule_id settings final_flagIN fast_routing"
    " fast_routing_key copy_hostgroup hints special servers placed_by_monitor undecided loop"
    " outcomes rules doubts",
    digest_certain=lambda answer: answer.route.digest is None or answer.route.digest.certain,
    hostgroup_name=lambda answer: _name_of(answer.hostgroup, answer.explainer.names),
    decided_by=lambda answer: None if answer.hostgroup is None else SOURCES[answer.route.source],
    rule_id=lambda answer: None if answer.hostgroup is None else answer.route.rule_id,
    settings=lambda answer: answer.route.settings,
    final_flagIN=lambda answer: answer.route.flagIN,
    fast_routing=lambda answer: answer.explanation.fast_routing.name.lower(),
    fast_routing_key=lambda answer: answer.explanation.fast_key,
    copy_hostgroup=lambda answer: (
        None if answer.copy is None else answer.copy.destination_hostgroup
    ),
    hints=lambda answer: answer.explanation.hints,
    special=lambda answer: answer.route.special.effect if answer.route.special else None,
    servers=lambda answer: _servers(answer.destination),
    placed_by_monitor=lambda answer: (
        answer.destination is not None and answer.destination.family != ""
    ),
    undecided=lambda answer: answer.route.undecided,
    loop=lambda answer: answer.route.loop.rule_ids if answer.route.loop else None,
    outcomes=lambda answer: OUTCOME.each(answer.outcomes if answer.route.drawn else ()),
    rules=lambda answer: STEP.each(answer.explanation.steps),
)
SERVER: Shape[Server] = Shape("server of the destination", "hostname port status weight")
OUTCOME: Shape[PossibleRoute] = Shape(
    "possible outcome",
    "probability destination_hostgroup matched_rules",
    destination_hostgroup=lambda outcome: outcome.route.destination_hostgroup,
    matched_rules=lambda outcome: outcome.route.matched_rules,
)
STEP: Shape[Step] = Shape(
    "rule of an explanation",
    "rule_id matched reason broken unverified flagIN flagIN_after sets rewritten_query apply"
    " started_again",
    matched=lambda step: step.reason is None,
    reason=lambda step: None if step.reason is None else step.reason.name.lower(),
    flagIN=lambda step: step.flag,
    flagIN_after=lambda step: step.flag_after,
    rewritten_query=lambda step: text_of(step.rewritten),
    apply=lambda step: step.applied,
)


def _name_of(hostgroup: int | None, names: Mapping[int, str]) -> str | None:
    return None if hostgroup is None else names.get(hostgroup)


def _servers(destination: Destination | None) -> list[dict[str, object]] | None:
    if destination is None or not destination.is_known:
        return None
    return SERVER.each(destination.backends)
