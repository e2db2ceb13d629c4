"""pydantic's errors -> mistakes: at their place, in plain words, with a suggestion.

pydantic names its own types and repeats the input, which may be a secret; nothing of its text is
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from proxyctl.catalog import Column, Kind
from proxyctl.config.mistakes import Mistakes, described, key_text
from proxyctl.config.references import reference_hint
from proxyctl.config.row_models import expected
from proxyctl.config.yaml import Unusable
from proxyctl.state.row import Where

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

Keys = tuple[str | int, ...]

_WORDS = {
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
    "none_required": "null",
}

_SHAPES = {"integer": "an integer", "text": "text", "mapping": "a mapping", "list": "a list"}


@dataclass(frozen=True)
class Subject:
    """What was validated, and how to speak about it.

    `place` answers for keys below `value`; `columns` gives the words for keys that are columns.
    `unknown` may explain an unknown key, as one of another version.
    """

    value: Any
    annotation: Any
    place: Callable[[Keys, bool], Where]
    label: Callable[[Keys], str] = key_text
    columns: Mapping[str, Column] | None = None
    unknown: Callable[[str], str | None] = lambda _: None


def add_mistakes(error: ValidationError, subject: Subject, mistakes: Mistakes) -> set[Keys]:
    """Note every error. Return where something is wrong. Changes: mistakes."""
    by_keys: dict[Keys, list[ErrorDetails]] = {}
    for one in error.errors(include_url=False):
        by_keys.setdefault(_keys(one, subject.value), []).append(one)
    for keys, errors in by_keys.items():
        # The branches of a union complain also about what lies below: the union itself is enough.
        if any(keys[:length] in by_keys for length in range(len(keys))):
            continue
        _add(keys, errors, subject, mistakes)
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


def _add(keys: Keys, errors: list[ErrorDetails], subject: Subject, mistakes: Mistakes) -> None:
    label = subject.label(keys)
    last = keys[-1] if keys else ""
    column = (subject.columns or {}).get(str(last))
    match errors[0]["type"]:
        case "missing":
            where = subject.place(keys[:-1], False)
            needed = f"{last} is missing; it takes {expected(column)}" if column else None
            mistakes.add(where, label, needed or f"{last} is missing")
        case "extra_forbidden":
            explained = subject.unknown(str(last))
            known = _known_keys(subject.annotation, keys[:-1])
            hint = None if explained else mistakes.did_you_mean(str(last), known) or _listed(known)
            mistakes.add(subject.place(keys, True), label, explained or "no such key", hint)
        case _:
            value = _value(subject.value, keys)
            if isinstance(value, Unusable):
                return
            is_secret = column.secret if column else last in ("password", "vars")
            words = expected(column) if column else _wanted(errors)
            got = described(value, is_secret=is_secret)
            hint = _hint(value, column, words)
            if words == "a mapping":
                hint = _example(_needed_keys(subject.annotation, keys)) or hint
            mistakes.add(subject.place(keys, False), label, f"expected {words}, got {got}", hint)


def _value(value: Any, keys: Keys) -> object:  # noqa: ANN401 - any YAML value
    for key in keys:
        value = value[key]
    return value


def _listed(known: Iterable[str]) -> str | None:
    names = sorted(known)
    return f"known are {', '.join(names)}" if 0 < len(names) <= 12 else None


def _wanted(errors: list[ErrorDetails]) -> str:
    """Return what would have been right, in words."""
    words: list[str] = []
    for error in errors:
        context = error.get("ctx", {})
        match error["type"]:
            case "greater_than_equal":
                words.append(f"an integer of at least {context['ge']}")
            case "less_than_equal":
                words.append(f"an integer of at most {context['le']}")
            case "literal_error":
                words.append(f"{context['expected']}".replace("'", ""))
            case "union_tag_invalid":
                tags = context["expected_tags"].replace("'", "").split(", ")
                words += [_SHAPES.get(tag, tag) for tag in tags]
            case "string_pattern_mismatch":
                words.append("a range such as 1000-1999")
            case kind:
                words.append(_WORDS.get(kind, "another value"))
    return " or ".join(dict.fromkeys(words))


def _hint(value: object, column: Column | None, words: str) -> str | None:
    takes_text = column.kind is Kind.TEXT if column else "text" in words.split(" or ")
    if words == "text or a mapping" or (isinstance(value, dict) and takes_text):
        return reference_hint(value)
    if takes_text and isinstance(value, int | float):
        return "quote it"
    if value is None:
        return "leave the key out for the default"
    is_number = column.is_numeric if column else "integer" in words
    if isinstance(value, str) and is_number and value.lstrip("-").isdigit():
        return "remove the quotes"
    return None


def _known_keys(annotation: object, keys: Keys) -> set[str]:
    """Return the keys that the models allow below `keys`."""
    return {name for model in _models_at(annotation, keys) for name in _fields(model)}


def _needed_keys(annotation: object, keys: Keys) -> list[str]:
    """Return the keys that the model below `keys` cannot do without; none if there are several."""
    models = _models_at(annotation, keys)
    if len(models) != 1:
        return []
    (model,) = models
    if hasattr(model, "model_fields"):
        fields = model.model_fields.items()
        return [field.alias or name for name, field in fields if field.is_required()]
    return [name for name in _fields(model) if name in model.__required_keys__]


def _example(needed: Sequence[str]) -> str | None:
    return f"write {{{', '.join(f'{name}: ...' for name in needed)}}}" if needed else None


def _models_at(annotation: object, keys: Keys) -> list[Any]:
    models = _models_in(annotation)
    for key in keys:
        below = [fields[str(key)] for fields in map(_fields, models) if key in fields]
        # A list position or a key of an open mapping: the models inside were found already.
        models = [found for field in below for found in _models_in(field)] if below else models
    return models


def _models_in(annotation: object) -> list[Any]:
    if _is_model(annotation):
        return [annotation]
    return [found for inner in get_args(annotation) for found in _models_in(inner)]


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and (
        hasattr(annotation, "model_fields") or hasattr(annotation, "__total__")
    )


@lru_cache(maxsize=256)
def _fields(model: Any) -> dict[str, object]:  # noqa: ANN401 - a model class or a TypedDict
    if hasattr(model, "model_fields"):
        return {f.alias or name: f.annotation for name, f in model.model_fields.items()}
    return dict(get_type_hints(model, include_extras=True))
