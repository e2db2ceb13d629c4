"""What lies over the view: one line of a table in full, or the keys; and which keys there are."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static


class Details(ModalScreen[None]):
    """Fields and their values, or keys and what they do. Any of the usual keys closes it."""

    DEFAULT_CSS = """
    Details { align: center middle; }
    Details > VerticalScroll {
        width: 90%; max-width: 100; height: auto; max-height: 90%;
        border: round ansi_cyan; padding: 0 1; scrollbar-size-vertical: 1;
        background: ansi_default;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q,question_mark", "dismiss", "close")
    ]

    def __init__(self, title: str, details: list[tuple[str, str]]) -> None:
        super().__init__()
        self._title = title
        self._details = details

    def compose(self) -> ComposeResult:
        """Make the text."""
        width = max(len(name) for name, _ in self._details)
        text = Text(f"{self._title}\n\n", "bold")
        for name, value in self._details:
            text.append(f"{name:<{width}}  ", "not bold cyan")
            text.append(f"{value}\n", "not bold")
        text.append("\nesc closes", "not bold dim")
        with VerticalScroll():
            yield Static(text, markup=False)


KEYS: tuple[tuple[Binding, str], ...] = (
    (Binding("q,ctrl+q", "quit", "quit"), "q"),
    (Binding("question_mark,h", "help", "these keys"), "?"),
    (Binding("0", "view('')", "all tables"), "0"),
    (Binding("1", "view('servers')", "servers only"), "1"),
    (Binding("2", "view('digests')", "digests only"), "2"),
    (Binding("3", "view('rules')", "rules only"), "3"),
    (Binding("less_than_sign,comma", "order(-1)", "sort one column further left"), "<"),
    (Binding("greater_than_sign,full_stop", "order(1)", "sort one column further right"), ">"),
    (Binding("r", "reverse", "reverse the order"), "r"),
    (Binding("slash", "filter", "show only lines that contain a text"), "/"),
    (Binding("escape", "unfilter", "show all lines again"), "esc"),
    (Binding("p,space", "pause", "pause or continue"), "p"),
    (Binding("plus,equals_sign", "interval(1)", "read less often"), "+"),
    (Binding("minus", "interval(-1)", "read more often"), "-"),
    (Binding("ctrl+c", "interrupt", "quit", show=False, priority=True), "ctrl-c"),
    (Binding("ctrl+z", "suspend_process", "suspend to the shell"), "ctrl-z"),
)
"""Each with the name that a person gives it."""

_OF_TABLES = (
    ("tab", "next table (each has its own order and filter)"),
    ("up down", "move within a table"),
    ("enter", "show a line in full"),
)

FOOTER = "q quit  ? keys  0-3 tables  tab next  < > sort  / filter  p pause  +- interval"
"""Fits 80 columns."""


def help_lines() -> list[tuple[str, str]]:
    """Return every key and what it does."""
    own = [(name, binding.description) for binding, name in KEYS if binding.show]
    return [*own[:2], *_OF_TABLES, *own[2:]]
