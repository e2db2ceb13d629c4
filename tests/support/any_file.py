"""Strategies for files of a project: valid, nearly valid, and any value under a known key."""

from hypothesis import strategies as st

from proxyctl.catalog import TABLES, ColumnKind, layout_of, parse_version
from proxyctl.catalog.variables import VARIABLES
from proxyctl.config.columns import limits
from proxyctl.config.context import SPECIAL, TABLE_SECTIONS

KEYS = sorted(
    {column.name for table in TABLES.values() for column in table.columns}
    | {"name", "id", "nodes", "node_defaults", "hostgroup", "tables", "schemas", "hostgroups"}
    | {"first_rule_id", "rule_ids", "assign", "query", "expect", "host", "csv", "jsonl", "env"}
    | {"file", "hex", "ignore", "max_deletes", "percent", "password", "vars", "<<"}
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-2, 12)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "writer", "reader", "t{1..3}", "1-5", "10-5", "0x1", "(", "%", "a*"])
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=5)
)
junk = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=12,
)


def field_of(column, *, wild):
    """A value that fits the column; any other too if `wild`."""
    if column.choices:
        right = st.sampled_from(column.choices)
    elif column.is_numeric:
        low, high = limits(column)
        right = st.integers(low, min(high, low + 5))
        if column.hostgroup:
            right |= st.sampled_from(["writer", "reader"])
    elif column.kind is ColumnKind.JSON:
        right = st.sampled_from(["", "{}", {"a": [1]}, []])
    else:
        right = st.sampled_from(["a", "b", ".c", "0x1F", "^SELECT", "%", "CASELESS"])
    return right | scalars if wild else right


def rows_of(name, *, wild):
    layout = layout_of(TABLES[name], parse_version("3.0.0"))
    fields = {column.name: field_of(column, wild=wild) for column in layout.columns}
    required = {column.name for column in layout.columns if column.is_required}
    return st.lists(
        st.fixed_dictionaries(
            {name: field for name, field in fields.items() if name in required},
            optional={name: field for name, field in fields.items() if name not in required},
        ),
        max_size=3,
    )


hostgroups = st.just({"writer": {"id": 1}, "reader": {"id": 2, "multiplex": False}})
clusters = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.just("main"),
            "writer_hostgroup": st.sampled_from([10, "writer", "nobody"]),
            "backup_writer_hostgroup": st.just(20),
            "reader_hostgroup": st.sampled_from([30, "reader"]),
            "offline_hostgroup": st.just(40) | scalars,
            "nodes": st.lists(st.fixed_dictionaries({"hostname": scalars}), max_size=2),
        }
    ),
    max_size=2,
)
schemes = st.lists(
    st.fixed_dictionaries(
        {"name": st.just("s")},
        optional={
            "tables": scalars | st.just({"a": 1, "b{1..3}": "writer"}),
            "schemas": scalars | st.just(["s{1..3}"]),
            "hostgroups": st.lists(scalars, max_size=2),
            "first_rule_id": scalars,
            "rule_ids": st.just("1-5"),
            "assign": st.sampled_from(["modulo", "explicit"]),
        },
    ),
    max_size=2,
)


def files_of(sections):
    return st.dictionaries(
        st.sampled_from(sorted(sections)), st.none(), min_size=1, max_size=5
    ).flatmap(lambda chosen: st.fixed_dictionaries({name: sections[name] for name in chosen}))


special = {"hostgroups": hostgroups, "pxc_clusters": clusters, "sharding": schemes}
right_files = files_of(special | {name: rows_of(name, wild=False) for name in TABLE_SECTIONS}).map(
    lambda file: {"hostgroups": {"writer": {"id": 1}, "reader": {"id": 2}}, **file}
)
wild_files = files_of(
    {name: junk | special.get(name, junk) for name in SPECIAL}
    | {name: junk | rows_of(name, wild=True) for name in TABLE_SECTIONS}
    | {"variables": st.dictionaries(st.sampled_from(sorted(VARIABLES)), scalars, max_size=5)}
)
any_files = right_files | wild_files
