"""proxyctl's YAML reads back, with its own reader and with PyYAML."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.config.mistakes import Mistakes
from proxyctl.config.yaml import read_yaml
from proxyctl.interchange.yaml import (
    quoted,
)

AWKWARD = (
    *("", " ", " lead", "trail ", "it's", 'say "x"', "back\\slash", "x" * 5000),
    *("010", "8.10", "12:30:45", "2024-01-01", "1e5", "1_000", "0x1f", ".5", ".inf", "+1", "-"),
    *("on", "Yes", "n", "NULL", "~", "null", "True", "=", "<<", "--- ", "?", "? x"),
    *("*alias", "&anchor", "!tag", "%dir", "@at", "`tick`", "{env: X}", "[a]", "a,b"),
    *("a: b", "a:", "#x", "a #b", "a#b", "^SELECT .* FROM `t\\d+` WHERE {{ x }}"),
    *("tab\tinside", "line\nbreak", "carriage\rreturn", "\r\n", "\x01\x1b\x7f"),
    *("\x85\u2028\u2029\ufeff", "größe 東京 🐬", "\ufffe\uffff", "\udce9t\udce9", "\udc80"),
)

TEXTS = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
    st.binary(max_size=8).map(lambda b: b.replace(b"\0", b"").decode("utf-8", "surrogateescape")),
    st.text("'\"\\\n\t :#{}[],&*!|>%@`-?0159.exon~ ", max_size=12),
)


def expected(text: str) -> object:
    """Return the value that a YAML reader has to find for a text."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        return {"hex": text.encode("utf-8", "surrogateescape").hex()}
    return text


def both_readers(text: str) -> Any:
    """Read with proxyctl's reader and with PyYAML, which must agree."""
    mistakes = Mistakes()
    document = read_yaml(text, "x.yaml", mistakes)
    mistakes.raise_if_any()
    assert document is not None
    assert document.root == yaml.safe_load(text)
    return document.root


@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_texts(text: str) -> None:
    assert both_readers(f"k: [{quoted(text)}, {{a: {quoted(text)}}}]\n") == {
        "k": [expected(text), {"a": expected(text)}]
    }


@given(TEXTS)
def test_any_text(text: str) -> None:
    assert both_readers(f"- {quoted(text)}\n- {{a: {quoted(text)}}}\n") == [
        expected(text),
        {"a": expected(text)},
    ]


@pytest.mark.parametrize("text", ["app", "10.0.0.1", "db-1.example.org", "/etc/x", "a_b"])
def test_plain_where_it_is_safe(text: str) -> None:
    assert quoted(text) == text
