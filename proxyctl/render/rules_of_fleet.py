"""The hits of query rules on many instances as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.render.encode import Shape
from proxyctl.render.fleet import FAILED, counts_line, failures
from proxyctl.render.rules import RULES, rule_text
from proxyctl.render.style import PLAIN, WIDTH, Style, listed_names, wrapped
from proxyctl.render.table import GAP, TableColumn, aligned
from proxyctl.stats.rule_hits_of_fleet import RuleOfFleet, RulesOfFleet
from proxyctl.stats.units import number_text, share_text
from proxyctl.text import counted


def rules_of_fleet_text(fleet: RulesOfFleet, style: Style = PLAIN, *, width: int = WIDTH) -> str:
    """Render one line per rule; a rule that only some instances have names them."""
    lines: list[str] = []
    count = len(fleet.reports)
    if fleet.rules:
        hits = counted(sum(rule.hits for rule in fleet.rules), "hit")
        lines += wrapped(
            f"{hits} since the rules were last loaded on each instance; a query can hit several"
            " rules",
            width,
        )
        lines += ["", *_table(fleet, style), ""]
        for text in _never_hit(fleet):
            lines += wrapped(text, width)
    lines += failures(fleet.failed, style)
    lines.append(counts_line(count, [*_parts(fleet)], fleet.failed))
    return "\n".join(lines) + "\n"


def _never_hit(fleet: RulesOfFleet) -> Iterator[str]:
    """Yield the rules that are never hit, one line for those that the same instances have."""
    ids: dict[tuple[str, ...], list[str]] = {}
    for rule_id, names in fleet.never_hit.items():
        ids.setdefault(tuple(names), []).append(str(rule_id))
    count = len(fleet.reports)
    for having, listed in ids.items():
        is_everywhere = len(having) == count
        where = f"any of {counted(count, 'instance')}" if is_everywhere else listed_names(having)
        yield f"never hit on {where}: {', '.join(listed)}"


def _table(fleet: RulesOfFleet, style: Style) -> Iterator[str]:
    columns: list[TableColumn[RuleOfFleet]] = [
        TableColumn("rule", lambda rule: str(rule.rule_id)),
        TableColumn("hits", lambda rule: f"{rule.hits:,}"),
        TableColumn("share", lambda rule: share_text(rule.share) if rule.share else "-"),
        TableColumn("", lambda rule: _what(rule, len(fleet.reports)), is_number=False),
    ]
    if not fleet.has_no_rates:
        rate = TableColumn[RuleOfFleet](
            "hits/s", lambda rule: number_text(round(rule.per_s or 0, 2))
        )
        columns.insert(2, rate)
    head, *lines = aligned(columns, fleet.rules)
    yield style("dim", head)
    indent = " " * (len(head) + GAP)  # the last column has no title
    for rule, line in zip(fleet.rules, lines, strict=True):
        text = _what(rule, len(fleet.reports))
        for part in style.lines(text, first=line[: len(indent)], then=indent):
            yield part if rule.hits else style("change", part)


def _what(rule: RuleOfFleet, count: int) -> str:
    """Return a rule on one line, with its instances unless all have it."""
    text = rule_text(rule.cells)
    return text if len(rule.instances) == count else f"{text}  (on {listed_names(rule.instances)})"


def _parts(fleet: RulesOfFleet) -> Iterator[str]:
    if not fleet.reports:
        return
    if not fleet.rules:
        yield "no query rules at RUNTIME"
    elif fleet.differing:
        yield f"they differ in rule {', '.join(map(str, fleet.differing))}"
    else:
        yield "all have the same rules"


RULES_OF_FLEET: Shape[RulesOfFleet] = Shape(
    "rules of a fleet",
    "instances failed never_hit differing rules",
    instances=lambda fleet: RULES.each(fleet.reports),
    failed=lambda fleet: FAILED.each(fleet.failed),
    never_hit=lambda fleet: [*fleet.never_hit],
    rules=lambda fleet: RULE_OF_FLEET.each(fleet.rules),
)
RULE_OF_FLEET: Shape[RuleOfFleet] = Shape(
    "rule of a fleet",
    "rule_id hits share hits_per_s instances rule",
    share=lambda rule: round(rule.share, 6),
    hits_per_s=lambda rule: None if rule.per_s is None else round(rule.per_s, 3),
    instances=lambda rule: list(rule.instances),
    rule=lambda rule: {name: cell for name, cell in rule.cells.items() if cell is not None},
)
