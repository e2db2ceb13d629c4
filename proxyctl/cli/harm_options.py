"""Options of an apply that is watched, and rolled back if it does harm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from proxyctl.cli.option_kinds import parsed, value
from proxyctl.cli.output import live_line
from proxyctl.errors import UsageError
from proxyctl.stats.units import microseconds_of

if TYPE_CHECKING:
    from proxyctl.harm.bounds import HarmBound
    from proxyctl.harm.judgement import HarmJudgement
    from proxyctl.harm.watching import HarmWatch

_LEAST_S, _MOST_S = 2, 86_400


def watch_seconds(text: str) -> float:
    """Return the seconds of `5m`. Raises: ValueError."""
    seconds = microseconds_of(text) / 1e6
    if not _LEAST_S <= seconds <= _MOST_S:
        raise ValueError(f"{text} is not between 2s and 1d")
    return seconds


def _bound(text: str) -> HarmBound:
    from proxyctl.harm.bounds import HarmBound

    return HarmBound.of(text)


@dataclass(frozen=True)
class WatchOptions:
    """Whether an apply is watched, and what is harm."""

    PANEL: ClassVar = "Watching"
    watch: float | None = value(
        "TIME",
        "Watch the traffic this long after the apply, such as 5m, and roll back if the change does"
        " harm. It is compared with the traffic since the command began: before the apply, proxyctl"
        " waits until that period is as long, but at most 30s.",
        parser=parsed("--watch", watch_seconds),
    )
    abort_if: list[str] | None = value(
        "BOUND",
        "With --watch: what counts as harm, instead of the counter's default; repeatable."
        " errors>3x (than before; or errors>5/s), waiting>3x (sessions without a connection; or"
        " waiting>10), failures>3x (connections to servers; or failures>5/s), time>5x.",
        parser=parsed("--abort-if", _bound),
    )

    def harm_watch(self) -> HarmWatch | None:
        """Return how to watch; None without --watch. Raises: UsageError."""
        from proxyctl.harm.bounds import TIME, bounds_of
        from proxyctl.harm.watching import LEAST_FOR_TIMES_S, HarmWatch

        given: list[HarmBound] = list(self.abort_if or ())  # type: ignore[arg-type]
        if self.watch is None:
            if given:
                raise UsageError("--abort-if needs --watch", fix="add --watch 5m")
            return None
        times = next((bound for bound in given if bound.counter == TIME), None)
        if times and self.watch < LEAST_FOR_TIMES_S:
            raise UsageError(
                f"--abort-if {times.text()} needs a watch of at least {LEAST_FOR_TIMES_S:g}s: times"
                " are read every five seconds",
                fix="watch longer, such as --watch 5m",
            )
        try:
            return HarmWatch(self.watch, bounds_of(given))
        except ValueError as error:
            raise UsageError(f"--abort-if {error}", fix="give each counter once") from error


@contextmanager
def watched_lines(
    watch: HarmWatch | None,
) -> Iterator[Callable[[str, HarmJudgement, float], None]]:
    """Yield the function that shows a judgement of an instance on the terminal, in one line."""
    if watch is None:
        yield lambda _name, _judgement, _passed_s: None
        return
    from proxyctl.render.harm import live_text

    with live_line() as show:

        def show_judgement(name: str, judgement: HarmJudgement, passed_s: float) -> None:
            is_last = passed_s >= watch.seconds and not judgement.beyond
            # Other messages follow the last one.
            is_over = judgement.is_harm or is_last
            show("" if is_over else live_text(name, judgement, passed_s, watch.seconds))

        yield show_judgement
