"""The `variables` section -> rows of global_variables, in ProxySQL's own spelling.

A value that ProxySQL would silently reset, round or drop is a mistake here.
"""

from __future__ import annotations

import re
from typing import Any

from proxyctl.catalog import VARIABLE_TABLES, Variable, VariableKind, layout_of
from proxyctl.catalog.charsets import charset_of, default_collation, fits
from proxyctl.catalog.releases import NEWEST_KNOWN, tier_text
from proxyctl.catalog.variable_rules import (
    CHARSET,
    COLLATION,
    DIFFS_BY_CHECKSUM,
    INTERFACES,
    bounds,
    canonical,
    complaint,
    number_complaint,
)
from proxyctl.catalog.variables import (
    ALWAYS_OFF,
    MISNAMED,
    READ_ONLY,
    VARIABLES,
    is_secret_variable,
)
from proxyctl.config.context import Compilation, FileSection
from proxyctl.config.env_references import is_reference, reference_fix
from proxyctl.config.mistakes import ValueProblem, described
from proxyctl.config.validation import since_when
from proxyctl.config.yaml import Unusable
from proxyctl.proxysql.flaws import OF_REFERENCE
from proxyctl.rows.desired import DesiredTable, Scope
from proxyctl.rows.row import Secret, Where
from proxyctl.rows.sql import NUL

_UNIT = re.compile(r"\d+ ?[A-Za-z]+\Z")
_REPEATED = frozenset({*INTERFACES, "mysql-server_version"})
"""Variables whose complaints repeat a part of the text."""


def compile_variables(parts: list[FileSection], context: Compilation) -> dict[str, DesiredTable]:
    """Return a table for each prefix that the files use. It owns the named variables alone.

    Changes: context.
    """
    values: dict[str, str] = {}
    places: dict[str, Where] = {}
    for part in parts:
        for name, value in part.value.items():
            where = part.where(name, of_key=True)
            first = places.setdefault(name, where)
            if first is not where:
                message = f"duplicate variable (first set at {first})"
                context.note(part, (name,), message, of_key=True)
            is_known = False
            try:
                variable = _known(name, where, context)
                is_known = True
                if not isinstance(value, Unusable):
                    values.setdefault(name, _Value(name, part, context).text(variable, value))
            except ValueProblem as refusal:
                context.note(part, (name,), refusal.message, refusal.fix, of_key=not is_known)
    _check_charset(values, places, context)
    tables: dict[str, DesiredTable] = {}
    for table in VARIABLE_TABLES:
        names = [name for name in values if name.startswith(str(table.prefix))]
        if names:
            first, owned = places[names[0]], {(name,) for name in names}
            tables[table.name] = DesiredTable(
                layout_of(table, context.version),
                {(name,): (name, values[name]) for name in names},
                {(name,): places[name] for name in names},
                {"variable_name": first, "variable_value": first},
                scope=Scope(owned.__contains__, "the variables that the files name"),
            )
    return tables


def _check_charset(values: dict[str, str], places: dict[str, Where], context: Compilation) -> None:
    """Note a character set and a collation that do not fit, or one of them without the other.

    ProxySQL obeys the collation, which may change the character set. Changes: context.
    """
    charset, collation = values.get(CHARSET, ""), values.get(COLLATION, "")
    name, owner = CHARSET, charset_of(collation)
    if charset and COLLATION not in places:
        message = "ProxySQL accepts a character set only together with one of its collations"
        fix = f"add {COLLATION}: {default_collation(charset)}"
    elif collation and CHARSET not in places:
        name, message = COLLATION, "ProxySQL sets the character set of the collation"
        fix = f"add {CHARSET}: {owner or 'its character set'}"
    elif charset and owner is not None and not fits(charset, collation):
        message = f"{COLLATION} ({places[COLLATION]}) makes ProxySQL change this to {owner!r}"
        fix = "write one of its collations"
    else:
        return
    context.mistakes.add(places[name], f"variables.{name}", message, fix)


