"""Each message that the page about messages quotes can still be printed.

The message is a text of the program, or in the output on another page, which a test compares.
"""

from __future__ import annotations

import ast
import re

import pytest

from tests.support.documentation.pages import blocks, pages
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "how-to" / "troubleshooting.md"
ROWS = [
    line.split(" | ")[0]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| `")
]
MESSAGES = [message for row in ROWS for message in re.findall(r"`([^`]+)`", row)]


def texts() -> str:
    """Return every text of the program, one per line, with `{}` for each inserted value."""
    found = [b.text for page in pages() if page != PAGE for b in blocks(page) if b.commands()]
    for path in (ROOT / "proxyctl").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in docstrings:
                found.append(_text(node).replace("\n", " "))
    return "\n".join(found)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(_text, values))
    return "{}"


@pytest.fixture(scope="module")
def program() -> str:
    return texts()


@pytest.mark.parametrize("message", MESSAGES)
def test_the_program_has_the_message(message: str, program: str) -> None:
    parts = [part.strip() for part in message.split("...")]
    pattern = ".*".join(map(re.escape, filter(None, parts)))
    assert re.search(pattern, program, re.IGNORECASE), f"{PAGE.name}: no text is like: {message}"
