"""The values that a column and a row may hold, as strict and closed pydantic types.

Each row type is a TypedDict made from the catalogue, not a class per table. Building one costs
time, so only the tables that a file uses get one. Validation returns values as ProxySQL holds them:
references and names of hostgroups resolved, flags as 0 and 1, JSON as text. The context of a
validation is the run over the files and the path of the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, NoReturn, NotRequired, Required, cast

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationInfo, WithJsonSchema
from typing_extensions import TypedDict

from proxyctl.catalog import MAX_INT, Column, ColumnKind, Layout
from proxyctl.catalog.model import SECOND_PASSWORD
from proxyctl.config.env_references import is_reference
from proxyctl.config.mistakes import ValueProblem
from proxyctl.proxysql.cells import MAX_LATENCY_MS
from proxyctl.rows.sql import NUL

_SIGNED = frozenset({"rule_id", "flagIN"})
"""Numbers that ProxySQL keeps and uses below 0, where no check forbids it."""

_LARGEST = {"max_latency_ms": MAX_LATENCY_MS, "port": 65535}
"""Numbers that ProxySQL holds in fewer bits than its table: it changes a larger number."""

STRICT = ConfigDict(strict=True, extra="forbid")


class EnvReference(TypedDict):
    """Text from an environment variable."""

    __pydantic_config__ = STRICT  # type: ignore[misc]
    env: Annotated[str, Field(min_length=1)]


class FileReference(TypedDict):
    """Text from a file, without its last line break."""

    __pydantic_config__ = STRICT  # type: ignore[misc]
    file: Annotated[str, Field(min_length=1)]


class HexReference(TypedDict):
    """Bytes as hexadecimal digits."""

    __pydantic_config__ = STRICT  # type: ignore[misc]
    hex: str


class CommandReference(TypedDict):
    """A secret that a program prints, without its last line break."""

    __pydantic_config__ = STRICT  # type: ignore[misc]
    command: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]


Reference = str | EnvReference | FileReference | HexReference
"""Text, or a reference that is resolved later."""

SecretReference = Reference | CommandReference
"""A secret, or a reference that is resolved later."""


def _text(value: Any, info: ValidationInfo, *, is_secret: bool = False) -> str:  # noqa: ANN401
    text: str = value
    if isinstance(value, dict):
        context, path = cast(Any, info.context)
        text = context.text(value, path, is_secret=is_secret)
    return _without_nul(text)


def _secret(value: Any, info: ValidationInfo) -> str:  # noqa: ANN401 - text or a reference
    return _text(value, info, is_secret=True)


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueProblem(NUL)
    return text


def hostgroup_number(name: str, info: ValidationInfo) -> int:
    """Return the number of the hostgroup with this name. Raises: ValueProblem."""
    context, _ = cast(Any, info.context)
    number: int = context.hostgroup(name)
    return number


Name = Annotated[str, Field(min_length=1)]
TextValue = Annotated[Reference, AfterValidator(_text)]
SecretText = Annotated[SecretReference, AfterValidator(_secret)]
HostgroupName = Annotated[Name, AfterValidator(hostgroup_number)]


def _json(value: Any) -> str:  # noqa: ANN401 - anything that JSON has
    if not isinstance(value, str):
        if is_reference(value):
            raise ValueProblem("JSON is UTF-8 text here, not a reference", "write the JSON itself")
        # A refused value inside has no JSON, and its mistake is noted already.
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
    try:
        json_value(value or "{}")
    except ValueError as error:
        raise ValueProblem(f"not JSON that ProxySQL can LOAD: {error}") from None
    return _without_nul(value)


def _json_with_password(value: Any, info: ValidationInfo) -> str:  # noqa: ANN401 - any JSON
    """Return JSON as text; a reference to a second password gives the digits of its bytes."""
    second = value.get(SECOND_PASSWORD) if isinstance(value, dict) else None
    if is_reference(second):
        content = _secret(second, info).encode("utf-8", "surrogateescape")
        value = {**value, SECOND_PASSWORD: content.hex().upper()}
    return _json(value)


def json_value(text: str, members: Callable[[list[tuple[str, Any]]], Any] = dict) -> object:
    """Return the value of a JSON text; `members` makes an object from names and values.

    Some texts that Python reads end ProxySQL at the LOAD, because its own reader does not take
    their numbers or characters. Source: ProxySQL 2.7.1, run. Raises: ValueError that says why.
    """
    try:
        value: object = json.loads(
            text, object_pairs_hook=members, parse_constant=_no_number, parse_float=_finite
        )
        if "\\u" in text or not text.isascii():
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos + 1}") from None
    except UnicodeEncodeError:
        raise ValueError("text that is not UTF-8, or half a surrogate pair") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("the number is too large")
    return number


def limits(column: Column) -> tuple[int, int]:
    """Return the smallest and the largest integer that the column may hold.

    Few columns without a check have a use for a negative number: most read it back as NULL.
    """
    if column.choices is not None:
        numbers = [choice for choice in column.choices if isinstance(choice, int)]
        return min(numbers), max(numbers)
    low, high = column.bounds
    if not column.is_listed:
        return -(2**63), 2**63 - 1
    if low is None:
        low = -MAX_INT if column.name in _SIGNED else 0
    return low, _LARGEST.get(column.name, MAX_INT) if high is None else high


def expected(column: Column) -> str:
    """Return the values that the column takes, in words: `an integer from 0 to 65535`."""
    low, high = limits(column) if column.is_numeric else (0, 0)
    match column.kind:
        case ColumnKind.BOOL:
            words = "true or false"
        case ColumnKind.INT:
            words = f"an integer from {low} to {high}" if low > -MAX_INT else "a 32-bit integer"
            if column.hostgroup:
                words += " or a name from `hostgroups`"
        case ColumnKind.JSON:
            names = ", ".join(key.name for key in column.json_keys)
            words = f"a mapping of {names}" if names else "JSON: a mapping, a list or text"
        case ColumnKind.TEXT:
            words = "one of " + ", ".join(map(str, column.choices)) if column.choices else "text"
    return words if column.notnull else f"{words}, or null"


def field_type(column: Column) -> Any:  # noqa: ANN401 - a type form
    """Return the annotation of the column's field."""
    kind: Any
    match column.kind:
        case ColumnKind.BOOL:
            kind = Annotated[bool | Annotated[int, Field(ge=0, le=1)], AfterValidator(_flag)]
        case ColumnKind.INT:
            low, high = limits(column)
            kind = Annotated[int, Field(ge=low, le=high)]
            if column.hostgroup:
                kind = kind | HostgroupName
        case ColumnKind.JSON:
            as_text = AfterValidator(_json_with_password if column.holds_password else _json)
            kind = Annotated[str | dict[str, Any] | list[Any], as_text]
        case ColumnKind.TEXT if column.choices:
            kind = _choice(column.choices)
        case ColumnKind.TEXT:
            kind = SecretText if column.secret else TextValue
    if not column.notnull:
        kind = kind | None
    return kind


