"""The live view: it draws each look of the poller, and handles keys and signals."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Footer, Input, Static

from proxyctl.cli.top.panel import Details, Panel
from proxyctl.cli.top.poll import Looked, Poller
from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.render.live import TABLES, LabelledText, header_lines, instance_line
from proxyctl.stats.live.view import Meter, View, notes_of
from proxyctl.text import printable

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_LATE_S = 2
"""The header mentions a look that is late by this much."""
_GAP = "  "
KEYS = (
    Binding("q,ctrl+q", "quit", "quit", key_display="q"),
    Binding("question_mark,h", "help", "keys", key_display="?"),
    Binding("0", "view('')", "all"),
    Binding("1", "view('servers')", "servers"),
    Binding("2", "view('digests')", "digests"),
    Binding("3", "view('rules')", "rules"),
    Binding("less_than_sign,comma", "order(-1)", "sort", key_display="<"),
    Binding("greater_than_sign,full_stop", "order(1)", "sort", key_display=">"),
    Binding("slash", "filter", "filter", key_display="/"),
    Binding("p,space", "pause", "pause", key_display="p"),
    Binding("escape", "unfilter", "show all lines again", key_display="esc", show=False),
    Binding("ctrl+z", "suspend_process", "suspend to the shell", key_display="^z", show=False),
    Binding("ctrl+c", "interrupt", "quit with 130", key_display="^c", show=False, priority=True),
)
_SORT = {"order(-1)": "sort one column further left", "order(1)": "sort one column further right"}
_TABLE_KEYS = [
    ("tab", "next table (each has its own order and filter)"),
    ("up down", "move within a table"),
    ("enter", "show a line in full"),
]


class TopApp(App[signal.Signals]):
    """The live view. `run` returns the signal that ended it, None for a key."""

    TITLE = "proxyctl top"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS]
    CSS = """
    #header { height: 3; }
    #tables { height: 1fr; }
    #servers { max-height: 35%; }
    #digests { height: 1fr; }
    #rules { max-height: 30%; }
    #tables.alone Panel { display: none; }
    #tables.alone Panel.chosen { display: block; height: 1fr; max-height: 100%; }
    #notes { height: auto; max-height: 4; color: ansi_yellow; }
    Footer, Footer * { background: ansi_default; }
    #filter { height: 1; display: none; background: ansi_default; }
    """

    def __init__(
        self,
        client: AdminClient,
        interval_s: float,
        hostgroup_names: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        # The terminal's own colours fit its background, light or dark.
        self.theme = "ansi-dark"
        self.failure: Exception | None = None
        self.view: View | None = None
        """The view on the screen."""
        self._interval_s = interval_s
        self._is_paused = False
        self._connection_error = ""
        self._filtered: Panel | None = None
        """The table whose filter the user is typing."""
        self._answered_at = time.monotonic()
        self._client = client
        self._meter = Meter(client.name, client.address, hostgroup_names)
        self._poller = Poller(client, interval_s, self.post_message)

    # The screen.

    def compose(self) -> ComposeResult:
        """Yield the header, the tables, the notes and the footer."""
        yield Static(id="header", markup=False)
        with Vertical(id="tables"):
            for table in TABLES:
                yield Panel(table)
        yield Static(id="notes", markup=False)
        yield Input(placeholder="only lines with ...", compact=True, id="filter")
        yield Footer(show_command_palette=False, compact=True)

    def on_load(self) -> None:
        """Handle signals, before Textual changes the terminal."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.exit, number)

    def on_mount(self) -> None:
        """Start the poller."""
        self.query_one("#digests-grid").focus()
        self._poller.start()
        self.set_interval(1, self._draw_header)

    def on_unmount(self) -> None:
        """Stop the poller."""
        self._poller.stop()

    def on_resize(self) -> None:
        """Fit the header to the new width."""
        self.call_after_refresh(self._draw_header)

    # Messages of the poller.

    def on_looked(self, message: Looked) -> None:
        """Show a look, or an error above the last look. An unexpected error ends the app."""
        self._answered_at = time.monotonic()
        match message.result:
            case InstanceError() as error:
                self._connection_error = error.message
                self._draw_header()
            case Exception() as error:
                self.failure = error
                self.exit()
            case look:
                self._connection_error = ""
                view = self._meter.advance(look, self._client.version_text)
                if not self._is_paused:
                    self.view = view
                    self._draw()

    def _handle_exception(self, error: Exception) -> None:
        """Keep an error of a handler for the caller: Textual would print all local variables."""
        self.failure = self.failure or error
        super()._handle_exception(error)
        self._exit_renderables.clear()

    # Drawing.

    def _draw(self) -> None:
        if self.view is not None and self.is_running:
            for panel in self._main_screen.query(Panel):
                panel.show(self.view)
        self._draw_header()

    def _draw_header(self) -> None:
        if not self.is_running:
            return  # at the end Textual removes the widgets before it delivers the last messages
        state, view = self._state(), self.view
        room = self.size.width - len(state) - len(_GAP)
        line = Text(instance_line(view) if view else "looking ...", "bold")
        line.truncate(room, pad=True)
        text = Text(no_wrap=True, overflow="ellipsis").append_text(line)
        text.append(_GAP).append(state, "red" if self._connection_error else "cyan")
        for parts in header_lines(view) if view else ():
            text.append("\n").append_text(_line(parts))
        self._main_screen.query_one("#header", Static).update(text)
        self._draw_notes()

    def _draw_notes(self) -> None:
        notes = (
            [f"{printable(self._connection_error)}; trying again"] if self._connection_error else []
        )
        if self.view is not None:
            notes += map(printable, notes_of(self.view))
        widget = self._main_screen.query_one("#notes", Static)
        widget.display = bool(notes)
        widget.update(Text("\n".join(notes)))

    def _state(self) -> str:
        silence = time.monotonic() - self._answered_at
        if self._is_paused:
            return "paused"
        if self._connection_error:
            return "no connection"
        if silence > self._interval_s + _LATE_S:
            return f"no answer for {silence:.0f} s"
        return f"every {self._interval_s:g} s"

    @property
    def _main_screen(self) -> Screen[object]:
        """The screen with the tables, also while a window covers it."""
        return self.screen_stack[0]

    # Keys.

    @property
    def _panel(self) -> Panel:
        """The table that the keys for order and filter act on."""
        panel = self.focused.parent if self.focused else None
        return panel if isinstance(panel, Panel) else self.query_one("#digests", Panel)

    def action_interrupt(self) -> None:
        """End as SIGINT does."""
        self.exit(signal.SIGINT)

    def action_help(self) -> None:
        """Show the keys."""
        keys = [
            (key.key_display or key.key, _SORT.get(key.action, key.description)) for key in KEYS
        ]
        self.push_screen(Details("keys", [*keys[:2], *_TABLE_KEYS, *keys[2:]]))

    def action_view(self, name: str) -> None:
        """Show one table, or all tables for ''."""
        self.query_one("#tables").set_class(bool(name), "alone")
        for panel in self.query(Panel):
            panel.set_class(panel.id == name, "chosen")
            if panel.id == name:
                panel.grid.focus()

    def action_order(self, step: int) -> None:
        """Sort by another column."""
        self._panel.move_order(step)

    def action_pause(self) -> None:
        """Pause the poller, or continue."""
        self._is_paused = not self._is_paused
        self._answered_at = time.monotonic()
        self._poller.pause(is_paused=self._is_paused)
        self._draw_header()

    # Filtering.

    def action_filter(self) -> None:
        """Show the field for the filter."""
        self._filtered = self._panel
        entry = self.query_one(Input)
        entry.value = self._filtered.filter
        entry.display = True
        entry.focus()

    def action_unfilter(self) -> None:
        """Show all lines again; while the filter field has the focus, only close the field."""
        if self.query_one(Input).has_focus:
            self.on_input_submitted()
        else:
            self._panel.show_only("")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while the user types."""
        if event.input.has_focus and self._filtered:
            self._filtered.show_only(event.value)

    def on_input_submitted(self) -> None:
        """Keep the filter, and close the field."""
        self.query_one(Input).display = False
        if self._filtered:
            self._filtered.grid.focus()


def _line(parts: list[LabelledText]) -> Text:
    texts = (Text.assemble((f"{label} ", "dim"), (text, "bold")) for label, text in parts)
    return Text(_GAP).join(texts)
