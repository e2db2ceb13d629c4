import pytest

from proxyctl.catalog import parse_version
from proxyctl.catalog.charsets import CHARSETS, COLLATIONS, charset_of, default_collation, fits
from proxyctl.catalog.variable_rules import TEXT_RULES, atoi, bounds, canonical, runtime_text
from proxyctl.catalog.variables import VARIABLES


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12x", 12),
        (" \v+7", 7),
        ("", 0),
        ("x", 0),
        ("010", 10),
        ("-0", 0),
        ("4294967796", 500),
        ("2147483648", -(2**31)),
        ("9223372036854775808", -1),
        ("-9223372036854775809", 0),
    ],
)
def test_atoi(text, number):
    assert atoi(text) == number


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("mysql-default_schema", "(null)", "(null)"),
        ("mysql-resolution_family", "ipv6", "ipv6"),
        ("mysql-not_known", "x", "x"),
    ],
)
def test_what_runtime_shows(name, text, shown):
    assert runtime_text(name, text) == shown


@pytest.mark.parametrize("name", ["mysql-set_parser_algorithm", "pgsql-set_parser_algorithm"])
def test_the_bounds_of_a_release(name):
    shown = [runtime_text(name, "3", parse_version(text)) for text in ("3.0.3", "3.0.9", "3.0.12")]
    assert shown == [None, "3", "3"]
    assert runtime_text(name, "3") == "3"


@pytest.mark.parametrize("text", ["2.4.0", "2.5.5", "2.7.1", "3.0.3", "3.0.12"])
def test_the_newest_release_has_the_widest_bounds(text):
    for variable in VARIABLES.values():
        (low, high), (lowest, highest) = bounds(variable, parse_version(text)), bounds(variable)
        assert lowest <= low <= high <= highest, variable.name


def test_a_refused_text_equals_only_itself():
    assert canonical("mysql-max_connections", "0") == "0"
    assert canonical("mysql-default_charset", "UTF8") == "utf8"
    assert canonical("mysql-default_schema", "(null)") == ""


def test_rules_are_for_variables_that_exist():
    assert set(TEXT_RULES) <= set(VARIABLES)


def test_character_sets_know_their_collations():
    assert {charset_of(collation) for collation in COLLATIONS} == {*CHARSETS} - {"utf8mb3"}
    unfit = {name for name in CHARSETS if not fits(name, default_collation(name))}
    assert unfit == {"utf16le"}
    assert not fits("nope", "nope")
