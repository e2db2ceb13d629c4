"""Validates sections with pydantic, and turns its errors into mistakes in plain words.

pydantic's own text never appears: it names Python types and repeats the input, which may be a
secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from proxyctl.catalog import TABLES, Column, ColumnKind, Table, Version, parse_version
from proxyctl.config.context import Compilation, FileSection, SectionPath
from proxyctl.config.env_references import REFERENCE_FIX, reference_fix
from proxyctl.config.mistakes import ValueProblem, described
from proxyctl.config.yaml import Unusable

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_RESERVED = (
    "ProxySQL sets SHUNNED itself, and never undoes a SHUNNED that was loaded: the server would"
    " receive no queries",
    "write ONLINE, or OFFLINE_SOFT to keep the server out of service",
)
"""The mistake of a status that no file may set, and its fix."""

_WORDS = {
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "string_too_long": "text of at most {max_length} characters",
    "string_pattern_mismatch": "a range such as 1000-1999",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
    "none_required": "null",
    "greater_than_equal": "an integer of {ge} or more",
    "less_than_equal": "an integer of at most {le}",
    "literal_error": "{expected}",
    "union_tag_invalid": "{expected_tags}",
}
"""The expected value in words, by the type of pydantic's error. Braces take its context."""

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")

_SHAPES = {"integer": "an integer", "text": "text", "mapping": "a mapping", "list": "a list"}
"""Words for the tags of the members of a union."""


_COLUMNS_OF = {
    "hostgroups": ("mysql_hostgroup_attributes",),
    "pxc_clusters": ("mysql_servers", "mysql_galera_hostgroups"),
}
"""The tables whose columns are keys of a special section."""

_NAMED = ("instances", "pxc_clusters", "sharding", "policies")
"""Sections whose items have a name of their own."""


def check(part: FileSection, context: Compilation) -> Any:  # noqa: ANN401 - what its type returns
    """Return the validated section; None after a mistake. Changes: context.mistakes."""
    value, wrong = _Section(part, context).check()
    return None if wrong else value


def check_items(part: FileSection, context: Compilation) -> dict[Any, Any]:
    """Validate a special section. Return its items without mistakes, by position or by key.

    Changes: context.mistakes.
    """
    section = _Section(part, context)
    value, wrong = section.check()
    if part.name in _NAMED:
        _claim_names(part, context)
    if not wrong:
        return _by_key(value)
    bad = {keys[0] for keys in wrong if keys}
    right = {key: item for key, item in _by_key(part.value).items() if key not in bad}
    if isinstance(part.value, dict):
        return dict(section.validate(right))
    return dict(zip(right, section.validate([*right.values()]), strict=True))


def check_rows(part: FileSection, context: Compilation) -> dict[int, dict[str, Any]]:
    """Validate the rows of a table. Return them by position, without their wrong columns.

    Later checks can then find other mistakes in a row. A row is left out if a column that it needs
    is wrong. Changes: context.mistakes.
    """
    section = _Section(part, context)
    rows, wrong = section.check()
    if not wrong:
        return dict(enumerate(rows))
    layout = context.layouts[part.name]
    needed = {column.name for column in layout.columns if column.is_required}
    needed |= {*layout.table.key}
    bad: dict[object, set[object]] = {}
    for position, *below in wrong:
        bad.setdefault(position, set()).update(below[:1] or needed)
    right = {
        position: {name: row[name] for name in row if name not in bad.get(position, ())}
        for position, row in enumerate(part.value)
        if needed.isdisjoint(bad.get(position, ()))
    }
    return dict(zip(right, section.validate([*right.values()]), strict=True))


def _by_key(value: Any) -> dict[Any, Any]:  # noqa: ANN401 - a list or a mapping
    return value if isinstance(value, dict) else dict(enumerate(value))


def _claim_names(part: FileSection, context: Compilation) -> None:
    """Note names that two items of any files share. Changes: context."""
    for position in range(len(part.value)):
        name, place = part.at((position, "name")), part.where(position)
        if isinstance(name, str):
            known = context.names.setdefault((part.name, name), place)
        if isinstance(name, str) and known is not place:
            context.note(part, (position, "name"), f"duplicate name (first defined at {known})")


