"""What came of routing tests, for machines: JSON, and JUnit XML for CI."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree import ElementTree

from proxyctl.render.routing_tests_text import failure_lines, value_text
from proxyctl.routing.rule import Rule
from proxyctl.routing.tests import Result
from proxyctl.text import printable


def routing_tests_json(results: Sequence[Result], unreached: Iterable[Rule] | None) -> str:
    """Return everything as JSON. `unreached` None: coverage was not asked for."""
    failed = sum(not result.passed for result in results)
    document: dict[str, Any] = {
        "format": 1,
        "passed": len(results) - failed,
        "failed": failed,
        "tests": [_test(result) for result in results],
    }
    if unreached is not None:
        document["unreached_rules"] = [rule.rule_id for rule in unreached]
    return json.dumps(document, indent=2) + "\n"


def _test(result: Result) -> dict[str, Any]:
    test = result.test
    return {
        "name": test.name,
        "path": test.where.path,
        "line": test.where.line,
        "query": test.query,
        "username": test.username,
        "passed": result.passed,
        "failures": [failure._asdict() for failure in result.failures],
        "destination_hostgroup": result.answer.route.destination_hostgroup,
        "matched_rules": list(result.answer.route.matched_rules),
        "unverified_rules": sorted(result.answer.unverified),
    }


def junit_xml(results: Sequence[Result], seconds: float) -> str:
    """Return a JUnit report: one suite a file, one case a test. Units: seconds for all of it."""
    root = ElementTree.Element("testsuites")
    by_file: dict[str, list[Result]] = {}
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


def _add_case(suite: ElementTree.Element, result: Result) -> None:
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
        f"{one.key}: expected {value_text(one.key, one.expected, names)},"
        f" found {value_text(one.key, one.found, names)}"
        for one in result.failures
    ]
    failure = ElementTree.SubElement(case, "failure", message="; ".join(parts))
    failure.text = "\n".join(failure_lines(result))
