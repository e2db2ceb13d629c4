"""The reference pages match the code: `make docs` writes them again."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from docs.generate import FOLDER, pages
from proxyctl.catalog import TABLES
from proxyctl.catalog.variables import VARIABLES
from proxyctl.cli.app import PANELS, build, commands_of
from proxyctl.config.context import SPECIAL
from proxyctl.lint.check import UNUSED_IGNORE, all_checks
from proxyctl.plan.plan import Plan
from proxyctl.plan.saved import save
from tests.support.documentation.pages import blocks


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return pages()


def test_the_pages_are_fresh(made: dict[str, str]) -> None:
    written = {name: (FOLDER / name).read_text(encoding="utf-8") for name in made}
    assert written == made, "stale: run `make docs`"


def test_every_check_has_a_page(made: dict[str, str]) -> None:
    on_disk = {f"lint/{page.name}" for page in (FOLDER / "lint").iterdir()}
    assert on_disk == {name for name in made if name.startswith("lint/")}
    for code, check in all_checks().items():
        page = made[f"lint/{code.lower()}.md"]
        assert page.startswith(f"# {code} {check.name}\n")
        assert page.count("```yaml\n") >= 2 or code == UNUSED_IGNORE
        assert f"[{code} {check.name}](lint/{code.lower()}.md)" in made["lint.md"]


def test_commands_are_in_the_groups_of_the_help(made: dict[str, str]) -> None:
    found = re.findall(r"^##+ (.+)$", made["commands.md"], re.M)
    listed = [word for panel, names in PANELS.items() for word in (panel, *names)]
    assert found[: len(listed)] == listed


def test_every_command_and_option_is_there(made: dict[str, str]) -> None:
    page = made["commands.md"]
    for name, command in commands_of(build()).items():
        assert f"## {name}\n" in page
        for parameter in command.params:
            assert all(option in page for option in parameter.opts if option.startswith("-"))


def test_every_column_and_variable_is_there(made: dict[str, str]) -> None:
    for table in TABLES.values():
        if table.prefix is None:
            assert f"## {table.name}\n" in made["keys.md"]
            assert all(f"| `{column.name}` |" in made["keys.md"] for column in table.columns)
    assert all(f"- `{name}`: " in made["variables.md"] for name in VARIABLES)


def test_the_annotated_files_have_every_section() -> None:
    texts = [b.text for b in blocks(FOLDER / "annotated-file.md") if b.language == "yaml"]
    sections = {name for text in texts for name in yaml.safe_load(text)}
    assert sections == {*SPECIAL, *(name for name, table in TABLES.items() if not table.prefix)}


def test_saved_plans_are_explained() -> None:
    """Saved plans are written elsewhere, without a shape."""
    page = (FOLDER / "json" / "saved-plan.md").read_text("utf-8")
    saved = save(Plan("a", "a", "2.7.1"), {}, "", paths=[], variables=[], options=[])
    explained = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.+?) \|", page, re.M)))
    assert set(json.loads(saved)) == set(explained)
