"""The keys of the view: which there are, and what help says of them."""

from __future__ import annotations

from textual.binding import Binding

KEYS: tuple[tuple[Binding, str], ...] = (
    (Binding("q,ctrl+q", "quit", "quit"), "q"),
    (Binding("question_mark,h", "help", "these keys"), "?"),
    (Binding("0", "view('')", "all tables"), "0"),
    (Binding("1", "view('servers')", "servers only"), "1"),
    (Binding("2", "view('digests')", "digests only"), "2"),
    (Binding("3", "view('rules')", "rules only"), "3"),
    (Binding("less_than_sign,comma", "order(-1)", "sort by the column to the left"), "<"),
    (Binding("greater_than_sign,full_stop", "order(1)", "sort by the column to the right"), ">"),
    (Binding("r", "reverse", "reverse the order"), "r"),
    (Binding("slash", "filter", "show only lines with a text"), "/"),
    (Binding("escape", "unfilter", "show all lines again"), "esc"),
    (Binding("p,space", "pause", "pause, and go on"), "p"),
    (Binding("plus,equals_sign", "interval(1)", "look less often"), "+"),
    (Binding("minus", "interval(-1)", "look more often"), "-"),
    (Binding("ctrl+c", "interrupt", "quit", show=False, priority=True), "ctrl-c"),
    (Binding("ctrl+z", "suspend_process", "to the background"), "ctrl-z"),
)
"""Each with the name that a person gives it."""

_OF_TABLES = (
    ("tab", "the next table: orders and filters are its own"),
    ("up down", "move in a table"),
    ("enter", "a line in full"),
)

FOOTER = "q quit  ? keys  0-3 tables  tab next  < > sort  / filter  p pause  +- interval"
"""Fits 80 columns."""


def help_lines() -> list[tuple[str, str]]:
    """Return every key and what it does."""
    own = [(name, binding.description) for binding, name in KEYS if binding.show]
    return [*own[:2], *_OF_TABLES, *own[2:]]
