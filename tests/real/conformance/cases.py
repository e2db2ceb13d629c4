"""The cases of the conformance suite: read from YAML, run on any admin interface.

A case is a list of statements; the whole answer to each is recorded. The expected answers are in
`golden/` and come only from a real ProxySQL, by `python -m tests.real.conformance.record`. An
answer that differs between the recorded versions is a mapping, keyed by the first version that gave
it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pymysql
import yaml

from proxyctl.catalog import Version, parse_version
from tests.support.servers.instances import Instance, Reply, run

HERE = Path(__file__).parent
CASES = HERE / "cases"
GOLDEN = HERE / "golden"
VERSIONS = GOLDEN / "versions.txt"
DIFFERING = GOLDEN / "differing.yaml"

REFUSED_BY_SANDBOX = 1235
"""The error code of what only the sandbox refuses."""

Outcome = dict[str, Any]
"""What one step was answered: `rows` and `columns`, or `affected` and `info`, or `error`."""


@dataclass(frozen=True)
class Step:
    """One statement, or one login.

    Shape: `user` and `password` are of the session that runs the step; a step without `sql` only
    logs in. `is_refused`: the sandbox deliberately answers with an error of its own instead.
    """

    sql: str
    user: str = ""
    password: str = ""
    is_refused: bool = False


@dataclass(frozen=True)
class Case:
    """A named list of steps on an instance in its initial state."""

    theme: str
    name: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return f"{self.theme}: {self.name}"


def load_cases() -> list[Case]:
    """Return all cases, in the order of the files."""
    found = [
        Case(path.stem, entry["name"], tuple(_steps(entry)))
        for path in sorted(CASES.glob("*.yaml"))
        for entry in yaml.safe_load(path.read_text())
    ]
    names = [str(case) for case in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two cases of one name: {', '.join(sorted(twice))}")
    return found


def _steps(entry: dict[str, Any]) -> Iterator[Step]:
    unknown = set(entry) - {"name", "steps", "variable", "values", "refused_by_sandbox"}
    if unknown:
        raise ValueError(f"case {entry['name']!r} has {', '.join(sorted(unknown))}")
    for variable, value in ((entry["variable"], v) for v in entry.get("values", ())):
        yield from _variable_steps(variable, value)
    for step in entry.get("steps", ()):
        yield _step(step)
    for step in entry.get("refused_by_sandbox", ()):
        yield replace(_step(step), is_refused=True)


def _step(step: str | dict[str, str]) -> Step:
    if isinstance(step, str):
        return Step(step)
    if "latin1" in step:
        return Step(step["latin1"].encode("latin1").decode("utf-8", "surrogateescape"))
    return Step(step.get("sql", ""), step["user"], step["password"])


def _variable_steps(variable: str, value: str) -> Iterator[Step]:
    """Write a value into MEMORY, LOAD it, and read MEMORY and RUNTIME."""
    module = variable.split("-")[0].upper()
    text = value.replace("'", "''")
    where = f"WHERE variable_name='{variable}'"
    yield Step(f"UPDATE global_variables SET variable_value='{text}' {where}")
    yield Step(f"LOAD {module} VARIABLES TO RUNTIME")
    yield Step(
        f"SELECT 'MEMORY', variable_value FROM global_variables {where}"
        f" UNION ALL SELECT 'RUNTIME', variable_value FROM runtime_global_variables {where}"
    )


def recorded_versions() -> list[str]:
    """Return the versions of ProxySQL whose answers are recorded, oldest first."""
    return VERSIONS.read_text().split()


def golden(theme: str, version: Version) -> dict[str, list[Outcome]]:
    """Return the expected answers of a version, by case.

    The answers are those of the newest recorded version that is not newer, or of the oldest.
    """
    path = GOLDEN / f"{theme}.json"
    recorded: dict[str, list[Outcome]] = json.loads(path.read_text()) if path.exists() else {}
    return {
        name: [_answer_of(outcome, version) for outcome in outcomes]
        for name, outcomes in recorded.items()
    }


def _answer_of(outcome: Outcome, version: Version) -> Outcome:
    if not next(iter(outcome))[0].isdigit():
        return outcome
    by_version = {parse_version(since): answer for since, answer in outcome.items()}
    known: Outcome = by_version[
        max((v for v in by_version if v <= version), default=min(by_version))
    ]
    return known


@cache
def differing() -> dict[str, dict[str, dict[int, Outcome]]]:
    """Return the answers that the version's sandbox does not give, by version, case and step."""
    found: dict[str, dict[str, dict[int, Outcome]]] = yaml.safe_load(DIFFERING.read_text())
    return found


def run_case(instance: Instance, case: Case) -> list[Outcome]:
    """Run a case and return the outcome of each step.

    The version text differs between builds and becomes `<version>`.
    """
    [(version,)] = instance.query("SELECT version()")
    sessions: dict[tuple[str, str], Any] = {}
    with ExitStack() as stack:
        outcomes = [_outcome(instance, step, sessions, stack) for step in case.steps]
    text = json.dumps(outcomes).replace(str(version), "<version>")
    replaced: list[Outcome] = json.loads(text)
    return replaced


def _outcome(
    instance: Instance, step: Step, sessions: dict[tuple[str, str], Any], stack: ExitStack
) -> Outcome:
    try:
        if not step.user:
            return _recorded(instance.run(step.sql))
        login = (step.user, step.password)
        if login not in sessions or not step.sql:
            connection = instance.connect(*login)
            sessions[login] = stack.enter_context(closing(connection))
        return _recorded(run(sessions[login], step.sql)) if step.sql else {"login": "accepted"}
    except pymysql.err.MySQLError as error:
        code, message = error.args
        return {"error": [code, message]}


def _recorded(reply: Reply) -> Outcome:
    if reply.columns:
        return {"columns": list(reply.columns), "rows": [list(row) for row in reply.rows]}
    return {"affected": reply.affected, "info": reply.info}
