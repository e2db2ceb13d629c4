"""Faults in the middle of an apply: the report names everything that is half done."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from proxyctl.errors import ConnectionLostError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.lock import LEASE_S
from proxyctl.instance.read import read_layouts
from proxyctl.sandbox import AdminError, CutConnectionError, Sandbox
from tests.journeys.watched import at_step, failed_apply
from tests.support.commands.cli import Project
from tests.support.commands.story import FILES, MANY, applied, apply, ended, plan
from tests.support.parameters import crossed
from tests.support.servers.instances import Instance, ProxySQL
from tests.support.servers.layers import Dump, dump, everywhere, of_layer

CHANGED = (
    FILES.replace("^SELECT.*FOR", "^SELECT .*FOR")
    .replace("weight: 100", "weight: 70")
    .replace("8.0.36", "8.4.0")
    .replace("{env: APP_PASSWORD}", "{env: OTHER_PASSWORD}")
)
MODULES = ("MYSQL VARIABLES", "MYSQL SERVERS", "MYSQL QUERY RULES", "MYSQL USERS")
STEPS = [
    f"{verb} {module} {to}"
    for verb, to in (("LOAD", "TO RUNTIME"), ("SAVE", "TO DISK"))
    for module in MODULES
]
RESTORED = "everything was restored"

Act = Callable[[], None]


class Troubles:
    """A hook of the sandbox: runs each act once, in order, at a statement with its prefix."""

    def __init__(self, *troubles: tuple[str, Act]) -> None:
        self.left = [*troubles]

    def __call__(self, sql: str) -> None:
        if self.left and sql.startswith(self.left[0][0]):
            _, act = self.left.pop(0)
            act()


def cut() -> None:
    raise CutConnectionError


def fail() -> None:
    raise AdminError("the disk is full", code=1045)


def end(number: signal.Signals) -> Act:
    """Return a function that sends this process a signal."""
    return partial(os.kill, os.getpid(), number)


@pytest.fixture
def before(sandbox_project: Project, sandbox_instance: Instance) -> Dump:
    """The layers after FILES were applied, and before CHANGED is."""
    sandbox_project.write(FILES)
    applied()
    sandbox_project.write(CHANGED)
    return dump(sandbox_instance)


@pytest.mark.usefixtures("before")
@pytest.mark.parametrize("step", STEPS)
def test_the_connection_breaks_after_a_step(sandbox: Sandbox, step: str) -> None:
    """ProxySQL executed the step, which proxyctl sees: it does not send the step again."""
    sent: list[str] = []
    sandbox.options.before_statement = sent.append
    hook = sandbox.options.after_statement = Troubles((step, cut))
    done = apply()
    assert not hook.left
    assert done.code == 0, done.text
    assert sent.count(step) == 1
    assert plan().code == 0


LOADED = "LOAD MYSQL QUERY RULES"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("number", SIGNALS)
def test_whatever_ends_the_process_leaves_nothing_half_done(
    sandbox: Sandbox, sandbox_instance: Instance, before: Dump, number: signal.Signals
) -> None:
    sandbox.options.after_statement = Troubles((LOADED, end(number)))
    ended(apply(), 130, "interrupted", RESTORED)
    assert dump(sandbox_instance) == before


@pytest.mark.parametrize(
    ("where", "again"), crossed(["SELECT", LOADED, "DELETE FROM proxyctl_lock"], SIGNALS)
)
def test_a_second_signal_does_not_end_the_report(
    sandbox: Sandbox, sandbox_instance: Instance, before: Dump, where: str, again: signal.Signals
) -> None:
    """Neither while layers are restored, nor while the lock is released."""
    happens = Troubles((LOADED, end(signal.SIGINT)), (where, end(again)))
    sandbox.options.after_statement = happens
    found = apply()
    assert not happens.left
    ended(found, 130, RESTORED, "MYSQL QUERY RULES: MEMORY as before, RUNTIME as")
    assert dump(sandbox_instance) == before
    assert sandbox_instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]


@pytest.mark.usefixtures("before")
def test_in_what_order_things_are_put_back(sandbox: Sandbox) -> None:
    """Users and rules come before the servers that they lead to, and DISK before RUNTIME.

    If proxyctl is killed meanwhile, DISK must not hold anything that RUNTIME does not.
    """
    sent: list[str] = []
    happens = Troubles(("SAVE MYSQL USERS", fail))

    def note(sql: str) -> None:
        if sql.startswith(("LOAD ", "SAVE ")):
            sent.append(sql)
        happens(sql)

    sandbox.options.before_statement = note
    ended(apply(), 4, RESTORED, "run apply again: it will finish the change")
    forward, back = sent[: len(STEPS)], sent[len(STEPS) :]
    assert forward == STEPS
    assert [sql for sql in back if sql.startswith("LOAD")] == STEPS[3::-1]
    for module in MODULES[:3]:
        assert back.index(f"SAVE {module} TO DISK") < back.index(f"LOAD {module} TO RUNTIME"), back


def test_a_rule_that_is_dropped_at_load(
    sandbox: Sandbox, sandbox_instance: Instance, before: Dump
) -> None:
    def drop() -> None:
        rules = sandbox.runtime["mysql_query_rules"]
        sandbox.runtime["mysql_query_rules"] = [rule for rule in rules if rule["rule_id"] != 20]

    sandbox.options.after_statement = Troubles((LOADED, drop))
    missing = ("RUNTIME does not hold what was written", "rule 20: missing row")
    ended(apply(), 4, *missing, RESTORED)
    assert dump(sandbox_instance) == before


def test_a_value_that_proxysql_silently_refuses(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    before = dump(instance)
    log = "  mysql-eventslog_filename: /no/such/folder/events\n"
    project.write(CHANGED.replace("variables:\n", f"variables:\n{log}"))
    found = apply()
    parts = ("mysql-eventslog_filename", "'/no/such/folder/events'", RESTORED)
    ended(found, 4, *parts, "correct the value: ProxySQL refused it")
    assert "second run" not in found.err
    assert dump(instance) == before
    machine = apply("--format", "json")
    error = machine.json["error"]
    assert (machine.code, error["type"], error["exit_code"]) == (4, "ApplyError", 4)
    assert len(error["layers"]) == 4
    assert dump(instance) == before


def test_a_restore_that_fails_says_what_each_layer_holds(
    sandbox: Sandbox, sandbox_instance: Instance, before: Dump
) -> None:
    def refuse_loads(sql: str) -> None:
        if sql.startswith(LOADED):
            fail()

    sandbox.options.before_statement = refuse_loads
    found = apply()
    ended(
        found, 4, "restoring failed", "MYSQL QUERY RULES: ", "RUNTIME unverified", "DISK as before"
    )
    assert of_layer(dump(sandbox_instance), "DISK") == of_layer(before, "DISK")
    sandbox.options.before_statement = lambda _sql: None
    # What stands in MEMORY now is our own, and the instance knows it: no option is needed.
    applied()
    assert plan().code == 0
    assert sandbox_instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]


def test_an_instance_that_does_not_answer_in_time(
    sandbox: Sandbox, sandbox_instance: Instance
) -> None:
    may_go_on = threading.Event()

    def wait() -> None:
        may_go_on.wait()

    sandbox.options.before_statement = Troubles(("SELECT * FROM (SELECT m.name", wait))
    login = Login(port=sandbox_instance.port, password="admin", read_timeout_s=0.3)
    with AdminClient(login) as client, pytest.raises(ConnectionLostError) as raised:
        read_layouts(client)
    may_go_on.set()
    assert "no answer within 0.3 s: the admin interface is busy" in raised.value.message


STAYS, RETURNS = "stays away", "comes back"


@pytest.mark.parametrize(
    ("step", "what", "code"),
    [
        ("MYSQL QUERY RULES: write MEMORY", RETURNS, 1),
        ("LOAD MYSQL QUERY RULES TO RUNTIME", RETURNS, 4),
        ("LOAD MYSQL QUERY RULES TO RUNTIME", STAYS, 4),
        ("SAVE MYSQL QUERY RULES TO DISK", RETURNS, 4),
    ],
)
def test_a_proxysql_that_dies_in_the_middle(
    fresh_proxysql: ProxySQL, offline: Project, step: str, what: str, code: int
) -> None:
    instance = fresh_proxysql.instance
    offline.connect(instance)
    offline.write(FILES)
    applied()
    before = of_layer(dump(instance), "DISK")
    offline.write(MANY)
    instance.close()

    def die() -> None:
        fresh_proxysql.kill()
        if what == RETURNS:
            fresh_proxysql.start()

    error = failed_apply(instance, at_step(step, die))
    assert error.exit_code == code, error.lines()
    assert "connection was lost" in error.message
    if what == STAYS:
        assert "MYSQL QUERY RULES: MEMORY " in "\n".join(error.lines())
        fresh_proxysql.start()
    assert of_layer(dump(instance), "DISK") == before
    applied()
    assert plan().code == 0
    assert everywhere(instance, "SELECT count(*) FROM {}mysql_query_rules") == [("2902",)]


@pytest.mark.parametrize("module", ["MYSQL SERVERS", "MYSQL USERS"])
def test_a_proxysql_that_restarts_has_forgotten_what_was_loaded(
    fresh_proxysql: ProxySQL, offline: Project, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    """RUNTIME then comes from DISK, even for modules that were loaded and read back before."""
    instance = fresh_proxysql.instance
    offline.connect(instance)
    offline.write(FILES)
    applied()
    # DISK holds what the files say, RUNTIME does not: a restart alone makes RUNTIME look right.
    instance.execute("UPDATE mysql_users SET max_connections=777")
    instance.execute("LOAD MYSQL USERS TO RUNTIME")
    before = dump(instance)
    offline.write(FILES.replace("8.0.36", "8.4.0").replace("weight: 100", "weight: 70"))
    instance.close()
    now = time.monotonic

    def die() -> None:
        fresh_proxysql.kill()
        fresh_proxysql.start()
        # As if a third of the lease had passed: the lock is renewed while things are put back.
        monkeypatch.setattr(time, "monotonic", lambda: now() + LEASE_S / 3)

    error = failed_apply(instance, at_step(f"LOAD {module} TO RUNTIME", die), saves=False)
    text = "\n".join(error.lines())
    assert error.exit_code == 4, text
    assert "ProxySQL was restarted in the meantime" in text
    assert RESTORED in text
    assert dump(instance) == before
