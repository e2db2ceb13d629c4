"""The texts of one changed row: its subject, details, fields and notes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from proxyctl.catalog import TABLES, Value
from proxyctl.plan.change import ADD, CHANGE, DELETE, Change, FieldChange
from proxyctl.render.style import hostgroup, shown
from proxyctl.rows.desired import FILES, SourceWords
from proxyctl.rows.row import NOUNS, SENSITIVE, Layer, row_name
from proxyctl.text import printable

MARKS = {ADD: "+", CHANGE: "~", DELETE: "-"}
_HOSTGROUPS = frozenset(
    (table.name, column.name)
    for table in TABLES.values()
    for column in table.columns
    if column.hostgroup
)
LONGEST_VALUE = 160
"""Characters shown of a value, unless the whole value is asked for."""
LONGEST_MATCHER = 70
"""Characters shown of a rule's pattern or digest."""
_MATCHERS = ("match_digest", "match_pattern", "digest")


def subject(change: Change, names: Mapping[int, str]) -> str:
    """Return the row's name: `rule 5010`, `server 10 (writer) pxc1:3306`, `user app`."""
    short = change.table.removeprefix("mysql_").removeprefix("pgsql_")
    key = change.key
    if is_variable(change):
        return shown(key[0])
    noun = NOUNS.get(short, change.table)
    if short == "servers":
        return f"{noun} {hostgroup(key[0], names)} {shown(key[1])}:{key[2]}"
    if short == "users":
        half = _half(change.row)
        return f"{noun} {shown(key[0])}{half}"
    if short == "query_rules_fast_routing":
        flag = f" flagIN {key[2]}" if key[2] else ""
        return f"{noun} {shown(key[0])}@{shown(key[1])}{flag}"
    if (change.table, TABLES[change.table].key[0]) in _HOSTGROUPS:
        return f"{noun} {hostgroup(key[0], names)}"
    return printable(row_name(change.table, key))


def _half(row: Mapping[str, Value]) -> str:
    if row.get("frontend") == 1 and row.get("backend") == 0:
        return " (frontend)"
    if row.get("frontend") == 0 and row.get("backend") == 1:
        return " (backend)"
    return ""


def detail(change: Change, names: Mapping[int, str]) -> str:
    """Return what identifies a rule or route to a reader: `match_digest ^SELECT -> 2`; or ''."""
    row = change.row
    if "destination_hostgroup" not in row:
        return ""
    parts = []
    matcher = next((name for name in _MATCHERS if row.get(name)), None)
    if "match_digest" in row and _is_generated(change) and row.get("comment"):
        parts.append(shown(_after_colon(str(row["comment"]))))
    elif matcher is not None:
        parts += [matcher, shown(row[matcher], limit=LONGEST_MATCHER)]
    if row["destination_hostgroup"] is not None and change.action != CHANGE:
        parts.append(f"-> {hostgroup(row['destination_hostgroup'], names)}")
    return " ".join(parts)


def _is_generated(change: Change) -> bool:
    """Return whether a section such as `sharding` made the row: its comment describes it."""
    return change.where is not None and bool(change.where.origin)


def _after_colon(comment: str) -> str:
    return comment.split(": ", 1)[-1]


def value_text(
    change: Change,
    field: FieldChange,
    value: Value,
    names: Mapping[int, str],
    *,
    is_whole: bool = False,
) -> str:
    """Return one value of a field that is no secret; a hostgroup with its name.

    `is_whole`: do not cut the value.
    """
    if (change.table, field.column) in _HOSTGROUPS and value is not None:
        return hostgroup(value, names)
    # The pattern of a generated rule may list hundreds of names.
    is_list = _is_generated(change) and field.column in _MATCHERS
    limit = LONGEST_MATCHER if is_list else LONGEST_VALUE
    return shown(value, limit=None if is_whole else limit)


def field_text(
    change: Change, field: FieldChange, names: Mapping[int, str], *, is_whole: bool = False
) -> str:
    """Return `old -> new` of one field, `(sensitive)` for a secret.

    A row that is added or deleted has one value. `is_whole`: do not cut values.
    """
    if field.is_secret:
        return SENSITIVE
    sides = {ADD: [field.desired], DELETE: [field.current]}
    values = sides.get(change.action, [field.current, field.desired])
    return " -> ".join(
        value_text(change, field, value, names, is_whole=is_whole) for value in values
    )


def headline(change: Change, names: Mapping[int, str], width: int = 0) -> str:
    """Return the subject, at least `width` wide, and its details."""
    text = detail(change, names)
    if is_variable(change) and change.fields:
        text = field_text(change, change.fields[0], names)
    return f"{subject(change, names):<{width}}  {text}" if text else subject(change, names)


def is_variable(change: Change) -> bool:
    """Return whether the row is a variable, which needs one line only."""
    return TABLES[change.table].prefix is not None


def listed_fields(change: Change) -> list[FieldChange]:
    """Return the fields that the headline does not show."""
    if is_variable(change):
        return []
    if change.action == CHANGE:
        return list(change.fields)
    row = change.row
    hidden = {"frontend", "backend"} if _half(row) else set()
    if change.action == DELETE:
        hidden |= {field.column for field in change.fields if field.is_secret}
    if row.get("default_schema") == "":
        hidden.add("default_schema")  # RUNTIME has '' for NULL, the default
    if "destination_hostgroup" in row:
        hidden.add("destination_hostgroup")
        matcher = next((name for name in _MATCHERS if row.get(name)), None)
        if _is_generated(change):
            hidden.add("comment")
        elif matcher and len(str(row[matcher])) <= LONGEST_MATCHER:
            hidden.add(matcher)
    return [
        field
        for field in change.fields
        if field.column not in hidden
        and not (field.column == "active" and 1 in (field.current, field.desired))
    ]


def note(change: Change, source: SourceWords = FILES) -> str:
    """Return in which layers the row differs, if not in all three, and why."""
    notes = [layers_only(change.layers)]
    if change.action == DELETE:
        notes.append(not_wanted(change, source))
    else:
        notes.append(printable(change.where.origin) if change.where else "")
    return "; ".join(text for text in notes if text)


def layers_only(layers: Collection[Layer]) -> str:
    """Return in which layers a row or field differs, '' for all three."""
    if len(layers) == len(Layer):
        return ""
    return " and ".join(layer.name for layer in Layer if layer in layers) + " only"


def not_wanted(change: Change, source: SourceWords = FILES) -> str:
    """Return why the files, or the snapshot, do not have an existing row."""
    if change.where is None:
        return source.lacks
    return f"{'inactive' if 'active' in change.row else 'OFFLINE_HARD'} {source.of_row}"
