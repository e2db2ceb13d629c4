"""What a column takes, and the models of table rows: made from the catalogue, no class a table.

A row is a strict TypedDict: unknown keys and coerced types are mistakes. Models are built for the
tables that a file uses, since building costs time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, NotRequired, Required, cast

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, WithJsonSchema
from typing_extensions import TypedDict

from proxyctl.catalog import MAX_INT, Column, Kind, Layout
from proxyctl.catalog.releases import OLDEST

_SIGNED = frozenset({"rule_id", "flagIN"})
"""Numbers that ProxySQL keeps below 0, and works with, where no check forbids it."""

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


Text = str | EnvReference | FileReference | HexReference
"""Text, as such or by reference."""


def limits(column: Column) -> tuple[int, int]:
    """Return the smallest and the largest integer that the column may hold.

    Hardly a column without a check of its own has a use for a negative number: most read back as
    NULL.
    """
    if column.choices is not None:
        numbers = [choice for choice in column.choices if isinstance(choice, int)]
        return min(numbers), max(numbers)
    low, high = column.bounds
    if not column.is_listed:
        return -(2**63), 2**63 - 1
    if low is None:
        low = -MAX_INT if column.name in _SIGNED else 0
    return low, (MAX_INT if high is None else high)


def expected(column: Column) -> str:
    """Return what the column takes, in words: `an integer from 0 to 65535`."""
    low, high = limits(column) if column.is_numeric else (0, 0)
    match column.kind:
        case Kind.BOOL:
            words = "true or false"
        case Kind.INT:
            words = f"an integer from {low} to {high}" if low > -MAX_INT else "a 32-bit integer"
            if column.hostgroup:
                words += " or a name from `hostgroups`"
        case Kind.JSON:
            names = ", ".join(key.name for key in column.json_keys)
            words = f"a mapping of {names}" if names else "JSON: a mapping, a list or text"
        case Kind.TEXT:
            words = "one of " + ", ".join(map(str, column.choices)) if column.choices else "text"
    return words if column.notnull else f"{words}, or null"


def field_type(column: Column) -> Any:  # noqa: ANN401 - a type form
    """Return the annotation of the column's field."""
    kind: Any
    match column.kind:
        case Kind.BOOL:
            kind = bool | Annotated[int, Field(ge=0, le=1)]
        case Kind.INT:
            low, high = limits(column)
            kind = Annotated[int, Field(ge=low, le=high)]
            if column.hostgroup:
                kind = kind | Annotated[str, Field(min_length=1)]
        case Kind.JSON:
            kind = str | dict[str, Any] | list[Any]
        case Kind.TEXT:
            kind = _choice(column.choices) if column.choices else Text
    if not column.notnull:
        kind = kind | None
    return Annotated[kind, Field(description=_description(column))]


def _choice(choices: tuple[int | str, ...]) -> Any:  # noqa: ANN401 - a type form
    """Return the type of a text with fixed values, in any case, as ProxySQL compares them."""
    spelled = {str(choice).upper(): str(choice) for choice in choices}

    def check(text: str) -> str:
        if text.upper() not in spelled:
            raise ValueError("none of the allowed values")
        return text

    words = list(spelled.values())
    schema = {"type": "string", "enum": [*words, *(word.lower() for word in words)]}
    return Annotated[str, AfterValidator(check), WithJsonSchema(schema)]


def _description(column: Column) -> str:
    parts = [column.sql_type.lower()]
    if column.default is not None:
        parts.append(f"default {column.default!r}")
    elif not column.notnull:
        parts.append("default NULL")
    if column.check and column.kind is Kind.INT:
        parts.append(column.check)
    if column.since != str(OLDEST):
        parts.append(f"since ProxySQL {column.since}")
    return "; ".join(parts)


def row_type(
    name: str,
    columns: Iterable[Column],
    *,
    required: Callable[[Column], bool] = lambda column: column.is_required,
    more: Mapping[str, Any] | None = None,
) -> Any:  # noqa: ANN401 - a type
    """Return the TypedDict of a row with these columns, and of the fields in `more`."""
    fields: dict[str, Any] = dict(more or {})
    for column in columns:
        qualifier = Required if required(column) else NotRequired
        fields[column.name] = qualifier[field_type(column)]
    # Called through Any: type checkers only know TypedDicts that stand in the source.
    made = cast(Any, TypedDict)(name, fields, total=False)
    made.__pydantic_config__ = STRICT
    return made


def list_of(kind: Any) -> Any:  # noqa: ANN401 - a type form
    """Return `list[kind]` for a type made at run time, which type checkers cannot follow."""
    return cast(Any, list)[kind]


@lru_cache(maxsize=256)
def rows_type(layout: Layout) -> Any:  # noqa: ANN401 - a type form
    """Return the type of a list of rows of a table."""
    return list_of(row_type(layout.name, layout.columns))


@lru_cache(maxsize=256)
def rows_adapter(layout: Layout) -> TypeAdapter[Any]:
    """Return what validates a list of rows of a table."""
    return TypeAdapter(rows_type(layout))
