"""The special sections, those that are more than a table, as strict and closed pydantic models.

The compiler of a section checks rules that concern several of its values together.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Required, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
)

from proxyctl.catalog import MAX_INT, TABLES, Column, Layout
from proxyctl.config.columns import (
    HostgroupName,
    Name,
    SecretReference,
    TextValue,
    hostgroup_number,
    list_of,
    row_type,
)
from proxyctl.config.mistakes import ValueProblem
from proxyctl.rows.desired import Glob, NumberRange, Term
from proxyctl.text import shown


def _shape(value: object) -> str:
    """Return the shape of a value in YAML, which selects the member of a union."""
    shapes = {str: "text", dict: "mapping", list: "list"}
    return next((name for kind, name in shapes.items() if isinstance(value, kind)), "other")


Number = Annotated[int, Field(ge=0, le=MAX_INT)]
Port = Annotated[int, Field(ge=1, le=65535)]

if TYPE_CHECKING:
    # The types after validation: names and references are resolved.
    Hostgroup = int
    ResolvedText = str
else:
    Hostgroup = Number | HostgroupName
    ResolvedText = TextValue

ShardNames = Annotated[
    Annotated[Name, Tag("text")]
    | Annotated[list[Name], Tag("list")]
    | Annotated[dict[str, Hostgroup], Tag("mapping")],
    Discriminator(_shape),
]
"""Names to shard: a brace pattern, a list of them, or a mapping of them to hostgroups."""

KeySpec = int | str | list[int | str]
"""Values of a key: one, or a list. `manage` also takes ranges "10-5999" and patterns "app_*"."""

_RANGE = re.compile(r"([0-9]{1,10})\s*-\s*([0-9]{1,10})\Z")


class Model(BaseModel):
    """Base of the hand-written models."""

    # Only the sections that the files have are built.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class InstanceModel(Model):
    """One ProxySQL, or all that a DNS name leads to: how to reach the admin interfaces."""

    name: Name | None = None
    host: ResolvedText | None = None
    dns: ResolvedText | None = None
    port: Port = 6032
    user: ResolvedText | None = None
    password: SecretReference | None = None
    socket: ResolvedText | None = None
    tls_ca: ResolvedText | None = None
    tls_verify_identity: bool = False
    tls_required: bool = False
    vars: dict[str, Any] = Field(default_factory=dict)


class ShardingModel(Model):
    """One sharding scheme: tables become query rules, schemas become fast routing."""

    name: Name
    tables: ShardNames | None = None
    schemas: ShardNames | None = None
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
    """The expected route of a query. Absent keys are not compared; null expects no value."""

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
    """One query and its expected route."""

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
    """The largest number of rows of a table that one apply may delete."""

    percent: Annotated[int, Field(ge=0, le=100)] = 30
    above_rows: Number = 10
    rows: Number = 1000
    action: GuardWord = "refuse"


class Guards(Model):
    """The guards: what an apply refuses to do without --force. Each field is a guard."""

    max_deletes: MaxDeletes = MaxDeletes()
    table_emptied: GuardWord = "refuse"
    empty_hostgroup: GuardWord = "refuse"
    admin_access: GuardWord = "refuse"
    monitor_credentials: GuardWord = "refuse"
    shard_moves: GuardWord = "refuse"
    stale_member: GuardWord = "refuse"
    drained_elsewhere: GuardWord = "refuse"
    policies: GuardWord = "refuse"
    lint: GuardWord = "warn"


class IgnoredFindings(Model):
    """Findings of lint that a user accepts: of one check, everywhere, in a table or at a row."""

    code: Name
    table: Name | None = None
    key: KeySpec | None = None
    because: str | None = None


class Lint(Model):
    """The findings that `proxyctl lint` leaves out."""

    ignore: list[
        Annotated[
            IgnoredFindings,
            BeforeValidator(
                lambda value: {"code": value} if isinstance(value, str) else value,
                json_schema_input_type=Name | IgnoredFindings,
            ),
        ]
    ] = Field(default_factory=list)


class PolicyModel(Model):
    """A rule of the house: an expression that must hold for rows of a table, or for changes."""

    name: Name
    for_: Name = Field(alias="for")
    that: Annotated[str, Field(min_length=1, max_length=2000)]
    message: Name
    action: Literal["refuse", "warn"] = "refuse"


_MODELS: dict[str, Any] = {
    # In Python, and so to Literal, true and 1.0 equal 1.
    "version": Annotated[
        Literal[1], BeforeValidator(lambda value: value if type(value) is int else None)
    ],
    "proxysql_version": Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+")],
    "instances": list[InstanceModel],
    "sharding": list[ShardingModel],
    "routing_tests": list[RoutingTestModel],
    "policies": list[PolicyModel],
    "guards": Guards,
    "lint": Lint,
    "keep_fast_routing_alive": Annotated[bool, Field(strict=True)],
}


def section_type(name: str, layouts: dict[str, Layout]) -> Any:  # noqa: ANN401 - a type form
    """Return the type of a special section.

    Shape: `layouts` by table name; sections with columns take them from there.
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
    return row_type("hostgroup", columns, extra={"id": Required[Number]})


