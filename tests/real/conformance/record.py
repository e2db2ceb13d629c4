"""Record what a real ProxySQL answers to the cases: `python -m tests.real.conformance.record`.

Writes one file per theme below `golden/` and keeps the answers of other versions. Read the
difference before you commit it: the sandbox has to answer the same.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from proxyctl.catalog import parse_version
from tests.real.conformance.cases import (
    GOLDEN,
    VERSIONS,
    Case,
    Outcome,
    golden,
    load_cases,
    recorded_versions,
    run_case,
)
from tests.support.servers.instances import NO_BINARY, ProxySQL, binary_version, proxysql_binary
from tests.support.servers.reset import Baseline

Recorded = dict[str, dict[str, list[Outcome]]]
"""The outcomes of every step, by theme and case."""


def _record(binary: str, cases: list[Case]) -> Recorded:
    recorded: Recorded = {}
    with tempfile.TemporaryDirectory() as folder:
        server = ProxySQL(binary, Path(folder))
        server.start(initial=True)
        try:
            baseline = Baseline.of(server.instance)
            for case in cases:
                if not baseline.restore(server.instance):
                    server.stop()
                    server.start(initial=True)
                    baseline = Baseline.of(server.instance)
                recorded.setdefault(case.theme, {})[case.name] = run_case(server.instance, case)
        finally:
            server.stop()
    return recorded


def _merged(case: Case, by_version: dict[str, Recorded]) -> list[Outcome]:
    """Return the outcomes of a case, as a mapping by version where the answers differ."""
    asked = {}
    for version, recorded in by_version.items():
        steps = recorded[case.theme].get(case.name, [])
        if len(steps) == len(case.steps):
            asked[version] = steps
        else:
            sys.stderr.write(f"{case}: not recorded from {version}, record it there, too\n")
    return [
        _step(dict(zip(asked, answers, strict=True)))
        for answers in zip(*asked.values(), strict=True)
    ]


def _step(answers: dict[str, Outcome]) -> Outcome:
    """Return the distinct answers to one step, each under the first version that gave it."""
    changes: dict[str, Outcome] = {}
    for version, answer in answers.items():
        if not changes or list(changes.values())[-1] != answer:
            changes[version] = answer
    return changes if len(changes) > 1 else next(iter(changes.values()))


def _text(outcomes: dict[str, list[Outcome]]) -> str:
    """Return the file of a theme: one step per line, so that a difference is readable."""
    cases = [
        f"  {json.dumps(name)}: [\n"
        + ",\n".join(f"    {json.dumps(outcome)}" for outcome in steps)
        + "\n  ]"
        for name, steps in outcomes.items()
    ]
    return "{\n" + ",\n".join(cases) + "\n}\n"


def main() -> int:
    """Record all themes, and remove the files of themes that no longer exist."""
    binary = proxysql_binary()
    if binary is None:
        sys.stderr.write(f"{NO_BINARY}\n")
        return 1
    cases = load_cases()
    version = str(binary_version(binary))
    versions = sorted({*recorded_versions(), version}, key=parse_version)
    themes = {case.theme: None for case in cases}
    by_version = {
        known: _record(binary, cases)
        if known == version
        else {theme: golden(theme, parse_version(known)) for theme in themes}
        for known in versions
    }
    for path in GOLDEN.glob("*.json"):
        if path.stem not in themes:
            path.unlink()
    for theme in themes:
        outcomes = {c.name: _merged(c, by_version) for c in cases if c.theme == theme}
        (GOLDEN / f"{theme}.json").write_text(_text(outcomes))
    VERSIONS.write_text("\n".join(versions) + "\n")
    sys.stderr.write(f"recorded {len(cases)} cases from ProxySQL {version}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
