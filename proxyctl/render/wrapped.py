"""Sentences in lines of a width."""

from __future__ import annotations

from textwrap import wrap


def wrapped(text: str, width: int, *, first: str = "", then: str = "") -> list[str]:
    """Return the lines, the first one behind `first` and the others behind `then`.

    A word stays whole, however long it is: names of variables are to be copied.
    """
    return wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=then,
        break_on_hyphens=False,
        break_long_words=False,
    )
