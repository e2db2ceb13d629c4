"""Every variable that can be changed goes back, in every layer."""

from __future__ import annotations

import pytest

from proxyctl.catalog.variable_rules import DIFFS_BY_CHECKSUM
from proxyctl.catalog.variables import READ_ONLY, VARIABLES
from tests.support.commands.cli import Project, proxyctl
from tests.support.servers.instances import ProxySQL
from tests.support.servers.layers import in_layers

pytestmark = pytest.mark.real

KEPT = frozenset({*READ_ONLY, *DIFFS_BY_CHECKSUM, "admin-read_only"})
"""Not changed here: with admin-read_only nobody could SAVE.

A checksum that is off keeps its difference count at 0, also in the LOAD that turns it on again. No
file may turn one off, so proxyctl LOADs ADMIN VARIABLES once.
"""


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


def test_all_at_once(fresh_proxysql: ProxySQL, offline: Project) -> None:
    instance = fresh_proxysql.instance
    offline.connect(instance)
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
    prefixes = {str(name).partition("-")[0].upper() for name, _ in before["RUNTIME"]}
    instance.load(*(f"{prefix} VARIABLES" for prefix in sorted(prefixes)), saves=True)
    assert changed > 150
    found = proxyctl("rollback", "--auto-approve")
    assert found.code == 0, found.text
    assert in_layers(instance, everything) == before
