"""Restore an instance after a failed apply.

Before the first LOAD only MEMORY is put back; after it DISK, RUNTIME and MEMORY of every module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from proxyctl.apply.progress import ApplyRun, memory_before
from proxyctl.apply.readback import ReadBackError
from proxyctl.apply.result import AS_BEFORE, UNVERIFIED
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
from proxyctl.plan.diff import ServerDiff
from proxyctl.plan.plan import ModulePlan
from proxyctl.proxysql.placement import placed_rows
from proxyctl.proxysql.servers import without_shunning
from proxyctl.rows.row import Layer, Rows

ATTEMPTS = 3
"""The attempts to restore if the connection breaks or a statement fails."""

RUN_AGAIN = "run apply again: it will finish the change or say why it cannot"


class Restore:
    """Brings an instance back to its state at the time of the plan, as far as possible.

    The methods return the error to raise, with the cause and the state of each layer.
    """

    def __init__(self, run: ApplyRun) -> None:
        self.run = run

    def unstage(self, error: BaseException) -> ProxyctlError:
        """Put MEMORY back after a failed staging. Nothing was loaded."""
        if isinstance(error, RefusedError) and self._is_memory_as_before():
            return error
        restore_error = self._retry(error, self._unstage_all)
        if self.run.lock.is_lost:
            return self._lost_lock_error(error, restore_error)
        if restore_error is not None:
            return self._failure(error, _prefixed("MEMORY could not be restored", restore_error))
        outcome = "nothing was loaded; MEMORY was restored"
        if self.run.reconnect.was_restarted:
            outcome = f"{RESTARTED}; nothing was loaded, and MEMORY was restored"
        if isinstance(error, KeyboardInterrupt):
            return self._failure(error, [outcome])
        first, *then = error_texts(error)
        return InstanceError(first, then=[*then, outcome], fix=getattr(error, "fix", None))

    def _is_memory_as_before(self) -> bool:
        return all(result.memory == AS_BEFORE for result in self.run.results.values())

    def _unstage_all(self) -> None:
        for module in reversed(self.run.modules):
            self._write_back(module, memory_before(module))
            self.run.results[module.name].memory = AS_BEFORE

    def _retry(self, cause: BaseException, put_back: Callable[[], None]) -> Exception | None:
        """Call `put_back`, again if the instance fails; return the error of the last attempt.

        Every attempt first renews the lock. With a lost lock there is no attempt.
        """
        error: BaseException = cause
        restore_error: Exception | None = None
        if self.run.lock.is_lost:
            return None
        for _ in range(ATTEMPTS):
            try:
                self._revive(error)
                self.run.lock.renew(at_once=True)
                put_back()
            except (InstanceError, ReadBackError) as failed:
                # The read-back of its layer shows whether a LOAD or SAVE was lost on its way.
                restore_error = error = failed
                if self.run.reconnect.is_gone:
                    break
            except Exception as failed:
                return failed
            else:
                return None
        return restore_error

    def _revive(self, error: BaseException) -> None:
        """Open the connection again unless its last answer was complete."""
        if isinstance(error, ProxyctlError) and not isinstance(error, ConnectionLostError):
            return
        try:
            self.run.connect_again(ConnectionLostError(error_texts(error)[0]))
        except ConnectionLostError:
            raise InstanceError(
                "ProxySQL stopped answering. After a restart, MEMORY and RUNTIME will come from"
                " DISK"
            ) from None

    def _write_back(self, module: ModulePlan, wanted: Mapping[str, Rows]) -> None:
        """Write these rows to MEMORY, whatever it holds now."""
        self.run.memory[module.name] = {
            name: self.run.read(module, name, Layer.MEMORY) for name in module.diffs
        }
        self.run.write(module, wanted)

    def restore(self, error: BaseException) -> ProxyctlError:
        """Put DISK, RUNTIME and MEMORY of every module back, in reverse order of the LOADs."""
        restore_error = self._retry(error, self._restore_all)
        if self.run.lock.is_lost:
            return self._lost_lock_error(error, restore_error)
        if restore_error is not None:
            return self._failure(error, _prefixed("restoring failed", restore_error))
        return self._failure(error, ["everything was restored"])

    def _restore_all(self) -> None:
        for module in self._backwards():
            self._restore_module(module)

    def _backwards(self) -> list[ModulePlan]:
        """Return the modules in reverse order of their LOADs; the regex engine before the rules.

        A LOAD of rules compiles them with the engine at that moment.
        """
        modules = self.run.modules[::-1]
        return sorted(modules, key=lambda module: not module.changes_regex_engine)

    def _restore_module(self, module: ModulePlan) -> None:
        """Put DISK back, then RUNTIME: if this stops in between, DISK must not be ahead."""
        result = self.run.results[module.name]
        if result.disk != AS_BEFORE:
            self.run.say(f"{module.name}: restore DISK")
            image = _disk_before(module)
            self._write_back(module, image)
            self.run.command(module, Layer.DISK)
            self.run.verify_disk(module, image)
            result.disk = AS_BEFORE
        if result.runtime != AS_BEFORE:
            self.run.say(f"{module.name}: restore RUNTIME")
            image = self._old_image(module)
            self._write_back(module, image)
            self.run.command(module, Layer.RUNTIME)
            self.run.verify_runtime(module, image, self.run.plan.topologies.memory)
            result.runtime = AS_BEFORE
        self._write_back(module, memory_before(module))
        result.memory = AS_BEFORE

    def _old_image(self, module: ModulePlan) -> dict[str, Rows]:
        """Return the MEMORY rows whose LOAD restores RUNTIME.

        They are computed right before the LOAD, since the monitor moves nodes meanwhile.
        """
        self.run.wait_for_newer_epoch_of(module)
        image: dict[str, Rows] = {}
        for name, diff in module.diffs.items():
            rows = diff.runtime if diff.unpublished else diff.memory
            if isinstance(diff, ServerDiff):
                if diff.unpublished:
                    # A server that is loaded as SHUNNED stays SHUNNED.
                    rows = {
                        key: row if key in diff.shunned else without_shunning(diff.layout, row)
                        for key, row in rows.items()
                    }
                now = self.run.read(module, name, Layer.RUNTIME)
                topology = self.run.plan.topologies.memory
                rows = placed_rows(
                    diff.layout,
                    rows,
                    now,
                    topology,
                    drained=diff.drained,
                    removed=diff.target.keys() - rows.keys(),
                )
            image[name] = rows
        return image

    def _lost_lock_error(self, error: BaseException, restore_error: Exception | None) -> ApplyError:
        """Return the error for a lost lock: another apply may have begun, so nothing is restored.

        The state of the layers is no longer known.
        """
        for result in self.run.results.values():
            result.disown()
        outcome = "nothing was restored: another apply may have started in the meantime"
        if restore_error is None or error_texts(restore_error) == error_texts(error):
            return self._failure(error, [outcome])
        fix = getattr(restore_error, "fix", None)
        return self._failure(error, [*error_texts(restore_error), outcome], fix)

    def _failure(
        self, error: BaseException, outcome: list[str], fix: str | None = None
    ) -> ApplyError:
        kind = InterruptedApplyError if isinstance(error, KeyboardInterrupt) else ApplyError
        # The next apply must know the modules whose MEMORY holds rows of this apply.
        results = self.run.results
        unrestored = [name for name, result in results.items() if result.memory != AS_BEFORE]
        self.run.lock.record_leftovers({name: self.run.was_saved[name] for name in unrestored})
        if self.run.reconnect.is_gone:
            for result in results.values():
                result.memory = result.runtime = UNVERIFIED
        texts = error_texts(error)
        if self.run.reconnect.was_restarted and texts != [RESTARTED]:
            outcome = [RESTARTED, *outcome]
        own_fix = getattr(error, "fix", None)
        if self.run.lost is not None:
            texts = [*error_texts(self.run.lost), *_prefixed("after reconnecting", error)]
            if isinstance(error, ReadBackError):
                own_fix = None  # the statement may not have arrived: ProxySQL refused nothing
        return kind(
            texts[0],
            then=[*texts[1:], *outcome],
            fix=fix or own_fix or RUN_AGAIN,
            layers=[result.text() for result in results.values()],
        )


def _disk_before(module: ModulePlan) -> dict[str, Rows]:
    """Return the rows of DISK at the time of the plan.

    Restart-only variables differ between DISK and MEMORY: a LOAD puts the running values in MEMORY.
    """
    return {
        name: diff.disk if diff.unsaved else {**diff.memory, **diff.restart_only}
        for name, diff in module.diffs.items()
    }


def _prefixed(prefix: str, error: BaseException) -> list[str]:
    first, *then = error_texts(error)
    return [f"{prefix}: {first}", *then]
