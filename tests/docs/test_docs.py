"""Every command of the documentation runs, every link leads somewhere, every file is valid."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path

import pytest

from docs.conf import below, files_beside, root_doc
from proxyctl.cli.app import build, commands_of
from proxyctl.config.files import load_project
from proxyctl.config.sources import Sources
from tests.support.commands.warm import Warm
from tests.support.documentation.pages import (
    FROM_2_7,
    NO_SANDBOX,
    Block,
    blocks,
    has_commands,
    page_id,
    pages,
)
from tests.support.documentation.runner import check_page, rewrite, run_page
from tests.support.paths import ROOT
from tests.support.servers.instances import NO_BINARY, ProxySQL, proxysql_binary

PAGES = pages()
RUN = [page for page in PAGES if has_commands(page, in_containers=False)]
ON_THE_SANDBOX = [pytest.param(page, "sandbox", id=page_id(page)) for page in RUN]
ON_PROXYSQL = [
    pytest.param(
        page,
        "real",
        id=f"real-{page_id(page)}",
        marks=[
            pytest.mark.real,
            pytest.mark.since("2.7.0", "the pages show what 2.7 prints"),
            *[pytest.mark.before("3.0.0", "the page upgrades a 2.7")]
            * (FROM_2_7 in page.read_text(encoding="utf-8")),
        ],
    )
    for page in RUN
    if NO_SANDBOX not in page.read_text(encoding="utf-8")
]
FILES = [
    pytest.param(block, id=f"{page_id(page)}:{block.line}")
    for page in PAGES
    for block in blocks(page)
    if block.language == "yaml" and "version: 1" in block.lines
]
MOST_NOT_RUN = 10
"""Blocks that cannot be run. Think twice before you raise it."""
LONGEST_TITLE = 30
"""Characters that the menu shows on one line."""


@pytest.mark.parametrize(("page", "server"), [*ON_THE_SANDBOX, *ON_PROXYSQL])
def test_commands_do_what_the_page_says(
    page: Path, server: str, tmp_path: Path, warm: Warm, request: pytest.FixtureRequest
) -> None:
    if server == "real":
        with ProxySQL(proxysql_binary() or pytest.skip(NO_BINARY), tmp_path / "proxysql") as real:
            check_page(page, run_page(page, tmp_path, real, proxyctl=warm.command))
        return
    ran = run_page(page, tmp_path, proxyctl=warm.command)
    is_recording = request.config.getoption("--update-golden", default=False)
    if is_recording:
        rewrite(page, ran)
    check_page(page, ran, is_recording=is_recording)


@pytest.mark.parametrize("block", FILES)
def test_files_are_valid(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in re.findall(r"\{env: (\w+)\}", block.text):
        monkeypatch.setenv(name, f"secret of {name}")
    for name in re.findall(r"\{file: ([\w.]+)\}", block.text):
        (tmp_path / name).write_text("secret", encoding="utf-8")
    file = tmp_path / "proxyctl.yaml"
    file.write_text(block.text, encoding="utf-8")
    assert load_project(Sources((str(file),), {})).desired.tables


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in _links(page):
        assert target.exists(), f"{page_id(page)}: {target}"
        if anchor:
            assert anchor in _anchors(target), f"{page_id(page)}: {target}#{anchor}"


def _links(page: Path) -> list[tuple[Path, str]]:
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", _prose(page)):
        if not re.match(r"\w+:", link):
            path, _, anchor = link.partition("#")
            found.append(((page.parent / path).resolve() if path else page, anchor))
    return found


def _prose(page: Path) -> str:
    return re.sub(r"^(`{3,}).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the common renderers name them."""
    titles = re.findall(r"^#+ (.+)$", _prose(page), flags=re.M)
    words = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {word.strip().replace(" ", "-") for word in words}


def test_few_blocks_are_not_run() -> None:
    skipped = [block for page in PAGES for block in blocks(page) if "not run" in block.options]
    assert len(skipped) <= MOST_NOT_RUN


