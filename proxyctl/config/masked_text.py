"""The text of a YAML file as it may be shown: what stands under a key for secrets is masked.

The lines stay where they are, since people look for the line that a mistake names.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import NamedTuple, cast

import yaml
from yaml import events
from yaml._yaml import CParser

from proxyctl.catalog.secret_names import SECRET_NAME, names_a_secret
from proxyctl.catalog.variables import is_secret_variable
from proxyctl.config.yaml_reader import Mark
from proxyctl.state.sql import MASK

_JSON_KEY = re.compile(r'"([^"]*)"\s*:')
"""One in a text of JSON, such as the attributes of a user."""

_LINE = re.compile(rf"(?P<key>(?:{SECRET_NAME.pattern})[^:]*:)(?P<value>.*)", re.IGNORECASE)
_NAMES = frozenset(("env", "file"))
"""References whose argument is a name, not the secret."""


class _Span(NamedTuple):
    """From where to where a value goes. Units: both count from 0; the end is behind it."""

    line: int
    column: int
    end_line: int
    end_column: int


def masked_text(text: str) -> str:
    """Return the text without its secrets, with as many lines.

    What follows a mistake in its syntax cannot be told apart: there a line is cut behind the key,
    as it is in comments, and in texts over several lines, which may lack a quote.
    """
    lines = text.split("\n")
    spans: list[_Span] = []
    unread = len(lines)
    inside: set[int] = set()
    try:
        for span, is_secret in _scalars(text):
            if is_secret:
                spans.append(span)
            else:
                inside.update(range(span.line + 1, span.end_line + 1))
    except yaml.MarkedYAMLError as error:
        marks = [mark.line for mark in (error.context_mark, error.problem_mark) if mark]
        unread = min(marks, default=0)
    except (yaml.reader.ReaderError, UnicodeEncodeError):
        unread = 0
    _cut(lines, inside | set(range(unread, len(lines))))
    for span in reversed(spans):
        if span.line < unread:
            _mask(lines, span)
    return "\n".join(lines)


def _scalars(text: str) -> Iterator[tuple[_Span, bool]]:
    """Yield where each scalar stands, and whether it is a secret.

    Raises: what libyaml raises; what came before was yielded.
    """
    parser = CParser(text)
    open_nodes: list[_Node] = []
    while not isinstance(event := parser.get_event(), events.StreamEndEvent):
        if isinstance(event, events.CollectionEndEvent):
            open_nodes.pop()
            continue
        if not isinstance(event, events.NodeEvent):
            continue
        parent = open_nodes[-1] if open_nodes else _Node()
        value = getattr(event, "value", None)
        is_secret = parent.takes(value) or _holds_secret(value or "")
        if isinstance(event, events.CollectionStartEvent):
            is_mapping = isinstance(event, events.MappingStartEvent)
            open_nodes.append(_Node(is_mapping=is_mapping, is_secret=is_secret))
        else:
            begin, end = cast(Mark, event.start_mark), cast(Mark, event.end_mark)
            yield _Span(begin.line, begin.column, end.line, end.column), is_secret


def _holds_secret(text: str) -> bool:
    """Return whether a text of JSON has a key for secrets; one with an escape may be any."""
    return any(names_a_secret(key) or "\\u00" in key for key in _JSON_KEY.findall(text))


class _Node:
    """A list or mapping whose end has not come yet."""

    def __init__(self, *, is_mapping: bool = False, is_secret: bool = False) -> None:
        self._is_mapping = is_mapping
        self._is_secret = is_secret
        self._key: str | None = None

    def takes(self, text: str | None) -> bool:
        """Take what comes next in it, and return whether that is a secret."""
        if not self._is_mapping:
            return self._is_secret
        if self._key is None:
            self._key = text or ""
            return False
        key, self._key = self._key, None
        if self._is_secret:
            return key not in _NAMES
        return is_secret_variable(key)


def _mask(lines: list[str], span: _Span) -> None:
    """Put the mask in the place of a value. Changes: lines."""
    if span == (span.line, span.column, span.line, span.column):
        return  # nothing stands there
    rest = lines[span.end_line][span.end_column :] if span.end_line < len(lines) else ""
    begin = lines[span.line][: span.column]
    for line in range(span.line + 1, min(span.end_line + 1, len(lines))):
        lines[line] = ""
    if span.end_line == span.line:
        lines[span.line] = begin + MASK + rest
        return
    lines[span.line] = begin + MASK
    if span.end_line < len(lines):
        lines[span.end_line] = rest


def _cut(lines: list[str], unclear: Container[int]) -> None:
    """Cut lines behind a key for secrets: comments, and the `unclear` ones. Changes: lines."""
    deeper: int | None = None
    for number, line in enumerate(lines):
        is_comment = line.lstrip().startswith("#")
        if number not in unclear and not is_comment:
            continue
        indent = len(line) - len(line.lstrip())
        if deeper is not None and line.strip() and indent > deeper:
            lines[number] = line[:indent] + MASK  # the value goes on
            continue
        found = _LINE.search(line)
        deeper = indent if found and not is_comment else None
        if found and found["value"].strip():
            lines[number] = f"{line[: found.start('value')]} {MASK}"
