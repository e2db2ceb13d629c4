"""The page about JSON has a table for each shape, and a meaning for each key that is written."""

from __future__ import annotations

import json
import re

import pytest

from docs.json_page import UnexplainedError, filled
from proxyctl.plan.plan import Plan
from proxyctl.plan.saved import save
from proxyctl.render.encode import Shape
from tests.docs.pages import ROOT

USER: Shape[object] = Shape("user", "name hosts weight")
OWNER = USER.extended("owner", "owns")
MEANINGS = {
    "every shape": {"name": "a name"},
    "user": {"hosts, weight": "numbers"},
    "owner": {"owns": "a table"},
}
PAGE = """\
## user

<!-- shapes: user; owner -->
a table of before
<!-- end of shapes -->
By hand.
"""


def test_the_tables_of_shapes_stand_where_the_page_names_them() -> None:
    made = filled(PAGE, [USER, OWNER], MEANINGS)
    assert made == [
        "## user",
        "",
        "<!-- shapes: user; owner -->",
        "",
        "| key | meaning |",
        "| --- | --- |",
        "| `name` | a name |",
        "| `hosts`, `weight` | numbers |",
        "",
        "### Owner",
        "",
        "The keys of [user](#user), and:",
        "",
        "| key | meaning |",
        "| --- | --- |",
        "| `owns` | a table |",
        "",
        "<!-- end of shapes -->",
        "By hand.",
    ]
    assert filled("\n".join(made), [USER, OWNER], MEANINGS) == made


def test_what_does_not_fit_is_named() -> None:
    other: Shape[object] = Shape("group", "name size")
    page = PAGE.replace("user; owner", "user; owner; user; team")
    meanings = {**MEANINGS, "user": {"hosts, size": "numbers"}}
    with pytest.raises(UnexplainedError) as caught:
        filled(page, [USER, OWNER, other, Shape("group", "name")], meanings)
    assert str(caught.value).splitlines() == [
        "two shapes have the name 'group'",
        "json_keys.yaml does not say what 'weight' of 'user' means",
        "json.md: a second table of 'user'",
        "json.md: no shape has the name 'team'",
        "json.md has no table of the shape 'group'",
        "json_keys.yaml says what 'size' of 'user' means, and no table has it",
    ]
    with pytest.raises(UnexplainedError, match="without <!-- end of shapes -->"):
        filled(PAGE.replace("end of", "the end of"), [USER, OWNER], MEANINGS)


def test_saved_plans_are_explained() -> None:
    """They are written elsewhere, without a shape."""
    page = (ROOT / "docs" / "reference" / "json.md").read_text("utf-8")
    saved = save(Plan("a", "a", "2.7.1"), {}, "", paths=[], variables=[], options=[])
    rest = page[page.index("## Saved plan") :]
    explained = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.+?) \|", rest, re.M)))
    assert set(json.loads(saved)) == set(explained)
