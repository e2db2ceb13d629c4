"""What came of routing tests, for people: a dot each, and for a failure the chain and a diff."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from proxyctl.errors import counted
from proxyctl.render.explain_text import chain_lines, cut, end_lines, session_text
from proxyctl.render.style import PLAIN, Style, hostgroup, shown
from proxyctl.routing.explain import Cells, Explainer
from proxyctl.routing.rule import Rule
from proxyctl.routing.tests import Failure, Result, RoutingTest
from proxyctl.state.row import Where
from proxyctl.text import printable

_DOTS_A_LINE = 72
LONGEST_TITLE = 100


def routing_tests_text(results: Sequence[Result], *, is_verbose: bool, style: Style = PLAIN) -> str:
    """Return the whole report but for the coverage."""
    lines: list[str] = []
    if is_verbose:
        for result in results:
            word = "passed" if result.passed else "FAILED"
            lines.append(f"{word}  {_title(result.test)}")
    else:
        dots = "".join("." if result.passed else "F" for result in results)
        lines += [dots[at : at + _DOTS_A_LINE] for at in range(0, len(dots), _DOTS_A_LINE)]
    lines.append("")
    failed = [result for result in results if not result.passed]
    for result in failed:
        lines += [*failure_lines(result, style), ""]
    lines += _unverified(results)
    counts = [f"{len(results) - len(failed)} passed"]
    if failed:
        counts.insert(0, f"{len(failed)} failed")
    lines.append(style("delete" if failed else "add", ", ".join(counts)))
    return "\n".join(lines) + "\n"


def _unverified(results: Iterable[Result]) -> Iterator[str]:
    """Yield the rules with unusual syntax that tests met: for them proxyctl is not vouched for."""
    met: Counter[tuple[int, tuple[str, ...]]] = Counter()
    for result in results:
        met.update(result.answer.unverified.items())
    for (rule_id, columns), count in sorted(met.items()):
        tests = f"{counted(count, 'test')} {'is' if count == 1 else 'are'} not verified"
        yield f"caution      rule {rule_id}: unusual syntax in {' and '.join(columns)}: {tests}"


def _title(test: RoutingTest) -> str:
    return f"{place_text(test.where)}  {cut(test.title, LONGEST_TITLE)}"


def place_text(where: Where) -> str:
    """Return `file:line`."""
    return f"{printable(where.path)}:{where.line}"


def failure_lines(result: Result, style: Style = PLAIN) -> Iterator[str]:
    """Yield what is wrong, and the chain of rules that led there."""
    test, answer = result.test, result.answer
    yield style("bold", f"FAILED {_title(test)}")
    request = test.request()
    if test.name:
        yield f"  query        {cut(test.query)}"
    yield f"  session      {session_text(request)}"
    if result.chance < 1:
        yield f"  by chance    {result.chance:.1%} of such queries go this way"
    for failure in result.failures:
        yield from (f"  {line}" for line in diff_lines(failure, answer.explainer.names, style))
    yield ""
    if result.chance < 1:
        # Explained is the likeliest way, and that is another one.
        rules = ", ".join(map(str, result.answer.route.matched_rules)) or "none"
        yield f"  rules of this way: {rules}"
        return
    yield from (f"  {line}" for line in chain_lines(answer, style=style))
    ends = end_lines(answer, style=style, with_servers=False)
    yield from (f"  {line}" for line in ends)


def diff_lines(failure: Failure, names: Mapping[int, str], style: Style = PLAIN) -> Iterator[str]:
    """Yield what was expected with a minus, and what was found with a plus."""
    label = f"{failure.key}:"
    expected = value_text(failure.key, failure.expected, names)
    found = value_text(failure.key, failure.found, names)
    yield style("delete", f"- {label:<14} {expected}")
    yield style("add", f"+ {label:<14} {found}")


def value_text(key: str, value: Any, names: Mapping[int, str]) -> str:  # noqa: ANN401
    """Return what is expected or found, for people."""
    if value is None:
        return "nothing"
    if key == "hostgroup":
        return hostgroup(value, names)
    if key == "matched_rules":
        return ", ".join(map(str, value)) or "none"
    return cut(value) if key in ("rewritten", "digest_text") else shown(value)


def coverage_text(unreached: Sequence[Rule], explainer: Explainer, style: Style = PLAIN) -> str:
    """Return how many rules the tests reach, and name the others with their places."""
    total = len(explainer.router.rules)
    reached = total - len(unreached)
    share = f" ({reached / total:.0%})" if total else ""
    lines = [style("bold", f"{reached} of {counted(total, 'rule')} reached by a test{share}")]
    for rule in unreached:
        where = explainer.configuration.place("mysql_query_rules", (rule.rule_id,), None)
        place = f"{place_text(where)}  " if where else ""
        lines.append(
            f"  {place}rule {rule.rule_id}{_matcher(explainer.rules.get(rule.rule_id, {}))}"
        )
    return "\n".join(lines) + "\n"


def _matcher(cells: Cells) -> str:
    for column in ("match_digest", "match_pattern", "digest", "username", "schemaname"):
        value = cells.get(column)
        if value is not None:
            return f"  {shown(value, limit=60)}"
    return ""
