"""The tests that the list of promises names exist."""

from __future__ import annotations

import ast

import pytest

from tests.faults.kept import NAMED, PROMISES
from tests.support.paths import ROOT


@pytest.mark.parametrize("test", NAMED)
def test_what_proves_a_promise_is_there(test: str) -> None:
    path, name = test.split("::")
    tree = ast.parse((ROOT / path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_promise_has_a_proof() -> None:
    assert len(PROMISES) > 20
    assert [promise["text"] for promise in PROMISES if not promise["tests"]] == []
