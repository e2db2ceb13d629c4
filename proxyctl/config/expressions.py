"""Compiles expressions of policies: Jinja2's sandbox, closed to all but rows, text and numbers.

Imported only for a policy. An expression reaches no file, no environment and no function but the
filters, tests and methods that are listed here. The running time is not bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, Undefined, nodes
from jinja2.environment import TemplateExpression
from jinja2.exceptions import TemplateRuntimeError
from jinja2.filters import do_round
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from proxyctl.config.mistakes import ValueProblem, described, did_you_mean
from proxyctl.config.templates import RUNTIME_ERRORS, error_words
from proxyctl.lint.policy import HiddenCell, PolicyFailure

FILTERS = (
    *("abs", "count", "d", "default", "first", "float", "int", "join", "last", "length", "list"),
    *("lower", "map", "max", "min", "reject", "round", "select", "sort", "string", "sum", "trim"),
    *("unique", "upper"),
)
"""Jinja2's filters that an expression may use. None takes long, or makes a text much longer than
its input: `join` and `round` have limits here."""

MOST_JOINED = 10_000
"""The longest text that `join` makes: joins of joins would fill the memory. Units: characters."""

MOST_DIGITS = 15
"""The most digits that `round` keeps or drops: it computes with such a power of 10."""

TEXT_METHODS = ("endswith", "lower", "split", "startswith", "strip", "upper")
"""The methods of a text that an expression may call."""


def _found(find: Callable[..., object], value: object, pattern: object) -> bool:
    if isinstance(value, HiddenCell):
        value.refuse()
    if value is None:
        return False
    if not isinstance(value, str) or not isinstance(pattern, str):
        raise TemplateRuntimeError("`match` and `search` compare text with a pattern")
    try:
        return find(pattern, value) is not None
    except re.error as error:
        raise TemplateRuntimeError(f"the pattern does not compile: {error}") from None


def _match(value: object, pattern: object) -> bool:
    """Return whether the beginning of a text matches, as Ansible's test `match`; NULL does not."""
    return _found(re.match, value, pattern)


def _search(value: object, pattern: object) -> bool:
    """Return whether any part of a text matches, as Ansible's test `search`; NULL does not."""
    return _found(re.search, value, pattern)


def _join(value: Iterable[object], separator: object = "") -> str:
    """Return the items of a list as one text, as Jinja2's filter `join`."""
    items, between = [*map(str, value)], str(separator)
    if sum(map(len, items)) + len(between) * len(items) > MOST_JOINED:
        raise TemplateRuntimeError(f"join can make at most {MOST_JOINED} characters")
    return between.join(items)


def _round(value: float, precision: int = 0, method: Any = "common") -> float:  # noqa: ANN401
    """Return a rounded number, as Jinja2's filter `round`."""
    if precision not in range(-MOST_DIGITS, MOST_DIGITS + 1):
        raise TemplateRuntimeError(f"round accepts {-MOST_DIGITS} to {MOST_DIGITS} digits")
    return do_round(value, precision, method)


_LIMITED = {"join": _join, "round": _round}


class _ClosedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja2's sandbox, where only rows and lists have items and only text has methods."""

    intercepted_binops = frozenset({"*", "**", "%"})  # a short text must not become a huge one

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False, optimized=False, cache_size=0)
        self.globals.clear()
        self.filters = {name: self.filters[name] for name in FILTERS} | _LIMITED
        self.tests |= {"match": _match, "search": _search}

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401
        """Return the result of an operator. Raises: TemplateRuntimeError for text and `**`."""
        for side in (left, right):
            if isinstance(side, HiddenCell):
                side.refuse()
        if operator == "**":
            raise TemplateRuntimeError("a policy cannot use the operator **")
        if not all(isinstance(side, int | float) for side in (left, right)):
            raise TemplateRuntimeError(f"the operator {operator} needs numbers")
        return super().call_binop(context, operator, left, right)

    def getattr(self, obj: Any, attribute: str) -> Any:  # noqa: ANN401
        """Return a column of a row or a method of a text; undefined for anything else."""
        if isinstance(obj, str) and attribute in TEXT_METHODS:
            return getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:  # noqa: ANN401
        """Return an item of a row, a list or a text; undefined for anything else."""
        if isinstance(obj, HiddenCell):
            obj.refuse()
        if isinstance(obj, Undefined):
            bool(obj)  # raises what is undefined
        if isinstance(obj, dict | list | tuple | str):
            try:
                return obj[argument]
            except (LookupError, TypeError):
                pass
        if isinstance(obj, dict):
            return self.undefined(hint=f"there is no column or hostgroup {argument!r}")
        owner = "none: there is no such row, or it is NULL"
        if obj is not None:
            is_value = isinstance(obj, str | int | float | list)
            owner = described(obj, is_secret=True) if is_value else "a method"
        return self.undefined(hint=f"cannot read {argument!r} of {owner}")


def compiled(
    text: str, names: Collection[str], columns: tuple[str, ...]
) -> tuple[Callable[[Mapping[str, object]], bool], tuple[str, ...]]:
    """Return the function that evaluates an expression, and the columns of `row` that it reads.

    `names`: what it may use; `columns`: those of `row`. The function raises PolicyFailure where the
    expression has no answer, or one that is neither true nor false. Raises: ValueProblem.
    """
    environment = _ClosedEnvironment()
    try:
        expression = environment.compile_expression(text, undefined_to_none=False)
        tree = environment.parse(f"{{{{ {text} }}}}")
    except TemplateSyntaxError as error:
        raise ValueProblem(f"the expression does not compile: {error.message}") from None
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueProblem("the expression nests too deeply") from None
    for name in sorted(find_undeclared_variables(tree) - {*names}):
        fix = did_you_mean(name, names) or f"choose from {', '.join(names)}"
        raise ValueProblem(f"{name} is not defined in this policy", fix)
    named = [node.attr for node in tree.find_all(nodes.Getattr) if _is_row(node.node)]
    for column in named:
        if column not in columns:
            raise ValueProblem(f"row has no column {column}", did_you_mean(column, columns))
    # `row["comment"]`, or a row as a whole, may read any column.
    by_name = len(named) == sum(map(_is_row, tree.find_all(nodes.Name)))
    read = tuple(sorted({*named})) if by_name else columns
    return partial(_answer, expression), read


def _is_row(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == "row"


def _answer(expression: TemplateExpression, values: Mapping[str, object]) -> bool:
    """Return whether the expression holds. Raises: PolicyFailure."""
    try:
        value = expression(values)
        if isinstance(value, Undefined):
            bool(value)  # raises what is undefined
    except RUNTIME_ERRORS as error:
        raise PolicyFailure(error_words(error)) from None
    if isinstance(value, HiddenCell):
        value.refuse()
    # ProxySQL's booleans are the numbers 0 and 1.
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise PolicyFailure(f"it gives {described(value, is_secret=True)}, not true or false")
