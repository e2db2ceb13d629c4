"""Drift for people: what is there, what the files say, and nobody blamed without proof."""

from __future__ import annotations

from proxyctl.plan import Plan
from proxyctl.render.drift_text import drift_text
from proxyctl.state import Layer
from tests.build import desired, module_plan, rows, survey

SERVERS, USERS = "mysql_servers", "mysql_users"
DB = {"hostgroup_id": 10, "hostname": "db1"}


def drift(*surveys, names=None):
    modules = [module_plan(one) for one in surveys]
    return drift_text(Plan("h:6032", "h:6032", "2.7.1", modules, hostgroup_names=names or {}))


def weight(changed_in):
    """A server of weight 1 in the file and 9 in some layers."""
    of = {True: rows(SERVERS, {**DB, "weight": 9}), False: rows(SERVERS, DB)}
    return survey(
        desired(SERVERS, DB),
        of[Layer.MEMORY in changed_in],
        runtime=of[Layer.RUNTIME in changed_in],
        disk=of[Layer.DISK in changed_in],
    )


def test_it_says_what_is_and_what_the_files_say():
    assert drift(weight({Layer.MEMORY, Layer.RUNTIME}), names={10: "writer"}).splitlines() == [
        "h:6032: 1 row differs from the files",
        "MYSQL SERVERS",
        "  differs  server 10 (writer) db1:3306",
        "           weight is 9, the files say 1",
        "           MEMORY and RUNTIME: loaded by an administrator, a peer or the monitor, not"
        " saved; a restart takes it back",
    ]


def test_extra_and_missing_rows_are_called_so():
    there = rows(USERS, {"username": "eve", "password": "x"})
    lines = drift(survey(desired(USERS, {"username": "app", "password": "y"}), there)).splitlines()
    assert [line.split("  ")[1] for line in lines if "user " in line] == ["missing", "extra"]
    assert "           in no file" in lines
    assert not any(line.lstrip().startswith(("+", "-", "~")) for line in lines)
    assert "(sensitive)" in "".join(lines)


def test_a_secret_only_is_another_one():
    wanted = desired(USERS, {"username": "app", "password": "y"})
    text = drift(survey(wanted, rows(USERS, {"username": "app", "password": "x"})))
    assert "password is not what the files say (sensitive)" in text


def test_every_set_of_layers_has_its_own_words_and_blames_nobody():
    layers = [frozenset(one for bit, one in enumerate(Layer) if n & 1 << bit) for n in range(1, 8)]
    texts = {drift(weight(one)).splitlines()[-1] for one in layers}
    assert len(texts) == len(layers)
    assert not any("by hand" in text or "{" in text for text in texts)


def test_no_drift_is_one_line():
    assert drift(weight(set())) == "h:6032: no drift\n"
