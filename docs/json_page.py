"""The page about JSON: a table for each shape of `proxyctl.render`.

The page is written by hand, except for what stands between `<!-- shapes: NAME; NAME -->` and
`<!-- end of shapes -->`. The shapes give the keys; `docs/json_keys.yaml` says what they mean.
"""

from __future__ import annotations

import importlib
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

PAGE = Path(__file__).parent / "reference" / "json.md"
MEANINGS = Path(__file__).parent / "json_keys.yaml"

_COMMON = "every shape"
_BEGIN = re.compile(r"<!-- shapes: (.+) -->")
_END = "<!-- end of shapes -->"


class UnexplainedError(Exception):
    """The page, the shapes and the meanings do not agree. The text has a sentence a reason."""


def json_page() -> list[str]:
    """Return the lines of the page. Raises: UnexplainedError."""
    mistakes = Mistakes()
    document = read_yaml(MEANINGS.read_text(encoding="utf-8"), str(MEANINGS), mistakes)
    if document is None or mistakes.all():
        raise UnexplainedError("\n".join(mistake.text() for mistake in mistakes.all()))
    return filled(PAGE.read_text(encoding="utf-8"), _shapes(), document.root)


def _shapes() -> list[Shape[Any]]:
    modules = pkgutil.iter_modules(proxyctl.render.__path__, f"{proxyctl.render.__name__}.")
    found = [vars(importlib.import_module(module.name)).values() for module in modules]
    return [*dict.fromkeys(one for some in found for one in some if isinstance(one, Shape))]


def filled(
    page: str, shapes: Iterable[Shape[Any]], meanings: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """Return the lines of a page, with the tables that these shapes have now.

    `meanings`: by shape and key, or several keys with `, ` between them. Raises: UnexplainedError.
    """
    tables = _Tables(shapes, meanings)
    lines: list[str] = []
    heading, is_old = "", False
    for line in page.splitlines():
        is_old = is_old and line != _END
        if is_old:
            continue
        lines.append(line)
        if line.startswith("#"):
            heading = line.lstrip("# ").strip("`")
        if begin := _BEGIN.fullmatch(line):
            is_old = True
            lines += [
                "",
                *(row for name in begin[1].split("; ") for row in tables.of(name, heading)),
            ]
    if is_old:
        tables.reasons.append(f"{PAGE.name} has tables of shapes without {_END}")
    if reasons := [*tables.reasons, *tables.left_over()]:
        raise UnexplainedError("\n".join(reasons))
    return lines


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
            self.reasons.append(f"{PAGE.name}: {what} {name!r}")
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
            yield f"{PAGE.name} has no table of the shape {name!r}"
        for name, key in self._unused:
            yield f"{MEANINGS.name} says what {key!r} of {name!r} means, and no table has it"
