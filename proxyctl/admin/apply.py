"""Carry out a plan: stage, LOAD, read back, SAVE, read back. Nothing is believed before it is read.

    stage every module in MEMORY -> read MEMORY back
    for each module in order:  LOAD -> read RUNTIME back
    MEMORY gets the files' rows -> SAVE -> read DISK back

SAVE comes last: a value that RUNTIME refused must not come back with a restart. If anything goes
wrong after the first LOAD, every module is restored in reverse order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass

from proxyctl.admin.client import AdminClient
from proxyctl.admin.interrupts import interruptible, uninterrupted
from proxyctl.admin.lock import Lock
from proxyctl.admin.prefetch import made_ahead
from proxyctl.admin.read import TableReader
from proxyctl.admin.readback import ReadBack, ReadBackError, in_key_order
from proxyctl.admin.reconnect import RESTARTED, Reconnect
from proxyctl.errors import (
    ApplyError,
    ConnectionLostError,
    InstanceError,
    InterruptedApplyError,
    ProxyctlError,
    RefusedError,
    bug_text,
)
from proxyctl.families import Family
from proxyctl.placement import placed_rows
from proxyctl.plan import ModulePlan, Plan, raise_refusals
from proxyctl.result import OLD, UNKNOWN, ApplyResult, ModuleResult
from proxyctl.secrecy import hide_old_secrets
from proxyctl.sql import Statement
from proxyctl.state import Layer, Rows
from proxyctl.survey import TableSurvey, in_loads

RESTORES = 3
"""How often putting back is tried, where the connection breaks or a statement fails meanwhile."""

SETTLE_S = 2.0
"""A row loaded ONLINE that RUNTIME shows SHUNNED is looked at again after this time."""


@dataclass(frozen=True)
class ApplyOptions:
    """`save` False leaves DISK as it is: a restart takes the change back."""

    save: bool = True
    progress: Callable[[str], None] = lambda _text: None


def apply_plan(client: AdminClient, plan: Plan, lock: Lock, options: ApplyOptions) -> ApplyResult:
    """Apply the plan, whose rows were read under the lock.

    Raises: RefusedError when the plan has refusals; InstanceError when staging failed and MEMORY
    was put back (nothing was loaded); ApplyError when layers may have changed.
    """
    raise_refusals(plan)
    with interruptible():
        return _Run(client, plan, lock, options).go()


class _Run:
    """One apply under way: what MEMORY holds now, and what was loaded and saved."""

    def __init__(self, client: AdminClient, plan: Plan, lock: Lock, options: ApplyOptions) -> None:
        self.client = client
        self.plan = plan
        self.lock = lock
        self.options = options
        self.modules = [module for module in plan.modules if module.does_something]
        self.names = tuple(module.name for module in self.modules)
        for module in self.modules:
            for survey in module.surveys.values():
                hide_old_secrets(survey)
        self.memory = {module.name: _before(module) for module in self.modules}
        self.results = {module.name: ModuleResult(module.name) for module in self.modules}
        self.result = ApplyResult(list(self.results.values()))
        self.new = f"as {plan.source.place}"
        self.lost: ConnectionLostError | None = None
        """The loss of the connection during a LOAD or SAVE, after which we could reconnect."""
        self.way_back = Reconnect(client, lock)
        self.read_back = ReadBack(client)

    def go(self) -> ApplyResult:
        """Stage, load, save. Also a bug of ours must not leave an instance half changed."""
        try:
            self._stage()
        except (Exception, KeyboardInterrupt) as error:
            with uninterrupted():
                failure = self._unstage(error)
            raise failure from error
        try:
            self._load_all()
            self._finish_memory()
            if self.options.save:
                self._save_all()
        except (Exception, KeyboardInterrupt) as error:
            with uninterrupted():
                failure = self._restore(error)
            raise failure from error
        return self.result

    # -- writing MEMORY ---------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self.options.progress(text)

    def _write(self, module: ModulePlan, wanted: Mapping[str, Rows]) -> None:
        """Turn MEMORY of a module into these rows and read it back.

        Raises: ReadBackError when MEMORY holds something else afterwards.
        """
        before = self.memory[module.name]
        changed = [
            name
            for name, rows in wanted.items()
            if rows is not before[name] and rows != before[name]
        ]
        if not changed:
            self.memory[module.name] = {**before, **wanted}
            return
        self.results[module.name].memory = UNKNOWN
        statements = self._statements(module, {name: wanted[name] for name in changed})
        with closing(made_ahead(statements)) as made:
            for statement in made:
                self.lock.renew()
                self.client.execute(statement)
                self.result.statements += 1
        for name in changed:
            self.read_back.stored(module.surveys[name].layout, Layer.MEMORY, wanted[name])
        self.memory[module.name] = {**before, **wanted}

    def _statements(self, module: ModulePlan, wanted: Mapping[str, Rows]) -> Iterator[Statement]:
        """Yield the statements that make MEMORY hold these rows.

        The text that is expected of it then is made while the last of them run.
        """
        before = self.memory[module.name]
        for name, rows in wanted.items():
            ordered = in_key_order(rows)
            yield from module.transition(before, {name: ordered})
            self.read_back.expect(module.surveys[name].layout, rows, ordered)

    def _read(self, module: ModulePlan, table: str, layer: Layer) -> Rows:
        return self.read_back.read(module.surveys[table].layout, layer)

    # -- the steps --------------------------------------------------------------------------

    def _stage(self) -> None:
        self.lock.mark("staging MEMORY", self.names)
        for module in self.modules:
            if module.stages or module.images:
                self._say(f"{module.name}: write MEMORY")
                self._write(module, module.first)

    def _load_all(self) -> None:
        later: list[ModulePlan] = []
        for module in self.modules:
            if module.images:
                self._load(module, module.images[0])
                if len(module.images) > 1:
                    later.append(module)
            if module.name == "MYSQL USERS":
                self._load_rest(later)
        self._load_rest(later)

    def _load_rest(self, later: list[ModulePlan]) -> None:
        """The second LOAD of servers, to which nothing routes any more, or of admin variables."""
        while later:
            module = later.pop()
            of_servers = " without the servers that leave" if module.name == "MYSQL SERVERS" else ""
            self._say(f"{module.name}: write MEMORY{of_servers}")
            self._write(module, module.images[1])
            self._load(module, module.images[1])

    def _load(self, module: ModulePlan, image: Mapping[str, Rows]) -> None:
        self.lock.mark(module.module.load, self.names)
        self._say(module.module.load)
        self.results[module.name].runtime = UNKNOWN
        self._command(module.module.load)
        self.result.loads += 1
        self._verify_runtime(module, image, self.plan.families)
        self.results[module.name].runtime = self.new
        if module.name.endswith("VARIABLES"):
            # A LOAD rewrites MEMORY: refused and restart-only values are put back.
            for name in module.surveys:
                self.memory[module.name][name] = self._read(module, name, Layer.MEMORY)

    def _verify_runtime(
        self, module: ModulePlan, image: Mapping[str, Rows], families: Iterable[Family]
    ) -> None:
        layouts = [survey.layout for survey in module.surveys.values()]
        loaded = {name: image.get(name, found.memory) for name, found in module.surveys.items()}
        parsed = self.read_back.runtime(layouts, loaded, families)
        if "mysql_servers" in parsed:
            servers = module.surveys["mysql_servers"]
            self._look_again(servers, parsed["mysql_servers"], loaded["mysql_servers"])

    def _look_again(self, survey: TableSurvey, runtime: Rows, loaded: Rows) -> None:
        """Report servers that RUNTIME shows SHUNNED although ONLINE was loaded, if it lasts."""
        status = survey.layout.index["status"]

        def shunned(rows: Rows) -> set[str]:
            return {
                f"{row[1]}:{row[2]} in hostgroup {row[0]}"
                for key, row in rows.items()
                if str(row[status]).startswith("SHUNNED")
                and str(loaded.get(key, row)[status]).upper() == "ONLINE"
            }

        if not shunned(runtime):
            return
        time.sleep(SETTLE_S)
        again = TableReader(self.client).read(survey.layout, Layer.RUNTIME)
        self.result.notes += [
            f"{place} is SHUNNED at RUNTIME although it was loaded ONLINE"
            for place in sorted(shunned(again))
        ]

    def _finish_memory(self) -> None:
        """MEMORY gets the rows of the files, without another LOAD: those are what is SAVEd."""
        for module in self.modules:
            self._write(module, module.final)
            self.results[module.name].memory = self.new

    def _save_all(self) -> None:
        for module in self.modules:
            if not module.save:
                continue
            self.lock.mark(module.module.save, self.names)
            self._say(module.module.save)
            self.results[module.name].disk = UNKNOWN
            self._command(module.module.save)
            self.result.saves += 1
            self._verify_disk(module, module.final)
            self.results[module.name].disk = self.new

    def _verify_disk(self, module: ModulePlan, wanted: Mapping[str, Rows]) -> None:
        for name, survey in module.surveys.items():
            self.read_back.stored(survey.layout, Layer.DISK, wanted[name])

    def _command(self, sql: str) -> None:
        """Send a LOAD or SAVE. If the connection breaks, reconnect: the read-back decides.

        It is never sent twice: whether the first one ran is not known.

        Raises: InstanceError when ProxySQL was restarted: what was loaded before is gone as well.
        """
        try:
            self.client.execute(Statement.plain(sql))
        except ConnectionLostError as error:
            is_new = self._reconnect(error)
            self.lost = error
            if is_new:
                raise InstanceError(RESTARTED) from error

    def _reconnect(self, cause: ConnectionLostError) -> bool:
        """Return whether ProxySQL was restarted."""
        is_new = self.way_back.again(cause)
        if is_new:
            for result in self.results.values():
                result.memory = result.runtime = UNKNOWN
        return is_new

    # -- when something goes wrong ----------------------------------------------------------

    def _unstage(self, error: BaseException) -> ProxyctlError:
        """Put MEMORY back after a failed staging. Nothing was loaded."""
        if isinstance(error, RefusedError):
            if all(result.memory == OLD for result in self.results.values()):
                return error
            return self._failure(error, "MEMORY is left to the apply that holds the lock now")
        second = self._try_again(error, self._unstage_all)
        if second is not None:
            return self._failure(error, f"MEMORY could not be put back: {_message(second)}")
        what = "nothing was loaded; MEMORY was put back"
        if self.way_back.was_restarted:
            what = f"{RESTARTED}; we loaded nothing, and MEMORY was put back"
        if isinstance(error, KeyboardInterrupt):
            return self._failure(error, what)
        return InstanceError(
            f"{_message(error)}\n{what}",
            hint=getattr(error, "hint", None),
        )

    def _unstage_all(self) -> None:
        for module in reversed(self.modules):
            self._write_back(module, _before(module))
            self.results[module.name].memory = OLD

    def _try_again(self, cause: BaseException, put_back: Callable[[], None]) -> Exception | None:
        """Put back what can be put back, several times where the instance fails meanwhile.

        Every try reads first what is there. Returns: the error of the last one, or None.
        """
        error: BaseException = cause
        second: Exception | None = None
        for _ in range(RESTORES):
            try:
                self._revive(error)
                put_back()
            except (InstanceError, ReadBackError) as failed:
                # A LOAD or SAVE that was lost on its way is seen when its layer is read back.
                second = error = failed
                if self.way_back.is_gone:
                    break
            except Exception as failed:
                return failed
            else:
                return None
        return second

    def _revive(self, error: BaseException) -> None:
        """Open the connection again unless it surely is in step: an answer may be half read."""
        if isinstance(error, ProxyctlError) and not isinstance(error, ConnectionLostError):
            return
        try:
            self._reconnect(ConnectionLostError(_message(error)))
        except ConnectionLostError:
            raise InstanceError(
                "ProxySQL does not answer any more. When it is started again, MEMORY and RUNTIME"
                " come from DISK"
            ) from None

    def _write_back(self, module: ModulePlan, wanted: Mapping[str, Rows]) -> None:
        """Turn MEMORY into these rows, whatever it holds now."""
        self.memory[module.name] = {
            name: self._read(module, name, Layer.MEMORY) for name in module.surveys
        }
        self._write(module, wanted)

    def _restore(self, error: BaseException) -> ProxyctlError:
        """Put RUNTIME, DISK and MEMORY of every module back, in reverse order of the LOADs."""
        if isinstance(error, RefusedError):
            return self._failure(error, "left to the apply that holds the lock now")
        second = self._try_again(error, self._restore_all)
        if second is not None:
            return self._failure(error, f"restoring failed: {_message(second)}")
        return self._failure(error, "everything was restored")

    def _restore_all(self) -> None:
        for module in self._backwards():
            self._restore_module(module)

    def _backwards(self) -> list[ModulePlan]:
        """Return the modules in reverse order of their LOADs.

        Rules keep the regular expression engine that they were loaded with, so a changed one comes
        back before them.
        """
        modules = self.modules[::-1]
        return sorted(modules, key=lambda module: not module.changes_regex_engine)

    def _restore_module(self, module: ModulePlan) -> None:
        """Put DISK back, then RUNTIME: DISK must not be ahead if this ends half way."""
        result = self.results[module.name]
        if result.disk != OLD:
            self._say(f"{module.name}: restore DISK")
            image = _disk_before(module)
            self._write_back(module, image)
            result.disk = UNKNOWN
            self._command(module.module.save)
            self._verify_disk(module, image)
            result.disk = OLD
        if result.runtime != OLD:
            self._say(f"{module.name}: restore RUNTIME")
            for image in self._old_images(module):
                self._write_back(module, image)
                result.runtime = UNKNOWN
                self._command(module.module.load)
                self._verify_runtime(module, image, self.plan.families_before)
            result.runtime = OLD
        self._write_back(module, _before(module))
        result.memory = OLD

    def _old_images(self, module: ModulePlan) -> list[dict[str, Rows]]:
        """Return the MEMORY rows whose LOADs give back the RUNTIME from before."""
        image: dict[str, Rows] = {}
        for name, survey in module.surveys.items():
            rows = survey.memory
            if survey.unpublished and survey.runtime is not None:
                rows = survey.runtime
            if name == "mysql_servers":
                now = self._read(module, name, Layer.RUNTIME)
                rows = placed_rows(survey.layout, rows, now, self.plan.families_before)
            image[name] = rows
        if "admin_variables" not in image:
            return [image]
        now = self._read(module, "admin_variables", Layer.RUNTIME)
        return [{"admin_variables": rows} for rows in in_loads(now, image["admin_variables"])]

    def _failure(self, error: BaseException, what: str) -> ApplyError:
        kind = InterruptedApplyError if isinstance(error, KeyboardInterrupt) else ApplyError
        # Where MEMORY was not put back, the next apply has to know what stands there as ours.
        self.lock.leave(name for name, found in self.results.items() if found.memory != OLD)
        if self.way_back.is_gone:
            for result in self.results.values():
                result.memory = result.runtime = UNKNOWN
        lost = f"{self.lost.message}\nafter reconnecting: " if self.lost else ""
        if self.way_back.was_restarted and _message(error) != RESTARTED:
            what = f"{RESTARTED}\n{what}"
        return kind(
            f"{lost}{_message(error)}\n{what}",
            hint=getattr(error, "hint", None)
            or "a plain second run of apply finishes or says what stands in the way",
            layers=[result.text() for result in self.results.values()],
        )


def _before(module: ModulePlan) -> dict[str, Rows]:
    """Return what MEMORY held when the plan was made."""
    return {name: survey.memory for name, survey in module.surveys.items()}


def _disk_before(module: ModulePlan) -> dict[str, Rows]:
    """Return what DISK held when the plan was made.

    Restart-only variables differ there from MEMORY, whose rows a LOAD has put back.
    """
    return {
        name: {**survey.memory, **survey.disk_restart_only} if survey.disk is None else survey.disk
        for name, survey in module.surveys.items()
    }


def _message(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, ProxyctlError):
        return error.message
    return f"internal error, a bug in proxyctl: {bug_text(error)}"
