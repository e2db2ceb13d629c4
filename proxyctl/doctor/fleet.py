"""What is wrong with the instances of a fleet, and which of them have the same. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proxyctl.doctor.examination import Examination
from proxyctl.errors import ExitCode
from proxyctl.fleet.outcome import Failed, worst


@dataclass(frozen=True)
class ExaminedFleet:
    """All instances in the order of the files; `failed` are those that could not be looked at."""

    examined: Sequence[Examination]
    failed: Sequence[Failed]

    @property
    def alike(self) -> list[list[Examination]]:
        """Those with findings; instances of one version with the same findings together."""
        found: dict[object, list[Examination]] = {}
        for one in self.examined:
            if one.findings:
                same = (one.version, frozenset(one.findings), one.ignored)
                found.setdefault(same, []).append(one)
        return [*found.values()]

    def exit_code(self, *, strict: bool) -> ExitCode:
        """Return the worst of all; `strict` as for `Examination.exit_code`."""
        codes = [one.exit_code(strict=strict) for one in self.examined]
        return worst([*codes, *(one.error.exit_code for one in self.failed)])
