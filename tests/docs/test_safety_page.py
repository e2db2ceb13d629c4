"""The page of promises names tests that there are."""

from __future__ import annotations

import ast
import re

import pytest

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "reference" / "safety.md"
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text())))


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[name for _, name in NAMED])
def test_what_proves_a_promise_is_there(path: str, name: str) -> None:
    tree = ast.parse((ROOT / path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_promise_has_a_proof() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    promises = [row for row in rows if not row.startswith(("| promise", "| ---"))]
    assert len(promises) > 20
    assert [row for row in promises if "`tests/" not in row] == []
