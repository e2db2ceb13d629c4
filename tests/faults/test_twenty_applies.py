"""Twenty applies at once on one instance run one after another, none lost and none mixed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import pytest

from tests.support.commands.forked import Forked, login
from tests.support.protocol.faulty_proxy import FaultyProxy
from tests.support.servers.instances import Instance
from tests.support.servers.layers import everywhere

APPLIES = range(1, 21)

FILES = """\
version: 1
manage: {{mysql_query_rules: {{rule_id: "{first}-{last}"}}}}
variables:
  mysql-max_connections: {value}
mysql_query_rules:
  - {{rule_id: {first}, match_digest: '^SELECT {number}$', comment: apply {number}}}
"""
"""Each has a range of rules of its own; the variable they all want for themselves."""

VARIABLE = "mysql-max_connections"


def value(number: int) -> int:
    return 2000 + number


def started(number: int, folder: Path, port: int) -> Forked:
    own = folder / f"apply-{number}"
    own.mkdir()
    first = 100 * number
    files = FILES.format(first=first, last=first + 9, number=number, value=value(number))
    (own / "proxyctl.yaml").write_text(files)
    command = ["apply", "--auto-approve", "--lock-timeout", "3600"]
    process = Forked(command, own, login(port, own / ".state"))
    process.start()
    return process


@contextmanager
def values_at_runtime(instance: Instance, proxy: FaultyProxy) -> Iterator[list[int]]:
    """Record the variable at RUNTIME after each LOAD."""
    history: list[int] = []
    own = Instance(instance.host, instance.port)
    one_at_a_time = threading.Lock()

    def look(_connection: int, sql: str, _answer: bytes) -> None:
        if sql == "LOAD MYSQL VARIABLES TO RUNTIME":
            question = (
                f"variable_value FROM runtime_global_variables WHERE variable_name='{VARIABLE}'"
            )
            with one_at_a_time:
                history.extend(int(str(cell)) for (cell,) in own.query(f"SELECT {question}"))

    proxy.watch = look
    yield history
    own.close()


def changes(proxy: FaultyProxy) -> list[int]:
    """Return the connection of every statement that changes the instance, in order."""
    verbs = ("INSERT", "UPDATE", "DELETE", "LOAD", "SAVE")
    lock = tuple(f"{verb} proxyctl_lock" for verb in ("INSERT INTO", "UPDATE", "DELETE FROM"))
    return [
        place.connection
        for place, sql in proxy.log
        if sql.startswith(verbs) and not sql.startswith(lock)
    ]


@pytest.mark.sweep
def test_twenty_applies_at_once(instance: Instance, tmp_path: Path) -> None:
    with (
        FaultyProxy(instance.host, instance.port) as proxy,
        values_at_runtime(instance, proxy) as history,
    ):
        running = [started(number, tmp_path, proxy.port) for number in APPLIES]
        for outcome in [process.outcome() for process in running]:
            assert outcome.code == 0, outcome.text
        proxy.settle()

    # One at a time: what one apply changes stands in one piece.
    assert len([*groupby(changes(proxy))]) == len(APPLIES)
    # None is lost: RUNTIME held the value of each exactly once, and the last one is there.
    assert sorted(history) == [value(number) for number in APPLIES]
    question = f"SELECT variable_value FROM {{}}global_variables WHERE variable_name='{VARIABLE}'"
    assert everywhere(instance, question) == [(str(history[-1]),)]
    # None is mixed with another: each rule is as its own files say.
    rules = everywhere(instance, "SELECT rule_id, comment FROM {}mysql_query_rules ORDER BY 1")
    assert rules == [(str(100 * number), f"apply {number}") for number in APPLIES]
    assert instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]
