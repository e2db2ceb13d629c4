r"""What every digest text is like, and whether a pattern can match such a text.

A digest text has no quotes, no numbers and no comments, and its blanks are where ProxySQL leaves
them. An automaton with some twenty states accepts every such text, and others too. `why_never`
follows a pattern through it: for each part it knows the states after all texts that the part
matches. If no state is left, no digest text matches the pattern. In doubt a state stays.

Source: ProxySQL 2.7.1 and 3.0.3; the tests hold it against the digests of random queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from proxyctl.routing.digest.options import DigestOptions
from proxyctl.routing.regex.syntax import (
    NOT_ASCII,
    Chars,
    Choice,
    Concatenation,
    End,
    LiteralText,
    NoTree,
    RegexNode,
    Repeat,
    bits_of,
    tree_of,
)


class Never(Enum):
    """What a pattern asks for and digest texts lack; the reasons worth naming come first."""

    COMMENT = "a comment"
    DASHES = "a comment that begins with two dashes"
    QUOTED = "quotes"
    DIGIT = "a digit, with mysql-query_digests_no_digits"
    NUMBER = "a number"
    CAPITAL = "a capital letter, with mysql-query_digests_lowercase"
    BACKSLASH = "a backslash"
    SPACING = "a tab, a line break, or a space before a closing bracket or a comma"
    LOOSE = "a space after an opening bracket or a comma, or at the beginning"
    DOUBLE = "two spaces"
    END = "a space or a semicolon at the end"
    START = "a beginning that no statement has"
    ANCHOR = "text before the beginning or after the end"


UNUSUAL = frozenset(
    {
        Never.QUOTED,
        Never.NUMBER,
        Never.COMMENT,
        Never.DASHES,
        Never.BACKSLASH,
        Never.LOOSE,
        Never.DOUBLE,
        Never.START,
    }
)
"""What a digest text has if the query is unusual: `a - b` becomes `a  b`, `f(- a)` becomes `f( a)`,
and `/*! SET sql_mode = 'x' */` keeps its quotes."""


class NeverReason(NamedTuple):
    """Why a pattern matches no digest text."""

    never: Never
    """What the pattern asks for and no digest text has."""
    is_certain: bool
    """False: the pattern matches the digest text of an unusual query, such as `id = 42col`, where
    the number begins a name."""


_MOST_REPEATED = 50
"""A part that repeats more often is followed as if it repeated so often, or more."""


def why_never(pattern: str, options: DigestOptions, *, is_caseless: bool) -> NeverReason | None:
    """Return why a pattern that compiles matches no digest text; None if it may match one."""
    if options.keep_comment:
        return None  # a comment that is kept may hold anything
    try:
        tree = tree_of(pattern, is_caseless=is_caseless)
    except NoTree:
        return None
    if _language(options).has_match(tree, grows_numbers=False):
        return None
    is_certain = not _language(options, UNUSUAL).has_match(tree)
    if _language(options).has_match(tree):
        return NeverReason(Never.NUMBER, is_certain)
    lifted = frozenset(Never)
    if not _language(options, lifted).has_match(tree):
        return None
    for never in reversed(Never):
        if _language(options, lifted - {never}).has_match(tree):
            lifted -= {never}
    return NeverReason(next(never for never in Never if never in lifted), is_certain)


def needs_backslash(pattern: str) -> bool:
    """Return whether each text that a pattern matches holds a backslash."""
    try:
        tree = tree_of(pattern, is_caseless=True)
    except NoTree:
        return False
    options, every = DigestOptions(), frozenset(Never)
    without = _language(options, every - {Never.BACKSLASH})
    return not without.has_match(tree) and _language(options, every).has_match(tree)


class TextEnd(Enum):
    """The end of the beginning of a digest text."""

    START = "nothing yet"
    BLANK = "a space"
    OPEN = "( or ,"
    SLASH = "/"
    DASH = "-"
    DASHES = "--"
    SEMICOLON = ";"
    FIRST_SEMICOLON = "; as the first character"
    BACKSLASH = "a backslash"
    AFTER_NULL = "\\N"
    WORD = "a word"
    ZERO = "0 at the beginning of a word"
    NUMBER = "a number"
    EXPONENT = "a number that ends with e"
    HEXADECIMAL = "0x1"
    HEXADECIMAL_E = "0x1e"
    DIGIT_NAME = "a name that begins with a digit"
    DIGIT_NAME_E = "such a name that ends with e"
    OTHER = "another character"
    ENDED = "the end of the text"


_HEXADECIMALS = (TextEnd.HEXADECIMAL, TextEnd.HEXADECIMAL_E)
_NUMBERS = (TextEnd.ZERO, TextEnd.NUMBER, TextEnd.EXPONENT, *_HEXADECIMALS)
_DIGIT_NAMES = (TextEnd.DIGIT_NAME, TextEnd.DIGIT_NAME_E)
_BEFORE_SIGN = (TextEnd.EXPONENT, TextEnd.HEXADECIMAL_E, TextEnd.DIGIT_NAME_E)
_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$")
_HEXADECIMAL = _DIGITS | frozenset("abcdefABCDEF")
_SPACES = frozenset("\t\r\n")
_RARE_SPACES = frozenset("\v\f")
"""Blanks for MySQL, which a digest keeps."""
_BEGINNINGS = _LETTERS | frozenset("(;?@`{\x80")
"""How a statement may begin, apart from a name that begins with a digit."""
_TEXT_ENDS = {
    " ": TextEnd.BLANK, "(": TextEnd.OPEN, ",": TextEnd.OPEN, "/": TextEnd.SLASH, "-": TextEnd.DASH,
    ";": TextEnd.SEMICOLON, "\\": TextEnd.BACKSLASH, "0": TextEnd.ZERO,
    **dict.fromkeys("123456789", TextEnd.NUMBER), **dict.fromkeys(_LETTERS, TextEnd.WORD),
}  # fmt: skip


class _Rules(NamedTuple):
    """What holds for digest texts under some options, without the rules that are lifted."""

    options: DigestOptions
    lifted: frozenset[Never]

    def after(self, end: TextEnd, letter: str) -> TextEnd | None:
        r"""Return the end after one more character; None if no digest text has it there.

        Shape: `letter` `\x80` stands for every character beyond ASCII.
        """
        if end is TextEnd.ENDED:
            return None
        forbidden = set(self._forbidden(end, letter)) - self.lifted
        return None if forbidden else self._next(end, letter)

    def _forbidden(self, end: TextEnd, letter: str) -> Iterator[Never]:
        if letter in "'\"":
            yield Never.QUOTED
        if letter == "#" or (end is TextEnd.SLASH and letter == "*"):
            yield Never.COMMENT
        if end is TextEnd.DASHES and letter in " \t\r\n":
            yield Never.DASHES
        if letter in _SPACES or (end is TextEnd.BLANK and letter in "),"):
            yield Never.SPACING
        if letter in _RARE_SPACES or (letter == " " and end in (TextEnd.START, TextEnd.OPEN)):
            yield Never.LOOSE
        if letter == " " and end is TextEnd.BLANK:
            yield Never.DOUBLE
        if end is TextEnd.START and letter not in _BEGINNINGS and letter not in _DIGITS:
            yield Never.START
        if self.options.lowercase and "A" <= letter <= "Z":
            yield Never.CAPITAL
        if self.options.no_digits and letter in _DIGITS:
            yield Never.DIGIT
        if end is TextEnd.BACKSLASH and letter not in "Nn":
            yield Never.BACKSLASH
        if end is TextEnd.AFTER_NULL and (letter in _LETTERS or letter in _DIGITS):
            yield Never.BACKSLASH
        if end in _NUMBERS and self._next(end, letter) not in (*_NUMBERS, *_DIGIT_NAMES):
            yield Never.NUMBER
        if end in (TextEnd.HEXADECIMAL_E, TextEnd.DIGIT_NAME_E) and letter in "+-":
            yield Never.NUMBER  # a name such as 1e-2_x, which nobody has

    def _next(self, end: TextEnd, letter: str) -> TextEnd:
        is_word = letter in _LETTERS or letter in _DIGITS
        if end is TextEnd.WORD and is_word:
            return TextEnd.WORD
        if end in (*_NUMBERS, *_DIGIT_NAMES):
            number = self._number(end, letter)
            if number is not None:
                return number
        if end is TextEnd.BACKSLASH and letter in "Nn":
            return TextEnd.AFTER_NULL
        if end in (TextEnd.DASH, TextEnd.DASHES) and letter == "-":
            return TextEnd.DASHES
        if end is TextEnd.START and letter == ";":
            return TextEnd.FIRST_SEMICOLON
        return _TEXT_ENDS.get(letter, TextEnd.OTHER)

    def _number(self, end: TextEnd, letter: str) -> TextEnd | None:
        """Return the end of the number, or of the name that it becomes; None behind both."""
        is_word = letter in _LETTERS or letter in _DIGITS
        is_sign = letter in "+-" and end in _BEFORE_SIGN
        if not (is_word or is_sign or letter == "."):
            return None
        is_e = letter in "eE"
        if end in _HEXADECIMALS and letter in _HEXADECIMAL:
            return TextEnd.HEXADECIMAL_E if is_e else TextEnd.HEXADECIMAL
        if end is TextEnd.ZERO and letter in "xX":
            return TextEnd.HEXADECIMAL
        is_number = end not in (*_DIGIT_NAMES, *_HEXADECIMALS) and (
            letter in _DIGITS or letter == "." or is_sign or is_e
        )
        if is_number:
            return TextEnd.EXPONENT if is_e else TextEnd.NUMBER
        return TextEnd.DIGIT_NAME_E if is_e else TextEnd.DIGIT_NAME

    def may_end(self, end: TextEnd) -> bool:
        """Return whether a digest text may end so."""
        if end in (TextEnd.BLANK, TextEnd.SEMICOLON):
            return Never.END in self.lifted
        if end in _NUMBERS:
            return Never.NUMBER in self.lifted
        return end is not TextEnd.BACKSLASH or Never.BACKSLASH in self.lifted


_LETTER_OF = [*map(chr, range(NOT_ASCII)), "\x80"]
_WORD_BITS = sum(1 << ord(letter) for letter in _LETTERS | _DIGITS)
_BLANK_BIT = 1 << ord(" ")

_States = int
"""A set of ends, one bit for each."""


class _DigestLanguage:
    """The digest texts under some rules, as an automaton."""

    def __init__(self, rules: _Rules) -> None:
        self._bits = {end: 1 << place for place, end in enumerate(TextEnd)}
        self._are_anchors_ignored = Never.ANCHOR in rules.lifted
        self._start, self._ended = self._bits[TextEnd.START], self._bits[TextEnd.ENDED]
        self._numbers = sum(self._bits[end] for end in _NUMBERS)
        self._may_end = sum(self._bits[end] for end in TextEnd if rules.may_end(end))
        self._known: dict[tuple[_States, int, bool], _States] = {}
        self._letters: tuple[dict[tuple[_States, str], _States], ...] = ({}, {})
        self._moves: dict[int, dict[int, int]] = {}
        """By state: the states after it, each with the characters that lead there."""
        for end in TextEnd:
            after = [rules.after(end, letter) for letter in _LETTER_OF]
            moves: dict[int, int] = {}
            for code, other in enumerate(after):
                if other is not None:
                    moves[self._bits[other]] = moves.get(self._bits[other], 0) | 1 << code
            self._moves[self._bits[end]] = moves
        self._every = self._reachable()

    def _reachable(self) -> _States:
        known = 0
        found = self._start
        while found != known:
            known = found
            for state in _single(known):
                for after in self._moves[state]:
                    found |= after
        return known

    def has_match(self, tree: RegexNode, *, grows_numbers: bool = True) -> bool:
        """Return whether the tree matches in some text of the language.

        `grows_numbers` False: neither the text behind a match nor what stands for any text makes a
        name of a number, as `42` in `42col`.
        """
        states = self._after(tree, self._every, grows_numbers)
        return bool(states if grows_numbers else states & ~self._numbers)

    def _after(self, node: RegexNode, states: _States, grows_numbers: bool) -> _States:
        """Return the states after all texts that a part matches."""
        match node:
            case LiteralText(text, is_caseless):
                states = self._after_text(text, states, is_caseless)
            case Chars(_, accepts):
                states = self._after_one_of(accepts, states, grows_numbers)
            case Concatenation(items):
                for item in items:
                    states = self._after(item, states, grows_numbers)
            case Choice(rows):
                found = 0
                for row in rows:
                    found |= self._after(row, states, grows_numbers)
                states = found
            case Repeat(item, least, most):
                states = self._repeated(item, least, most, states, grows_numbers)
            case End(is_last) if not self._are_anchors_ignored:
                states = self._at_end(states) if is_last else states & self._start
        return states

    def _at_end(self, states: _States) -> _States:
        return self._ended if states & (self._may_end | self._ended) else 0

    def _repeated(
        self, item: RegexNode, least: int, most: int | None, states: _States, grows_numbers: bool
    ) -> _States:
        is_bounded = most is not None and most <= _MOST_REPEATED
        for _ in range(min(least, _MOST_REPEATED)):
            states = self._after(item, states, grows_numbers)
        rounds = most - least if is_bounded and most is not None else None
        while rounds is None or rounds > 0:
            more = states | self._after(item, states, grows_numbers)
            if more == states:
                break
            states = more
            rounds = None if rounds is None else rounds - 1
        return states

    def _after_text(self, text: str, states: _States, is_caseless: bool) -> _States:
        known = self._letters[is_caseless]
        for letter in text:
            after = known.get((states, letter))
            if after is None:
                accepts = bits_of(letter, is_caseless=is_caseless)
                after = known[states, letter] = self._after_one_of(accepts, states, True)
            states = after
        return states

    def _after_one_of(self, accepts: int, states: _States, grows_numbers: bool) -> _States:
        """Return the states after one of the characters."""
        question = states, accepts, grows_numbers
        if question not in self._known:
            self._known[question] = self._moved(accepts, states, grows_numbers)
        return self._known[question]

    def _moved(self, accepts: int, states: _States, grows_numbers: bool) -> _States:
        found = 0
        # A class that has blanks and letters stands for any text.
        is_wide = not grows_numbers and accepts & _BLANK_BIT and accepts & _WORD_BITS
        for state in _single(states):
            letters = accepts & ~_WORD_BITS if is_wide and state & self._numbers else accepts
            for after, leading in self._moves[state].items():
                if leading & letters:
                    found |= after
        return found


def _single(states: _States) -> Iterator[_States]:
    """Yield each state of a set."""
    while states:
        state = states & -states
        yield state
        states ^= state


@lru_cache(maxsize=256)
def _language(options: DigestOptions, lifted: frozenset[Never] = frozenset()) -> _DigestLanguage:
    return _DigestLanguage(_Rules(options, lifted))
