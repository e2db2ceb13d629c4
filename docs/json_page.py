"""The pages about JSON: a table for each shape of `proxyctl.render`.

The pages are written by hand, except for the tables between `<!-- shapes: NAME; NAME -->` and
`<!-- end of shapes -->`. The shapes give the keys; `docs/json_keys.yaml` says what they mean. Its
links are those of `docs/reference/json.md`: `#change` is the table of the shape `change`, whichever
page has it.
"""

from __future__ import annotations

import importlib
import os.path
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import proxyctl.render
from docs import markdown
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.yaml import read_yaml
from proxyctl.render.encode import Shape

FOLDER = Path(__file__).parent / "reference"
MEANINGS = Path(__file__).parent / "json_keys.yaml"

_COMMON = "every shape"
_BEGIN = re.compile(r"<!-- shapes: (.+) -->")
_END = "<!-- end of shapes -->"
_LINK = re.compile(r"\]\((?!\w+:)([^)#]*)(#[^)]+)?\)")


class UnexplainedError(Exception):
    """The pages, the shapes and the meanings do not agree. The text has a sentence a reason."""


def json_pages() -> dict[str, list[str]]:
    """Return the lines of each page, by its path in `FOLDER`. Raises: UnexplainedError."""
    mistakes = Mistakes()
    document = read_yaml(MEANINGS.read_text(encoding="utf-8"), str(MEANINGS), mistakes)
    if document is None or mistakes.all():
        raise UnexplainedError("\n".join(mistake.text() for mistake in mistakes.all()))
    paths = [FOLDER / "json.md", *sorted((FOLDER / "json").glob("*.md"))]
    written = {p.relative_to(FOLDER).as_posix(): p.read_text(encoding="utf-8") for p in paths}
    return filled(written, _shapes(), document.root)


def _shapes() -> list[Shape[Any]]:
    modules = pkgutil.iter_modules(proxyctl.render.__path__, f"{proxyctl.render.__name__}.")
    found = [vars(importlib.import_module(module.name)).values() for module in modules]
    return [*dict.fromkeys(one for some in found for one in some if isinstance(one, Shape))]


def filled(
    pages: Mapping[str, str],
    shapes: Iterable[Shape[Any]],
    meanings: Mapping[str, Mapping[str, str]],
) -> dict[str, list[str]]:
    """Return the lines of pages, with the tables that these shapes have now.

    `meanings`: by shape and key, or several keys with `, ` between them. Raises: UnexplainedError.
    """
    tables = _Tables(shapes, meanings)
    links = _Links(pages)
    lines = {name: list(_filled(name, page, tables, links)) for name, page in pages.items()}
    if reasons := [*tables.reasons, *links.reasons, *tables.left_over()]:
        raise UnexplainedError("\n".join(reasons))
    return lines


def _filled(name: str, page: str, tables: _Tables, links: _Links) -> Iterator[str]:
    heading, is_old = "", False
    for line in page.splitlines():
        is_old = is_old and line != _END
        if is_old:
            continue
        yield line
        if line.startswith("#"):
            heading = line.lstrip("# ").strip("`")
        if begin := _BEGIN.fullmatch(line):
            is_old = True
            yield ""
            for shape in begin[1].split("; "):
                yield from (links.on(name, row) for row in tables.of(shape, heading))
    if is_old:
        tables.reasons.append(f"{name} has tables of shapes without {_END}")


class _Links:
    """Makes the links of tables lead from their own page, and notes what is wrong in `reasons`."""

    def __init__(self, pages: Mapping[str, str]) -> None:
        self.reasons: list[str] = []
        self._pages = {
            f"#{markdown.anchor(shape)}": name
            for name, page in pages.items()
            for names in _BEGIN.findall(page)
            for shape in names.split("; ")
        }

    def on(self, name: str, row: str) -> str:
        """Return a row of a table as the page of this name has it."""
        return _LINK.sub(lambda link: f"]({self._target(name, link[1], link[2] or '')})", row)

    def _target(self, name: str, path: str, anchor: str) -> str:
        if not path:
            path = self._pages.get(anchor, "")
            if not path:
                self.reasons.append(f"{MEANINGS.name}: no table has the anchor {anchor}")
        if path == name:
            return anchor
        return os.path.relpath(path, os.path.dirname(name) or ".") + anchor


class _Tables:
    """Makes tables, and notes what is wrong with them in `reasons`."""

    def __init__(
        self, shapes: Iterable[Shape[Any]], meanings: Mapping[str, Mapping[str, str]]
    ) -> None:
        self.reasons: list[str] = []
        self._shapes: dict[str, Shape[Any]] = {}
        for shape in shapes:
            if self._shapes.setdefault(shape.name, shape) is not shape:
                self.reasons.append(f"two shapes have the name {shape.name!r}")
        self._meanings = {
            (name, key): meaning
            for name, lines in meanings.items()
            for keys, meaning in lines.items()
            for key in keys.split(", ")
        }
        self._unnamed = dict.fromkeys(self._shapes)
        self._unused = dict.fromkeys(self._meanings)

    def of(self, name: str, heading: str) -> Iterator[str]:
        """Yield the table of a shape, with its name above it unless the heading has it."""
        if name not in self._unnamed:
            what = "a second table of" if name in self._shapes else "no shape has the name"
            self.reasons.append(f"{what} {name!r}")
            return
        del self._unnamed[name]
        shape = self._shapes[name]
        if name != heading:
            yield f"### {name[0].upper()}{name[1:]}"
            yield ""
        if shape.base:
            base = shape.base.name
            yield f"The keys of [{base}](#{markdown.anchor(base)}), and:"
            yield ""
        own = shape.keys[len(shape.base.keys) :] if shape.base else shape.keys
        rows = [(key, self._meaning(name, key)) for key in own]
        yield from markdown.table(
            ("key", "meaning"),
            (
                (", ".join(f"`{key}`" for key, _ in alike), meaning)
                for meaning, alike in groupby(rows, key=itemgetter(1))
            ),
        )

    def _meaning(self, name: str, key: str) -> str:
        place = (name, key) if (name, key) in self._meanings else (_COMMON, key)
        self._unused.pop(place, None)
        if place not in self._meanings:
            self.reasons.append(f"{MEANINGS.name} does not say what {key!r} of {name!r} means")
        return self._meanings.get(place, "")

    def left_over(self) -> Iterator[str]:
        """Yield the shapes without a table, and the meanings that no table has."""
        for name in self._unnamed:
            yield f"no page has a table of the shape {name!r}"
        for name, key in self._unused:
            yield f"{MEANINGS.name} says what {key!r} of {name!r} means, and no table has it"
