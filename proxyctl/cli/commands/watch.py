"""The command watch: keep looking at a fleet, and with --apply keep it at its files."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.option_kinds import choice, flag, parsed, spelled, value
from proxyctl.cli.options import BatchOptions, FromCommandLine, OnlyOption
from proxyctl.cli.output import write
from proxyctl.cli.store_options import seconds_of
from proxyctl.errors import ExitCode, InstanceError, ProxyctlError, UsageError
from proxyctl.stats.units import microseconds_of

if TYPE_CHECKING:
    from proxyctl.fleet.rollout import RolloutRequest
    from proxyctl.fleet.targets import Target
    from proxyctl.watch.fleet_watch import FleetWatch
    from proxyctl.watch.status import WatchEvent

LogFormat = Literal["text", "json"]
_LONGEST_GRACE_S = 7 * 86_400
_LAST_PORT = 65_535
STUCK_S = 300.0
"""A watch without progress for this long, on top of the time between rounds, is not healthy."""


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
        "--apply", "Apply the files unless something refuses it. Without it, only report."
    )
    grace: float = value(
        "TIME",
        "With --apply: leave a hand edit this long before it is reverted, such as 5m or 0s."
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


def http_address(text: str) -> tuple[str, int]:
    """Return host and port of `127.0.0.1:9273` or `[::1]:9273`. Raises: ValueError."""
    host, colon, port = text.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if is_bracketed else host
    if not (colon and host and port.isdecimal() and int(port) <= _LAST_PORT) or (
        ":" in host and not is_bracketed
    ):
        raise ValueError(f"{text} is not HOST:PORT, such as 127.0.0.1:9273")
    return host, int(port)


def watch(
    selection: SelectionOptions,
    fleet: BatchOptions,
    heal: HealOptions,
    every: int = value(
        "TIME",
        "Time between two checks of every instance, at least 1s.",
        default="60s",
        parser=parsed("--every", seconds_of),
    ),
    only: OnlyOption = None,
    metrics: str | None = value(
        "HOST:PORT",
        "Serve metrics for Prometheus at /metrics, and /healthz and /readyz.",
        parser=parsed("--metrics", http_address),
    ),
    log_format: Annotated[
        LogFormat, choice(LogFormat, "--log-format", "The format of the log on stdout.")
    ] = "text",
) -> int:
    """Watch instances and report what differs. With --apply, correct it. A signal ends it."""
    from proxyctl.cli.rounds import run_rounds
    from proxyctl.config.documents import changed_at
    from proxyctl.watch.decision import WatchRules
    from proxyctl.watch.fleet_watch import FleetWatch, WatchRequest

    heal.check()
    log = WatchLog(log_format)
    paths = tuple(selection.files.paths())

    def targets() -> tuple[Sequence[Target], Mapping[str, InstanceError]]:
        selection.look_up_again()
        unresolved: dict[str, InstanceError] = {}
        return selection.targets(fleet, unresolved=unresolved), unresolved

    watched = FleetWatch(
        WatchRequest(
            targets,
            WatchRules(heal.apply, heal.grace, every),
            _rollout(fleet, only, paths),
            log.report,
            heal.is_paused,
            lambda: changed_at(paths),
        )
    )
    with _metrics(metrics, watched, every, log):  # type: ignore[arg-type]  # what the parser returns
        run_rounds(every, watched.round)
    log.note("stopped", "stopped by a signal")
    return ExitCode.INTERRUPTED if watched.was_interrupted else ExitCode.DONE


def _rollout(fleet: BatchOptions, only: list[str] | None, paths: tuple[str, ...]) -> RolloutRequest:
    """Return how the watch applies: as `apply`, but without waiting for the lock."""
    from proxyctl.apply.request import ApplyRequest
    from proxyctl.fleet.rollout import RolloutRequest
    from proxyctl.plan.make import PlanOptions
    from proxyctl.snapshots.snapshot import WATCH

    request = ApplyRequest(
        PlanOptions(only=tuple(only or ())),
        lock_timeout_s=0,
        purpose=WATCH,
        sources=paths,
    )
    return RolloutRequest(
        request, fleet.max_unavailable, fleet.strategy == "canary", fleet.parallel
    )


@contextmanager
def _metrics(
    address: tuple[str, int] | None, watched: FleetWatch, every_s: float, log: WatchLog
) -> Iterator[None]:
    """Serve metrics while the block runs, unless there is no address. Raises: ProxyctlError."""
    if address is None:
        yield
        return
    if find_spec("prometheus_client") is None:
        raise ProxyctlError(
            "--metrics needs the Python package prometheus_client",
            fix="install it: pip install 'proxyctl-proxysql[metrics]'",
        )
    from proxyctl.watch.metrics import registry_of
    from proxyctl.watch.server import ServedWatch, served

    def is_alive() -> bool:
        return time.monotonic() - watched.active_at < every_s + STUCK_S

    answers = ServedWatch(
        registry_of(lambda: watched.status), is_alive, lambda: watched.status.rounds > 0
    )
    with served(*address, answers) as port:
        log.note("serving", f"/metrics, /healthz and /readyz on port {port} of {address[0]}")
        yield


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
        """Write something that concerns no instance."""
        from proxyctl.watch.status import Level, WatchEvent

        self.report(WatchEvent(Level.INFO, name, message))
