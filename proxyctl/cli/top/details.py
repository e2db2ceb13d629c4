"""One line of a table in full, over the view."""

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
