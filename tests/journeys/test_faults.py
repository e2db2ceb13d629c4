"""Faults in the middle of an apply: nothing half done that is not said."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from proxyctl.apply.execute import apply_plan
from proxyctl.apply.run import ApplyOptions
from proxyctl.config.project import ParsedFiles, Sources
from proxyctl.errors import ApplyError, ConnectionLostError, InstanceError, ProxyctlError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.lock import Lock
from proxyctl.instance.read import read_layouts
from proxyctl.plan.files import plan_files
from proxyctl.plan.make import PlanOptions
from proxyctl.sandbox import Sandbox
from tests.journeys.failing import CHANGED, InTurn, Once, cut, fail
from tests.journeys.layers import dump, everywhere, of_layer
from tests.journeys.story import FILES, MANY, applied, apply, plan, said
from tests.support.cli import Project
from tests.support.servers import Instance, ProxySQL

STEPS = [
    f"{verb} {module} {to}"
    for verb, to in (("LOAD", "TO RUNTIME"), ("SAVE", "TO DISK"))
    for module in ("MYSQL VARIABLES", "MYSQL SERVERS", "MYSQL QUERY RULES", "MYSQL USERS")
]


@pytest.mark.parametrize("step", STEPS)
def test_the_connection_breaks_after_a_step(
    sandbox_project: Project, sandbox: Sandbox, sandbox_instance: Instance, step: str
) -> None:
    """It was carried out, which is seen there: it is not sent a second time."""
    sandbox_project.write(FILES)
    applied()
    sandbox_project.write(CHANGED)
    sent: list[str] = []
    sandbox.options.before_statement = sent.append
    hook = sandbox.options.after_statement = Once(step, cut)
    done = apply()
    assert hook.happened
    assert done.code == 0, done.text
    assert sent.count(step) == 1
    assert plan().code == 0


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("act", [cut, fail])
def test_a_step_that_does_not_happen_is_taken_back(
    sandbox_project: Project,
    sandbox: Sandbox,
    sandbox_instance: Instance,
    step: str,
    act: Callable[[], None],
) -> None:
    sandbox_project.write(FILES)
    applied()
    before = dump(sandbox_instance)
    sandbox_project.write(CHANGED)
    hook = sandbox.options.before_statement = Once(step, act)
    found = apply()
    assert hook.happened
    said(found, 4, "everything was restored", "a plain second run of apply")
    for module in ("MYSQL VARIABLES", "MYSQL SERVERS", "MYSQL QUERY RULES", "MYSQL USERS"):
        assert f"{module}: MEMORY as before, RUNTIME as before, DISK as before" in found.err
    assert dump(sandbox_instance) == before
    assert sandbox_instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]
    applied()
    assert plan().code == 0


def test_modules_are_put_back_in_reverse_order(
    sandbox_project: Project, sandbox: Sandbox, sandbox_instance: Instance
) -> None:
    """Nothing leads to what is not there any more: users and rules go back before the servers."""
    sandbox_project.write(FILES)
    applied()
    sandbox_project.write(CHANGED)
    loads: list[str] = []
    failing = Once("SAVE MYSQL VARIABLES", fail)

    def hook(sql: str) -> None:
        if sql.startswith("LOAD "):
            loads.append(sql)
        failing(sql)

    sandbox.options.before_statement = hook
    said(apply(), 4, "everything was restored")
    assert len(loads) == 8
    assert loads[4:] == loads[3::-1]


@pytest.mark.parametrize("start", ["UPDATE mysql_query_rules", "UPDATE mysql_users"])
@pytest.mark.parametrize("hook", ["before_statement", "after_statement"])
@pytest.mark.parametrize("act", [cut, fail])
def test_nothing_is_loaded_when_staging_fails(
    sandbox_project: Project,
    sandbox: Sandbox,
    sandbox_instance: Instance,
    start: str,
    hook: str,
    act: Callable[[], None],
) -> None:
    sandbox_project.write(FILES)
    applied()
    before = dump(sandbox_instance)
    sandbox_project.write(CHANGED)
    once = Once(start, act)
    setattr(sandbox.options, hook, once)
    found = apply()
    assert once.happened
    said(found, 1, "nothing was loaded; MEMORY was put back")
    assert dump(sandbox_instance) == before


def test_a_rule_that_is_dropped_at_load(
    sandbox_project: Project, sandbox: Sandbox, sandbox_instance: Instance
) -> None:
    sandbox_project.write(FILES)
    applied()
    before = dump(sandbox_instance)
    sandbox_project.write(CHANGED)

    def drop() -> None:
        rules = sandbox.runtime["mysql_query_rules"]
        sandbox.runtime["mysql_query_rules"] = [rule for rule in rules if rule["rule_id"] != 20]

    sandbox.options.after_statement = Once("LOAD MYSQL QUERY RULES", drop)
    found = apply()
    said(found, 4, "RUNTIME does not hold what was written", "mysql_query_rules 20", "is missing")
    said(found, 4, "everything was restored")
    assert dump(sandbox_instance) == before


def test_a_value_that_proxysql_silently_refuses(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    before = dump(instance)
    log = "  mysql-eventslog_filename: /no/such/folder/events\n"
    project.write(CHANGED.replace("variables:\n", f"variables:\n{log}"))
    found = apply()
    parts = ("mysql-eventslog_filename", "'/no/such/folder/events'", "everything was restored")
    said(found, 4, *parts, "ProxySQL refused the value: its error log says why")
    assert "second run" not in found.err
    assert dump(instance) == before
    machine = apply("--format", "json")
    error = machine.json["error"]
    assert (machine.code, error["type"], error["exit_code"]) == (4, "ApplyError", 4)
    assert len(error["layers"]) == 4
    assert dump(instance) == before


def test_a_restore_that_fails_says_what_each_layer_holds(
    sandbox_project: Project, sandbox: Sandbox, sandbox_instance: Instance
) -> None:
    sandbox_project.write(FILES)
    applied()
    before = dump(sandbox_instance)
    sandbox_project.write(CHANGED)

    def refuse_loads(sql: str) -> None:
        if sql.startswith("LOAD MYSQL QUERY RULES"):
            fail()

    sandbox.options.before_statement = refuse_loads
    found = apply()
    said(found, 4, "restoring failed", "MYSQL QUERY RULES: ", "RUNTIME not known", "DISK as before")
    assert of_layer(dump(sandbox_instance), "DISK") == of_layer(before, "DISK")
    sandbox.options.before_statement = None
    # What stands in MEMORY now is our own, and the instance knows it: no option is needed.
    applied()
    assert plan().code == 0
    assert sandbox_instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]


@pytest.mark.parametrize("hook", ["before_statement", "after_statement"])
def test_the_connection_breaks_while_the_lock_is_taken(
    sandbox_project: Project, sandbox: Sandbox, sandbox_instance: Instance, hook: str
) -> None:
    sandbox_project.write(FILES)
    before = dump(sandbox_instance)
    setattr(sandbox.options, hook, Once("INSERT INTO proxyctl_lock", cut))
    said(apply(), 1, "connection was lost")
    assert sandbox_instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]
    assert dump(sandbox_instance) == before


def test_an_instance_that_does_not_answer_in_time(
    sandbox: Sandbox, sandbox_instance: Instance
) -> None:
    may_go_on = threading.Event()

    def wait() -> None:
        may_go_on.wait()

    sandbox.options.before_statement = Once("SELECT * FROM (SELECT m.name", wait)
    login = Login(port=sandbox_instance.port, password="admin", read_timeout_s=0.3)
    with AdminClient(login) as client, pytest.raises(ConnectionLostError) as raised:
        read_layouts(client)
    may_go_on.set()
    assert "no answer within 0.3 s: the admin interface is busy" in raised.value.message


STAYS, RETURNS = "stays away", "comes back"


@pytest.mark.parametrize(
    ("step", "what", "code", "disk"),
    [
        ("MYSQL QUERY RULES: write MEMORY", RETURNS, 1, "2"),
        ("LOAD MYSQL QUERY RULES TO RUNTIME", RETURNS, 4, "2"),
        ("LOAD MYSQL QUERY RULES TO RUNTIME", STAYS, 4, "2"),
        ("SAVE MYSQL QUERY RULES TO DISK", RETURNS, 4, "2"),
    ],
)
def test_a_proxysql_that_dies_in_the_middle(
    fresh_proxysql: ProxySQL, offline: Project, step: str, what: str, code: int, disk: str
) -> None:
    offline.connect(fresh_proxysql.instance)
    offline.write(FILES)
    applied()
    before = dump(fresh_proxysql.instance)
    offline.write(MANY)
    fresh_proxysql.instance.close()

    def die(text: str) -> None:
        if text == step:
            fresh_proxysql.kill()
            if what == RETURNS:
                fresh_proxysql.start()

    with AdminClient(Login(port=fresh_proxysql.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        found = plan_files(client, ParsedFiles(Sources(("proxyctl.yaml",))))
        with pytest.raises(ProxyctlError) as caught:
            apply_plan(client, found, lock, ApplyOptions(progress=die))
        with suppress(InstanceError):
            lock.release()
    assert caught.value.exit_code == code, caught.value.lines()
    assert "connection was lost" in caught.value.message

    if what == STAYS:
        assert "MYSQL QUERY RULES: MEMORY " in "\n".join(caught.value.lines())
        fresh_proxysql.start()
    rows = fresh_proxysql.instance.query("SELECT count(*) FROM disk.mysql_query_rules")
    assert rows == [(disk,)]
    assert of_layer(dump(fresh_proxysql.instance), "DISK") == of_layer(before, "DISK")
    applied()
    assert plan().code == 0
    assert everywhere(fresh_proxysql.instance, "SELECT count(*) FROM {}mysql_query_rules") == [
        ("2902",)
    ]


@pytest.mark.parametrize("module", ["MYSQL SERVERS", "MYSQL USERS"])
def test_a_proxysql_that_restarts_has_forgotten_what_was_loaded(
    fresh_proxysql: ProxySQL, offline: Project, module: str
) -> None:
    """RUNTIME comes from DISK then, also that of modules that were loaded and read back before."""
    offline.connect(fresh_proxysql.instance)
    offline.write(FILES)
    applied()
    # DISK holds what the files say, RUNTIME does not: a restart alone makes RUNTIME look right.
    fresh_proxysql.instance.execute("UPDATE mysql_users SET max_connections=777")
    fresh_proxysql.instance.execute("LOAD MYSQL USERS TO RUNTIME")
    before = dump(fresh_proxysql.instance)
    offline.write(FILES.replace("8.0.36", "8.4.0").replace("weight: 100", "weight: 70"))
    fresh_proxysql.instance.close()

    def die(text: str) -> None:
        if text == f"LOAD {module} TO RUNTIME":
            fresh_proxysql.kill()
            fresh_proxysql.start()

    with AdminClient(Login(port=fresh_proxysql.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        options = PlanOptions(saves=False)
        found = plan_files(client, ParsedFiles(Sources(("proxyctl.yaml",))), options)
        # As if a third of the lease had passed: the lock is renewed while things are put back.
        lock._renewed -= 1000
        with pytest.raises(ApplyError) as caught:
            apply_plan(client, found, lock, ApplyOptions(save=False, progress=die))
    said_text = "\n".join(caught.value.lines())
    assert "ProxySQL was restarted meanwhile" in said_text
    assert "everything was restored" in said_text
    assert dump(fresh_proxysql.instance) == before


REFERENCED = """
version: 1
mysql_users:
  - username: app
    password: {env: APP_PASSWORD}
    default_hostgroup: 10
    comment: {env: MESSAGE}