class _Section:
    """A section, its type, and the words for its mistakes."""

    def __init__(self, part: FileSection, context: Compilation) -> None:
        from pydantic import TypeAdapter

        from proxyctl.config.columns import rows_adapter, rows_type
        from proxyctl.config.models import section_type

        self._part = part
        self._context = context
        tables = _COLUMNS_OF.get(part.name, (part.name,))
        self._table = TABLES.get(tables[0])
        layouts = [context.layouts[name] for name in tables if name in context.layouts]
        self._columns = {column.name: column for layout in layouts for column in layout.columns}
        if part.name in TABLES:
            self._kind, self._adapter = rows_type(layouts[0]), rows_adapter(layouts[0])
        else:
            self._kind = section_type(part.name, context.layouts)
            self._adapter = TypeAdapter(self._kind)

    def validate(self, value: object) -> Any:  # noqa: ANN401 - what its type returns
        """Return the validated value. Raises: ValidationError."""
        return self._adapter.validate_python(value, context=(self._context, self._part.path))

    def check(self) -> tuple[Any, set[SectionPath]]:
        """Return the validated section, and the keys of its mistakes, which are noted."""
        from pydantic import ValidationError

        try:
            return self.validate(self._part.value), set()
        except ValidationError as error:
            return None, self._add_mistakes(error)

    def _add_mistakes(self, error: ValidationError) -> set[SectionPath]:
        by_keys: dict[SectionPath, list[ErrorDetails]] = {}
        for detail in error.errors(include_url=False, include_input=False):
            by_keys.setdefault(_keys(detail, self._part.value), []).append(detail)
        for keys, errors in by_keys.items():
            # The members of a union also complain about values below it: one mistake is enough.
            if not any(keys[:length] in by_keys for length in range(len(keys))):
                self._add(keys, errors)
        return set(by_keys)

    def _add(self, keys: SectionPath, errors: list[ErrorDetails]) -> None:
        from proxyctl.config.columns import expected

        part, context = self._part, self._context
        last = str(keys[-1]) if keys else ""
        column = self._columns.get(last)
        reasons = [error["ctx"]["error"] for error in errors if error["type"] == "value_error"]
        refusal = next((reason for reason in reasons if isinstance(reason, ValueProblem)), None)
        kind = errors[0]["type"]
        if isinstance(part.at(keys), Unusable):
            return
        if refusal is not None:
            context.note(part, keys, refusal.message, refusal.fix)
        elif kind == "missing":
            needed = f"; it must be {expected(column)}" if column else ""
            where = part.where(*keys[:-1])
            context.mistakes.add(where, part.label(keys), f"{last} is missing{needed}")
        elif kind == "extra_forbidden":
            is_known = last in self._columns
            explained = None if is_known else other_version(self._table, last, context)
            known = {name for model in _models_at(self._kind, keys[:-1]) for name in _fields(model)}
            fix = context.mistakes.did_you_mean(last, known) or _listed(known)
            message = explained or "no such key"
            context.note(part, keys, message, None if explained else fix, of_key=True)
        else:
            value, fix = part.at(keys), None
            is_secret = column.secret if column else last in ("password", "vars")
            words = expected(column) if column else _expected_words(errors)
            if isinstance(value, str) and not is_secret:
                fix = context.mistakes.did_you_mean(value, _choices(errors, column))
            message = f"expected {words}, got {described(value, is_secret=is_secret)}"
            if column and str(value).upper() in column.reserved:
                message, fix = _RESERVED
            fix = fix or _fix(value, column, words)
            if fix == REFERENCE_FIX:
                # A type that is no union takes no reference.
                is_plain = not column and errors[0]["loc"][-1] == last
                fix = "write text" if is_plain else reference_fix(value, is_secret=is_secret)
            context.note(part, keys, message, fix)


