"""The documentation site, built by Sphinx: `make docs` writes it to site/.

The source folder is the repository itself, so a link between two files means the same here as on a
code host. A link to nowhere, and a page that the menu lacks, end the build.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from proxyctl import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "proxyctl"
release = __version__
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/**.md",
    "examples/*/README.md",
]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "proxyctl"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}

MENU = {
    "Learn": ["docs/tutorial"],
    "Begin": [
        "docs/how-to/take-over",
        "docs/how-to/coming-from",
        "docs/how-to/connect",
        "docs/how-to/files",
        "docs/how-to/sandbox",
    ],
    "Route": [
        "docs/how-to/read-write-split-pxc",
        "docs/how-to/query-rules",
        "docs/how-to/lint",
        "docs/how-to/replay",
        "docs/how-to/sharding",
        "docs/how-to/server-version",
    ],
    "Change safely": [
        "docs/how-to/guards",
        "docs/how-to/policies",
        "docs/how-to/renumber-hostgroups",
        "docs/how-to/drift",
        "docs/how-to/apply-and-watch",
        "docs/how-to/run-as-a-service",
        "docs/how-to/rollback",
        "docs/how-to/nodes",
        "docs/how-to/passwords",
        "docs/how-to/rotate-passwords",
        "docs/how-to/ci-pipeline",
        "docs/how-to/several-teams",
        "docs/how-to/fleet",
        "docs/how-to/cluster",
        "docs/how-to/upgrade",
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
    "Understand": [
        "docs/explanation/three-layers",
        "docs/explanation/apply-protocol",
        "docs/explanation/monitored-hostgroups",
        "docs/architecture",
    ],
    "Look up": ["docs/reference/*"],
    "Examples": ["examples/*/README"],
    "The project": ["CONTRIBUTING", "CHANGELOG"],
}
"""The pages, by the headings of the menu."""


def _with_menu(_app: Sphinx, name: str, source: list[str]) -> None:
    """Add the menu to the first page, which on a code host has none."""
    if name == root_doc:
        for caption, pages in MENU.items():
            listed = "\n".join(pages)
            source[0] += (
                f"\n\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{listed}\n```\n"
            )


def _with_index(app: Sphinx, error: Exception | None) -> None:
    """Give the first page the name that a web server looks for, and the pages their pictures.

    Sphinx copies no picture of an HTML tag, which has a width on a code host too.
    """
    if error is None:
        shutil.copyfile(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))
        pictures = Path("docs", "pictures")
        shutil.copytree(app.srcdir / pictures, app.outdir / pictures, dirs_exist_ok=True)


def setup(app: Sphinx) -> None:
    """Called by Sphinx. Changes: app."""
    app.connect("source-read", _with_menu)
    app.connect("build-finished", _with_index)