def _flag(value: int) -> int:
    return int(value)


def _choice(choices: tuple[int | str, ...]) -> Any:  # noqa: ANN401 - a type form
    """Return the type of a text with fixed values: like ProxySQL, it ignores letter case."""
    spelled = {str(choice).upper(): str(choice) for choice in choices}

    def check(text: str) -> str:
        if text.upper() not in spelled:
            raise ValueError("none of the allowed values")
        return spelled[text.upper()]

    words = list(spelled.values())
    schema = {"type": "string", "enum": [*words, *(word.lower() for word in words)]}
    return Annotated[str, AfterValidator(check), WithJsonSchema(schema)]


def row_type(
    name: str,
    columns: Iterable[Column],
    *,
    required: Callable[[Column], bool] = lambda column: column.is_required,
    extra: Mapping[str, Any] | None = None,
) -> Any:  # noqa: ANN401 - a type
    """Return the TypedDict of a row with these columns and the extra fields."""
    fields: dict[str, Any] = dict(extra or {})
    for column in columns:
        qualifier = Required if required(column) else NotRequired
        fields[column.name] = qualifier[field_type(column)]
    # Called through Any: type checkers only know TypedDicts of the source text.
    row = cast(Any, TypedDict)(name, fields, total=False)
    row.__pydantic_config__ = STRICT
    return row


def list_of(kind: Any) -> Any:  # noqa: ANN401 - a type form
    """Return `list[kind]` for a type made at run time, which type checkers cannot follow."""
    return cast(Any, list)[kind]


@lru_cache(maxsize=256)
def rows_type(layout: Layout) -> Any:  # noqa: ANN401 - a type form
    """Return the type of a list of rows of a table."""
    return list_of(row_type(layout.name, layout.columns))


@lru_cache(maxsize=256)
def rows_adapter(layout: Layout) -> TypeAdapter[Any]:
    """Return the validator of a list of rows of a table."""
    return TypeAdapter(rows_type(layout))
