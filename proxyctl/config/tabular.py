r"""Tables that stand in a CSV or JSONL file beside the YAML: `{csv: FILE}` and `{jsonl: FILE}`.

CSV is read by column: a column of 200,000 fields holds few different values, and each is checked
once. Empty is absent, `\N` is NULL.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

from proxyctl.catalog import Column, Kind, Layout
from proxyctl.config.context import Context
from proxyctl.config.files import UnreadableError, read_text
from proxyctl.config.mistakes import described, shown
from proxyctl.config.row_models import expected, values_adapter
from proxyctl.config.row_sources import FileRows
from proxyctl.config.rows import Batch, default_row, json_problem
from proxyctl.config.sections import other_versions
from proxyctl.config.yaml import UNUSABLE, Unusable
from proxyctl.state.row import KEEP, Where
from proxyctl.state.sql import NUL

MAX_TABLE = 512 * 1024 * 1024
"""Largest CSV or JSONL file. Units: bytes."""

NULL = r"\N"

_ABSENT = object()

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})\Z")
_FLAGS = {"0": 0, "1": 1, "false": 0, "true": 1}


class CsvTable:
    """One CSV file, and the rows it stands for."""

    def __init__(self, path: str, layout: Layout, context: Context) -> None:
        self._path = path
        self._layout = layout
        self._context = context
        self._unknown = other_versions(layout.table, context.version)
        self._lines: Sequence[int] = ()

    def read(self) -> Batch | None:
        """Return the rows; None after a mistake that spoils all of them.

        Raises: UnreadableError.
        """
        text = read_text(self._path, limit=MAX_TABLE, fence=self._context.fence)
        if "\0" in text:
            before = text[: text.index("\0")]
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            raise UnreadableError(NUL, line=line, column=column)
        records = self._records(text)
        del text
        if records is None:
            return None
        if not records or not any(records[0]):
            self._add(1, "", "no header: the first line names the columns")
            return None
        header = records.pop(0)
        if not self._header_fits(header):
            return None
        records = self._even_records(records, len(header))
        return self._batch(header, list(zip(*records, strict=True)) if records else [])

    def _add(self, line: int, label: str, message: str, hint: str | None = None) -> None:
        self._context.mistakes.add(Where(self._path, line, 1), label, message, hint)

    def _records(self, text: str) -> list[list[str]] | None:
        """Return the fields of every line, and note which line of the file each record is on."""
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        try:
            records = list(reader)
        except csv.Error as error:
            self._add(reader.line_num, "", f"not CSV: {error}")
            return None
        if reader.line_num == len(records):
            self._lines = range(2, len(records) + 1)
        else:
            # Some field holds a line break: count again, this time line by line.
            reader = csv.reader(io.StringIO(text, newline=""), strict=True)
            begins, end = [], 0
            for _ in reader:
                begins.append(end + 1)
                end = reader.line_num
            self._lines = begins[1:]
        return records

    def _header_fits(self, header: list[str]) -> bool:
        known = self._layout.index
        count = len(self._context.mistakes)
        if len(header) == 1 and re.search(r"[;\t]", header[0]):
            self._add(
                1, "", f"one column only: {shown(header[0])}", "put commas between the fields"
            )
            return False
        for position, name in enumerate(header):
            if name not in known:
                message = self._unknown(name) or f"no such column: {shown(name)}"
                hint = self._context.mistakes.did_you_mean(name, known)
                self._add(1, "", message, hint)
            elif name in header[:position]:
                self._add(1, name, "the column stands twice in the header")
        for column in self._layout.columns:
            if column.is_required and column.name not in header:
                self._add(1, column.name, f"the header lacks the column {column.name}")
        return len(self._context.mistakes) == count

    def _even_records(self, records: list[list[str]], width: int) -> list[list[str]]:
        """Return the records that have one field a column; blank lines are no records."""
        if set(map(len, records)) <= {width}:
            return records
        lines: list[int] = []
        even: list[list[str]] = []
        for line, record in zip(self._lines, records, strict=True):
            if len(record) == width:
                lines.append(line)
                even.append(record)
            elif record:
                self._add(line, "", f"{len(record)} fields, but the header has {width}")
        self._lines = lines
        return even

    def _batch(self, header: list[str], fields: list[tuple[str, ...]]) -> Batch:
        source = FileRows(self._path, self._lines)
        if not fields:
            return Batch([], source, (), {})
        given = dict(zip(header, fields, strict=True))
        used: dict[str, Where] = {}
        values: list[Iterable[Any]] = []
        is_spoilt = False
        for column, default in zip(self._layout.columns, default_row(self._layout), strict=True):
            texts = given.get(column.name)
            if texts is None:
                values.append(repeat(default, len(fields[0])))
                continue
            distinct = set(texts)
            if distinct != {""}:
                used[column.name] = Where(self._path, 1, 1)
            converted = self._converted(column, distinct, default)
            if any(map(_is_unusable, converted.values())):
                is_spoilt = True
                self._report(column, texts, converted)
            values.append(map(converted.__getitem__, texts) if converted else texts)
        rows = list(zip(*values, strict=True))
        positions: Sequence[int] = range(len(rows))
        rest = None
        if is_spoilt:
            spoilt = [n for n, row in enumerate(rows) if any(map(_is_unusable, row))]
            others = [tuple(KEEP if _is_unusable(c) else c for c in rows[n]) for n in spoilt]
            rest = Batch(others, source, spoilt, {})
            positions = sorted(set(positions).difference(spoilt))
            rows = [rows[n] for n in positions]
        return Batch(rows, source, positions, used, rest)

    def _converted(self, column: Column, distinct: set[str], default: object) -> dict[str, Any]:
        """Return the value of every text; UNUSABLE for wrong ones. Empty: texts are the values."""
        if column.kind is Kind.TEXT and not column.choices and distinct.isdisjoint(("", NULL)):
            return {}
        texts = sorted(distinct)
        parsed = [self._parsed(column, text) for text in texts]
        wrong = _wrong(column, parsed)
        return {
            text: UNUSABLE if position in wrong else self._final(column, value, default)
            for position, (text, value) in enumerate(zip(texts, parsed, strict=True))
        }

    def _parsed(self, column: Column, text: str) -> object:
        """Return a field as YAML would have had it."""
        if text == "":
            return UNUSABLE if column.is_required else _ABSENT
        if text == NULL:
            return None
        if column.kind is Kind.BOOL:
            return _FLAGS.get(text, text)
        if column.kind is Kind.INT and _INTEGER.match(text):
            return int(text)
        if column.kind is Kind.INT and column.hostgroup:
            return self._context.hostgroups.get(text, UNUSABLE)
        return text

    def _final(self, column: Column, value: object, default: object) -> object:
        if value is _ABSENT:
            return default
        if column.kind is Kind.TEXT and column.choices and isinstance(value, str):
            spelled = {str(choice).upper(): choice for choice in column.choices}
            return spelled[value.upper()]
        if column.kind is Kind.JSON and isinstance(value, str) and json_problem(value):
            return UNUSABLE
        return value

    def _report(self, column: Column, texts: Iterable[str], values: dict[str, Any]) -> None:
        """Note a mistake for every line with a wrong value."""
        for line, text in zip(self._lines, texts, strict=True):
            if not _is_unusable(values[text]):
                continue
            if text == "":
                self._add(line, column.name, f"empty; it takes {expected(column)}")
            elif column.kind is Kind.JSON and text != NULL:
                self._add(line, column.name, json_problem(text) or "not JSON")
            elif column.hostgroup and text != NULL and not _INTEGER.match(text):
                where = Where(self._path, line, 1)
                self._context.add_unknown_hostgroup(text, where, column.name)
            else:
                value = None if text == NULL else text
                got = described(value, is_secret=column.secret)
                self._add(line, column.name, f"expected {expected(column)}, got {got}")


def _is_unusable(value: object) -> bool:
    return isinstance(value, Unusable)


def _wrong(column: Column, values: list[object]) -> set[int]:
    """Return the positions of values that the column's model refuses."""
    from pydantic import ValidationError

    wrong = {position for position, value in enumerate(values) if _is_unusable(value)}
    kept = [n for n, value in enumerate(values) if n not in wrong and value is not _ABSENT]
    try:
        values_adapter(column).validate_python([values[n] for n in kept])
    except ValidationError as error:
        found = (one["loc"][0] for one in error.errors(include_url=False, include_input=False))
        wrong |= {kept[n] for n in found if isinstance(n, int)}
    return wrong


