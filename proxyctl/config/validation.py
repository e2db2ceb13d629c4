"""Validates sections with pydantic, and turns its errors into mistakes in plain words.

pydantic names its own types and repeats the input, which may be a secret: nothing of its text is
shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from proxyctl.catalog import Column, Kind, Table, Version, parse_version
from proxyctl.config.context import Context, Keys, Part
from proxyctl.config.mistakes import described, key_text
from proxyctl.config.references import reference_fix
from proxyctl.config.yaml import Unusable
from proxyctl.state.row import Where

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic_core import ErrorDetails

_WORDS = {
    "string_type": "text",
    "string_too_short": "text that is not empty",
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
"""What would have been right, by the type of pydantic's error and with its context."""

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")

_SHAPES = {"integer": "an integer", "text": "text", "mapping": "a mapping", "list": "a list"}
"""The tags by which the models tell the members of a union apart."""


@dataclass(frozen=True)
class Subject:
    """The value to validate, and how messages name its parts.

    `kind` is the type that the value has to have. `place` answers for keys below the value;
    `columns` gives the words for keys that are columns. `unknown` may explain an unknown key, as
    one of another version.
    """

    value: Any
    kind: Any
    place: Callable[[Keys, bool], Where]
    label: Callable[[Keys], str]
    columns: Mapping[str, Column]
    unknown: Callable[[str], str | None]


def check(
    part: Part,
    context: Context,
    *,
    columns: Mapping[str, Column] | None = None,
    unknown: Callable[[str], str | None] = lambda _: None,
) -> tuple[Any, set[Keys]]:
    """Validate a special section.

    Return what the model made of it (None after a mistake), and the keys that lead to what is
    wrong. Changes: context.mistakes.
    """
    from proxyctl.config.models import section_adapter, section_type

    subject = Subject(
        value=part.value,
        kind=section_type(part.name, context.layouts),
        place=lambda keys, of_key: part.where(*keys, of_key=of_key),
        label=lambda keys: key_text((part.name, *keys)),
        columns=columns or {},
        unknown=unknown,
    )
    return validated(section_adapter(part.name, context.layouts), subject, context)


def check_items(part: Part, context: Context) -> dict[int, Any]:
    """Validate a special section that is a list. Return the models of its right items, by position.

    Changes: context.mistakes.
    """
    from proxyctl.config.models import section_adapter

    models, wrong = check(part, context)
    if models is not None:
        return dict(enumerate(models))
    bad = {keys[0] for keys in wrong if keys}
    adapter = section_adapter(part.name, context.layouts)
    return {
        position: adapter.validate_python([item])[0]
        for position, item in enumerate(part.value)
        if position not in bad
    }


def validated(
    adapter: TypeAdapter[Any], subject: Subject, context: Context
) -> tuple[Any, set[Keys]]:
    """Return what the adapter makes of a value, and the keys of what is wrong. As `check`."""
    from pydantic import ValidationError

    try:
        return adapter.validate_python(subject.value), set()
    except ValidationError as error:
        return None, _add_mistakes(error, subject, context)


def _add_mistakes(error: ValidationError, subject: Subject, context: Context) -> set[Keys]:
    """Note every error. Return where something is wrong. Changes: context.mistakes."""
    by_keys: dict[Keys, list[ErrorDetails]] = {}
    for one in error.errors(include_url=False):
        by_keys.setdefault(_keys(one, subject.value), []).append(one)
    for keys, errors in by_keys.items():
        # The branches of a union complain also about what lies below: the union itself is enough.
        if not any(keys[:length] in by_keys for length in range(len(keys))):
            _add(keys, errors, subject, context)
    return set(by_keys)


def _keys(error: ErrorDetails, value: object) -> Keys:
    """Return the part of an error's location that is in the data; unions add steps of theirs."""
    keys: list[str | int] = []
    location = error["loc"]
    for step in location:
        inside = (isinstance(value, dict) and step in value) or (
            isinstance(value, list) and isinstance(step, int) and step < len(value)
        )
        if inside:
            keys.append(step)
            value = value[step]  # type: ignore[index]
    if error["type"] == "missing":
        keys.append(location[-1])
    return tuple(keys)


def _add(keys: Keys, errors: list[ErrorDetails], subject: Subject, context: Context) -> None:
    mistakes = context.mistakes
    label = subject.label(keys)
    last = str(keys[-1]) if keys else ""
    column = subject.columns.get(last)
    match errors[0]["type"]:
        case "missing":
            needed = f"; it takes {_expected(column)}" if column else ""
            mistakes.add(subject.place(keys[:-1], False), label, f"{last} is missing{needed}")
        case "extra_forbidden":
            explained = subject.unknown(last)
            models = _models_at(subject.kind, keys[:-1])
            known = {name for model in models for name in _fields(model)}
            fix = None if explained else mistakes.did_you_mean(last, known) or _listed(known)
            mistakes.add(subject.place(keys, True), label, explained or "no such key", fix)
        case _:
            value = _value(subject.value, keys)
            if isinstance(value, Unusable):
                return
            is_secret = column.secret if column else last in ("password", "vars")
            words = _expected(column) if column else _wanted(errors)
            got = described(value, is_secret=is_secret)
            near = None
            if isinstance(value, str) and not is_secret:
                near = mistakes.did_you_mean(value, _choices(errors, column))
            fix = near or _fix(value, column, words)
            if words == "a mapping":
                fix = _example(_needed_keys(subject.kind, keys)) or fix
            mistakes.add(subject.place(keys, False), label, f"expected {words}, got {got}", fix)


