"""Carry out a plan: stage, LOAD, read back, SAVE, read back. Nothing is believed before it is read.

    stage every module in MEMORY -> read MEMORY back
    for each module in order:  LOAD -> read RUNTIME back
    MEMORY gets the files' rows -> SAVE -> read DISK back

SAVE comes last: a value that RUNTIME refused must not come back with a restart. If anything goes
wrong after the first LOAD, every module is restored in reverse order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from proxyctl.apply.restore import PuttingBack
from proxyctl.apply.result import UNKNOWN, ApplyResult
from proxyctl.apply.steps import Steps
from proxyctl.catalog import AdminModule
from proxyctl.instance.client import AdminClient
from proxyctl.instance.interrupts import interruptible, uninterrupted
from proxyctl.instance.lock import Lock
from proxyctl.plan.plan import ModulePlan, Plan, raise_refusals
from proxyctl.state.row import Layer, Rows


@dataclass(frozen=True)
class ApplyOptions:
    """`save` False leaves DISK as it is: a restart takes the change back.

    `before_load` is called with an admin module before each of its LOADs.
    """

    save: bool = True
    progress: Callable[[str], None] = lambda _text: None
    before_load: Callable[[AdminModule], None] = lambda _module: None


def apply_plan(client: AdminClient, plan: Plan, lock: Lock, options: ApplyOptions) -> ApplyResult:
    """Apply the plan, whose rows were read under the lock.

    Raises: RefusedError when the plan has refusals; InstanceError when staging failed and MEMORY
    was put back (nothing was loaded); ApplyError when layers may have changed.
    """
    raise_refusals(plan)
    with interruptible():
        return _Run(client, plan, lock, options).go()


class _Run:
    """One apply, from the first statement to the report."""

    def __init__(self, client: AdminClient, plan: Plan, lock: Lock, options: ApplyOptions) -> None:
        self.options = options
        self.new = f"as {plan.source.place}"
        self.steps = Steps(client, plan, lock, options.progress, options.before_load)

    def go(self) -> ApplyResult:
        """Stage, load, save. Also a bug of ours must not leave an instance half changed."""
        try:
            self._stage()
        except (Exception, KeyboardInterrupt) as error:
            with uninterrupted():
                failure = self._putting_back().unstage(error)
            raise failure from error
        try:
            self._load_all()
            self._finish_memory()
            if self.options.save:
                self._save_all()
        except (Exception, KeyboardInterrupt) as error:
            with uninterrupted():
                failure = self._putting_back().restore(error)
            raise failure from error
        return self.steps.result

    def _putting_back(self) -> PuttingBack:
        return PuttingBack(self.steps)

    def _mark(self, stage: str) -> None:
        self.steps.lock.mark(stage, self.steps.was_saved)

    def _stage(self) -> None:
        self._mark("staging MEMORY")
        for module in self.steps.modules:
            if module.stages or module.images:
                self.steps.say(f"{module.name}: write MEMORY")
                self.steps.write(module, module.first)

    def _load_all(self) -> None:
        later: list[ModulePlan] = []
        for module in self.steps.modules:
            if module.images:
                self._load(module, module.images[0])
                if len(module.images) > 1:
                    later.append(module)
            if module.name == "MYSQL USERS":
                self._load_rest(later)
        self._load_rest(later)

    def _load_rest(self, later: list[ModulePlan]) -> None:
        """Further LOADs, of servers to which nothing routes any more, or of admin variables."""
        while later:
            module = later.pop()
            for image in module.images[1:]:
                what = " without the servers that leave" if module.name == "MYSQL SERVERS" else ""
                self.steps.say(f"{module.name}: write MEMORY{what}")
                self.steps.write(module, image)
                self._load(module, image)

    def _load(self, module: ModulePlan, image: Mapping[str, Rows]) -> None:
        self._mark(module.module.load)
        self.steps.say(module.module.load)
        self.steps.results[module.name].runtime = UNKNOWN
        image = self.steps.load_placed(module, image)
        self.steps.result.loads += 1
        self.steps.verify_runtime(module, image, self.steps.plan.families)
        self.steps.results[module.name].runtime = self.new
        if module.name.endswith("VARIABLES"):
            # A LOAD rewrites MEMORY: refused and restart-only values are put back.
            for name in module.diffs:
                self.steps.memory[module.name][name] = self.steps.read(module, name, Layer.MEMORY)

    def _finish_memory(self) -> None:
        """MEMORY gets the rows of the files, without another LOAD: those are what is SAVEd."""
        for module in self.steps.modules:
            self.steps.write(module, module.final)
            self.steps.results[module.name].memory = self.new

    def _save_all(self) -> None:
        for module in self.steps.modules:
            if not module.save:
                continue
            self._mark(module.module.save)
            self.steps.say(module.module.save)
            self.steps.results[module.name].disk = UNKNOWN
            self.steps.command(module.module.save)
            self.steps.result.saves += 1
            self.steps.verify_disk(module, module.final)
            self.steps.results[module.name].disk = self.new