def read_jsonl(path: str, context: Context) -> tuple[list[dict[str, Any]], FileRows]:
    """Return the objects of a JSONL file, one a line, and where each stands.

    Raises: UnreadableError. Changes: context.mistakes.
    """
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    text = read_text(path, limit=MAX_TABLE, fence=context.fence)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = Where(path, number, 1)
        try:
            row = json.loads(line, object_pairs_hook=_object, parse_constant=_no_constant)
            if "\\u" in line:
                _check_pairs(row)
        except json.JSONDecodeError as error:
            place = Where(path, number, error.pos + 1)
            context.mistakes.add(place, "", f"not JSON: {error.msg}")
            continue
        except _NotJsonError as error:
            context.mistakes.add(where, "", f"not JSON: {error}", error.hint)
            continue
        except RecursionError:
            context.mistakes.add(where, "", "not JSON: nested too deep")
            continue
        except ValueError:
            # Python's own limit; it is said in terms of Python.
            context.mistakes.add(where, "", "not JSON: a number with too many digits")
            continue
        if not isinstance(row, dict):
            context.mistakes.add(where, "", f"expected an object, got {described(row)}")
            continue
        rows.append(row)
        lines.append(number)
    return rows, FileRows(path, lines)


class _NotJsonError(ValueError):
    """What Python's reader takes for JSON, and we do not."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _NotJsonError(f"the key {shown(twice)} stands twice")
    return result


def _no_constant(name: str) -> None:
    raise _NotJsonError(f"{name} is no JSON number")


def _check_pairs(row: object) -> None:
    r"""Refuse `"\ud800"`: with us such characters stand for bytes that are not UTF-8.

    Raises: _NotJsonError.
    """
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        message = "half a surrogate pair is no character"
        raise _NotJsonError(message, 'write bytes as {"hex": "c3a9"}') from None
