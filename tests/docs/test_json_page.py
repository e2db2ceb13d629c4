"""The page about JSON names every key that is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from proxyctl import errors
from proxyctl.cli.output import error_object
from proxyctl.plan import Plan, Refusal
from proxyctl.render.apply_text import apply_json
from proxyctl.render.plan_machine import plan_json
from proxyctl.result import ApplyResult, ModuleResult
from proxyctl.saved_plan import save
from tests.build import desired, module_plan, survey
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
FREE = ("fields", "tables")
"""Below these the keys are columns and tables."""

USERS = module_plan(survey(desired("mysql_users", {"username": "app", "password": "x"}), {}))
PLAN = Plan("px1", "h:6032", "2.7.1", [USERS], [Refusal("code", "why", "--force")])


def keys(value: object, *, is_free: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not is_free:
                yield key
            yield from keys(inner, is_free=key in FREE)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def documents() -> Iterator[object]:
    yield json.loads(plan_json([PLAN]))
    yield json.loads(apply_json(PLAN, ApplyResult([ModuleResult("MYSQL USERS")])))
    yield json.loads(save(PLAN, paths=["a"], variables=["b"], options=["--force"]))
    mistake = errors.Mistake("a", 1, 1, "key", "wrong")
    yield error_object(errors.ConfigError([mistake]))
    yield error_object(errors.RefusedError("no", reasons=["why"]))
    yield error_object(errors.ApplyError("no", layers=["MYSQL USERS"]))
    yield {"valid": True, "tables": {}}


def test_every_key_is_explained() -> None:
    places = re.findall(r"^\| (`.+?) \||^A mistake has (.+?)\n\n", PAGE, flags=re.M | re.S)
    explained = {name for place in places for name in re.findall(r"`(\w+)`", "".join(place))}
    written = {key for document in documents() for key in keys(document)}
    assert written - explained == set()
    assert explained - written == set()
