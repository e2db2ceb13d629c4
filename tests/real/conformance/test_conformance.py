"""The same cases on the sandbox and on a real ProxySQL, compared with recorded answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proxyctl.catalog import Version, parse_version
from tests.real.conformance.cases import (
    GOLDEN,
    REFUSED_BY_SANDBOX,
    Case,
    Outcome,
    differing,
    golden,
    load_cases,
    recorded_versions,
    run_case,
)
from tests.support.servers.instances import Instance, sandbox_of

CASES = load_cases()


@pytest.fixture(
    params=[
        *(f"sandbox {version}" for version in recorded_versions()),
        pytest.param("real", marks=pytest.mark.real),
    ]
)
def instance(request: pytest.FixtureRequest) -> Iterator[Instance]:
    """A handle on a sandbox of each recorded version, then on a real ProxySQL."""
    if request.param == "real":
        yield request.getfixturevalue("real_proxysql")
        return
    with sandbox_of(parse_version(request.param.removeprefix("sandbox "))) as handle:
        yield handle


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(instance: Instance, case: Case) -> None:
    expected = _expected(case, instance.version)
    differences = [
        f"{step.sql or f'log in as {step.user}'}\n  expected {wanted}\n  answered {outcome}"
        for step, wanted, outcome in zip(
            case.steps, expected, run_case(instance, case), strict=True
        )
        if not _agree(wanted, outcome, is_refused=step.is_refused and instance.kind == "sandbox")
    ]
    assert not differences, "\n".join(differences)


def _expected(case: Case, version: Version) -> list[Outcome]:
    """Return the recorded answers of a version, or those that its sandbox is to give.

    The sandbox is known to be wrong in some steps.
    """
    if str(version) not in recorded_versions():
        with sandbox_of(version) as handle:
            answers = run_case(handle, case)
        known = differing().get(str(version), {}).get(str(case), {})
        return [known.get(number, answer) for number, answer in enumerate(answers)]
    recorded = golden(case.theme, version).get(case.name)
    assert recorded is not None, "not recorded: run python -m tests.real.conformance.record"
    return recorded


def _agree(wanted: Outcome, outcome: Outcome, *, is_refused: bool) -> bool:
    """Return whether the answer is the expected one, or a refusal where one is expected."""
    if _is_of_sandbox(wanted):
        return True
    return _is_of_sandbox(outcome) if is_refused else outcome == wanted


def _is_of_sandbox(outcome: Outcome) -> bool:
    """Return whether the sandbox refuses a step that it does not model."""
    code, message = outcome.get("error", (0, ""))
    return bool(code == REFUSED_BY_SANDBOX and message.startswith("The sandbox "))


def test_every_recorded_case_exists() -> None:
    newest = parse_version(recorded_versions()[-1])
    recorded = {
        (path.stem, name) for path in GOLDEN.glob("*.json") for name in golden(path.stem, newest)
    }
    assert recorded == {(case.theme, case.name) for case in CASES}
    assert {name for cases in differing().values() for name in cases} <= set(map(str, CASES))
