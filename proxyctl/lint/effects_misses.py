"""Which rules miss what an earlier one rewrites: texts of their patterns, sent along the rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from proxyctl.lint.effects_samples import samples
from proxyctl.lint.subject import RuleRow, Subject
from proxyctl.lint.traffic_sessions import logins, session_for
from proxyctl.routing import Reason, Request
from proxyctl.routing.patterns import as_bytes
from proxyctl.routing.rule import Rule
from proxyctl.state import Secret

_TEXTS = 8
_WORD = re.compile(r"[A-Za-z_]\w{3,}")
_GROUP = re.compile(r"\\[0-9]")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SQL = {
    "select", "insert", "update", "delete", "replace", "from", "where", "order", "group",
    "having", "limit", "offset", "union", "distinct", "force", "ignore", "index", "join",
    "left", "right", "inner", "outer", "straight_join", "cross", "natural", "using", "null",
    "true", "false", "into", "values", "between", "like", "exists", "case", "when", "then",
    "else", "share", "lock", "mode", "interval", "date", "with", "table", "sql_no_cache",
    "sql_cache",
}  # fmt: skip
"""Words that clients send whatever the rules do."""

Miss = tuple[RuleRow, int, str]
"""The row that misses queries, the rule_id that rewrites them, and one such text."""


def texts_for(pattern: str) -> list[str]:
    """Return queries that a pattern seems to be for."""
    found = samples(pattern, limit=_TEXTS) + samples(pattern, limit=_TEXTS, fill=" c ")
    return [text for text in dict.fromkeys(found) if text.strip()]


def _rewriting(subject: Subject) -> list[Rule]:
    return [rule for rule in subject.rules if rule.replacement is not None and rule.match_pattern]


def _later(subject: Subject, column: str) -> Iterator[tuple[RuleRow, Rule, str]]:
    """Yield the rules behind the first rewriting, with a pattern that has to match."""
    rewriting = _rewriting(subject)
    for row in subject.rule_rows if rewriting else ():
        rule, pattern = row.rule, row.cells[column]
        if rule is None or rule.position <= rewriting[0].position or rule.negated:
            continue
        if isinstance(pattern, str) and not isinstance(pattern, Secret):
            yield row, rule, pattern


def missed_patterns(subject: Subject) -> Iterator[Miss]:
    """Yield each rule whose match_pattern meets only what an earlier rule has made of its texts."""
    anybody = next(iter(logins(subject)), None)
    by_id = {rule.rule_id: rule for rule in _rewriting(subject)}
    for row, rule, pattern in _later(subject, "match_pattern"):
        request = session_for(rule, anybody).request("")
        taken: set[int] = set()
        texts = [text for text in texts_for(pattern) if _matches(rule, text)]
        for text in texts:
            by = _rewritten_by(subject, rule, replace(request, query=as_bytes(text)), by_id)
            if by is None:
                break
            taken.add(by)
        else:
            if taken:
                yield row, min(taken), texts[0]


def _matches(rule: Rule, text: str) -> bool:
    return rule.match_pattern is not None and rule.match_pattern.matches(as_bytes(text))


def _rewritten_by(
    subject: Subject, rule: Rule, request: Request, by_id: dict[int, Rule]
) -> int | None:
    """Return the rule without whose rewriting this rule would match, if there is one."""
    route = subject.router.evaluate(request)
    if route.rewritten_query is None or rule.rule_id in route.matched_rules:
        return None
    pattern, found = rule.match_pattern, None
    for step in subject.router.explain(request).steps:
        if step.rule_id == rule.rule_id:
            return found if step.reason is Reason.MATCH_PATTERN else None
        if step.rewritten is None or found is not None or pattern is None:
            continue
        if not pattern.matches(step.rewritten):
            found = step.rule_id if _is_for_all_of(by_id[step.rule_id], rule) else None
    return None


def _is_for_all_of(earlier: Rule, later: Rule) -> bool:
    """Return whether every session that the later rule takes is one of the earlier one's."""
    asked = ("username", "schemaname", "client_addr", "proxy_addr", "proxy_port")
    return all(getattr(earlier, one) in (None, getattr(later, one)) for one in asked)


def missed_digests(subject: Subject) -> Iterator[Miss]:
    """Yield each rule whose match_digest asks for a word that an earlier rewriting brings in."""
    bringing = _new_words(subject)
    for row, rule, pattern in _later(subject, "match_digest") if bringing else ():
        text = _COMMENT.sub("", next(iter(texts_for(pattern)), ""))
        for word in sorted(bringing.keys() & set(_WORD.findall(text.lower()))):
            by = next((one for one in bringing[word] if _hands_on(one, rule)), None)
            if by is not None:
                yield row, by.rule_id, word
                break


def _new_words(subject: Subject) -> dict[str, list[Rule]]:
    """Return the rules by the words, in lower case, that only their replacement has."""
    found: dict[str, list[Rule]] = {}
    for row in subject.rule_rows:
        template, pattern = row.text("replace_pattern"), row.text("match_pattern")
        if row.rule is None or row.rule.apply or template is None or pattern is None:
            continue
        if isinstance(row.cells["replace_pattern"], Secret):
            continue
        text = _COMMENT.sub("", _GROUP.sub(" ", template)).lower()
        for word in set(_WORD.findall(text)) - set(_WORD.findall(pattern.lower())) - _SQL:
            found.setdefault(word, []).append(row.rule)
    return found


def _hands_on(earlier: Rule, later: Rule) -> bool:
    """Return whether queries go from one rule to the other, and that matters to where they end."""
    flag = earlier.flag_in if earlier.flag_out is None else earlier.flag_out
    same = earlier.destination is not None and earlier.destination == later.destination
    return earlier.position < later.position and flag == later.flag_in and not same
