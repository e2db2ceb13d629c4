"""What is taken for a plain pattern compiles in both engines, so nobody has to try."""

import pytest

from proxyctl.routing.regex import Engine, compile_pattern, is_plain

ASCII = [chr(code) for code in range(128)]


@pytest.mark.parametrize("first", ASCII)
def test_every_pair_of_characters(first):
    for second in ASCII:
        for text in (f"{first}{second}", f"\\{first}{second}", f".{first}{second}"):
            if is_plain(text.encode()):
                for engine in Engine:
                    compile_pattern(text.encode(), engine)


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        (r"^SELECT .* FROM table_1 WHERE id=\?", True),
        (r"^SELECT.*FOR UPDATE$", True),
        ("", True),
        ("a" * 1000, False),
        ("(", False),
        ("a*", False),
        ("^*", False),
        (".**", False),
        (r"\d", False),
        ("caf\u00e9", False),
        ("\0(", False),
    ],
)
def test_what_is_plain(pattern, plain):
    assert is_plain(pattern.encode()) == plain
