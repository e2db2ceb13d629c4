"""Every variable that can be changed goes back, in every layer."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxyctl.catalog.variables import READ_ONLY, VARIABLES
from tests.journeys.layers import in_layers
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = pytest.mark.real

KEPT = frozenset({*READ_ONLY, "admin-read_only"})
"""Not changed here: with admin-read_only nobody could SAVE."""


def another(name: str, value: str) -> str | None:
    """Return another value of a flag or a number."""
    known = VARIABLES.get(name)
    if known is None or name in KEPT:
        return None
    if value in ("true", "false"):
        return "false" if value == "true" else "true"
    if not value.isdigit():
        return None
    is_largest = known.maximum is not None and int(value) >= known.maximum
    return str(int(value) + (-1 if is_largest else 1))


def test_all_at_once(
    fresh_proxysql: ProxySQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = fresh_proxysql.instance
    Project(tmp_path, monkeypatch).connect(instance)
    everything = "SELECT * FROM {}global_variables ORDER BY 1"
    before = in_layers(instance, everything)
    assert proxyctl("snapshot").code == 0
    changed = 0
    for name, value in before["RUNTIME"]:
        new = another(str(name), str(value))
        if new is not None:
            changed += instance.execute(
                f"UPDATE global_variables SET variable_value='{new}' WHERE variable_name='{name}'"
            )
    for step in ("LOAD {} TO RUNTIME", "SAVE {} TO DISK"):
        for module in ("MYSQL VARIABLES", "ADMIN VARIABLES"):
            instance.execute(step.format(module))
    assert changed > 150
    found = proxyctl("rollback", "--auto-approve")
    assert found.code == 0, found.text
    assert in_layers(instance, everything) == before
