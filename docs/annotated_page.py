"""The page with the annotated files: what their tables, columns and variables do.

The page is written by hand, except for the comments that begin with `##`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from proxyctl.catalog import TABLES
from proxyctl.catalog.variables import VARIABLES
from proxyctl.config.keys import table_doc, variable_doc

PAGE = Path(__file__).parent / "reference" / "annotated-file.md"

_WIDTH = 90
"""Units: characters. More do not fit beside the menu of the site."""
_FILE = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_KEY = re.compile(r"^ *([\w-]+):", re.ASCII)
_TABLE_OF = {"pxc_clusters": "mysql_galera_hostgroups"}
"""Sections with columns of a table that has another name."""


def annotated_page() -> list[str]:
    """Return the lines of the page."""
    said: set[str] = set()

    def annotate(found: re.Match[str]) -> str:
        lines = (line for line in found[1].splitlines() if not line.lstrip().startswith("##"))
        return "\n".join(["```yaml", *_annotated(list(lines), said), "```"])

    return _FILE.sub(annotate, PAGE.read_text(encoding="utf-8")).splitlines()


def _annotated(lines: list[str], said: set[str]) -> Iterator[str]:
    """Yield the lines of a file with comments, none twice. Changes: said."""
    document: dict[str, Any] = yaml.safe_load("\n".join(lines))
    for line in lines:
        key = _KEY.match(line)
        for comment in _comments(key[1], document) if key else ():
            if comment not in said:
                said.add(comment)
                margin = " " * (len(line) - len(line.lstrip())) + "## "
                yield from textwrap.wrap(
                    comment,
                    _WIDTH,
                    initial_indent=margin,
                    subsequent_indent=margin + "  " * comment.startswith("- "),
                    break_on_hyphens=False,
                )
        yield line


def _comments(key: str, document: dict[str, Any]) -> Iterator[str]:
    """Yield what a table holds and what the columns do that the file uses, or a variable does."""
    if key in VARIABLES:
        yield variable_doc(VARIABLES[key]).sentence
        return
    table = TABLES.get(_TABLE_OF.get(key, key))
    if table and key in document:
        doc = table_doc(table)
        yield doc.sentence
        used = {column for row in document[key] for column in row}
        yield from (
            f"- {name}: {column.sentence}" for name, column in doc.columns.items() if name in used
        )
