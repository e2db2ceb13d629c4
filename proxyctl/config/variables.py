"""The `variables` section -> rows of global_variables, in ProxySQL's own spelling.

A value that ProxySQL would silently reset, round or drop is a mistake here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from proxyctl.catalog import (
    TABLES,
    VARIABLE_TABLES,
    Variable,
    VariableKind,
    Version,
    layout_of,
    parse_version,
)
from proxyctl.catalog.charsets import charset_of, default_collation, fits
from proxyctl.catalog.releases import NEWEST_KNOWN, tier_text
from proxyctl.catalog.variable_rules import (
    CHARSET,
    CHARSET_PAIR,
    COLLATION,
    DIFFS_BY_CHECKSUM,
    bounds,
    canonical,
    complaint,
    number_complaint,
)
from proxyctl.catalog.variables import ALWAYS_OFF, READ_ONLY, VARIABLES, is_secret_variable
from proxyctl.config.context import Context, Part
from proxyctl.config.env_references import REFERENCE_FIX, is_reference
from proxyctl.config.mistakes import Refusal, described
from proxyctl.config.yaml import Unusable
from proxyctl.state.row import DesiredRow, DesiredTable, Key, Scope, Secret, Where
from proxyctl.state.sql import NUL

_FIXES = {"mysql-server_capabilities": "write a sum of capability bits; the default is 569867"}
_UNIT = re.compile(r"\d+ ?[A-Za-z]+\Z")


@dataclass
class _Found:
    """The variables of one table, while they are collected."""

    rows: dict[Key, DesiredRow] = field(default_factory=dict)
    where: dict[Key, Where] = field(default_factory=dict)


def compile_variables(parts: list[Part], context: Context) -> dict[str, DesiredTable]:
    """Return a table for each prefix that the files use, owning just the named variables.

    Changes: context.
    """
    found: dict[str, _Found] = {}
    for part in parts:
        for name, value in part.value.items():
            where = part.where(name, of_key=True)
            table = found.setdefault(f"{name.partition('-')[0]}_variables", _Found())
            earlier = table.where.setdefault((name,), where)
            if earlier is not where:
                message = f"duplicate variable (first set at {earlier})"
                context.note(part, (name,), message, of_key=True)
            try:
                text = _Variable(part, name, context).text(value)
                table.rows.setdefault((name,), (name, text))
            except Refusal as refusal:
                of_key = isinstance(refusal, _UnknownError)
                context.note(part, (name,), refusal.message, refusal.fix, of_key=of_key)
    for table in found.values():
        _check_charset(table, context)
    return {
        name: _desired(name, table, context.version) for name, table in found.items() if table.rows
    }


def _desired(table: str, found: _Found, version: Version) -> DesiredTable:
    first = next(iter(found.where.values()))
    names = frozenset(found.rows)
    return DesiredTable(
        layout_of(TABLES[table], version),
        found.rows,
        found.where,
        {"variable_name": first, "variable_value": first},
        scope=Scope(names.__contains__, "the variables that the files name"),
    )


def _check_charset(found: _Found, context: Context) -> None:
    """Note a character set and a collation that do not fit, or one without the other.

    Of the two, ProxySQL takes the collation, and lets it change the character set. Changes:
    context.
    """
    charset, collation = (str(found.rows.get((name,), ("", ""))[1]) for name in CHARSET_PAIR)
    where = found.where.get((CHARSET,)) or found.where.get((COLLATION,))
    if where is None:
        return
    owner = charset_of(collation)
    if not collation and (CHARSET,) in found.rows and (COLLATION,) not in found.where:
        fix = f"add {COLLATION}: {default_collation(charset)}"
        message = "ProxySQL accepts a character set only together with one of its collations"
        context.mistakes.add(where, _label(CHARSET), message, fix)
    elif not charset and (COLLATION,) in found.rows and (CHARSET,) not in found.where:
        fix = f"add {CHARSET}: {owner or 'its character set'}"
        message = "ProxySQL sets the character set of the collation"
        context.mistakes.add(where, _label(COLLATION), message, fix)
    elif charset and owner is not None and not fits(charset, collation):
        message = f"{COLLATION} ({found.where[COLLATION,]}) makes ProxySQL change this to {owner!r}"
        context.mistakes.add(where, _label(CHARSET), message, "write one of its collations")


def _label(name: str) -> str:
    return f"variables.{name}"


class _UnknownError(Refusal):
    """A variable that cannot be set, whatever its value."""


class _Variable:
    """One variable of one file."""

    def __init__(self, part: Part, name: str, context: Context) -> None:
        self._part = part
        self._name = name
        self._version = context.version
        self._context = context

    def text(self, value: Any) -> str:  # noqa: ANN401 - any YAML value
        """Return the canonical text of a value. Raises: Refusal."""
        variable = self._known()
        if isinstance(value, Unusable):
            raise Refusal("")
        if value is None:
            fix = "remove the key to leave it alone, or write a value"
            raise Refusal("a variable cannot be null", fix)
        if variable is None and isinstance(value, bool):
            return "true" if value else "false"
        if variable is None and isinstance(value, int):
            return str(value)
        match variable.kind if variable else VariableKind.TEXT:
            case VariableKind.BOOL:
                return self._flag(value)
            case VariableKind.INT:
                return self._integer(value)
            case VariableKind.TEXT:
                return self._text(value)

    def _known(self) -> Variable | None:
        """Return the variable; None of one that only a newer catalogue would have.

        Raises: Refusal.
        """
        name, variable = self._name, VARIABLES.get(self._name)
        if name in READ_ONLY:
            raise _UnknownError("read-only: it cannot be set", "remove it")
        is_present = name in self._context.deviations.variables
        if is_present or (variable is not None and variable.exists_in(self._version)):
            return variable
        if variable is not None:
            since = parse_version(variable.since)
            when = f"it was last in {variable.until}"
            if not self._version.has(since):
                when = f"it came with {self._version.numbered(since)}"
            raise _UnknownError(
                f"ProxySQL {self._version} has no such variable and would drop it; {when}"
            )
        if (tier := tier_text(name)) and self._version <= NEWEST_KNOWN:
            raise _UnknownError(f"{tier}; other versions drop it without an error")
        prefixes = [str(table.prefix) for table in VARIABLE_TABLES]
        fix = self._context.mistakes.did_you_mean(name, VARIABLES)
        if not name.startswith(tuple(prefixes)):
            like = [prefix + name for prefix in prefixes if prefix + name in VARIABLES]
            fix = f"did you mean {like[0]!r}?" if like else fix
            message = f"no such variable: a name begins with {' or '.join(prefixes)}"
            raise _UnknownError(message, fix)
        if self._version > NEWEST_KNOWN:
            tail = f" ({fix})" if fix else ""
            self._warn(f"is unknown to proxyctl and used unchecked{tail}")
            return None
        message = "ProxySQL has no such variable and would drop it without an error"
        raise _UnknownError(message, fix)

    def _warn(self, text: str) -> None:
        where = self._part.where(self._name, of_key=True)
        self._context.warnings.append(f"{where}: {self._name} {text}")

    def _unexpected(self, words: str, value: object, fix: str | None = None) -> Refusal:
        got = described(value, is_secret=is_secret_variable(self._name))
        return Refusal(f"expected {words}, got {got}", fix)

    def _flag(self, value: object) -> str:
        diffs = DIFFS_BY_CHECKSUM.get(self._name)
        if diffs is not None and value in (0, False):
            message = f"when it is false, ProxySQL uses 0 for {diffs}"
            raise Refusal(message, f"write {diffs}: 0 instead")
        if self._name in ALWAYS_OFF and value in (1, True) and not self._version.tier:
            raise Refusal("ProxySQL resets it to false at every LOAD", "remove it")
        if isinstance(value, int) and value in (0, 1):
            return "true" if value else "false"
        fix = "remove the quotes" if value in ("true", "false") else None
        raise self._unexpected("true or false", value, fix)

    def _integer(self, value: object) -> str:
        low, high = bounds(VARIABLES[self._name], self._version)
        words = f"an integer from {low} to {high}"
        if not isinstance(value, int) or isinstance(value, bool):
            fix = None
            if isinstance(value, str) and _UNIT.match(value):
                fix = "write the number out: units are not read (64M would become 64)"
            elif isinstance(value, str) and value.isdigit():
                fix = "remove the quotes"
            raise self._unexpected(words, value, fix)
        if not low <= value <= high:
            raise self._unexpected(words, value, _FIXES.get(self._name))
        found = number_complaint(self._name, value, self._version)
        if found is not None:
            raise Refusal(found.message, found.fix)
        return str(value)

    def _text(self, value: Any) -> str:  # noqa: ANN401 - text or a reference
        if isinstance(value, dict):
            if not is_reference(value):
                raise self._unexpected("text", value, REFERENCE_FIX)
            is_secret = is_secret_variable(self._name)
            value = self._context.text(value, self._part.path, is_secret=is_secret)
        if not isinstance(value, str):
            fix = "quote it" if isinstance(value, int | float) else None
            raise self._unexpected("text", value, fix)
        if "\0" in value:
            raise Refusal(NUL)
        found = complaint(self._name, value)
        if found is None:
            same = canonical(self._name, value)
            return Secret(same) if isinstance(value, Secret) else same
        if found.choices and self._version > NEWEST_KNOWN:
            self._warn(f"{found.message}; this ProxySQL may be newer than the catalogue")
            return value
        # The text is not repeated: it may come from an environment variable by mistake.
        near = self._context.mistakes.did_you_mean(value, found.choices)
        raise Refusal(found.message, near or found.fix)