mysql_query_rules:
  - {rule_id: 1, match_digest: secret, error_msg: {env: MESSAGE}, apply: true}
"""


@pytest.mark.parametrize("step", ["LOAD MYSQL USERS", "LOAD MYSQL QUERY RULES"])
def test_no_secret_is_shown_while_it_is_put_back(
    sandbox_project: Project,
    sandbox: Sandbox,
    sandbox_instance: Instance,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    sandbox_project.write(REFERENCED)
    monkeypatch.setenv("MESSAGE", "the old secret")
    applied()
    before = dump(sandbox_instance)
    monkeypatch.setenv("MESSAGE", "the new secret")
    hook = sandbox.options.after_statement = Once(step, fail)
    found = apply("--debug")
    assert hook.happened
    said(found, 4, "everything was restored")
    assert "the old secret" not in found.text
    assert "the new secret" not in found.text
    assert dump(sandbox_instance) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whatever_ends_the_process_leaves_nothing_half_done(
    sandbox_project: Project, sandbox: Sandbox, sandbox_instance: Instance, number: signal.Signals
) -> None:
    sandbox_project.write(FILES)
    applied()
    before = dump(sandbox_instance)
    sandbox_project.write(CHANGED)
    sandbox.options.after_statement = Once(
        "LOAD MYSQL QUERY RULES", lambda: os.kill(os.getpid(), number)
    )
    found = apply()
    said(found, 130, "interrupted", "everything was restored")
    assert dump(sandbox_instance) == before


@pytest.mark.parametrize("again", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("where", ["SELECT", "LOAD MYSQL QUERY RULES", "DELETE FROM proxyctl_lock"])
def test_a_second_signal_does_not_end_the_report(
    sandbox_project: Project,
    sandbox: Sandbox,
    sandbox_instance: Instance,
    where: str,
    again: signal.Signals,
) -> None:
    """Neither while layers are put back, nor while the lock is given back."""
    sandbox_project.write(FILES)
    applied()
    before = dump(sandbox_instance)
    sandbox_project.write(CHANGED)
    hook = sandbox.options.after_statement = InTurn(
        Once("LOAD MYSQL QUERY RULES", lambda: os.kill(os.getpid(), signal.SIGINT)),
        Once(where, lambda: os.kill(os.getpid(), again)),
    )
    found = apply()
    assert all(one.happened for one in hook.hooks)
    said(found, 130, "everything was restored", "MYSQL QUERY RULES: MEMORY as before, RUNTIME as")
    assert dump(sandbox_instance) == before
    assert sandbox_instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]