def _cluster_type(layouts: dict[str, Layout]) -> Any:  # noqa: ANN401 - a type form
    columns = [c for c in layouts["mysql_servers"].columns if c.name != "hostgroup_id"]
    hostgroup = {"hostgroup": NotRequired[Hostgroup]}
    node = row_type("pxc_node", columns, extra=hostgroup)
    defaults = row_type("pxc_node_defaults", columns, required=lambda _: False, extra=hostgroup)
    return row_type(
        "pxc_cluster",
        layouts["mysql_galera_hostgroups"].columns,
        extra={
            "name": Required[Name],
            "nodes": Required[list_of(node)],
            "node_defaults": NotRequired[defaults],
        },
    )


def _scope_type(column: Column) -> Any:  # noqa: ANN401 - a type form
    """Return the type of a key column in a scope: a list of lists of terms."""

    def number(word: str, info: ValidationInfo) -> Term:
        if ends := _RANGE.match(word):
            span = NumberRange(int(ends[1]), int(ends[2]))
            if span.low > span.high:
                raise ValueProblem(f"{word} runs backwards")
            return span
        if word.isascii() and word.isdigit():
            return int(word)
        if column.hostgroup:
            return hostgroup_number(word, info)
        fix = 'write numbers and ranges: "1,5,10-20"'
        raise ValueProblem(f"{shown(word)} is neither a number nor a range", fix)

    def terms(item: int | str, info: ValidationInfo) -> list[Term]:
        if isinstance(item, int) and not column.is_numeric:
            raise ValueProblem("expected text or a pattern, got an integer", "quote it")
        if isinstance(item, int):
            return [item]
        if column.is_numeric:
            return [number(word.strip(), info) for word in item.split(",")]
        return [Glob(item) if re.search(r"[*?\[]", item) else item]

    def listed(value: object) -> object:
        if value == []:
            raise ValueProblem("the list is empty, so no row would be managed")
        return value if isinstance(value, list) else [value]

    item_type = Annotated[int | str, AfterValidator(terms)]
    return Annotated[list_of(item_type), BeforeValidator(listed, json_schema_input_type=KeySpec)]


@lru_cache(maxsize=1)
def _manage_type() -> Any:  # noqa: ANN401 - a type form
    scopes: dict[str, Any] = {}
    ignored: dict[str, Any] = {}
    for name, table in TABLES.items():
        if table.prefix is None:
            columns = {column.name: column for column in table.columns}
            keys = {key: NotRequired[_scope_type(columns[key])] for key in table.key}
            scopes[name] = NotRequired[row_type(f"{name}_scope", (), extra=keys)]
            names = sorted(columns.keys() - {*table.key})
            ignored[name] = NotRequired[list_of(cast(Any, Literal)[*names])]
    ignore = row_type("manage_ignore", (), extra=ignored)
    return row_type("manage", (), extra={**scopes, "ignore": NotRequired[ignore]})