def _known(name: str, where: Where, context: Compilation) -> Variable | None:
    """Return the variable; None if only a newer catalogue would have it.

    Raises: ValueProblem. Changes: context.warnings.
    """
    variable, version = VARIABLES.get(name), context.version
    if name in READ_ONLY:
        raise ValueProblem("read-only: it cannot be set", "remove it")
    if name in context.deviations.variables:
        return variable
    if variable is not None:
        if not variable.exists_in(version):
            when = since_when(variable.since, variable.until, version)
            text = f"ProxySQL {version} has no such variable and would drop it{when}"
            raise ValueProblem(text)
        return variable
    if (tier := tier_text(name)) and version <= NEWEST_KNOWN:
        raise ValueProblem(f"{tier}; other versions drop it without an error")
    prefixes = [str(table.prefix) for table in VARIABLE_TABLES]
    meant = MISNAMED.get(name)
    fix = f"did you mean {meant!r}?" if meant else context.mistakes.did_you_mean(name, VARIABLES)
    if not name.startswith(tuple(prefixes)):
        like = [prefix + name for prefix in prefixes if prefix + name in VARIABLES]
        fix = f"did you mean {like[0]!r}?" if like else fix
        raise ValueProblem(f"no such variable: a name begins with {' or '.join(prefixes)}", fix)
    if version <= NEWEST_KNOWN:
        raise ValueProblem("ProxySQL has no such variable and would drop it without an error", fix)
    tail = f" ({fix})" if fix else ""
    context.warnings.append(f"{where}: {name} is unknown to proxyctl and used unchecked{tail}")
    return None


class _Value:
    """The value of one variable in one file."""

    def __init__(self, name: str, part: FileSection, context: Compilation) -> None:
        self._name = name
        self._part = part
        self._context = context

    def text(self, variable: Variable | None, value: Any) -> str:  # noqa: ANN401 - any YAML value
        """Return the canonical text of a value. Raises: ValueProblem."""
        if value is None:
            fix = "remove the key to leave it alone, or write a value"
            raise ValueProblem("a variable cannot be null", fix)
        if variable is None and isinstance(value, int):
            return str(value).lower()
        match variable.kind if variable else VariableKind.TEXT:
            case VariableKind.BOOL:
                return self._flag(value)
            case VariableKind.INT:
                return self._integer(value)
            case VariableKind.TEXT:
                return self._text(value)

    def _unexpected(self, words: str, value: object, fix: str | None = None) -> ValueProblem:
        got = described(value, is_secret=is_secret_variable(self._name))
        return ValueProblem(f"expected {words}, got {got}", fix)

    def _flag(self, value: object) -> str:
        diffs = DIFFS_BY_CHECKSUM.get(self._name)
        if diffs is not None and value in (0, False):
            message = f"when it is false, ProxySQL uses 0 for {diffs}"
            raise ValueProblem(message, f"write {diffs}: 0 instead")
        if self._name in ALWAYS_OFF and value in (1, True) and not self._context.version.tier:
            raise ValueProblem("ProxySQL resets it to false at every LOAD", "remove it")
        if isinstance(value, int) and value in (0, 1):
            return "true" if value else "false"
        fix = "remove the quotes" if value in ("true", "false") else None
        raise self._unexpected("true or false", value, fix)

    def _integer(self, value: object) -> str:
        low, high = bounds(VARIABLES[self._name], self._context.version)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            fix = None
            if isinstance(value, str) and _UNIT.match(value):
                fix = "write the number out: units are not read (64M would become 64)"
            elif isinstance(value, str) and value.isdigit():
                fix = "remove the quotes"
            raise self._unexpected(f"an integer from {low} to {high}", value, fix)
        problem = number_complaint(self._name, value, self._context.version)
        if problem is not None:
            raise ValueProblem(problem.message, problem.fix)
        return str(value)

    def _text(self, value: Any) -> str:  # noqa: ANN401 - text or a reference
        context = self._context
        if isinstance(value, dict):
            is_secret = is_secret_variable(self._name)
            if not is_reference(value) or ("command" in value and not is_secret):
                raise self._unexpected("text", value, reference_fix(value, is_secret=is_secret))
            value = context.text(value, self._part.path, is_secret=is_secret)
        if not isinstance(value, str):
            fix = "quote it" if isinstance(value, int | float) else None
            raise self._unexpected("text", value, fix)
        if "\0" in value:
            raise ValueProblem(NUL)
        problem = complaint(self._name, value)
        if problem is None or (self._name in INTERFACES and context.takes_dead_rules):
            spelled = canonical(self._name, value)
            return Secret(spelled) if isinstance(value, Secret) else spelled
        if problem.choices and context.version > NEWEST_KNOWN:
            where = self._part.where(self._name, of_key=True)
            newer = "this ProxySQL may be newer than the catalogue"
            context.warnings.append(f"{where}: {self._name} {problem.message}; {newer}")
            return value
        if isinstance(value, Secret) and self._name in _REPEATED:
            raise ValueProblem(*OF_REFERENCE)
        # The text is not repeated: it may come from an environment variable by mistake.
        near = context.mistakes.did_you_mean(value, problem.choices)
        raise ValueProblem(problem.message, near or problem.fix)
