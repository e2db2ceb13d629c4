"""What the view is made of: a table, a line of it in full, and the keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.coordinate import Coordinate
from textual.events import Resize
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import DataTable, Static

from proxyctl.render.live import GAP, Arrangement, LiveTable, arranged, fitted
from proxyctl.render.table import Column
from proxyctl.stats.live.view import View

MOST_LINES = 500
_COLOURS = {"": "", "bold": "bold", "dim": "dim", "refuse": "red", "change": "yellow"}


class Panel(Vertical):
    """One of the tables. Texts from the server are never read as markup: they go into Text."""

    DEFAULT_CSS = """
    Panel { height: auto; }
    Panel > Static { height: 1; text-style: bold; }
    Panel > DataTable {
        height: auto; max-height: 100%; scrollbar-size-vertical: 1; overflow-x: hidden;
        background: ansi_default; background-tint: ansi_default 0%;
    }
    Panel > DataTable > .datatable--header,
    Panel > DataTable:ansi > .datatable--header {
        background: ansi_default; color: ansi_cyan; text-style: none;
    }
    Panel > DataTable > .datatable--cursor { background: ansi_default; text-style: none; }
    Panel > DataTable:focus > .datatable--cursor {
        background: ansi_default; color: ansi_default; text-style: reverse;
    }
    """

    class Chosen(Message):
        """Somebody wants to see all of a line."""

        def __init__(self, title: str, details: list[tuple[str, str]]) -> None:
            super().__init__()
            self.title = title
            self.details = details

    def __init__(self, table: LiveTable[Any]) -> None:
        super().__init__(id=table.name)
        self.table = table
        self.arrangement = Arrangement(table.order)
        self._columns: list[tuple[Column[Any], int]] = []
        self._all: Sequence[Any] = ()
        self._lines: list[Any] = []

    def compose(self) -> ComposeResult:
        """Make the title and the grid."""
        yield Static(id=f"{self.table.name}-title", markup=False)
        yield DataTable(cell_padding=0, cursor_type="row", id=f"{self.table.name}-grid")

    @property
    def grid(self) -> DataTable[Text]:
        """The rows."""
        found: DataTable[Text] = self.query_one(DataTable)
        return found

    def show(self, view: View) -> None:
        """Show the lines of a view."""
        self._all = self.table.lines(view)
        self._draw()

    def put_in_order(self, arrangement: Arrangement) -> None:
        """Show the same lines in another order, or others of them."""
        self.arrangement = arrangement
        self._draw(is_new=True)

    def move_order(self, step: int) -> None:
        """Sort by the column to the right or to the left."""
        titles = [column.title for column, _ in self._columns]
        place = titles.index(self.arrangement.order) if self.arrangement.order in titles else 0
        order = titles[(place + step) % len(titles)]
        self.put_in_order(replace(self.arrangement, order=order, is_reversed=False))

    def reverse_order(self) -> None:
        """Turn the order around."""
        self.put_in_order(replace(self.arrangement, is_reversed=not self.arrangement.is_reversed))

    def on_resize(self, event: Resize) -> None:
        """Take the columns that there is room for now."""
        columns = fitted(self.table, event.size.width)
        if columns != self._columns:
            self._columns = columns
            self._draw(is_new=True)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Show a line in full."""
        event.stop()
        if event.cursor_row < len(self._lines):
            line = self._lines[event.cursor_row]
            self.post_message(self.Chosen(self.table.name, self.table.details(line)))

    def _draw(self, *, is_new: bool = False) -> None:
        if not self._columns:
            return
        grid = self.grid
        row = grid.cursor_row
        # Whoever moved to a line stays with it; the first row stays the first row.
        kept = self.table.row_key(self._lines[row]) if 0 < row < len(self._lines) else None
        found = arranged(self.table, self._all, self.arrangement)
        self._lines = found[:MOST_LINES]
        self._draw_title(len(found))
        if is_new:
            self._draw_columns(grid)
        self._draw_rows(grid)
        if kept is not None:
            keys = [self.table.row_key(line) for line in self._lines]
            if kept in keys and keys.index(kept) != grid.cursor_row:
                grid.move_cursor(row=keys.index(kept), scroll=is_new)

    def _draw_title(self, count: int) -> None:
        how = self.arrangement
        title = Text(f"{self.table.name}  ")
        title.append(f"by {how.order}{', reversed' if how.is_reversed else ''}", "not bold dim")
        if how.filter:
            title.append(f"  with {how.filter!r}: {count} of {len(self._all)}", "not bold yellow")
        if count > MOST_LINES:
            title.append(f"  the first {MOST_LINES} of {count:,}", "not bold dim")
        self.query_one(Static).update(title)

    def _draw_columns(self, grid: DataTable[Text]) -> None:
        grid.clear(columns=True)
        for column, width in self._columns:
            look = "bold underline" if column.title == self.arrangement.order else ""
            label = Text.assemble((column.title, look))
            grid.add_column(_in_column(label, column, width), width=width + GAP, key=column.title)

    def _draw_rows(self, grid: DataTable[Text]) -> None:
        """Write what changed into the rows that are there: the screen does not jump."""
        while grid.row_count > len(self._lines):
            grid.remove_row(str(grid.row_count - 1))
        for number, line in enumerate(self._lines):
            look = _COLOURS[self.table.kind(line)]
            cells = [
                _in_column(Text(column.text(line), look), column, width)
                for column, width in self._columns
            ]
            if number < grid.row_count:
                _update(grid, number, cells)
            else:
                grid.add_row(*cells, key=str(number))


def _update(grid: DataTable[Text], number: int, cells: list[Text]) -> None:
    old = grid.get_row_at(number)
    for column, (one, other) in enumerate(zip(old, cells, strict=True)):
        if one != other or one.style != other.style:
            grid.update_cell_at(Coordinate(number, column), other)


def _in_column(text: Text, column: Column[Any], width: int) -> Text:
    """Return the text at its side of a column, cut where it is too long."""
    text.no_wrap = True
    text.truncate(width, overflow="ellipsis")
    if column.is_number:
        text.pad_left(max(width - text.cell_len, 0))
    return text


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
