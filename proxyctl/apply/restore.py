"""Putting back: what an apply does when it cannot go on.

Nothing was loaded yet: MEMORY comes back. After that, DISK, RUNTIME and MEMORY of every module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from proxyctl.apply.readback import ReadBackError
from proxyctl.apply.result import OLD, UNKNOWN
from proxyctl.apply.steps import Steps, memory_before
from proxyctl.catalog import Role
from proxyctl.errors import (
    ApplyError,
    ConnectionLostError,
    InstanceError,
    InterruptedApplyError,
    ProxyctlError,
    RefusedError,
    said_of,
)
from proxyctl.instance.lock import RESTARTED
from proxyctl.plan.plan import ModulePlan
from proxyctl.plan.steps import in_loads
from proxyctl.state.families import ServerColumns, without_shunning
from proxyctl.state.placement import placed_rows
from proxyctl.state.row import Layer, Rows

RESTORES = 3
"""How often putting back is tried, where the connection breaks or a statement fails meanwhile."""


GOES_ON = "a plain second run of apply finishes or says what stands in the way"


class PuttingBack:
    """Makes an instance hold again what it held when the plan was made, as far as it can be done.

    What it returns is to be raised: what went wrong, and what each layer holds.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps

    def unstage(self, error: BaseException) -> ProxyctlError:
        """Put MEMORY back after a failed staging. Nothing was loaded."""
        if isinstance(error, RefusedError) and self._is_memory_old():
            return error
        second = self._try_again(error, self._unstage_all)
        if self.steps.lock.is_lost:
            return self._left(error, second)
        if second is not None:
            return self._failure(error, _after("MEMORY could not be put back", second))
        what = "nothing was loaded; MEMORY was put back"
        if self.steps.way_back.was_restarted:
            what = f"{RESTARTED}; we loaded nothing, and MEMORY was put back"
        if isinstance(error, KeyboardInterrupt):
            return self._failure(error, [what])
        first, *then = said_of(error)
        return InstanceError(first, then=[*then, what], hint=getattr(error, "hint", None))

    def _is_memory_old(self) -> bool:
        return all(result.memory == OLD for result in self.steps.results.values())

    def _unstage_all(self) -> None:
        for module in reversed(self.steps.modules):
            self._write_back(module, memory_before(module))
            self.steps.results[module.name].memory = OLD

    def _try_again(self, cause: BaseException, put_back: Callable[[], None]) -> Exception | None:
        """Put back what can be put back, several times where the instance fails meanwhile.

        Every try makes sure that the lock is ours, then reads what is there. Returns: the error of
        the last one, or None. With a lock that is lost nothing is tried.
        """
        error: BaseException = cause
        second: Exception | None = None
        if self.steps.lock.is_lost:
            return None
        for _ in range(RESTORES):
            try:
                self._revive(error)
                self.steps.lock.renew(at_once=True)
                put_back()
            except (InstanceError, ReadBackError) as failed:
                # A LOAD or SAVE that was lost on its way is seen when its layer is read back.
                second = error = failed
                if self.steps.way_back.is_gone:
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
            self.steps.reconnect(ConnectionLostError(said_of(error)[0]))
        except ConnectionLostError:
            raise InstanceError(
                "ProxySQL does not answer any more. When it is started again, MEMORY and RUNTIME"
                " come from DISK"
            ) from None

    def _write_back(self, module: ModulePlan, wanted: Mapping[str, Rows]) -> None:
        """Turn MEMORY into these rows, whatever it holds now."""
        self.steps.memory[module.name] = {
            name: self.steps.read(module, name, Layer.MEMORY) for name in module.diffs
        }
        self.steps.write(module, wanted)

    def restore(self, error: BaseException) -> ProxyctlError:
        """Put DISK, RUNTIME and MEMORY of every module back, in reverse order of the LOADs."""
        second = self._try_again(error, self._restore_all)
        if self.steps.lock.is_lost:
            return self._left(error, second)
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
        modules = self.steps.modules[::-1]
        return sorted(modules, key=lambda module: not module.changes_regex_engine)

    def _restore_module(self, module: ModulePlan) -> None:
        """Put DISK back, then RUNTIME: DISK must not be ahead if this ends half way."""
        result = self.steps.results[module.name]
        if result.disk != OLD:
            self.steps.say(f"{module.name}: restore DISK")
            image = _disk_before(module)
            self._write_back(module, image)
            # A SAVE and a LOAD have no condition, as statements that write to MEMORY have.
            self.steps.lock.renew(at_once=True)
            result.disk = UNKNOWN
            self.steps.command(module.module.save)
            self.steps.verify_disk(module, image)
            result.disk = OLD
        if result.runtime != OLD:
            self.steps.say(f"{module.name}: restore RUNTIME")
            for image in self._old_images(module):
                self._write_back(module, image)
                self.steps.lock.renew(at_once=True)
                result.runtime = UNKNOWN
                self.steps.command(module.module.load)
                self.steps.verify_runtime(module, image, self.steps.plan.families_before)
            result.runtime = OLD
        self._write_back(module, memory_before(module))
        result.memory = OLD

    def _old_images(self, module: ModulePlan) -> Iterator[dict[str, Rows]]:
        """Yield the MEMORY rows whose LOADs give back the RUNTIME from before.

        Each when its LOAD may come: where that has to wait, the monitor goes on meanwhile.
        """
        self.steps.before_load(module.module)
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
            if name == "mysql_servers":
                now = self.steps.read(module, name, Layer.RUNTIME)
                families = self.steps.plan.families_before
                rows = placed_rows(diff.layout, rows, now, families, drained=diff.drained)
            image[name] = rows
        if "admin_variables" not in image:
            yield image
            return
        now = self.steps.read(module, "admin_variables", Layer.RUNTIME)
        first, *then = in_loads(now, image["admin_variables"])
        yield {"admin_variables": first}
        for rows in then:
            self.steps.before_load(module.module)
            yield {"admin_variables": rows}

    def _left(self, error: BaseException, second: Exception | None) -> ApplyError:
        """Return the error for a lost lock: all is left to whoever went on there.

        What we have read or written says nothing any more of what the layers hold.
        """
        for result in self.steps.results.values():
            result.disown()
        what = "nothing was put back: another apply may have gone on there since"
        if second is None or said_of(second) == said_of(error):
            return self._failure(error, [what])
        hint = getattr(second, "hint", None)
        return self._failure(error, [*said_of(second), what], hint)

    def _failure(
        self, error: BaseException, what: list[str], hint: str | None = None
    ) -> ApplyError:
        kind = InterruptedApplyError if isinstance(error, KeyboardInterrupt) else ApplyError
        # Where MEMORY was not put back, the next apply has to know what stands there as ours.
        results = self.steps.results
        left = [name for name, found in results.items() if found.memory != OLD]
        self.steps.lock.leave({name: self.steps.was_saved[name] for name in left})
        if self.steps.way_back.is_gone:
            for result in results.values():
                result.memory = result.runtime = UNKNOWN
        said = said_of(error)
        if self.steps.way_back.was_restarted and said != [RESTARTED]:
            what = [RESTARTED, *what]
        if self.steps.lost is not None:
            said = [*said_of(self.steps.lost), *_after("after reconnecting", error)]
        return kind(
            said[0],
            then=[*said[1:], *what],
            hint=hint or getattr(error, "hint", None) or GOES_ON,
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
    first, *then = said_of(error)
    return [f"{what}: {first}", *then]
