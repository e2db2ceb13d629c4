"""Record what a real ProxySQL answers to the cases: `python -m tests.conformance.record`.

Writes one file a theme below `golden/`. Read the difference before it is committed: it is what the
sandbox will be held to.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.conformance.cases import GOLDEN, Case, Outcome, load_cases, run_case
from tests.support.reset import Baseline
from tests.support.servers import NO_BINARY, ProxySQL, proxysql_binary

VERSION_FILE = GOLDEN / "version.txt"


def _record(binary: str, cases: list[Case]) -> tuple[str, dict[str, dict[str, list[Outcome]]]]:
    recorded: dict[str, dict[str, list[Outcome]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        server = ProxySQL(binary, Path(folder))
        server.start(initial=True)
        try:
            [(version,)] = server.instance.query("SELECT version()")
            baseline = Baseline.of(server.instance)
            for case in cases:
                if not baseline.restore(server.instance):
                    server.stop()
                    server.start(initial=True)
                    baseline = Baseline.of(server.instance)
                recorded.setdefault(case.theme, {})[case.name] = run_case(server.instance, case)
        finally:
            server.stop()
    return str(version), recorded


def _text(outcomes: dict[str, list[Outcome]]) -> str:
    """Return the file of a theme: one step a line, so that a difference can be read."""
    cases = [
        f"  {json.dumps(name)}: [\n"
        + ",\n".join(f"    {json.dumps(outcome)}" for outcome in steps)
        + "\n  ]"
        for name, steps in outcomes.items()
    ]
    return "{\n" + ",\n".join(cases) + "\n}\n"


def main() -> int:
    """Record all themes; files of themes that are gone are removed."""
    binary = proxysql_binary()
    if binary is None:
        sys.stderr.write(f"{NO_BINARY}\n")
        return 1
    cases = load_cases()
    version, recorded = _record(binary, cases)
    GOLDEN.mkdir(exist_ok=True)
    for path in GOLDEN.glob("*.json"):
        if path.stem not in recorded:
            path.unlink()
    for theme, outcomes in recorded.items():
        (GOLDEN / f"{theme}.json").write_text(_text(outcomes))
    VERSION_FILE.write_text(f"{version}\n")
    sys.stderr.write(f"recorded {len(cases)} cases from ProxySQL {version}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
