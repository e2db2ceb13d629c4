"""The documentation site, built by Sphinx: `make docs` writes it to site/.

The source folder is the repository itself, so a link between two files means the same here as on a
code host. A link to nowhere, and a page that the menu lacks, end the build. The README is for code
hosts; the site has a first page of its own, `docs/index.md`.
"""

from __future__ import annotations

import os
import shutil
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxyctl import __version__

if TYPE_CHECKING:
    from docutils.nodes import Node, document
    from sphinx.application import Sphinx

project = "proxyctl"
release = __version__
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
root_doc = "docs/index"
include_patterns = [
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/**.md",
    "examples/*/README.md",
]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

# A copied block is what a reader pastes: the commands, without `$ ` and without their output.
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_title = f"proxyctl {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_theme_options: dict[str, Any] = {"navigation_with_keys": True}

# A workflow has the address: the site that a fork builds links to the fork.
_REPOSITORY = os.environ.get("GITHUB_REPOSITORY", "")
if _REPOSITORY:
    _REPOSITORY = f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{_REPOSITORY}"
    html_theme_options |= {
        "source_repository": _REPOSITORY,
        "source_branch": os.environ.get("GITHUB_REF_NAME", "main"),
        "source_directory": "",
    }

MENU = {
    "Get started": [
        "docs/tutorial",
        "docs/how-to/install",
        "docs/how-to/sandbox",
        "docs/how-to/connect",
        "docs/how-to/files",
    ],
    "Adopt": [
        "docs/how-to/take-over",
        "docs/how-to/coming-from",
        "docs/how-to/several-teams",
    ],
    "Query routing": [
        "docs/how-to/read-write-split-replication",
        "docs/how-to/read-write-split-pxc",
        "docs/how-to/pxc-from-cluster",
        "docs/how-to/postgresql",
        "docs/how-to/query-rules",
        "docs/how-to/lint",
        "docs/how-to/replay",
        "docs/how-to/sharding",
    ],
    "Change safely": [
        "docs/how-to/read-a-plan",
        "docs/how-to/guards",
        "docs/how-to/policies",
        "docs/how-to/drift",
        "docs/how-to/apply-and-watch",
        "docs/how-to/rollback",
        "docs/how-to/renumber-hostgroups",
    ],
    "Automate": [
        "docs/how-to/ci-pipeline",
        "docs/how-to/run-as-a-service",
        "docs/how-to/on-kubernetes",
        "docs/how-to/fleet",
        "docs/how-to/fleet-rollback",
        "docs/how-to/fleet-nodes",
        "docs/how-to/inventory",
        "docs/how-to/cluster",
    ],
    "Operate": [
        "docs/how-to/nodes",
        "docs/how-to/drain-a-node",
        "docs/how-to/servers",
        "docs/how-to/passwords",
        "docs/how-to/rotate-passwords",
        "docs/how-to/server-version",
        "docs/how-to/upgrade",
        "docs/how-to/upgrade-to-3",
    ],
    "Slow queries": [
        "docs/how-to/slow-query",
        "docs/how-to/digest-top",
        "docs/how-to/digests-of-a-fleet",
        "docs/how-to/digest-history",
        "docs/how-to/event-log",
        "docs/how-to/suggest",
        "docs/how-to/top",
    ],
    "When something is wrong": ["docs/how-to/troubleshooting", "docs/how-to/doctor"],
    "Concepts": [
        "docs/explanation/three-layers",
        "docs/explanation/apply-protocol",
        "docs/explanation/monitored-hostgroups",
        "docs/explanation/security",
        "docs/explanation/limits",
    ],
    "Reference": ["docs/reference/*"],
    "Examples": ["examples/*/README"],
    "Project": [
        "CHANGELOG",
        "CONTRIBUTING",
        "SECURITY",
        "docs/architecture",
        "docs/tested-versions",
    ],
}
"""The pages, by the headings of the menu."""
_LAST = list(MENU)[-1]

_LEXERS = {".yaml": "yaml", ".yml": "yaml", ".j2": "jinja", ".service": "ini", ".timer": "ini"}
"""How to colour the files of the examples, by their suffix."""

_LONGEST_DESCRIPTION = 160
"""Characters of a description that a search engine shows."""


def below(page: str) -> dict[str, list[str]]:
    """Return the pages below a page, by heading: the menu, or those of a folder of its name.

    A code host shows the folder, and Sphinx needs a directive that a code host would show as text.
    """
    if page == root_doc:
        return MENU
    return {"": [f"{page}/*"]} if Path(__file__).parents[1].joinpath(page).is_dir() else {}


def _with_menu(_app: Sphinx, page: str, source: list[str]) -> None:
    """Add the pages below it to a page, and the repository to the end of the menu."""
    for caption, pages in below(page).items():
        listed = "\n".join(f"/{entry}" for entry in pages)
        if _REPOSITORY and caption == _LAST:
            listed += f"\nRepository <{_REPOSITORY}>"
        options = ":hidden:\n:glob:" + (f"\n:caption: {caption}" if caption else "")
        source[0] += f"\n\n```{{toctree}}\n{options}\n\n{listed}\n```\n"


def files_beside(page: str) -> list[str]:
    """Return the files of an example, relative to its page, and none for other pages."""
    if not page.startswith("examples/"):
        return []
    folder = Path(__file__).parents[1].joinpath(page).parent
    found = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if name != "README.md")


def _with_files(_app: Sphinx, page: str, source: list[str]) -> None:
    """End the page of an example with the text of its files, which a code host lists beside it."""
    if names := files_beside(page):
        source[0] += "\n\n## The files\n"
    for name in names:
        options = f":language: {_LEXERS.get(Path(name).suffix, 'text')}\n:caption: {name}"
        source[0] += f"\n```{{literalinclude}} {name}\n{options}\n```\n"


def _with_description(
    _app: Sphinx, _name: str, _template: str, context: dict[str, Any], tree: document | None
) -> None:
    """Give a page the description that a search engine shows: its first sentences."""
    first = next(iter(tree.findall(_is_paragraph)), None) if tree else None
    if first is not None:
        text = " ".join(first.astext().split())
        if len(text) > _LONGEST_DESCRIPTION:
            text = text[:_LONGEST_DESCRIPTION].rsplit(" ", 1)[0] + " ..."
        context["metatags"] += f'<meta name="description" content="{escape(text)}">'


def _is_paragraph(node: Node) -> bool:
    return node.tagname == "paragraph"


def _with_front_door(app: Sphinx, error: Exception | None) -> None:
    """Lead from the address of the site to its first page, and give the pages their pictures.

    Sphinx copies no picture of an HTML tag, which has a width on a code host too.
    """
    if error is None:
        front = (
            f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={root_doc}.html">'
        )
        Path(app.outdir, "index.html").write_text(
            f"<!doctype html><title>{html_title}</title>{front}\n", encoding="utf-8"
        )
        pictures = Path("docs", "pictures")
        shutil.copytree(app.srcdir / pictures, app.outdir / pictures, dirs_exist_ok=True)


def setup(app: Sphinx) -> None:
    """Called by Sphinx. Changes: app."""
    app.connect("source-read", _with_files)
    app.connect("source-read", _with_menu)
    app.connect("html-page-context", _with_description)
    app.connect("build-finished", _with_front_door)
