"""A round over a fleet: read the files, plan each instance, decide, apply, and say what changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from proxyctl.apply.apply import apply_files
from proxyctl.apply.request import ApplyRequest, Reporter
from proxyctl.apply.result import ApplyResult
from proxyctl.errors import (
    ApplyError,
    ConfigError,
    ExitCode,
    InstanceError,
    ProxyctlError,
    RefusedError,
    UsageError,
)
from proxyctl.fleet.members import as_applied, group_by_cluster
from proxyctl.fleet.outcome import Fleet, Planned, Rolled, State
from proxyctl.fleet.plan import plan_each
from proxyctl.fleet.rollout import RolloutRequest, roll_out
from proxyctl.fleet.targets import Target
from proxyctl.instance.client import AdminClient
from proxyctl.plan.plan import Plan
from proxyctl.text import counted
from proxyctl.watch.decision import (
    Action,
    Decision,
    InstanceMemory,
    InstanceReading,
    Situation,
    WatchRules,
    applied,
    failed,
    is_asked,
    judge,
    missed,
)
from proxyctl.watch.reading import read_instance
from proxyctl.watch.status import (
    LEVELS,
    InstanceStatus,
    Level,
    PlanFigures,
    WatchEvent,
    WatchStatus,
)


@dataclass(frozen=True)
class WatchRequest:
    """What a watch works on, and where it reports."""

    targets: Callable[[], tuple[Sequence[Target], Mapping[str, InstanceError]]]
    """Reads the files anew; returns the instances, and the DNS names without an address, with the
    error of each. Raises: ProxyctlError."""
    rules: WatchRules
    """How it decides."""
    rollout: RolloutRequest
    """How it applies."""
    report: Callable[[WatchEvent], None]
    """Receives each change of state."""
    is_paused: Callable[[], bool] = lambda: False
    """Whether nothing may be applied now."""
    files_changed_at: Callable[[], float | None] = lambda: None
    """Returns when the newest of the files was changed. Units: unix seconds."""
    now: Callable[[], float] = time.monotonic
    """The clock of the decisions."""


@dataclass
class WatchedInstance:
    """One instance between two rounds."""

    status: InstanceStatus
    """What metrics say of it."""
    dns: str = ""
    """The DNS name that has its address; '' without one."""
    memory: InstanceMemory = field(default_factory=InstanceMemory)
    """What decisions need of it."""
    decision: Decision | None = None
    """The last decision; None before the first one."""
    not_applied: str = ""
    """Why its last apply did not begin, once that is reported; '' if it began."""


class PausedRollout:
    """Stops a rollout before its next batch once applies are paused."""

    def __init__(self, is_paused: Callable[[], bool]) -> None:
        self._is_paused = is_paused

    def before(self, targets: Sequence[Target]) -> Mapping[Target, ProxyctlError]:
        """Return an error for each instance if applies are paused."""
        if not self._is_paused():
            return {}
        return {
            target: RefusedError("applies have been paused in the meantime") for target in targets
        }

    def after(
        self, _units: Sequence[Mapping[Target, Rolled]], _rollout: str, _earlier: Sequence[str]
    ) -> Mapping[Target, Rolled]:
        """Change no result."""
        return {}


class FleetWatch:
    """Watches a fleet, a round at a time.

    `status`: what holds after the last round. `active_at`: when it last made progress, by the
    clock of the request.
    """

    def __init__(self, request: WatchRequest) -> None:
        self.status = WatchStatus()
        self.active_at = request.now()
        self.was_interrupted = False
        """Whether a signal interrupted an apply."""
        self._request = request
        self._instances: dict[str, WatchedInstance] = {}
        self._readings: dict[str, InstanceReading] = {}
        self._said: dict[str, str] = {}

    def round(self) -> None:
        """Look at every instance once, and apply where that is decided.

        Raises: UsageError in the first round; KeyboardInterrupt after a signal.
        """
        self._note_progress()
        began = self._request.now()
        is_paused = self._request.rules.applies and self._request.is_paused()
        text = "the pause file exists: nothing is applied" if is_paused else ""
        self._say("paused", text, ("resumed", "the pause file has been removed"), Level.WARNING)
        mistakes, are_known = self._look(is_paused=is_paused)
        self.status = WatchStatus(
            self._statuses(),
            self.status.rounds + 1,
            self._request.now() - began,
            time.time(),
            mistakes,
            are_known,
            self._request.files_changed_at(),
            is_paused,
        )
        self._note_progress()
        if self.was_interrupted:
            raise KeyboardInterrupt

    def _statuses(self) -> list[InstanceStatus]:
        return [replace(instance.status) for instance in self._instances.values()]

    def _note_progress(self, _step: object = None) -> None:
        self.active_at = self._request.now()

    def _look(self, *, is_paused: bool) -> tuple[int, bool]:
        """Plan, decide and apply.

        Returns: the number of mistakes in the files, and whether the instances are known.
        """
        try:
            targets, unresolved = self._request.targets()
        except ProxyctlError as error:
            if isinstance(error, UsageError) and not self.status.rounds:
                raise
            self._leave_unplanned(self._instances)
            if isinstance(error, ConfigError):
                return self._say_mistakes([error], "nothing is compared"), True
            self._say_unknown([error])
            return 0, False
        self._say_unknown([*unresolved.values()])
        self._know(targets, unresolved)
        now = self._request.now()
        asked = [target for target in targets if is_asked(self._instances[target.name].memory, now)]
        fleet = as_applied(self._plan(asked))
        chosen = self._decide(fleet, is_paused=is_paused)
        wrong = [
            failure.error for failure in fleet.failed if isinstance(failure.error, ConfigError)
        ]
        mistakes = self.status.mistakes
        if wrong or fleet.planned:  # otherwise no instance compiled the files
            mistakes = self._say_mistakes(wrong, "instances that have one are not compared")
        if chosen and not wrong:
            self._apply(targets, Fleet(chosen))
        return mistakes, not unresolved

    def _know(self, targets: Sequence[Target], unresolved: Container[str]) -> None:
        """Know these instances, and those of `unresolved` names. Changes: `_instances`.

        One that has moved to another address is a new one.
        """
        addresses = {target.name: target.login.address for target in targets}
        others = {
            name: instance
            for name, instance in self._instances.items()
            if instance.status.address != addresses.get(name)
        }
        kept = {name for name, instance in others.items() if instance.dns in unresolved}
        self._leave_unplanned(kept)
        for name in others.keys() - kept:
            self._event(name, "gone", "the files no longer list this instance", Level.INFO)
            del self._instances[name]
        for target in targets:
            status = InstanceStatus(target.name, target.login.address)
            watched = WatchedInstance(status, target.login.certificate_name)
            self._instances.setdefault(target.name, watched)

    def _leave_unplanned(self, names: Iterable[str]) -> None:
        for name in names:
            status = self._instances[name].status
            _note_plan(status, None)
            status.situation = Situation.UNPLANNED

    def _plan(self, targets: Sequence[Target]) -> Fleet:
        """Plan the instances, and note what else a decision needs. Changes: `_readings`."""
        self._readings = {}
        workers = self._request.rollout.workers
        return plan_each(targets, self._read, workers=workers, done=self._note_progress)

    def _read(self, client: AdminClient, target: Target) -> Plan:
        self._instances[target.name].status.is_up = True  # it has answered the login
        options = self._request.rollout.apply.options
        plan, reading = read_instance(client, target.files, options, self._request.now)
        self._readings[target.name] = reading
        return plan

    # Decisions ------------------------------------------------------------------------------------

    def _decide(self, fleet: Fleet, *, is_paused: bool) -> list[Planned]:
        """Decide about each instance; return those to apply to. Changes: `_instances`.

        Raises: UsageError in the first round, as for a module that the files do not manage.
        """
        now, rules = self._request.now(), self._request.rules
        decisions: dict[str, Decision] = {}
        for planned in fleet.planned:
            one = self._instances[planned.name]
            reading = replace(self._readings[planned.name], refusals=planned.refusals)
            one.memory, decision = judge(one.memory, reading, rules, now, is_paused=is_paused)
            decisions[planned.name] = decision
            _note_plan(one.status, PlanFigures.of(planned))
        hold_clusters_together(fleet.planned, decisions)
        for planned in fleet.planned:
            self._settle(planned.name, decisions[planned.name], planned)
        for failure in fleet.failed:
            one, error = self._instances[failure.name], failure.error
            _note_plan(one.status, None)
            if isinstance(error, InstanceError):
                one.status.is_up = False
                one.memory, decision = missed(one.memory, error.message, rules, now)
                self._settle(failure.name, decision, details=error.lines()[1:])
            elif isinstance(error, ConfigError):
                one.status.situation = Situation.UNPLANNED
            elif isinstance(error, UsageError) and not self.status.rounds:
                raise error
            else:
                text = error.message
                decision = Decision(Action.WAIT, Situation.UNPLANNED, text, text)
                self._settle(failure.name, decision, details=error.lines()[1:])
        return [
            planned for planned in fleet.planned if decisions[planned.name].action is Action.APPLY
        ]

    def _settle(
        self,
        name: str,
        decision: Decision,
        planned: Planned | None = None,
        details: Sequence[str] = (),
    ) -> None:
        """Take a decision, and report it if it is new. Changes: `_instances`."""
        one = self._instances[name]
        is_new, one.decision = decision.is_new(one.decision), decision
        one.status.situation = decision.situation
        if decision.situation is Situation.IN_SYNC:
            one.not_applied = ""
        if planned is not None and decision.situation is Situation.REFUSED:
            refused = planned.refusals
            details = [
                line for refusal in refused for line in (*refusal.details, f"fix: {refusal.fix}")
            ]
        if is_new:
            self._event(
                name,
                decision.situation,
                decision.reason,
                LEVELS[decision.situation],
                details,
                None if planned is None or planned.is_in_sync else planned.own_plan,
            )

    # Applies --------------------------------------------------------------------------------------

    def _apply(self, targets: Sequence[Target], fleet: Fleet) -> None:
        """Apply to the instances of `fleet`, and note the results. Changes: `_instances`.

        `targets`: all instances that are watched.
        """
        by_name, noted = {planned.name: planned for planned in fleet.planned}, set()

        def note(rolled: Rolled) -> None:
            noted.add(rolled.name)
            self._note_apply(rolled, by_name[rolled.name])
            # A rollout over a large fleet takes long.
            self.status = replace(self.status, instances=self._statuses())

        apply = replace(self._request.rollout.apply, reporter=Reporter(self._note_progress))
        request = replace(
            self._request.rollout,
            apply=apply,
            applier=self._apply_to,
            watch=PausedRollout(self._request.is_paused),
            went_well=note,
        )
        rollout = roll_out(targets, fleet, request)
        self.was_interrupted = rollout.exit_code is ExitCode.INTERRUPTED
        for rolled in rollout.rolled:
            if rolled.name not in noted:
                note(rolled)

    def _apply_to(
        self, client: AdminClient, target: Target, request: ApplyRequest
    ) -> tuple[Plan, ApplyResult | None]:
        """Apply to one instance, whose remarks are events. Returns and raises as `apply_files`."""

        def warn(text: str) -> None:
            self._event(target.name, "note", text, Level.WARNING)

        reporter = replace(request.reporter, warning=warn)
        return apply_files(client, target.files, replace(request, reporter=reporter))

    def _note_apply(self, rolled: Rolled, planned: Planned) -> None:
        one, reading = self._instances[rolled.name], self._readings[rolled.name]
        status, error = one.status, rolled.error
        if rolled.state is State.NOT_TOUCHED:
            reason = (
                "applies had already stopped: one failed or was interrupted, or they were paused"
            )
            self._note_not_applied(one, reason)
        elif error is None:
            one.memory, one.decision = applied(one.memory, reading)
            one.not_applied, status.situation = "", Situation.IN_SYNC
            _note_plan(status, status.plan and status.plan.after_apply())
            if rolled.state is not State.IN_SYNC:
                status.applies += 1
                status.applied_at, status.has_applied = time.time(), True
            self._event(rolled.name, *_applied_text(rolled, planned))
        elif isinstance(error, ApplyError):
            message, *details = error.lines()
            status.failed_applies += 1
            status.applied_at, status.has_applied = time.time(), False
            one.memory, one.decision = failed(one.memory, reading, message)
            status.situation = Situation.FAILED
            self._event(rolled.name, "failed", message, Level.ERROR, details)
        else:  # refused, or the connection broke: nothing was changed
            self._note_not_applied(one, *_refitted(error).lines())

    def _note_not_applied(self, instance: WatchedInstance, message: str, *details: str) -> None:
        """Report once why an apply did not begin; the next round tries again. Changes: instance."""
        if message != instance.not_applied:
            instance.not_applied = message
            text = f"not applied: {message}"
            self._event(instance.status.name, "not_applied", text, Level.WARNING, details)

    # Reports --------------------------------------------------------------------------------------

    def _event(
        self,
        name: str,
        event: str,
        message: str,
        level: Level,
        details: Sequence[str] = (),
        plan: Plan | None = None,
    ) -> None:
        address = self._instances[name].status.address
        self._request.report(WatchEvent(level, event, message, name, address, details, plan))

    def _say(
        self,
        subject: str,
        text: str,
        end: tuple[str, str],
        level: Level = Level.ERROR,
        details: Sequence[str] = (),
    ) -> None:
        """Report a state of the watch itself once, or if `text` is '' its end. Changes: `_said`.

        `end`: the event and the message of the end.
        """
        known = self._said.get(subject, "")
        self._said[subject] = "\n".join([text, *details]) if text else ""
        if self._said[subject] == known:
            return
        if text:
            self._request.report(WatchEvent(level, subject, text, details=details))
        else:
            self._request.report(WatchEvent(Level.INFO, *end))

    def _say_unknown(self, errors: Sequence[ProxyctlError]) -> None:
        """Report once why instances are not known, or that all are known again."""
        message, *details = [line for error in errors for line in error.lines()] or [""]
        self._say("instances_unknown", message, _KNOWN, details=details)

    def _say_mistakes(self, errors: Sequence[ProxyctlError], without_apply: str) -> int:
        """Report the mistakes in the files, each once; return their number.

        `without_apply`: the effect on a watch that only reports.
        """
        lines = [*dict.fromkeys(line for error in errors for line in _mistake_lines(error))]
        count = len({mistake for error in errors for mistake in _mistakes(error)}) or len(lines)
        effect = "nothing is applied" if self._request.rules.applies else without_apply
        message = f"{counted(count, 'mistake')} in the files: {effect}" if lines else ""
        end = ("files_valid", "the files no longer have mistakes")
        self._say("files_invalid", message, end, details=lines)
        return count


_KNOWN = ("instances_known", "the instances are known again")


def _mistakes(error: ProxyctlError) -> Sequence[object]:
    return error.mistakes if isinstance(error, ConfigError) else ()


def _mistake_lines(error: ProxyctlError) -> list[str]:
    """Return the lines about an error in the files, without the count of a ConfigError."""
    return error.lines()[:-1] if isinstance(error, ConfigError) else error.lines()


def hold_clusters_together(planned: Sequence[Planned], decisions: dict[str, Decision]) -> None:
    """Let no member of a cluster change while another one must not: it would follow.

    Changes: decisions.
    """
    for positions in group_by_cluster([instance.plan.members for instance in planned]):
        names = [planned[position].name for position in positions]
        waiting = [
            name for name in names if decisions[name].action not in (Action.APPLY, Action.NOTHING)
        ]
        for name in names:
            if waiting and decisions[name].action is Action.APPLY:
                reason = f"{waiting[0]}, a member of the same ProxySQL Cluster, must not be changed"
                decisions[name] = Decision(Action.WAIT, Situation.DIFFERS, reason, reason)


def _note_plan(status: InstanceStatus, figures: PlanFigures | None) -> None:
    """Note the numbers of a plan, None if there is none. Changes: status."""
    status.plan, status.has_planned = figures, figures is not None
    if figures is not None:
        status.planned_at = time.time()


def _refitted(error: ProxyctlError) -> ProxyctlError:
    """Return an error whose fix fits a watch: that of a refusal is about the command `apply`."""
    if not isinstance(error, RefusedError) or error.fix is None:
        return error
    fix = "wait: the next round plans and tries again"
    return RefusedError(error.message, fix=fix, reasons=error.reasons)


def _applied_text(rolled: Rolled, planned: Planned) -> tuple[str, str, Level, Sequence[str]]:
    """Return name, message, level and details of the event after an apply that succeeded."""
    if rolled.state is State.IN_SYNC:
        return "in_sync", "another command has made the same change in the meantime", Level.INFO, ()
    if rolled.state is State.FOLLOWED:
        return "followed", "has copied the change from another cluster member", Level.INFO, ()
    counts = planned.plan.counts()
    text = f"{counts['add']} added, {counts['change']} changed, {counts['delete']} deleted"
    details = [*rolled.notes, *([f"snapshot: {rolled.snapshot}"] if rolled.snapshot else [])]
    if rolled.is_well:
        return "applied", f"{text} at RUNTIME; every layer was read back", Level.INFO, details
    details += [f"{server} has been SHUNNED since the change" for server in rolled.shunned]
    details += [f"{peer.name} has not copied the change" for peer in rolled.behind]
    worse = counted(len(rolled.shunned) + len(rolled.behind), "problem")
    return "applied", f"{text} at RUNTIME, and {worse} since then", Level.WARNING, details
