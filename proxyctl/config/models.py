"""What a column, a row and a section may hold, as strict and closed pydantic models.

Rows are TypedDicts made from the catalogue, no class a table, for the tables that a file uses:
building costs time. Sections that are more than a table are written by hand; what only several of
their values together can tell is checked where the section is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, NotRequired, Required, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    WithJsonSchema,
)
from typing_extensions import TypedDict, is_typeddict

from proxyctl.catalog import MAX_INT, TABLES, Column, Kind, Layout
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


# Sections ---------------------------------------------------------------------------------------


def shape(value: object) -> str:
    """Return what a value looks like in YAML; unions are told apart by it."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case str():
            return "text"
        case dict():
            return "mapping"
        case list():
            return "list"
        case _:
            return "other"


Name = Annotated[str, Field(min_length=1)]
Number = Annotated[int, Field(ge=0, le=MAX_INT)]
Port = Annotated[int, Field(ge=1, le=65535)]

Hostgroup = Annotated[
    Annotated[Number, Tag("integer")] | Annotated[Name, Tag("text")], Discriminator(shape)
]
"""A hostgroup: its number, or a name from `hostgroups`."""

Names = Annotated[
    Annotated[Name, Tag("text")]
    | Annotated[list[Name], Tag("list")]
    | Annotated[dict[str, Hostgroup], Tag("mapping")],
    Discriminator(shape),
]
"""Names to shard: a brace pattern, a list of them, or a mapping of them to hostgroups."""

KeySpec = Annotated[
    Annotated[int, Tag("integer")]
    | Annotated[str, Tag("text")]
    | Annotated[list[int | str], Tag("list")],
    Discriminator(shape),
]
"""Values of a key: one or a list. For `manage` also ranges "10-5999" and patterns "app_*"."""


