"""Results of routing tests as text, JSON and JUnit; a failure with its diff and chain of rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from proxyctl.render.encode import ABSENT, Shape
from proxyctl.render.explain import chain_lines, cut, end_lines, session_text
from proxyctl.render.style import PLAIN, Style, hostgroup, shown
from proxyctl.routing.explain import Explainer
from proxyctl.routing.routing_test import RoutingTest
from proxyctl.routing.rule import Rule
from proxyctl.routing.run_tests import Failure, TestResult
from proxyctl.routing.special import Reply
from proxyctl.rows.row import ColumnValues, Where
from proxyctl.text import counted, printable

_DOTS_PER_LINE = 72
LONGEST_TITLE = 100


def routing_tests_text(
    results: Sequence[TestResult], *, is_verbose: bool, style: Style = PLAIN
) -> str:
    """Return the report without the coverage."""
    lines: list[str] = []
    if is_verbose:
        for result in results:
            word = "passed" if result.passed else "FAILED"
            lines.append(f"{word}  {_title(result.test)}")
    else:
        dots = "".join("." if result.passed else "F" for result in results)
        lines += [dots[at : at + _DOTS_PER_LINE] for at in range(0, len(dots), _DOTS_PER_LINE)]
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


def _unverified(results: Iterable[TestResult]) -> Iterator[str]:
    """Yield warnings about rules with unusual syntax and other doubts, with counts of tests."""
    unusual: Counter[tuple[int, tuple[str, ...]]] = Counter()
    doubts: Counter[str] = Counter()
    for result in results:
        unusual.update(result.answer.unverified.items())
        doubts.update(result.answer.doubts)
    for (rule_id, columns), count in sorted(unusual.items()):
        syntax = f"unusual syntax in {' and '.join(columns)}"
        yield f"warning      rule {rule_id}: {syntax}: {_not_verified(count)}"
    for doubt, count in doubts.items():
        yield f"warning      {doubt}: {_not_verified(count)}"


def _not_verified(count: int) -> str:
    return f"{counted(count, 'test')} {'is' if count == 1 else 'are'} not verified"


def _title(test: RoutingTest) -> str:
    return f"{place_text(test.where)}  {cut(test.title, LONGEST_TITLE)}"


def place_text(where: Where) -> str:
    """Return `file:line`."""
    return f"{printable(where.path)}:{where.line}"


def failure_lines(result: TestResult, style: Style = PLAIN) -> Iterator[str]:
    """Yield the unmet expectations, and the chain of rules."""
    test, answer = result.test, result.answer
    yield style("bold", f"FAILED {_title(test)}")
    request = test.request
    if test.name:
        yield f"  query        {cut(test.query)}"
    yield f"  session      {session_text(request)}"
    if result.chance < 1:
        yield f"  by chance    {result.chance:.1%} of such queries go this way"
    for failure in result.failures:
        yield from (f"  {line}" for line in diff_lines(failure, answer.explainer.names, style))
    yield ""
    if result.chance < 1:
        # The chain explains the likeliest way, and this failure is on another one.
        rules = ", ".join(map(str, result.answer.route.matched_rules)) or "none"
        yield f"  rules matched this way: {rules}"
        return
    yield from (f"  {line}" for line in chain_lines(answer, style=style))
    narrower = replace(style, width=style.width and style.width - len("  "))
    ends = end_lines(answer, style=narrower, with_servers=False)
    yield from (f"  {line}" for line in ends)


def diff_lines(failure: Failure, names: Mapping[int, str], style: Style = PLAIN) -> Iterator[str]:
    """Yield the expected value with a minus, and the actual one with a plus."""
    label = f"{failure.key}:"
    expected = value_text(failure.key, failure.expected, names)
    found = value_text(failure.key, failure.found, names)
    yield style("delete", f"- {label:<14} {expected}")
    yield style("add", f"+ {label:<14} {found}")


def value_text(key: str, value: Any, names: Mapping[int, str]) -> str:  # noqa: ANN401
    """Return an expected or actual value for people."""
    if value is None:
        return "nothing"
    if key == "hostgroup":
        return value if isinstance(value, Reply) else hostgroup(value, names)
    if key == "matched_rules":
        return ", ".join(map(str, value)) or "none"
    return cut(value) if key in ("rewritten", "digest_text") else shown(value)


def coverage_text(unreached: Sequence[Rule], explainer: Explainer, style: Style = PLAIN) -> str:
    """Return how many rules the tests reach, and the unreached rules with their places."""
    total = len(explainer.router.rules)
    reached = total - len(unreached)
    share = f" ({reached / total:.0%})" if total else ""
    lines = [style("bold", f"{reached} of {counted(total, 'rule')} reached by a test{share}")]
    for rule in unreached:
        where = explainer.configuration.place(explainer.dialect.rules, (rule.rule_id,), None)
        place = f"{place_text(where)}  " if where else ""
        lines.append(
            f"  {place}rule {rule.rule_id}{_matcher(explainer.rules.get(rule.rule_id, {}))}"
        )
    return "\n".join(lines) + "\n"


def _matcher(cells: ColumnValues) -> str:
    for column in ("match_digest", "match_pattern", "digest", "username", "schemaname"):
        value = cells.get(column)
        if value is not None:
            return f"  {shown(value, limit=60)}"
    return ""


def routing_tests_json(results: Sequence[TestResult], unreached: Iterable[Rule] | None) -> str:
    """Return the results as JSON. `unreached` None: coverage was not asked for."""
    rules = ABSENT if unreached is None else [rule.rule_id for rule in unreached]
    return TESTS.document(results, unreached_rules=rules)


TESTS: Shape[Sequence[TestResult]] = Shape(
    "test",
    "passed failed tests unreached_rules",
    passed=lambda results: sum(result.passed for result in results),
    failed=lambda results: sum(not result.passed for result in results),
    tests=lambda results: TEST.each(results),
)
TEST: Shape[TestResult] = Shape(
    "test result",
    "name path line query username passed failures answered destination_hostgroup matched_rules"
    " unverified_rules doubts",
    name=lambda result: result.test.name,
    path=lambda result: result.test.where.path,
    line=lambda result: result.test.where.line,
    query=lambda result: result.test.query,
    username=lambda result: result.test.request.username,
    failures=lambda result: FAILURE.each(result.failures),
    answered=lambda result: result.answer.route.reply,
    destination_hostgroup=lambda result: result.answer.hostgroup,
    matched_rules=lambda result: result.answer.route.matched_rules,
    unverified_rules=lambda result: sorted(result.answer.unverified),
    doubts=lambda result: result.answer.doubts,
)
FAILURE: Shape[Failure] = Shape("unmet expectation", "key expected found")


def junit_xml(results: Sequence[TestResult], seconds: float) -> str:
    """Return a JUnit report: one suite per file, one case per test. Units: seconds in all."""
    root = ElementTree.Element("testsuites")
    by_file: dict[str, list[TestResult]] = {}
    for result in results:
        by_file.setdefault(result.test.where.path, []).append(result)
    for path, members in by_file.items():
        failed = sum(not result.passed for result in members)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=printable(path),
            tests=str(len(members)),
            failures=str(failed),
            errors="0",
            skipped="0",
            time=f"{seconds * len(members) / len(results):.3f}",
        )
        for result in members:
            _add_case(suite, result)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _add_case(suite: ElementTree.Element, result: TestResult) -> None:
    test = result.test
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=printable(test.where.path),
        name=printable(test.title),
        file=printable(test.where.path),
        line=str(test.where.line),
        time="0",
    )
    if result.passed:
        return
    names = result.answer.explainer.names
    parts = [
        f"{failure.key}: expected {value_text(failure.key, failure.expected, names)},"
        f" found {value_text(failure.key, failure.found, names)}"
        for failure in result.failures
    ]
    element = ElementTree.SubElement(case, "failure", message=printable("; ".join(parts)))
    element.text = "\n".join(map(printable, failure_lines(result)))
