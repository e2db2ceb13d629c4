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
from proxyctl.config.mistakes import described
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
            prefix = name.partition("-")[0]
            table = f"{prefix}_variables"
            if table not in TABLES or "-" not in name:
                _add_unknown(part, name, context)
                continue
            text = _Compiler(part, name, context).text(value)
            collected = found.setdefault(table, _Found())
            where = part.where(name, of_key=True)
            earlier = collected.where.setdefault((name,), where)
            if earlier is not where:
                message = f"duplicate variable (first set at {earlier})"
                context.mistakes.add(where, _label(name), message)
            elif text is not None:
                collected.rows[(name,)] = (name, text)
    for collected in found.values():
        _check_charset(collected, context)
    return {
        table: _desired(table, collected, context.version)
        for table, collected in found.items()
        if collected.rows
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


def _add_unknown(part: Part, name: str, context: Context) -> None:
    prefixes = [table.prefix or "" for table in VARIABLE_TABLES]
    with_prefix = [prefix + name for prefix in prefixes if prefix + name in VARIABLES]
    fix = f"did you mean {with_prefix[0]!r}?" if with_prefix else None
    fix = fix or context.mistakes.did_you_mean(name, VARIABLES)
    message = f"no such variable: a name begins with {' or '.join(prefixes)}"
    if name.partition("-")[2]:
        message, fix = _unknown_variable(name, fix)
    context.note(part, (name,), message, fix, of_key=True)


def _unknown_variable(name: str, fix: str | None) -> tuple[str, str | None]:
    """Return what to say of a variable that the catalogue lacks, and the fix."""
    tier = tier_text(name)
    message = "ProxySQL has no such variable and would drop it without an error"
    return (
        (message, fix)
        if tier is None
        else (f"{tier}; other versions drop it without an error", None)
    )


class _Compiler:
    """One variable of one file."""

    def __init__(self, part: Part, name: str, context: Context) -> None:
        self._part = part
        self._name = name
        self._version = context.version
        self._context = context

    def _add(self, message: str, fix: str | None = None, *, of_key: bool = False) -> None:
        self._context.note(self._part, (self._name,), message, fix, of_key=of_key)

    def text(self, value: Any) -> str | None:  # noqa: ANN401 - any YAML value
        """Return the canonical text of a value; None after a mistake."""
        if isinstance(value, Unusable):
            return None
        if self._name in READ_ONLY:
            self._add("read-only: it cannot be set", "remove it", of_key=True)
            return None
        variable = VARIABLES.get(self._name)
        is_present = self._name in self._context.deviations.variables
        if not is_present and (variable is None or not variable.exists_in(self._version)):
            if not self._is_plausible(variable):
                return None
            variable = None
        if value is None:
            fix = "remove the key to leave it alone, or write a value"
            self._add("a variable cannot be null", fix)
            return None
        if variable is None:
            return self._any(value)
        match variable.kind:
            case VariableKind.BOOL:
                return self._flag(value)
            case VariableKind.INT:
                return self._integer(value, variable)
            case VariableKind.TEXT:
                return self._text(value)

    def _is_plausible(self, variable: Variable | None) -> bool:
        """Note a variable that this version lacks; one newer than the catalogue gets a warning."""
        if variable is not None:
            message = f"ProxySQL {self._version} has no such variable and would drop it"
            since = parse_version(variable.since)
            if not self._version.has(since):
                message += f"; it came with {self._version.numbered(since)}"
            else:
                message += f"; it was last in {variable.until}"
            self._add(message, of_key=True)
            return False
        fix = self._context.mistakes.did_you_mean(self._name, VARIABLES)
        if self._version > NEWEST_KNOWN:
            where = self._part.where(self._name, of_key=True)
            tail = f" ({fix})" if fix else ""
            self._context.warnings.append(
                f"{where}: {self._name} is unknown to proxyctl and used unchecked{tail}"
            )
            return True
        self._add(*_unknown_variable(self._name, fix), of_key=True)
        return False

    def _expected(self, words: str, value: object, fix: str | None = None) -> None:
        got = described(value, is_secret=is_secret_variable(self._name))
        self._add(f"expected {words}, got {got}", fix)

    def _any(self, value: object) -> str | None:
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value) if isinstance(value, int) else self._text(value)

    def _flag(self, value: object) -> str | None:
        diffs = DIFFS_BY_CHECKSUM.get(self._name)
        if diffs is not None and value in (0, False):
            self._add(f"when it is false, ProxySQL uses 0 for {diffs}", f"write {diffs}: 0 instead")
            return None
        if self._name in ALWAYS_OFF and value in (1, True) and not self._version.tier:
            self._add("ProxySQL resets it to false at every LOAD", "remove it")
            return None
        if isinstance(value, int) and value in (0, 1):
            return "true" if value else "false"
        fix = "remove the quotes" if value in ("true", "false") else None
        self._expected("true or false", value, fix)
        return None

    def _integer(self, value: object, variable: Variable) -> str | None:
        low, high = bounds(variable, self._version)
        words = f"an integer from {low} to {high}"
        if not isinstance(value, int) or isinstance(value, bool):
            fix = None
            if isinstance(value, str) and _UNIT.match(value):
                fix = "write the number out: units are not read (64M would become 64)"
            elif isinstance(value, str) and value.isdigit():
                fix = "remove the quotes"
            self._expected(words, value, fix)
            return None
        if not low <= value <= high:
            self._expected(words, value, _FIXES.get(self._name))
            return None
        found = number_complaint(self._name, value, self._version)
        if found is not None:
            self._add(found.message, found.fix)
            return None
        return str(value)

    def _text(self, value: Any) -> str | None:  # noqa: ANN401 - text or a reference
        if isinstance(value, dict):
            return self._reference(value)
        if not isinstance(value, str):
            fix = "quote it" if isinstance(value, int | float) else None
            self._expected("text", value, fix)
            return None
        return self._checked(value)

    def _reference(self, value: dict[str, Any]) -> str | None:
        from proxyctl.config.references import is_reference, reference_fix

        if not is_reference(value):
            self._expected("text", value, reference_fix(value))
            return None
        is_secret = is_secret_variable(self._name)
        where, label = self._part.where(self._name), _label(self._name)
        text = self._context.text(value, where, label, is_secret=is_secret)
        return None if text is None else self._checked(text)

    def _checked(self, text: str) -> str | None:
        if "\0" in text:
            self._add(NUL)
            return None
        found = complaint(self._name, text)
        if found is None:
            same = canonical(self._name, text)
            return Secret(same) if isinstance(text, Secret) else same
        if found.choices and self._version > NEWEST_KNOWN:
            where = self._part.where(self._name)
            warning = (
                f"{where}: {self._name}: {found.message}; this ProxySQL may be newer than"
                " the catalogue"
            )
            self._context.warnings.append(warning)
            return text
        # The text is not repeated: it may come from an environment variable by mistake.
        near = self._context.mistakes.did_you_mean(text, found.choices)
        self._add(found.message, near or found.fix)
        return None
