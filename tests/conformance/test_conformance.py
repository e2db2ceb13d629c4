"""The same cases on the sandbox and a real ProxySQL, held to what a real one was seen to answer."""

from __future__ import annotations

import pytest

from proxyctl.catalog import parse_version
from tests.conformance.cases import (
    GOLDEN,
    REFUSED_BY_SANDBOX,
    Case,
    Outcome,
    golden,
    load_cases,
    run_case,
)
from tests.conformance.record import VERSION_FILE
from tests.support.servers import Instance

CASES = load_cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(instance: Instance, case: Case) -> None:
    if instance.kind == "real":
        _skip_other_version(instance)
    expected = golden(case.theme).get(case.name)
    assert expected is not None, "not recorded: run python -m tests.conformance.record"
    differences = [
        f"{step.sql or f'log in as {step.user}'}\n  expected {wanted}\n  answered {outcome}"
        for step, wanted, outcome in zip(
            case.steps, expected, run_case(instance, case), strict=True
        )
        if not _agree(wanted, outcome, is_refused=step.is_refused and instance.kind == "sandbox")
    ]
    assert not differences, "\n".join(differences)


def _agree(wanted: Outcome, outcome: Outcome, *, is_refused: bool) -> bool:
    """Return whether a step was answered as recorded, or refused where that is what we want."""
    if not is_refused:
        return outcome == wanted
    code, message = outcome.get("error", (0, ""))
    return bool(code == REFUSED_BY_SANDBOX and message.startswith("The sandbox "))


def _skip_other_version(instance: Instance) -> None:
    recorded = VERSION_FILE.read_text().strip()
    [(running,)] = instance.query("SELECT version()")
    if parse_version(str(running)) != parse_version(recorded):
        pytest.skip(f"the cases were recorded from ProxySQL {recorded}, this is another version")


def test_every_recorded_case_exists() -> None:
    recorded = {(path.stem, name) for path in GOLDEN.glob("*.json") for name in golden(path.stem)}
    assert recorded == {(case.theme, case.name) for case in CASES}
