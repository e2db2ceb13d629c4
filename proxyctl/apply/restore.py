"""Restore an instance when an apply cannot go on.

Before the first LOAD only MEMORY is put back; after it DISK, RUNTIME and MEMORY of every module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from proxyctl.apply.readback import ReadBackError
from proxyctl.apply.result import OLD, UNKNOWN
from proxyctl.apply.run import ApplyRun, memory_before
from proxyctl.catalog import Role
from proxyctl.errors import (
    ApplyError,
    ConnectionLostError,
    InstanceError,
    InterruptedApplyError,
    ProxyctlError,
    RefusedError,
    error_texts,
)
from proxyctl.instance.lock import RESTARTED
from proxyctl.plan.plan import ModulePlan
from proxyctl.state.families import ServerColumns, without_shunning
from proxyctl.state.placement import placed_rows
from proxyctl.state.row import Layer, Rows

ATTEMPTS = 3
"""How often restoring is tried, where the connection breaks or a statement fails meanwhile."""


RUN_AGAIN = "run apply again: it finishes the change or says why it cannot"


class Restore:
    """Brings an instance back to what it held when the plan was made, as far as possible.

    Its methods return the error to raise: what went wrong, and what each layer holds.
    """

    def __init__(self, run: ApplyRun) -> None:
        self.run = run

    def unstage(self, error: BaseException) -> ProxyctlError:
        """Put MEMORY back after a failed staging. Nothing was loaded."""
        if isinstance(error, RefusedError) and self._is_memory_old():
            return error
        second = self._try_again(error, self._unstage_all)
        if self.run.lock.is_lost:
            return self._lock_lost(error, second)
        if second is not None:
            return self._failure(error, _after("MEMORY could not be restored", second))
        what = "nothing was loaded; MEMORY was restored"
        if self.run.reconnect.was_restarted:
            what = f"{RESTARTED}; nothing was loaded, and MEMORY was restored"
        if isinstance(error, KeyboardInterrupt):
            return self._failure(error, [what])
        first, *then = error_texts(error)
        return InstanceError(first, then=[*then, what], fix=getattr(error, "fix", None))

    def _is_memory_old(self) -> bool:
        return all(result.memory == OLD for result in self.run.results.values())

    def _unstage_all(self) -> None:
        for module in reversed(self.run.modules):
            self._write_back(module, memory_before(module))
            self.run.results[module.name].memory = OLD

    def _try_again(self, cause: BaseException, put_back: Callable[[], None]) -> Exception | None:
        """Call `put_back`, several times where the instance fails meanwhile.

        Every attempt first makes sure that the lock is ours. Returns the error of the last attempt,
        or None; with a lost lock nothing is tried.
        """
        error: BaseException = cause
        second: Exception | None = None
        if self.run.lock.is_lost:
            return None
        for _ in range(ATTEMPTS):
            try:
                self._revive(error)
                self.run.lock.renew(at_once=True)
                put_back()
            except (InstanceError, ReadBackError) as failed:
                # A LOAD or SAVE that was lost on its way is seen when its layer is read back.
                second = error = failed
                if self.run.reconnect.is_gone:
                    break
            except Exception as failed:
                return failed
            else:
                return None
        return second

    def _revive(self, error: BaseException) -> None:
        """Open the connection again unless its last answer was read whole."""
        if isinstance(error, ProxyctlError) and not isinstance(error, ConnectionLostError):
            return
        try:
            self.run.connect_again(ConnectionLostError(error_texts(error)[0]))
        except ConnectionLostError:
            raise InstanceError(
                "ProxySQL stopped answering. After a restart MEMORY and RUNTIME come from DISK"
            ) from None

    def _write_back(self, module: ModulePlan, wanted: Mapping[str, Rows]) -> None:
        """Turn MEMORY into these rows, whatever it holds now."""
        self.run.memory[module.name] = {
            name: self.run.read(module, name, Layer.MEMORY) for name in module.diffs
        }
        self.run.write(module, wanted)

    def restore(self, error: BaseException) -> ProxyctlError:
        """Put DISK, RUNTIME and MEMORY of every module back, in reverse order of the LOADs."""
        second = self._try_again(error, self._restore_all)
        if self.run.lock.is_lost:
            return self._lock_lost(error, second)
        if second is not None:
            return self._failure(error, _after("restoring failed", second))
        return self._failure(error, ["everything was restored"])

    def _restore_all(self) -> None:
        for module in self._backwards():
            self._restore_module(module)

    def _backwards(self) -> list[ModulePlan]:
        """Return the modules in reverse order of their LOADs.

        Rules keep the regular expression engine that they were loaded with, so a changed one comes
        back before them.
        """
        modules = self.run.modules[::-1]
        return sorted(modules, key=lambda module: not module.changes_regex_engine)

    def _restore_module(self, module: ModulePlan) -> None:
        """Put DISK back, then RUNTIME: DISK must not be ahead if this ends half way."""
        result = self.run.results[module.name]
        if result.disk != OLD:
            self.run.say(f"{module.name}: restore DISK")
            image = _disk_before(module)
            self._write_back(module, image)
            # A SAVE and a LOAD have no condition, as statements that write to MEMORY have.
            self.run.lock.renew(at_once=True)
            result.disk = UNKNOWN
            self.run.command(module.module.save)
            self.run.verify_disk(module, image)
            result.disk = OLD
        if result.runtime != OLD:
            self.run.say(f"{module.name}: restore RUNTIME")
            image = self._old_image(module)
            self._write_back(module, image)
            self.run.lock.renew(at_once=True)
            result.runtime = UNKNOWN
            self.run.command(module.module.load)
            self.run.verify_runtime(module, image, self.run.plan.families_before)
            result.runtime = OLD
        self._write_back(module, memory_before(module))
        result.memory = OLD

    def _old_image(self, module: ModulePlan) -> dict[str, Rows]:
        """Return the MEMORY rows whose LOAD gives back the RUNTIME from before.

        They are made right before the LOAD, since the monitor goes on moving nodes.
        """
        self.run.wait_for_peers(module)
        image: dict[str, Rows] = {}
        for name, diff in module.diffs.items():
            rows = diff.runtime if diff.unpublished else diff.memory
            if diff.layout.table.role is Role.SERVERS and rows is diff.runtime:
                # Loaded SHUNNED, a server that is unwell now would stay so.
                columns = ServerColumns.of(diff.layout)
                rows = {
                    key: without_shunning(columns, row, diff.memory.get(key))
                    for key, row in rows.items()
                }
            if diff.is_of_servers:
                now = self.run.read(module, name, Layer.RUNTIME)
                families = self.run.plan.families_before
                rows = placed_rows(diff.layout, rows, now, families, drained=diff.drained)
            image[name] = rows
        return image

    def _lock_lost(self, error: BaseException, second: Exception | None) -> ApplyError:
        """Return the error for a lost lock: another apply may have begun, so nothing is restored.

        What was read or written before no longer tells what the layers hold.
        """
        for result in self.run.results.values():
            result.disown()
        what = "nothing was restored: another apply may have continued since"
        if second is None or error_texts(second) == error_texts(error):
            return self._failure(error, [what])
        fix = getattr(second, "fix", None)
        return self._failure(error, [*error_texts(second), what], fix)

    def _failure(self, error: BaseException, what: list[str], fix: str | None = None) -> ApplyError:
        kind = InterruptedApplyError if isinstance(error, KeyboardInterrupt) else ApplyError
        # Where MEMORY was not put back, the next apply has to know what stands there as ours.
        results = self.run.results
        left = [name for name, found in results.items() if found.memory != OLD]
        self.run.lock.record_leftovers({name: self.run.was_saved[name] for name in left})
        if self.run.reconnect.is_gone:
            for result in results.values():
                result.memory = result.runtime = UNKNOWN
        texts = error_texts(error)
        if self.run.reconnect.was_restarted and texts != [RESTARTED]:
            what = [RESTARTED, *what]
        found_fix = getattr(error, "fix", None)
        if self.run.lost is not None:
            texts = [*error_texts(self.run.lost), *_after("after reconnecting", error)]
            if isinstance(error, ReadBackError):
                found_fix = None  # the statement may never have arrived: nothing was refused
        return kind(
            texts[0],
            then=[*texts[1:], *what],
            fix=fix or found_fix or RUN_AGAIN,
            layers=[result.text() for result in results.values()],
        )


def _disk_before(module: ModulePlan) -> dict[str, Rows]:
    """Return what DISK held when the plan was made.

    Restart-only variables differ there from MEMORY, whose rows a LOAD has put back.
    """
    return {
        name: diff.disk if diff.unsaved else {**diff.memory, **diff.restart_only}
        for name, diff in module.diffs.items()
    }


def _after(what: str, error: BaseException) -> list[str]:
    first, *then = error_texts(error)
    return [f"{what}: {first}", *then]