def test_shell_blocks_are_spelled_so_that_they_run() -> None:
    spelled = {block.language for page in PAGES for block in blocks(page)}
    assert spelled <= {"shell", "console", "yaml", "sql", "json", "text", "jinja", "python"}


@pytest.mark.parametrize("name", sorted(commands_of(build())))
def test_every_command_is_explained_by_hand(name: str) -> None:
    """The generated reference lists it anyway: a page written by hand has to use it."""
    used = re.compile(rf"proxyctl {name}\b")
    written = [page for page in PAGES if "reference" not in page.parts]
    assert any(used.search(page.read_text(encoding="utf-8")) for page in written)


def test_every_page_is_in_the_menu_once() -> None:
    listed = _menu()
    assert len(set(listed)) == len(listed)
    assert {ROOT / f"{root_doc}.md", *listed} >= set((ROOT / "docs").rglob("*.md"))


def test_the_site_shows_every_file_of_an_example() -> None:
    for folder in sorted((ROOT / "examples").iterdir()):
        shown = files_beside(f"examples/{folder.name}/README")
        found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        assert set(shown) == found - {"README.md"}
        assert shown
    assert files_beside("docs/how-to/install") == []


def test_titles_fit_the_menu() -> None:
    """A page below another, such as that of a check, has the room of two lines."""
    titles = {page: re.findall(r"^# (.+)$", _prose(page), flags=re.M) for page in _menu(depth=1)}
    assert [page_id(page) for page, headings in titles.items() if len(headings) != 1] == []
    long = {page_id(page): title for page, (title,) in titles.items() if len(title) > LONGEST_TITLE}
    assert long == {}


def _menu(page: str = root_doc, depth: int = 2) -> list[Path]:
    """Return the pages below a page, and with a depth of 2 those below them."""
    listed: list[Path] = []
    for entry in [entry for entries in below(page).values() for entry in entries]:
        found = sorted(ROOT.glob(f"{entry}.md"))
        assert found, f"the menu has {entry}, and there is no such page"
        listed += found
        for path in found if depth > 1 else ():
            listed += _menu(str(path.relative_to(ROOT).with_suffix("")), depth - 1)
    return listed


def test_the_changelog_groups_what_changed() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    groups = ["Added", "Changed", "Removed", "Fixed"]
    parts = re.split(r"^## .+$", text, flags=re.M)[1:]
    assert parts
    for part in parts:
        found = re.findall(r"^### (.+)$", part, flags=re.M)
        assert found == [group for group in groups if group in found]
        before, *_ = part.partition("###")
        assert "\n- " not in before, "an entry belongs to a group"


def test_a_release_can_be_read_in_two_minutes() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    words = {part.partition("\n")[0]: len(part.split()) for part in text.split("\n## ")[1:]}
    assert {title: count for title, count in words.items() if count > 500} == {}


def test_the_drawing_matches_the_import_contract() -> None:
    """In the drawing, each package is below the packages that may import it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]["layers"]
    (drawing,) = [b for b in blocks(ROOT / "docs" / "architecture.md") if b.language == "text"]
    layers = [re.findall(r"proxyctl\.([\w.]+)", layer) for layer in contract]
    places = [[_line_of(name, drawing.lines) for name in layer] for layer in layers]
    for upper, lower in itertools.pairwise(places):
        assert max(upper) < min(lower)


def test_the_import_contract_knows_every_module() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]["layers"]
    listed = set(re.findall(r"proxyctl\.(\w+)", " ".join(contract)))
    modules = [*(ROOT / "proxyctl").glob("*.py"), *(ROOT / "proxyctl").glob("*/__init__.py")]
    names = {(m.parent if m.name == "__init__.py" else m).stem for m in modules}
    assert listed == names - {"proxyctl", "__main__"}


def test_the_architecture_names_files_that_are_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in re.findall(r"`((?:proxyctl|docs|tests)/[^`*]*)`", page):
        assert (ROOT / path).exists(), path


def _line_of(name: str, lines: list[str]) -> int:
    """Return the first line of the drawing that begins with the package or lists it."""
    return next(
        n for n, line in enumerate(lines) if re.search(rf"(^|\s){re.escape(name)}(\s\s|$)", line)
    )
