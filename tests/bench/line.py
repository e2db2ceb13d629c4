"""One line of the table that the bench prints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """What was measured, against what, and the bar."""

    name: str
    value: float
    yardstick: float
    bar: float
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return self.value / self.yardstick if self.yardstick else 0.0

    @property
    def holds(self) -> bool:
        return self.ratio <= self.bar

    def text(self) -> str:
        verdict = "ok" if self.holds else "MISSED"
        return (
            f"{self.name:<52} {self.value:>9.3f} {self.unit:<2} {self.yardstick:>9.3f}"
            f" {self.ratio:>7.2f} {self.bar:>7.2f}  {verdict}"
        )
