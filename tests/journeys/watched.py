"""An apply of which a test is told every step, and in which it may interfere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from proxyctl.apply.execute import apply_plan
from proxyctl.apply.run import ApplyOptions
from proxyctl.config.project import ParsedFiles, Sources
from proxyctl.errors import InstanceError, ProxyctlError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.lock import Lock
from proxyctl.plan.files import plan_files
from proxyctl.plan.make import PlanOptions
from tests.support.servers import Instance


def failed_apply(
    instance: Instance,
    progress: Callable[[str], None],
    *,
    saves: bool = True,
    first: Callable[[], None] = lambda: None,
) -> ProxyctlError:
    """Apply `proxyctl.yaml`, which has to fail, and return how.

    `progress` is told each step before it is taken; `first` is called when the plan is made.
    """
    with AdminClient(Login(port=instance.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        sources = Sources(("proxyctl.yaml",))
        plan = plan_files(client, ParsedFiles(sources), PlanOptions(saves=saves))
        first()
        with pytest.raises(ProxyctlError) as caught:
            apply_plan(client, plan, lock, ApplyOptions(save=saves, progress=progress))
        with suppress(InstanceError):
            lock.release()
    return caught.value


def at_step(start: str, act: Callable[[], None]) -> Callable[[str], None]:
    """Return what acts, once, when a step is announced whose text starts so."""
    happened: list[str] = []

    def progress(text: str) -> None:
        if text.startswith(start) and not happened:
            happened.append(text)
            act()

    return progress
