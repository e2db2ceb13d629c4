"""libconfig's syntax: accepted and refused texts, as observed with ProxySQL's own reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.errors import ConfigError
from proxyctl.interchange.libconfig import Setting, Type, parse


def value(text: str) -> object:
    """The value of `x` in a file that sets it."""
    members = parse(f"x = {text}", "p.cnf").members
    assert members is not None
    return plain(members["x"])


def plain(setting: Setting) -> object:
    if setting.members is not None:
        return {name: plain(member) for name, member in setting.members.items()}
    if setting.type in (Type.LIST, Type.ARRAY):
        return [plain(item) for item in setting.items]
    return setting.value


def mistake(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text, "p.cnf")
    (found,) = caught.value.mistakes
    return found.text()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("+5", 5),
        ("-7", -7),
        ("0x1F", 31),
        ("0X0a", 10),
        ("TRUE", True),
        ("False", False),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ('""', ""),
        ('"a" "b"\n"c"', "abc"),
        ('"a" /* x */ // y\n # z\n "b"', "ab"),
        (r'"\\ \" \n \t \r \f"', '\\ " \n \t \r \f'),
        (r'"\s \d \1 \. \a \b \v \' \e \x4 \u00e9"', r"\s \d \1 \. \a \b \v \' \e \x4 \u00e9"),
        (r'"^a\\d+\d+"', r"^a\d+\d+"),
        (r'"\x41\X42\x4142"', "ABA42"),
        (r'"\xc3\xa9"', "é"),
        (r'"\xe9"', "\udce9"),
        (r'"a\x00b"', "a"),
        ('"a\nb\tc"', "a\nb\tc"),
        ('"a\\\nb"', "a\\\nb"),
        ('"a // b # c /* d"', "a // b # c /* d"),
        ("()", []),
        ("( 1, )", [1]),
        ("( 1,, 2 )", [1, 2]),
        ("[ 1, 2, ]", [1, 2]),
        ("{ a = 1, b : 2; c = 3 d = 4 }", {"a": 1, "b": 2, "c": 3, "d": 4}),
        ('( { a = "x"b = 5 }, { a-b = 1; *c* = 2 } )', [{"a": "x", "b": 5}, {"a-b": 1, "*c*": 2}]),
        ("{ true-x = 1; truex = 2 }", {"true-x": 1, "truex": 2}),
        ("1 /* never closed", 1),
    ],
)
def test_values(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("2147483647", Type.INT),
        ("2147483648", Type.LONG),
        ("-2147483648", Type.INT),
        ("-2147483649", Type.LONG),
        ("0x7FFFFFFF", Type.INT),
    ],
)
def test_types_of_numbers(text: str, kind: Type) -> None:
    members = parse(f"x={text}", "p.cnf").members
    assert members is not None
    assert members["x"].type is kind


@pytest.mark.parametrize("text", ["010", "-010", "33L", "0x1L", "0x80000000", "0o17", "0b1", "1_0"])
def test_numbers_that_libconfig_1_7_and_1_8_read_differently_are_refused(text: str) -> None:
    assert "p.cnf:1:3: not a number that every ProxySQL reads the same way" in mistake(f"x={text};")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = ", "p.cnf:1:3: unexpected end of the file"),
        ("x = (\n{ a = 1 ", "p.cnf:2:7: unexpected end of the file"),
        ("x = ( , 1 )", "p.cnf:1:7: unexpected ,"),
        ("x = ( 1 2 )", "p.cnf:1:9: unexpected value"),
        ("x = ( {a=1}; {a=2} )", "p.cnf:1:12: unexpected ;"),
        ("x = { a=1;; b=2 }", "p.cnf:1:11: unexpected ;"),
        ("x ( 1 )", "p.cnf:1:3: unexpected ("),
        ("x = truex", "p.cnf:1:5: unexpected word"),
        ("x = 5l", "p.cnf:1:5: not a number"),
        ("x = 10.0.0.1", "p.cnf:1:9: unexpected value"),
        ("}", "p.cnf:1:1: unexpected }"),
        ("a.b = 1", "p.cnf:1:2: an unexpected character"),
        ('x = "never', "p.cnf:1:5: text without a closing quote"),
        ("x = 'a'", "p.cnf:1:5: an unexpected character"),
        ("x = 08", "p.cnf:1:5: not a number"),
        ("x = " + "9" * 5000, "p.cnf:1:5: not a number"),
        ("\ufeffx = 1", "p.cnf:1:1: an invisible character"),
        ("x =\u00a01", "p.cnf:1:4: an invisible character"),
        ("x = (\u200b)", "p.cnf:1:6: an invisible character"),
        ("x = 1 ~", "p.cnf:1:7: an unexpected character outside of double quotes"),
        ("x=1\nx=2", "p.cnf:2:1: duplicate x (first at line 1)"),
        ("x={a=1\na=2}", "p.cnf:2:1: duplicate a (first at line 1)"),
        ("x = " + "(" * 100_000, "p.cnf:1:55: nested more than 50 levels deep"),
        ("x = {{ template }}", "p.cnf:1:6: unexpected {"),
        ('@include "y"', "p.cnf:1:1: @include is not read"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    assert message in mistake(text)


@pytest.mark.parametrize(
    ("entry", "secret"),
    [
        ('{ password = "x" } "secret1"', "secret"),
        ("{ password = secret1 }", "secret"),
        ("{ password = true secret1 }", "secret"),
        ("{ password = 12 secret1 }", "secret"),
        ("{ password = secret1; secret1 = x }", "secret"),
        *((f"{{ password = {text} }}", "99887") for text in ("099887", "12.99887.5", "5 99887")),
        ("{ password = 1 0x99887 }", "99887"),
    ],
)
def test_what_may_be_a_password_is_never_repeated(entry: str, secret: str) -> None:
    assert secret not in mistake(f"users = ( {entry} )")


@pytest.mark.parametrize("character", "$!%&~^?\\<>|`§é@'")
def test_nor_is_a_character_of_it(character: str) -> None:
    text = f"users = ( {{ password=ab_x{character}!y }} )"
    message = mistake(text)
    assert "p.cnf:1:22: unexpected word" in message
    assert character not in message
    assert f"{ord(character):04X}" not in message


def test_text_without_quotes_gets_the_fix() -> None:
    assert "double quote that is missing" in mistake("users = ( { password = other } )")


PIECES = st.lists(
    st.sampled_from(
        [
            *("x", "=", ":", "(", ")", "{", "}", "[", "]", ",", ";", "1", "-", "0x", "1.5", "true"),
            *('"a"', '"', "\\", "/*", "*/", "//", "#", "\n", " ", "@include", "L", ".", "e", "é"),
        ]
    ),
    max_size=40,
).map("".join)


@given(PIECES)
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        parse(text, "p.cnf")
    except ConfigError as error:
        places = [(refusal.line, refusal.column) for refusal in error.mistakes]
    else:
        places = [(1, 1)]
    assert min(places) >= (1, 1)
