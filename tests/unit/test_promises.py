"""The list of promises names tests that there are."""

from __future__ import annotations

import ast

import pytest

from tests.faults.promised import ROOT, promises

NAMED = sorted({test for promise in promises() for test in promise.tests})


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[name for _, name in NAMED])
def test_what_proves_a_promise_is_there(path: str, name: str) -> None:
    tree = ast.parse((ROOT / path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_promise_has_a_proof() -> None:
    found = [*promises()]
    assert len(found) > 20
    assert [promise.text for promise in found if not promise.tests] == []
