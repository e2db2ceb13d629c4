import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.config.mistakes import Mistakes, ValueProblem
from proxyctl.config.yaml import MAX_DEPTH, plain_value, read_yaml
from proxyctl.errors import ConfigError


def read(text):
    mistakes = Mistakes()
    document = read_yaml(text, "f.yaml", mistakes)
    try:
        mistakes.raise_if_any()
    except ConfigError as error:
        return document and document.root, [m.text() for m in error.mistakes]
    return document.root, []


def value(text):
    root, mistakes = read(text)
    assert mistakes == []
    return root


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("# only a comment\n", None),
        ("1: a\non: b\nnull: c\n", {"1": "a", "on": "b", "null": "c"}),
        ("{'<<': 1}", {"<<": 1}),
        ("{empty_hostgroup: off, mode: OFF}", {"empty_hostgroup": "off", "mode": "OFF"}),
    ],
)
def test_what_a_text_means(text, found):
    assert value(text) == found


def test_columns_count_characters():
    document = read_yaml("{ä: 1, b: 2}", "f.yaml", Mistakes())
    assert str(document.where(("b",))) == "f.yaml:1:11"


def test_anchors_aliases_and_merge_keys():
    text = """
base: &base {port: 3306, weight: 1}
more: &more {weight: 2, comment: x}
one: {<<: *base, weight: 5}
two: {<<: [*more, *base]}
same: *base
"""
    root = value(text)
    assert root["one"] == {"port": 3306, "weight": 5}
    assert root["two"] == {"weight": 2, "comment": "x", "port": 3306}
    assert root["same"] == root["base"]


def test_merged_keys_have_the_place_where_they_were_written():
    document = read_yaml("a: &a\n  x: 1\nb:\n  <<: *a\n", "f.yaml", Mistakes())
    assert str(document.where(("b", "x"))) == "f.yaml:2:6"


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("a:\n\t- b\n", "indent with spaces: YAML allows no tabs there"),
        ("a: @b\n", "quote text that begins with @"),
        ("a: b: c\n", "quote text that contains a colon and a space"),
        ('a: "^SELECT\\s"\n', "use single quotes: there a backslash is a backslash"),
        ('a: ["x", "\\d+"]\n', "use single quotes: there a backslash is a backslash"),
        ('a:\n  b: "\\("\n', "use single quotes: there a backslash is a backslash"),
    ],
)
def test_the_fix_of_a_common_mistake(text, fix):
    _, (mistake,) = read(text)
    assert mistake.endswith(f"fix: {fix}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [*a]\n", "an alias without an anchor"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested more than 100 levels"),
        ("a: \x01", "not YAML"),
        ("[a]: 1", "a key must be text"),
        ("<<: 1", "<< needs a mapping"),
        ("\tb: 1", "not YAML"),
    ],
)
def test_what_cannot_be_read(text, message):
    _, mistakes = read(text)
    assert message in mistakes[0]
    assert mistakes[0].startswith("f.yaml:")


# Plain scalars ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("NULL", None),
        ("true", True),
        ("False", False),
        ("0", 0),
        ("-12", -12),
        ("+7", 7),
        ("8.1", 8.1),
        ("-0.5", -0.5),
    ],
)
def test_what_all_yaml_readers_agree_on(text, value):
    found = plain_value(text)
    assert (found, type(found) is bool) == (value, type(value) is bool)


@pytest.mark.parametrize(
    "text",
    ["writer", "2026-11-21", "10.0.0.1", "127.0.0.1:6033", "^SELECT", "oN", "nULL", "-", "0xZZ"],
)
def test_what_is_text(text):
    assert plain_value(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "010", "007", "-08", "0x1F", "0o17", "0b1", "1_000", "12:30:45", "1:30", "190:20:30.15",
        "on", "Off", "YES", "no", "y", "N", "1e3", "1.5e3", "00.5", ".inf", "-.INF", ".nan", "=",
        "8.10", ".5", "1.5e+3",
    ],
)  # fmt: skip
def test_what_yaml_readers_disagree_on_has_to_be_quoted(text):
    with pytest.raises(ValueProblem) as caught:
        plain_value(text)
    assert "quote it" in caught.value.fix
    assert text not in caught.value.message.split(), "the value may be a secret"


def test_numbers_that_no_computer_needs_are_refused():
    for text in ("9" * 5000, "9" * 400 + ".0"):
        with pytest.raises(ValueProblem):
            plain_value(text)


# Laws -------------------------------------------------------------------------------------------

texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def same(one, other):
    """Equal as YAML values: True is not 1."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other)
    return one == other and isinstance(one, bool) == isinstance(other, bool)


@given(values, st.sampled_from([None, False, True]))
def test_a_text_is_read_as_pyyaml_reads_it_or_refused(data, flow):
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True)
    root, mistakes = read(text)
    assert mistakes or same(root, yaml.safe_load(text))
