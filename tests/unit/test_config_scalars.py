import pytest

from proxyctl.config.scalars import DecimalNumber, DisputedError, plain_value


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
        ("8.10", 8.1),
        ("-.5", -0.5),
        ("1.5e+3", 1500.0),
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
        "010",
        "007",
        "-08",
        "0x1F",
        "0o17",
        "0b1",
        "1_000",
        "12:30:45",
        "1:30",
        "190:20:30.15",
        "on",
        "Off",
        "YES",
        "no",
        "y",
        "N",
        "1e3",
        "1.5e3",
        "00.5",
        ".inf",
        "-.INF",
        ".nan",
        "=",
    ],
)
def test_what_yaml_readers_disagree_on_has_to_be_quoted(text):
    with pytest.raises(DisputedError) as caught:
        plain_value(text)
    assert "quote it" in caught.value.hint
    assert text not in caught.value.message.split(), "the value may be a secret"


def test_a_decimal_number_remembers_how_it_was_written():
    number = plain_value("8.10")
    assert isinstance(number, DecimalNumber)
    assert str(number) == "8.10"


def test_numbers_that_no_computer_needs_are_refused():
    for text in ("9" * 5000, "9" * 400 + ".0"):
        with pytest.raises(DisputedError):
            plain_value(text)
