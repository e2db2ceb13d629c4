"""The widgets of the view: a table, and a window for one line in full or for the keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import DataTable, Static

from proxyctl.render.live import GAP, LiveTable, arranged, fitted
from proxyctl.render.table import TableColumn
from proxyctl.stats.live.view import View

MOST_LINES = 500
_COLOURS = {"": "", "bold": "bold", "dim": "dim", "refuse": "red", "change": "yellow"}


class Panel(Vertical):
    """A table of the view. Texts from the server are put into Text, so that none acts as markup."""

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

    def __init__(self, table: LiveTable[Any]) -> None:
        super().__init__(id=table.name)
        self.table = table
        self.filter = ""
        self._order = table.order
        self._columns: list[tuple[TableColumn[Any], int]] = []
        self._all: Sequence[Any] = ()
        self._lines: list[Any] = []

    def compose(self) -> ComposeResult:
        """Yield the title and the grid."""
        yield Static(id=f"{self.table.name}-title", markup=False)
        yield DataTable(cell_padding=0, cursor_type="row", id=f"{self.table.name}-grid")

    @property
    def grid(self) -> DataTable[Text]:
        """The widget with the rows."""
        grid: DataTable[Text] = self.query_one(DataTable)
        return grid

    def show(self, view: View) -> None:
        """Show the lines of a view."""
        self._all = self.table.lines(view)
        self._draw()

    def show_only(self, text: str) -> None:
        """Show only the lines that contain a text, or all lines for ''."""
        if text != self.filter:
            self.filter = text
            self._draw(is_new=True)

    def move_order(self, step: int) -> None:
        """Sort by the column to the right or to the left."""
        titles = [column.title for column, _ in self._columns]
        position = titles.index(self._order) if self._order in titles else 0
        self._order = titles[(position + step) % len(titles)]
        self._draw(is_new=True)

    def on_resize(self, event: Resize) -> None:
        """Show the columns that fit the new width."""
        columns = fitted(self.table, event.size.width)
        if columns != self._columns:
            self._columns = columns
            self._draw(is_new=True)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Ask the app to show a line in full."""
        event.stop()
        if event.cursor_row < len(self._lines):
            line = self._lines[event.cursor_row]
            self.app.push_screen(Details(self.table.name, self.table.details(line)))

    def _draw(self, *, is_new: bool = False) -> None:
        """Draw the lines. `is_new`: the order, the filter or the columns have changed."""
        if not self._columns:
            return
        grid = self.grid
        row, top = grid.cursor_row, grid.scroll_y
        # The cursor follows its line, but a cursor on the first row stays there.
        cursor_key = self.table.row_key(self._lines[row]) if 0 < row < len(self._lines) else None
        lines = arranged(self.table, self._all, self._order, self.filter)
        self._lines = lines[:MOST_LINES]
        self._draw_title(len(lines))
        with self.app.batch_update():
            grid.clear(columns=is_new)
            if is_new:
                self._draw_columns(grid)
            for line in self._lines:
                colour = _COLOURS[self.table.kind(line)]
                grid.add_row(
                    *(
                        _in_column(Text(column.text(line), colour), column, width)
                        for column, width in self._columns
                    )
                )
            keys = [self.table.row_key(line) for line in self._lines] if cursor_key else []
            if cursor_key in keys:
                grid.move_cursor(row=keys.index(cursor_key), scroll=is_new)
            if not is_new:
                grid.scroll_to(y=top, animate=False, immediate=True)

    def _draw_title(self, count: int) -> None:
        title = Text(f"{self.table.name}  ")
        title.append(f"by {self._order}", "not bold dim")
        if self.filter:
            title.append(f"  with {self.filter!r}: {count} of {len(self._all)}", "not bold yellow")
        if count > MOST_LINES:
            title.append(f"  the first {MOST_LINES} of {count:,}", "not bold dim")
        self.query_one(Static).update(title)

    def _draw_columns(self, grid: DataTable[Text]) -> None:
        for column, width in self._columns:
            style = "bold underline" if column.title == self._order else ""
            label = Text.assemble((column.title, style))
            grid.add_column(_in_column(label, column, width), width=width + GAP)


def _in_column(text: Text, column: TableColumn[Any], width: int) -> Text:
    """Return the text aligned in its column and cut to the width."""
    text.no_wrap = True
    text.truncate(width, overflow="ellipsis")
    if column.is_number:
        text.pad_left(max(width - text.cell_len, 0))
    return text


class Details(ModalScreen[None]):
    """A window with the fields of a line, or with the keys and their actions."""

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
        """Yield the text of the window."""
        width = max(len(name) for name, _ in self._details)
        text = Text(f"{self._title}\n\n", "bold")
        for name, value in self._details:
            text.append(f"{name:<{width}}  ", "not bold cyan")
            text.append(f"{value}\n", "not bold")
        text.append("\nesc closes", "not bold dim")
        with VerticalScroll():
            yield Static(text, markup=False)
