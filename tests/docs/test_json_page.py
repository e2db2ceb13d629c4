"""The page about JSON names every key that is written, and no other."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections.abc import Iterator

import proxyctl.render
from proxyctl.plan.plan import Plan
from proxyctl.plan.saved import save
from proxyctl.render.encode import Shape
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "reference" / "json.md").read_text("utf-8")
MARKED = re.compile(r"^<!-- shapes: (.+?) -->\n\n((?:\|.+\n)+)", re.M)


def shapes() -> dict[str, set[str]]:
    """The keys of every shape, by its name."""
    modules = pkgutil.iter_modules(proxyctl.render.__path__, f"{proxyctl.render.__name__}.")
    found = [vars(importlib.import_module(module.name)).values() for module in modules]
    return {one.name: set(one.keys) for some in found for one in some if isinstance(one, Shape)}


def tables() -> Iterator[tuple[list[str], list[str], set[str]]]:
    """The shapes that a table of the page explains, those that it goes on from, and its keys."""
    for marked, table in MARKED.findall(PAGE):
        names, _, above = marked.partition(" | ")
        keys = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.+?) \|", table, re.M)))
        yield names.split("; "), above.split("; ") if above else [], set(keys)


def test_every_shape_is_explained_once() -> None:
    explained = [name for names, _, _ in tables() for name in names]
    assert sorted(explained) == sorted(shapes())


def test_a_table_has_the_keys_of_its_shapes() -> None:
    written = shapes()
    for names, above, explained in tables():
        expected = set().union(*(written[name] for name in names))
        known = set().union(*(written[name] for name in above))
        assert explained | known == expected | known, names


def test_saved_plans_are_explained() -> None:
    """They are written elsewhere, without a shape."""
    saved = save(Plan("a", "a", "2.7.1"), {}, "", paths=[], variables=[], options=[])
    rest = PAGE[PAGE.index("## Saved plan") :]
    explained = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.+?) \|", rest, re.M)))
    assert set(json.loads(saved)) == set(explained)
