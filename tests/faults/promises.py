"""What has to hold after every fault. Each promise is a function that yields its violations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.faults.state import DISK, MEMORY, RUNTIME, State, between_loads
from tests.support.commands.cli import SECRETS, Outcome
from tests.support.every_module import MODULES
from tests.support.protocol.fault_kinds import FREEZES

UNTOUCHED, REFUSED, PART_WAY, INTERRUPTED = 1, 3, 4, 130
"""Exit codes of an apply that did not finish."""
KILLED = -9


@dataclass(frozen=True)
class Case:
    """One fault: the state before, the wanted state, the state found, and the outcome.

    `kind`: the fault.
    `again` and `state_again` are a second, plain apply without faults and the state that it left.
    `is_rollback`: what goes wrong is the rollback after a watch; `before` is what the apply made.
    There is no second apply where the first one left the instance as it was, lock included.
    `locks` and `locks_again` are the numbers of live locks after the first and the second apply.
    """

    kind: str
    before: State
    after: State
    state: State
    outcome: Outcome
    locks: int
    again: Outcome | None
    state_again: State
    locks_again: int
    is_rollback: bool = False

    @property
    def meanings(self) -> dict[str, State]:
        """The states that the words of a report mean."""
        if self.is_rollback:
            return {
                "as before the rollback": self.before,
                "as before": self.before,
                "as in the files": self.before,
                "as in the snapshot": self.after,
            }
        return {"as before": self.before, "as in the files": self.after}


def runtime_is_whole(case: Case) -> Iterator[str]:
    """RUNTIME of each admin module is entirely as before or entirely as in the files.

    A module with two LOADs may be between them: servers, and a checksum that is turned on.
    """
    for module in MODULES:
        old, new = case.before[module, RUNTIME], case.after[module, RUNTIME]
        if case.state[module, RUNTIME] not in (old, new, between_loads(module, old, new)):
            yield f"RUNTIME of {module} is neither as before nor as in the files"


def disk_is_whole(case: Case) -> Iterator[str]:
    """DISK of each admin module is entirely as before or entirely as in the files."""
    for module in MODULES:
        if case.state[module, DISK] not in (case.before[module, DISK], case.after[module, DISK]):
            yield f"DISK of {module} is neither as before nor as in the files"


def disk_is_not_ahead(case: Case) -> Iterator[str]:
    """DISK holds nothing that RUNTIME does not hold: a restart brings no surprise."""
    for module in MODULES:
        if case.state[module, DISK] == case.before[module, DISK]:
            continue
        if case.state[module, RUNTIME] != case.after[module, RUNTIME]:
            yield f"DISK of {module} is ahead of RUNTIME"


def report_is_true(case: Case) -> Iterator[str]:
    """The exit code and each layer in the report agree with the instance."""
    code, text = case.outcome.code, case.outcome.text
    if code == KILLED:
        return
    if code not in (0, UNTOUCHED, REFUSED, PART_WAY):
        yield f"exit code {code}:\n{text}"
        return
    for word in ("Traceback", "internal error", *SECRETS.values()):
        if word in text:
            yield f"the output has {word!r}:\n{text}"
    reported = _reported_layers(case.outcome)
    if code == PART_WAY and not reported:
        yield f"exit code 4 says nothing about the layers:\n{text}"
    for module in MODULES:
        for layer in (MEMORY, RUNTIME, DISK):
            words = reported.get((module, layer), "as in the files" if code == 0 else "as before")
            expected = case.meanings.get(words)
            if expected is None and words != "unverified":
                yield f"{module}: {layer} is reported as {words!r}, which is no known state"
            if expected and case.state[module, layer] != expected[module, layer]:
                yield f"{module}: {layer} is reported as {words}, and is not (exit code {code})"


def nothing_stays_unverified(case: Case) -> Iterator[str]:
    """A report calls a layer `unverified` only where ProxySQL kept not answering.

    After one fault the instance answers again, so nothing is unverified. A lock that was lost is
    none of the faults; such a layer is `unknown (lock lost)`.
    """
    if case.outcome.code == KILLED or case.kind in FREEZES:
        return
    for (module, layer), words in _reported_layers(case.outcome).items():
        if words.startswith("unverified"):
            yield f"{module}: {layer} is reported as unverified:\n{case.outcome.text}"


_LAYERS = re.compile(
    r"([A-Z ]+): MEMORY ([a-z ()]+), RUNTIME ([a-z ()]+), DISK ([a-z ()]+)", re.MULTILINE
)


def _reported_layers(outcome: Outcome) -> dict[tuple[str, str], str]:
    """Return the reported state of each layer, from the JSON or from the lines for people."""
    if outcome.out.startswith("{"):
        document = json.loads(outcome.out)
        if "error" not in document:
            return {
                (module["module"], layer): module[layer.lower()]
                for module in document["modules"]
                for layer in (MEMORY, RUNTIME, DISK)
            }
        lines = document["error"].get("layers", [])
    else:
        lines = [line.strip() for line in outcome.err.splitlines()]
    found = (_LAYERS.fullmatch(line) for line in lines)
    return {
        (match[1], layer): match[number]
        for match in found
        if match
        for number, layer in ((2, MEMORY), (3, RUNTIME), (4, DISK))
    }


def a_second_run_finishes(case: Case) -> Iterator[str]:
    """A second apply without options brings all layers to the wanted state."""
    if case.again is None:
        return
    if case.again.code != 0:
        yield f"the second run gave {case.again.code}:\n{case.again.text}"
    for place, rows in case.after.parts.items():
        if case.state_again[place] != rows:
            module, layer = place
            yield f"{layer} of {module} is not as in the files after the second run"


def the_lock_is_free(case: Case) -> Iterator[str]:
    """An apply that ended leaves no lock, and the second apply leaves no lock at all.

    The lock of a killed apply is free at once on the same machine: the second run does not wait. An
    apply with a short timeout, on a busy machine, may fail to release the lock, and reports that.
    """
    is_reported = case.kind in FREEZES and "the lock could not be released" in case.outcome.err
    if case.outcome.code != KILLED and case.locks and not is_reported:
        yield "the lock is still held"
    if case.locks_again:
        yield "the lock is still held after the second run"


PROMISES: tuple[Callable[[Case], Iterator[str]], ...] = (
    runtime_is_whole,
    disk_is_whole,
    disk_is_not_ahead,
    report_is_true,
    nothing_stays_unverified,
    a_second_run_finishes,
    the_lock_is_free,
)


def broken(case: Case) -> list[str]:
    """Return every violation in the case."""
    return [text for promise in PROMISES for text in promise(case)]


def state_reached(case: Case) -> str:
    """Return one word for what the first run left at RUNTIME and on DISK."""
    changed = [
        place
        for place in case.state.parts
        if place[1] != MEMORY and case.state[place] != case.before[place]
    ]
    if not changed:
        return "as before"
    is_finished = all(
        case.state[place] == rows for place, rows in case.after.parts.items() if place[1] != MEMORY
    )
    return "finished" if is_finished else "part way"
