"""The command watch: keep looking at a fleet, and with --apply keep it at its files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.option import choice, flag, parsed, spelled, value
from proxyctl.cli.options import BatchOptions, FromCommandLine, OnlyOption
from proxyctl.cli.output import write
from proxyctl.cli.store_options import seconds_of
from proxyctl.errors import ExitCode, ProxyctlError, UsageError
from proxyctl.stats.units import microseconds_of

if TYPE_CHECKING:
    from proxyctl.fleet.rollout import RolloutRequest
    from proxyctl.fleet.targets import Target
    from proxyctl.watch.status import WatchEvent

LogFormat = Literal["text", "json"]
_LONGEST_GRACE_S = 7 * 86_400


def grace_seconds(text: str) -> float:
    """Return the seconds of `5m`; 0s is allowed. Raises: ValueError."""
    seconds = microseconds_of(text) / 1e6
    if seconds > _LONGEST_GRACE_S:
        raise ValueError(f"{text} is more than 7d")
    return seconds


@dataclass(frozen=True)
class HealOptions(FromCommandLine):
    """Whether and when a watch applies."""

    PANEL: ClassVar = "Applying"
    apply: bool = flag(
        "--apply", "Apply the files where nothing refuses it. Without it, only report."
    )
    grace: float = value(
        "TIME",
        "With --apply: leave a hand edit this long before it is taken back, such as 5m or 0s."
        " Changed files, and instances that start empty, do not wait.",
        default="5m",
        parser=parsed("--grace", grace_seconds),
    )
    pause_file: str | None = value("PATH", "With --apply: apply nothing while this file exists.")

    def check(self) -> None:
        """Refuse options that need --apply. Raises: UsageError."""
        for name in sorted(self.typed - {"apply"}) if not self.apply else ():
            option = spelled(name)
            raise UsageError(f"{option} needs --apply", fix=f"add --apply, or leave out {option}")

    def is_paused(self) -> bool:
        """Return whether the pause file exists; one that cannot be looked at counts as one."""
        from proxyctl.config.documents import is_there

        return self.pause_file is not None and is_there(self.pause_file)


def watch(
    selection: SelectionOptions,
    fleet: BatchOptions,
    heal: HealOptions,
    every: int = value(
        "TIME",
        "Look at every instance each time this long has passed, at least 1s.",
        default="60s",
        parser=parsed("--every", seconds_of),
    ),
    only: OnlyOption = None,
    log_format: Annotated[
        LogFormat, choice(LogFormat, "--log-format", "The format of the log on stdout.")
    ] = "text",
) -> int:
    """Watch instances until a signal ends it: report what differs, with --apply correct it."""
    from proxyctl.cli.rounds import run_rounds
    from proxyctl.config.documents import changed_at
    from proxyctl.watch.decision import WatchRules
    from proxyctl.watch.fleet_watch import FleetWatch, WatchRequest

    heal.check()
    log = WatchLog(log_format)
    paths = tuple(selection.files.paths())

    def targets() -> Sequence[Target]:
        selection.look_up_again()
        return selection.targets(fleet)

    watched = FleetWatch(
        WatchRequest(
            targets,
            WatchRules(heal.apply, heal.grace, every),
            _rollout(fleet, only, paths, log),
            log.report,
            heal.is_paused,
            lambda: changed_at(paths),
        )
    )
    run_rounds(every, watched.round)
    log.note("stopped", "stopped by a signal")
    return ExitCode.INTERRUPTED if watched.was_interrupted else ExitCode.DONE


def _rollout(
    fleet: BatchOptions, only: list[str] | None, paths: tuple[str, ...], log: WatchLog
) -> RolloutRequest:
    """Return how the watch applies: as `apply`, but without waiting for the lock."""
    from proxyctl.apply.request import ApplyRequest, Reporter
    from proxyctl.fleet.rollout import RolloutRequest
    from proxyctl.plan.make import PlanOptions

    request = ApplyRequest(
        PlanOptions(only=tuple(only or ())),
        reporter=Reporter(warning=lambda text: log.note("note", text)),
        lock_timeout_s=0,
        sources=paths,
    )
    return RolloutRequest(
        request, fleet.max_unavailable, fleet.strategy == "canary", fleet.parallel
    )


class WatchLog:
    """Writes each change of state to stdout. Never raises: an apply must not stop half way."""

    def __init__(self, form: LogFormat) -> None:
        self._form = form

    def report(self, event: WatchEvent) -> None:
        """Write a change of state."""
        from proxyctl.render.watch import event_json, event_text

        now = datetime.now(UTC)
        render = event_json if self._form == "json" else event_text
        with suppress(ProxyctlError):  # a full disk; later lines are discarded
            write(render(event, now))

    def note(self, name: str, message: str) -> None:
        """Write something that concerns no instance, or names it itself."""
        from proxyctl.watch.status import Level, WatchEvent

        level = Level.INFO if name == "stopped" else Level.WARNING
        self.report(WatchEvent(level, name, message))
