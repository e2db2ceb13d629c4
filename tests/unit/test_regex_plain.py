"""What is taken for a plain pattern compiles in both engines, so nobody has to try."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.routing.regex import Engine, compile_pattern, is_plain

ASCII = [chr(code) for code in range(128)]
pieces = st.sampled_from([*ASCII, *(f"\\{c}" for c in ASCII), ".*", ".+?", "^", "$", "(", "a{2}"])


@given(st.lists(pieces, max_size=8).map("".join) | st.text(st.sampled_from(ASCII), max_size=6))
def test_a_plain_pattern_compiles_in_both_engines(pattern):
    text = pattern.encode()
    if is_plain(text):
        for engine in Engine:
            compile_pattern(text, engine)


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
