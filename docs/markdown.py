"""The parts of Markdown that every generated page is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def head(title: str, text: str) -> Iterator[str]:
    """Yield what every generated page begins with."""
    yield f"# {title}"
    yield ""
    yield "<!-- Made by docs/generate.py; `make docs` writes it again. -->"
    yield ""
    yield text
    yield ""


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield a table. A bar in a cell is escaped, a line break becomes a space."""
    titles = list(titles)
    yield f"| {' | '.join(titles)} |"
    yield f"| {' | '.join('---' for _ in titles)} |"
    for row in rows:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"
    yield ""


def anchor(heading: str) -> str:
    """Return the anchor that a heading has."""
    return heading.lower().replace(" ", "-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