def _keys(error: ErrorDetails, value: Any) -> SectionPath:  # noqa: ANN401 - any YAML value
    """Return the keys in an error's location: unions add steps that are not in the data."""
    keys: list[str | int] = []
    for step in error["loc"]:
        is_index = isinstance(value, list) and isinstance(step, int)
        if is_index or (isinstance(value, dict) and step in value):
            keys.append(step)
            value = value[step]
    if error["type"] == "missing":
        keys.append(error["loc"][-1])
    return tuple(keys)


def _listed(known: Iterable[str]) -> str | None:
    names = sorted(known)
    return f"choose from {', '.join(names)}" if 0 < len(names) <= 12 else None


def _expected_words(errors: list[ErrorDetails]) -> str:
    """Return the expected value in words."""
    words: list[str] = []
    for error in errors:
        text = _WORDS.get(error["type"], "another value").format(**error.get("ctx", {}))
        text = text.replace("'", "")
        shapes = text.split(", ") if error["type"] == "union_tag_invalid" else [text]
        words += [_SHAPES.get(word, word) for word in shapes]
    return " or ".join(dict.fromkeys(words))


def _choices(errors: list[ErrorDetails], column: Column | None) -> list[str]:
    """Return the fixed words that the value may be; none if other text is right too."""
    if column:
        return [*map(str, column.choices or ())]
    texts = (error.get("ctx", {}).get("expected", "") for error in errors)
    return [word for text in texts for word in re.findall("'(.+?)'", text)]


def _fix(value: object, column: Column | None, words: str) -> str | None:
    takes_text = column.kind is ColumnKind.TEXT if column else "text" in words.split(" or ")
    if words in ("a mapping", "a list"):
        return "write {key: value, ...}" if words == "a mapping" else "begin each item with `- `"
    if words == "text or a mapping" or (isinstance(value, dict) and takes_text):
        return REFERENCE_FIX
    if takes_text and isinstance(value, int | float):
        return "quote it"
    if value is None and not (column and column.is_required):
        return "leave the key out for the default"
    is_number = column.is_numeric if column else "integer" in words
    if isinstance(value, str) and is_number and _INTEGER.match(value):
        return "remove the quotes"
    return None


# Keys of the models -------------------------------------------------------------------------------


def _models_at(kind: object, keys: SectionPath) -> list[Any]:
    models = _models_in(kind)
    for key in keys:
        below = [fields[str(key)] for fields in map(_fields, models) if key in fields]
        # At a list position or a key of an open mapping, `models` already holds the models inside.
        models = [model for field in below for model in _models_in(field)] if below else models
    return models


def _models_in(kind: object) -> list[Any]:
    if isinstance(kind, type) and (hasattr(kind, "model_fields") or hasattr(kind, "__total__")):
        return [kind]
    return [model for inner in get_args(kind) for model in _models_in(inner)]


@lru_cache(maxsize=256)
def _fields(model: Any) -> dict[str, object]:  # noqa: ANN401 - a model class or a TypedDict
    if hasattr(model, "model_fields"):
        return {f.alias or name: f.annotation for name, f in model.model_fields.items()}
    return dict(get_type_hints(model, include_extras=True))


# Other versions -----------------------------------------------------------------------------------


def missing_table(table: Table, context: Compilation) -> str | None:
    """Return the message for a table that this ProxySQL lacks; None if it has the table."""
    if table.name in context.layouts:
        return None
    text = f"ProxySQL {context.version} has no table {table.name}"
    return text + since_when(table.since, table.until, context.version)


def since_when(since: str, until: str | None, version: Version) -> str:
    """Return, as the end of a message, the release that has what `version` lacks."""
    if not version.has(parse_version(since)):
        return f"; it came with {version.numbered(parse_version(since))}"
    if until is not None and parse_version(until) < version.stable:
        return f"; it was last in {until}"
    return " here, though the release has it: it is a different build"


def other_version(table: Table | None, name: str, context: Compilation) -> str | None:
    """Return the message for a column that the table has in another ProxySQL only, else None."""
    columns = [column for column in table.columns if column.name == name] if table else []
    if table is None or not columns:
        return None
    if missing := missing_table(table, context):
        return missing
    when = since_when(columns[0].since, columns[-1].until, context.version)
    return f"ProxySQL {context.version} has no such column{when}"
