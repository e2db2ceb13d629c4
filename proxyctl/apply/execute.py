"""Carry out a plan: stage, LOAD, read back, SAVE, read back.

    stage every module in MEMORY -> read MEMORY back
    for each module in order:  LOAD -> read RUNTIME back
    MEMORY gets the files' rows -> SAVE -> read DISK back

SAVE comes last: a value that RUNTIME refused must not return with a restart. If anything fails
after the first LOAD, every module is restored in reverse order.
"""

from __future__ import annotations

from collections.abc import Mapping

from proxyctl.apply.progress import ApplyRun
from proxyctl.apply.request import Reporter
from proxyctl.apply.restore import Restore
from proxyctl.apply.result import ApplyResult
from proxyctl.instance.client import AdminClient
from proxyctl.instance.interrupts import interruptible, uninterrupted
from proxyctl.instance.lock import Lock
from proxyctl.plan.plan import ModulePlan, Plan, raise_refusals
from proxyctl.rows.row import Layer, Rows


def apply_plan(client: AdminClient, plan: Plan, lock: Lock, reporter: Reporter) -> ApplyResult:
    """Apply a plan whose rows were read under the lock.

    Raises: RefusedError when the plan has refusals; InstanceError when staging failed and MEMORY
    was put back (nothing was loaded); ApplyError when layers may have changed.
    """
    raise_refusals(plan)
    run = ApplyRun(client, plan, lock, reporter)
    # Restore after every exception: a bug must not leave an instance half changed, either.
    with interruptible():
        try:
            _stage(run)
        except (Exception, KeyboardInterrupt) as error:
            with uninterrupted():
                failure = Restore(run).unstage(error)
            raise failure from error
        try:
            _load_all(run)
            _finish_memory(run)
            if plan.saves:
                _save_all(run)
        except (Exception, KeyboardInterrupt) as error:
            with uninterrupted():
                failure = Restore(run).restore(error)
            raise failure from error
    return run.result


def _stage(run: ApplyRun) -> None:
    """Write MEMORY of every module that has a LOAD or a SAVE."""
    run.mark("staging MEMORY")
    for module in run.modules:
        if module.stages or module.images:
            run.say(f"{module.name}: write MEMORY")
            run.write(module, module.first)


def _load_all(run: ApplyRun) -> None:
    """LOAD every module; servers get their second LOAD after the users of their protocol."""
    later: dict[str, ModulePlan] = {}
    for module in run.modules:
        protocol = module.name.partition(" ")[0]
        if module.images:
            _load(run, module, module.images[0])
            if len(module.images) > 1:
                later[protocol] = module
        if module.name.endswith(" USERS"):
            _load_again(run, later.pop(protocol, None))
    for module in later.values():
        _load_again(run, module)


def _load_again(run: ApplyRun, module: ModulePlan | None) -> None:
    """LOAD a module of servers without the servers that no traffic uses any more."""
    if module is not None:
        for image in module.images[1:]:
            run.say(f"{module.name}: write MEMORY without the servers to be removed")
            run.write(module, image)
            _load(run, module, image)


def _load(run: ApplyRun, module: ModulePlan, image: Mapping[str, Rows]) -> None:
    """LOAD one module, whose rows are in MEMORY, and read RUNTIME back."""
    image = run.load_placed(module, image)
    run.result.loads += 1
    run.verify_runtime(module, image, run.plan.topologies.coming)
    run.results[module.name].runtime = f"as {run.plan.source.place}"
    if module.name.endswith("VARIABLES"):
        # A LOAD rewrites MEMORY: refused and restart-only values are put back.
        for name in module.diffs:
            run.memory[module.name][name] = run.read(module, name, Layer.MEMORY)


def _finish_memory(run: ApplyRun) -> None:
    """Write the rows to SAVE to MEMORY, without another LOAD."""
    for module in run.modules:
        run.write(module, module.final)
        run.results[module.name].memory = f"as {run.plan.source.place}"


def _save_all(run: ApplyRun) -> None:
    """SAVE the modules whose DISK differs, and read DISK back."""
    for module in run.modules:
        if not module.save:
            continue
        run.say(module.module.save)
        run.command(module, Layer.DISK)
        run.result.saves += 1
        run.verify_disk(module, module.final)
        run.results[module.name].disk = f"as {run.plan.source.place}"
