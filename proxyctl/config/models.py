"""The hand-written models: the sections that are more than a table. All strict, closed and frozen.

What only several values together can tell is checked where the section is compiled.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Literal, NotRequired, Required, cast

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter
from typing_extensions import is_typeddict

from proxyctl.catalog import MAX_INT, TABLES, Column, Layout
from proxyctl.config.columns import Text, list_of, row_type


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
"""Values of a key column: one, a list, ranges such as "10-5999", or a pattern such as "app_*"."""


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


RowKey = Annotated[
    Annotated[int, Tag("integer")]
    | Annotated[str, Tag("text")]
    | Annotated[list[int | str], Tag("list")],
    Discriminator(shape),
]
"""The primary key of a row: its value, or a list of those of several columns."""


class IgnoredFindings(Model):
    """Findings of lint that are meant to be: of one check, in a table or at a row."""

    code: Name
    table: Name | None = None
    key: RowKey | None = None
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
    defaults = row_type("pxc_node_defaults", columns, required=_never, more=hostgroup)
    return row_type(
        "pxc_cluster",
        layouts["mysql_galera_hostgroups"].columns,
        more={
            "name": Required[Name],
            "nodes": Required[list_of(node)],
            "node_defaults": NotRequired[defaults],
        },
    )


def _never(column: Column) -> bool:  # noqa: ARG001 - the signature is row_type's
    return False


@lru_cache(maxsize=1)
def _manage_type() -> Any:  # noqa: ANN401 - a type form
    tables = [table.name for table in TABLES.values() if table.prefix is None]
    scopes: dict[str, Any] = dict.fromkeys(tables, NotRequired[dict[str, KeySpec]])
    return row_type("manage", (), more={**scopes, "ignore": NotRequired[dict[str, list[str]]]})


def section_adapter(name: str, layouts: dict[str, Layout]) -> TypeAdapter[Any]:
    """Return what validates a special section."""
    kind = section_type(name, layouts)
    # A model and a TypedDict bring their own configuration, and refuse a second one.
    if is_typeddict(kind) or kind in (Guards, Lint):
        return TypeAdapter(kind)
    return TypeAdapter(kind, config=ConfigDict(strict=True))
