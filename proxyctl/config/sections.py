"""Files -> sections, each validated by its model. What a section means stands in other modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from proxyctl.catalog import NOT_MANAGED, TABLES, Column, Table, Version, parse_version
from proxyctl.config.context import Context
from proxyctl.config.mistakes import Mistakes, described, key_text
from proxyctl.config.yaml import Document, Unusable, YamlList, YamlMap
from proxyctl.state.row import Where

SPECIAL = (
    "version",
    "instances",
    "variables",
    "hostgroups",
    "pxc_clusters",
    "sharding",
    "routing_tests",
    "manage",
    "guards",
    "lint",
    "keep_fast_routing_alive",
)
"""The sections that are more than a table."""

TABLE_SECTIONS = tuple(name for name, table in TABLES.items() if table.prefix is None)

_LISTS = frozenset({"instances", "pxc_clusters", "sharding", "routing_tests", *TABLE_SECTIONS})

_SCALARS = frozenset({"version", "keep_fast_routing_alive"})


@dataclass(frozen=True)
class Part:
    """A section, as one file has it."""

    document: Document
    name: str
    value: Any

    def where(self, *keys: str | int, of_key: bool = False) -> Where:
        """Return the place of a value in the section, or of its key."""
        return self.document.where((self.name, *keys), of_key=of_key)


def split(documents: Iterable[Document], mistakes: Mistakes) -> dict[str, list[Part]]:
    """Return the sections by name, one part a file. Changes: mistakes."""
    parts: dict[str, list[Part]] = {}
    for document in documents:
        root = document.root
        if root is None or isinstance(root, Unusable):
            continue
        if not isinstance(root, YamlMap):
            # What stands there instead may be anything, also what a template read elsewhere.
            message = f"expected a mapping of sections, got {described(root, is_secret=True)}"
            mistakes.add(document.where(()), "", message)
            continue
        for name, value in root.items():
            part = Part(document, name, value)
            if _fits(part, mistakes):
                parts.setdefault(name, []).append(part)
    return parts


def _fits(part: Part, mistakes: Mistakes) -> bool:
    """Return whether the section exists and has the right shape. Changes: mistakes."""
    name, value = part.name, part.value
    if name not in SPECIAL and name not in TABLE_SECTIONS:
        reason = NOT_MANAGED.get(name)
        message = f"proxyctl does not manage it: {reason}" if reason else "no such section"
        hint = None if reason else mistakes.did_you_mean(name, SPECIAL, TABLE_SECTIONS)
        mistakes.add(part.where(of_key=True), name, message, hint)
        return False
    if isinstance(value, Unusable):
        return False
    if value is None:
        hint = "remove the key to leave it alone"
        if name in TABLE_SECTIONS:
            hint += ", or write [] for a table without rows"
        mistakes.add(part.where(of_key=True), name, "the section is empty", hint)
        return False
    is_file = name in TABLE_SECTIONS and isinstance(value, YamlMap)
    shape = "a list" if name in _LISTS else "a mapping"
    fits = isinstance(value, YamlList if name in _LISTS else YamlMap)
    if fits or is_file or name in _SCALARS:
        return True
    mistakes.add(part.where(), name, f"expected {shape}, got {described(value, is_secret=True)}")
    return False


def check_version(part: Part, mistakes: Mistakes) -> None:
    """Note a version of the file format that is not known. Changes: mistakes."""
    if type(part.value) is not int or part.value != 1:
        mistakes.add(part.where(), "version", f"expected 1, got {described(part.value)}")


def check(
    part: Part,
    context: Context,
    *,
    columns: Mapping[str, Column] | None = None,
    unknown: Callable[[str], str | None] = lambda _: None,
) -> tuple[Any, set[str | int]]:
    """Validate a special section.

    Return what the model made of it (None after a mistake), and the keys or positions in it that
    are wrong.
    Changes: context.mistakes.
    """
    model, wrong = check_deep(part, context, columns=columns, unknown=unknown)
    return model, {keys[0] if keys else "" for keys in wrong}


def check_deep(
    part: Part,
    context: Context,
    *,
    columns: Mapping[str, Column] | None = None,
    unknown: Callable[[str], str | None] = lambda _: None,
) -> tuple[Any, set[tuple[str | int, ...]]]:
    """As `check`; return all keys that lead to what is wrong. Changes: context.mistakes."""
    from pydantic import ValidationError

    from proxyctl.config.model_errors import Subject, add_mistakes
    from proxyctl.config.models import section_adapter, section_type

    try:
        return section_adapter(part.name, context.layouts).validate_python(part.value), set()
    except ValidationError as error:
        subject = Subject(
            value=part.value,
            annotation=section_type(part.name, context.layouts),
            place=lambda keys, of_key: part.where(*keys, of_key=of_key),
            label=lambda keys: key_text((part.name, *keys)),
            columns=columns,
            unknown=unknown,
        )
        return None, add_mistakes(error, subject, context.mistakes)


def check_items(part: Part, context: Context) -> dict[int, Any]:
    """Validate a special section that is a list. Return the models of its right items, by position.

    Changes: context.mistakes.
    """
    from proxyctl.config.models import section_adapter

    models, bad = check(part, context)
    if models is not None:
        return dict(enumerate(models))
    adapter = section_adapter(part.name, context.layouts)
    return {
        position: adapter.validate_python([item])[0]
        for position, item in enumerate(part.value)
        if position not in bad
    }


def missing_table(table: Table, version: Version) -> str | None:
    """Return what to say when a version does not have the table; None if it has it."""
    if table.exists_in(version):
        return None
    if version < parse_version(table.since):
        return f"ProxySQL {version} has no table {table.name}; it came with {table.since}"
    return f"ProxySQL {version} has no table {table.name}; it was last in {table.until}"


def other_versions(
    table: Table, version: Version, instead: Mapping[str, str] | None = None
) -> Callable[[str], str | None]:
    """Return what explains a key that is a column of the table, but not in this version.

    `instead`: what to say of columns that have another name in a section.
    """

    def explain(name: str) -> str | None:
        if instead is not None and name in instead:
            return instead[name]
        found = [column for column in table.columns if column.name == name]
        if not found:
            return None
        if missing := missing_table(table, version):
            return missing
        if version < parse_version(found[0].since):
            return f"ProxySQL {version} has no such column; it came with {found[0].since}"
        return f"ProxySQL {version} has no such column; it was last in {found[-1].until}"

    return explain