class Model(BaseModel):
    """Base of the hand-written models."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class InstanceModel(Model):
    """One ProxySQL: how to reach its admin interface."""

    name: Name
    host: Text | None = None
    port: Port = 6032
    user: Text | None = None
    password: Text | None = None
    socket: Text | None = None
    tls_ca: Text | None = None
    tls_required: bool = False
    vars: dict[str, Any] = Field(default_factory=dict)


class ShardingModel(Model):
    """One sharding scheme: tables become query rules, schemas become fast routing."""

    name: Name
    tables: Names | None = None
    schemas: Names | None = None
    hostgroups: list[Hostgroup] = Field(default_factory=list)
    assign: Literal["modulo", "range", "explicit"] | None = None
    rules: Literal["per_hostgroup", "per_table"] = "per_hostgroup"
    first_rule_id: Number | None = None
    rule_ids: Annotated[str, Field(pattern=r"^[0-9]{1,10}-[0-9]{1,10}$")] | None = None
    username: str | None = None
    schema_: str | None = Field(default=None, alias="schema")
    match: Literal["digest", "pattern"] = "digest"
    comment: str | None = None
    flagIN: Number = 0  # noqa: N815 - the column's own name


class Expectation(Model):
    """What a routing test expects. Only what is named is compared; null means: nothing there."""

    hostgroup: Hostgroup | None = None
    rule_id: Number | None = None
    matched_rules: list[Number] | None = None
    rewritten: str | None = None
    digest: str | None = None
    digest_text: str | None = None
    cache_ttl: Number | None = None
    error_msg: str | None = None
    OK_msg: str | None = None


class RoutingTestModel(Model):
    """One query, and where it has to go."""

    name: str | None = None
    query: Name
    username: str | None = None
    schemaname: str | None = None
    client_addr: str | None = None
    proxy_addr: str | None = None
    proxy_port: Number | None = None
    flagIN: Number = 0  # noqa: N815 - the column's own name
    expect: Expectation


GuardWord = Literal["refuse", "warn", "off"]


class MaxDeletes(Model):
    """How many rows of a table may be deleted at once."""

    percent: Annotated[int, Field(ge=0, le=100)] = 30
    above_rows: Number = 10
    rows: Number = 1000
    action: GuardWord = "refuse"


class Guards(Model):
    """What an apply refuses to do without --force. A field is a guard."""

    max_deletes: MaxDeletes = MaxDeletes()
    table_emptied: GuardWord = "refuse"
    empty_hostgroup: GuardWord = "refuse"
    admin_access: GuardWord = "refuse"
    monitor_credentials: GuardWord = "refuse"
    shard_moves: GuardWord = "refuse"
    stale_member: GuardWord = "refuse"
    drained_elsewhere: GuardWord = "refuse"
    lint: GuardWord = "warn"


class IgnoredFindings(Model):
    """Findings of lint that are meant to be: of one check, in a table or at a row."""

    code: Name
    table: Name | None = None
    key: KeySpec | None = None
    because: str | None = None


class Lint(Model):
    """What `proxyctl lint` leaves out."""

    ignore: list[
        Annotated[
            Annotated[Name, Tag("text")] | Annotated[IgnoredFindings, Tag("mapping")],
            Discriminator(shape),
        ]
    ] = Field(default_factory=list)


_MODELS: dict[str, Any] = {
    "version": Literal[1],
    "proxysql_version": Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+")],
    "instances": list[InstanceModel],
    "sharding": list[ShardingModel],
    "routing_tests": list[RoutingTestModel],
    "guards": Guards,
    "lint": Lint,
    "keep_fast_routing_alive": bool,
}


def section_type(name: str, layouts: dict[str, Layout]) -> Any:  # noqa: ANN401 - a type form
    """Return the type of a special section.

    Shape: `layouts` by table name; the sections that hold columns follow them.
    """
    match name:
        case "hostgroups":
            return cast(Any, dict)[str, _hostgroup_type(layouts)]
        case "pxc_clusters":
            return list_of(_cluster_type(layouts))
        case "manage":
            return _manage_type()
        case _:
            return _MODELS[name]


def _hostgroup_type(layouts: dict[str, Layout]) -> Any:  # noqa: ANN401 - a type form
    layout = layouts.get("mysql_hostgroup_attributes")
    columns = [c for c in layout.columns if c.name != "hostgroup_id"] if layout else []
    return row_type("hostgroup", columns, more={"id": Required[Number]})


def _cluster_type(layouts: dict[str, Layout]) -> Any:  # noqa: ANN401 - a type form
    columns = [c for c in layouts["mysql_servers"].columns if c.name != "hostgroup_id"]
    hostgroup = {"hostgroup": NotRequired[Hostgroup]}
    node = row_type("pxc_node", columns, more=hostgroup)
    defaults = row_type("pxc_node_defaults", columns, required=lambda _: False, more=hostgroup)
    return row_type(
        "pxc_cluster",
        layouts["mysql_galera_hostgroups"].columns,
        more={
            "name": Required[Name],
            "nodes": Required[list_of(node)],
            "node_defaults": NotRequired[defaults],
        },
    )


@lru_cache(maxsize=1)
def _manage_type() -> Any:  # noqa: ANN401 - a type form
    scopes: dict[str, Any] = {}
    ignored: dict[str, Any] = {}
    for name, table in TABLES.items():
        if table.prefix is None:
            keys = dict.fromkeys(table.key, NotRequired[KeySpec])
            scopes[name] = NotRequired[row_type(f"{name}_scope", (), more=keys)]
            others = sorted({column.name for column in table.columns} - {*table.key})
            ignored[name] = NotRequired[list_of(cast(Any, Literal)[*others])]
    ignore = row_type("manage_ignore", (), more=ignored)
    return row_type("manage", (), more={**scopes, "ignore": NotRequired[ignore]})


def section_adapter(name: str, layouts: dict[str, Layout]) -> TypeAdapter[Any]:
    """Return what validates a special section."""
    kind = section_type(name, layouts)
    # A model and a TypedDict bring their own configuration, and refuse a second one.
    if is_typeddict(kind) or kind in (Guards, Lint):
        return TypeAdapter(kind)
    return TypeAdapter(kind, config=ConfigDict(strict=True))
