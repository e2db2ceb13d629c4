"""An apply that fails while it is put back, and what is put back first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.failing import CHANGED, InTurn, Once, cut, fail
from tests.journeys.layers import dump
from tests.journeys.story import FILES, applied, apply, said
from tests.support.cli import Project
from tests.support.servers import Instance


@pytest.mark.parametrize("act", [cut, fail])
@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ("SAVE MYSQL USERS", "SAVE MYSQL SERVERS", 4),
        ("SAVE MYSQL USERS", "UPDATE mysql_users", 4),
        ("UPDATE mysql_users", "UPDATE mysql_query_rules", 1),
    ],
)
def test_putting_back_is_tried_again(
    sandbox_project: Project,
    sandbox: Sandbox,
    sandbox_instance: Instance,
    first: str,
    second: str,
    code: int,
    act: Callable[[], None],
) -> None:
    sandbox_project.write(FILES)
    applied()
    before = dump(sandbox_instance)
    sandbox_project.write(CHANGED)
    again = Once(second, act)
    sandbox.options.before_statement = InTurn(Once(first, fail), again)
    found = apply()
    assert again.happened
    said(found, code, "everything was restored" if code == 4 else "MEMORY was put back")
    assert dump(sandbox_instance) == before


def test_disk_is_put_back_before_runtime(
    sandbox_project: Project, sandbox: Sandbox, sandbox_instance: Instance
) -> None:
    """Else a proxyctl that is killed meanwhile leaves on DISK what RUNTIME does not hold."""
    sandbox_project.write(FILES)
    applied()
    sandbox_project.write(CHANGED)
    sent: list[str] = []
    fails = Once("SAVE MYSQL USERS", fail)

    def note(sql: str) -> None:
        if fails.happened and sql.startswith(("LOAD ", "SAVE ")):
            sent.append(sql)
        fails(sql)

    sandbox.options.before_statement = note
    assert apply().code == 4
    for module in ("MYSQL VARIABLES", "MYSQL SERVERS", "MYSQL QUERY RULES"):
        disk, runtime = f"SAVE {module} TO DISK", f"LOAD {module} TO RUNTIME"
        assert sent.index(disk) < sent.index(runtime), sent


def test_variables_that_wait_for_a_restart_are_put_back_on_disk(
    sandbox_project: Project, sandbox: Sandbox, sandbox_instance: Instance
) -> None:
    """MEMORY does not hold them: every LOAD puts the running values there."""
    threads = "SELECT variable_value FROM disk.global_variables WHERE variable_name='mysql-threads'"
    sandbox_project.write(FILES.replace("variables:\n", "variables:\n  mysql-threads: 3\n"))
    applied()
    sandbox_project.write(CHANGED.replace("variables:\n", "variables:\n  mysql-threads: 5\n"))
    sandbox.options.before_statement = Once("SAVE MYSQL USERS", fail)
    said(apply(), 4, "everything was restored")
    assert sandbox_instance.query(threads) == [("3",)]