def _expected(column: Column) -> str:
    from proxyctl.config.models import expected

    return expected(column)


def _value(value: Any, keys: Keys) -> object:  # noqa: ANN401 - any YAML value
    for key in keys:
        value = value[key]
    return value


def _listed(known: Iterable[str]) -> str | None:
    names = sorted(known)
    return f"known: {', '.join(names)}" if 0 < len(names) <= 12 else None


def _wanted(errors: list[ErrorDetails]) -> str:
    """Return what would have been right, in words."""
    words: list[str] = []
    for error in errors:
        text = _WORDS.get(error["type"], "another value").format(**error.get("ctx", {}))
        text = text.replace("'", "")
        shapes = text.split(", ") if error["type"] == "union_tag_invalid" else [text]
        words += [_SHAPES.get(word, word) for word in shapes]
    return " or ".join(dict.fromkeys(words))


def _choices(errors: list[ErrorDetails], column: Column | None) -> list[str]:
    """Return the words that would have been right; none where more than words would."""
    if column:
        return [*map(str, column.choices or ())]
    texts = (error.get("ctx", {}).get("expected", "") for error in errors)
    return [word for text in texts for word in re.findall("'(.+?)'", text)]


def _fix(value: object, column: Column | None, words: str) -> str | None:
    takes_text = column.kind is Kind.TEXT if column else "text" in words.split(" or ")
    if words == "text or a mapping" or (isinstance(value, dict) and takes_text):
        return reference_fix(value)
    if takes_text and isinstance(value, int | float):
        return "quote it"
    if value is None and not (column and column.is_required):
        return "leave the key out for the default"
    is_number = column.is_numeric if column else "integer" in words
    if isinstance(value, str) and is_number and _INTEGER.match(value):
        return "remove the quotes"
    return None


# What the models know -----------------------------------------------------------------------------


def _needed_keys(kind: object, keys: Keys) -> list[str]:
    """Return the keys that the model below `keys` cannot do without; none if there are several."""
    models = _models_at(kind, keys)
    if len(models) != 1:
        return []
    (model,) = models
    if hasattr(model, "model_fields"):
        fields = model.model_fields.items()
        return [field.alias or name for name, field in fields if field.is_required()]
    return [name for name in _fields(model) if name in model.__required_keys__]


def _example(needed: Sequence[str]) -> str | None:
    return f"write {{{', '.join(f'{name}: ...' for name in needed)}}}" if needed else None


def _models_at(kind: object, keys: Keys) -> list[Any]:
    models = _models_in(kind)
    for key in keys:
        below = [fields[str(key)] for fields in map(_fields, models) if key in fields]
        # A list position or a key of an open mapping: the models inside were found already.
        models = [found for field in below for found in _models_in(field)] if below else models
    return models


def _models_in(kind: object) -> list[Any]:
    if isinstance(kind, type) and (hasattr(kind, "model_fields") or hasattr(kind, "__total__")):
        return [kind]
    return [found for inner in get_args(kind) for found in _models_in(inner)]


@lru_cache(maxsize=256)
def _fields(model: Any) -> dict[str, object]:  # noqa: ANN401 - a model class or a TypedDict
    if hasattr(model, "model_fields"):
        return {f.alias or name: f.annotation for name, f in model.model_fields.items()}
    return dict(get_type_hints(model, include_extras=True))


# What other versions have -------------------------------------------------------------------------


def missing_table(table: Table, context: Context) -> str | None:
    """Return what to say when the ProxySQL at hand does not have the table; None if it has it."""
    if table.name in context.layouts:
        return None
    text = f"ProxySQL {context.version} has no table {table.name}"
    return text + _since_when(table.since, table.until, context.version)


def _since_when(since: str, until: str | None, version: Version) -> str:
    """Return the release that has a table, column or variable which another one lacks."""
    if not version.has(parse_version(since)):
        return f"; it came with {version.numbered(parse_version(since))}"
    if until is not None and parse_version(until) < version.stable:
        return f"; it was last in {until}"
    return " here, though the release has it: it is another build"


def other_versions(
    table: Table, context: Context, instead: Mapping[str, str] | None = None
) -> Callable[[str], str | None]:
    """Return what explains a key that is a column of the table, but not of the ProxySQL at hand.

    `instead`: what to say of columns that have another name in a section.
    """

    def explain(name: str) -> str | None:
        if instead is not None and name in instead:
            return instead[name]
        found = [column for column in table.columns if column.name == name]
        if not found:
            return None
        if missing := missing_table(table, context):
            return missing
        when = _since_when(found[0].since, found[-1].until, context.version)
        return f"ProxySQL {context.version} has no such column{when}"

    return explain
