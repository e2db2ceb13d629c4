"""The view: draws what the poller sees, and takes keys and signals."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Input, Static

from proxyctl.cli.top.panel import FOOTER, KEYS, Details, Panel, help_lines
from proxyctl.cli.top.poll import Looked, Poller
from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.render.live import (
    SEPARATOR,
    TABLES,
    Part,
    fitting,
    instance_parts,
    load_parts,
    size_parts,
)
from proxyctl.stats.live.view import Meter, View, notes_of
from proxyctl.text import printable

_INTERVALS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_LATE_S = 2
"""A look that is so much late is worth a word."""


class TopApp(App[signal.Signals]):
    """The live view. Returns the signal that ended it, None for a key."""

    TITLE = "proxyctl top"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [binding for binding, _ in KEYS]
    CSS = """
    #header { height: 3; }
    #tables { height: 1fr; }
    #servers { max-height: 35%; }
    #digests { height: 1fr; }
    #rules { max-height: 30%; }
    #tables.alone Panel { display: none; }
    #tables.alone Panel.chosen { display: block; height: 1fr; max-height: 100%; }
    #notes { height: auto; max-height: 4; color: ansi_yellow; }
    #footer { height: 1; text-style: dim; }
    #filter { height: 1; display: none; background: ansi_default; }
    """

    def __init__(
        self,
        client: AdminClient,
        interval_s: float,
        hostgroup_names: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        # The terminal's own colours: it knows whether it is light or dark.
        self.theme = "ansi-dark"
        self.failure: Exception | None = None
        self.view: View | None = None
        """What is on the screen."""
        self._interval_s = interval_s
        self._is_paused = False
        self._lost = ""
        self._filtered = "digests"
        self._heard_at = time.monotonic()
        self._meter = Meter(client.name, client.address, hostgroup_names)
        self._poller = Poller(client, interval_s, self.post_message)

    # What is on the screen.

    def compose(self) -> ComposeResult:
        """Make the header, the tables, and what stands below."""
        yield Static(id="header", markup=False)
        with Vertical(id="tables"):
            for table in TABLES:
                yield Panel(table)
        yield Static(id="notes", markup=False)
        yield Static(FOOTER, id="footer", markup=False)
        yield Input(placeholder="only lines with ...", compact=True, id="filter")

    def on_load(self) -> None:
        """Take signals, before the terminal is another one."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.exit, number)

    def on_mount(self) -> None:
        """Begin to look."""
        self.query_one("#digests-grid").focus()
        self._poller.start()
        self.set_interval(1, self._draw_header)

    def on_unmount(self) -> None:
        """Look no more."""
        self._poller.stop()

    def on_resize(self) -> None:
        """Fit the header to the new width."""
        self.call_after_refresh(self._draw_header)

    # What the poller tells.

    def on_looked(self, message: Looked) -> None:
        """Show a look, or say why there was none: what was seen before stays. A bug ends it."""
        self._heard_at = time.monotonic()
        match message.found:
            case InstanceError() as error:
                self._lost = error.message
                self._draw_header()
            case Exception() as error:
                self.failure = error
                self.exit()
            case look:
                self._lost = ""
                view = self._meter.advance(look, message.version)
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
            for panel in self._below.query(Panel):
                panel.show(self.view)
        self._draw_header()

    def _draw_header(self) -> None:
        if not self.is_running:
            return  # at the end the widgets go before the last messages
        width = self.size.width
        state = self._state()
        room = width - len(state) - len(SEPARATOR)
        view = self.view
        text = Text(no_wrap=True)
        first = fitting(instance_parts(view), room) if view else [("", "looking ...")]
        line = _line(first, "bold")
        line.truncate(room, pad=True)
        text.append_text(line).append(SEPARATOR).append(state, "red" if self._lost else "cyan")
        for parts in (load_parts(view), size_parts(view)) if view else ():
            text.append("\n").append_text(_line(fitting(parts, width), "bold"))
        self._below.query_one("#header", Static).update(text)
        self._draw_notes()

    def _draw_notes(self) -> None:
        notes = [f"{printable(self._lost)}; trying again"] if self._lost else []
        if self.view is not None:
            notes += map(printable, notes_of(self.view))
        shown = self._below.query_one("#notes", Static)
        shown.display = bool(notes)
        shown.update(Text("\n".join(notes)))

    def _state(self) -> str:
        silence = time.monotonic() - self._heard_at
        if self._is_paused:
            return "paused"
        if self._lost:
            return "no connection"
        if silence > self._interval_s + _LATE_S:
            return f"no answer for {silence:.0f} s"
        return f"every {self._interval_s:g} s"

    @property
    def _below(self) -> Screen[object]:
        """The view itself, also while help or a line in full lies over it."""
        return self.screen_stack[0]

    # Keys.

    @property
    def _panel(self) -> Panel:
        """The table that orders and filters are for."""
        focused = self.focused
        for panel in self.query(Panel):
            if focused is not None and panel in focused.ancestors:
                return panel
        return self.query_one("#digests", Panel)

    def action_interrupt(self) -> None:
        """End as if the terminal had sent the signal."""
        self.exit(signal.SIGINT)

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(Details("keys", help_lines()))

    def action_view(self, name: str) -> None:
        """Show one table, or with '' all."""
        self.query_one("#tables").set_class(bool(name), "alone")
        for panel in self.query(Panel):
            panel.set_class(panel.id == name, "chosen")
            if panel.id == name:
                panel.grid.focus()

    def action_order(self, step: int) -> None:
        """Sort by another column."""
        self._panel.move_order(step)

    def action_reverse(self) -> None:
        """Turn the order around."""
        self._panel.reverse_order()

    def action_pause(self) -> None:
        """Stop to look, or go on."""
        self._is_paused = not self._is_paused
        self._heard_at = time.monotonic()
        self._set_pace()

    def action_interval(self, step: int) -> None:
        """Look more often or less."""
        if step > 0:
            longer = [one for one in _INTERVALS if one > self._interval_s]
            self._interval_s = min(longer, default=self._interval_s)
        else:
            shorter = [one for one in _INTERVALS if one < self._interval_s]
            self._interval_s = max(shorter, default=self._interval_s)
        self._set_pace()

    def _set_pace(self) -> None:
        self._poller.set_pace(self._interval_s, is_paused=self._is_paused)
        self._draw_header()

    # Filtering.

    def action_filter(self) -> None:
        """Ask for a text."""
        panel = self._panel
        self._filtered = panel.table.name
        entry = self.query_one(Input)
        entry.value = panel.arrangement.filter
        self._show_entry(is_shown=True)
        entry.focus()

    def action_unfilter(self) -> None:
        """Show all lines again; the filter that is being typed goes as well."""
        entry = self.query_one(Input)
        if entry.has_focus:
            self._end_entry()
            return
        self._set_filter(self._panel, "")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while it is typed."""
        if event.input.has_focus:
            self._set_filter(self._filtered_panel, event.value)

    def on_input_submitted(self) -> None:
        """Keep the filter."""
        self._end_entry()

    @property
    def _filtered_panel(self) -> Panel:
        """The table that a filter is typed for."""
        return self.query_one(f"#{self._filtered}", Panel)

    def _set_filter(self, panel: Panel, text: str) -> None:
        if text != panel.arrangement.filter:
            panel.put_in_order(replace(panel.arrangement, filter=text))

    def _end_entry(self) -> None:
        self._show_entry(is_shown=False)
        self._filtered_panel.grid.focus()

    def _show_entry(self, *, is_shown: bool) -> None:
        self.query_one(Input).display = is_shown
        self.query_one("#footer").display = not is_shown

    # Lines in full.

    def on_panel_chosen(self, message: Panel.Chosen) -> None:
        """Show all of a line."""
        self.push_screen(Details(message.title, message.details))


def _line(parts: list[Part], look: str) -> Text:
    line = Text()
    for number, (label, text) in enumerate(parts):
        line.append(SEPARATOR if number else "")
        line.append(f"{label} " if label else "", "dim").append(text, look)
    return line
