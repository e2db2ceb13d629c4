"""A Jinja2 sandbox in which no template runs away: every loop and every text has a limit.

The sandbox of Jinja2 keeps a template from reaching out; it does not keep `'x' * 10**10` or two
loops in each other from eating the memory or the night. Steps are counted, and what multiplies a
text is measured before it is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import wraps
from typing import Any, cast

from jinja2 import Environment, StrictUndefined, Undefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from proxyctl.config.files import MAX_FILE

MAX_STEPS = 1_000_000
"""Most turns of loops, and calls of functions and filters, in one file. Long texts count more."""

MAX_ITEMS = 1_000_000
"""Longest text or list that one multiplication may make."""

MAX_RANGE = 100_000
"""Longest range. Jinja2's own limit."""

_MAX_BITS = 4096
"""Largest number that an operation may make."""

_TEXT_PER_STEP = 1000
_ITEMS_PER_STEP = 10

_WITH_WIDTH = frozenset(
    (
        *("batch", "center", "indent", "slice", "tojson", "wordwrap"),
        *("expandtabs", "ljust", "rjust", "zfill"),
    )
)
"""Filters and methods of text that repeat something as often as a number says."""

_WHOLE_TEXT = frozenset(
    ("e", "escape", "forceescape", "pprint", "string", "tojson", "urlencode", "xmlattr")
)
"""Filters that write out a list or a mapping with all that is in it."""

_EACH_ITEM = frozenset(("dictsort", "groupby", "max", "min", "sort", "sum", "unique"))
"""Filters that call Python for every item: each of them is a step."""

_NOT_NEEDED = frozenset({"encode", "to_bytes", "translate"})
"""Methods that make much out of little, and that no configuration needs."""

_STEP, _JOIN, _KEEP, _WEIGH = "(step)", "(join)", "(keep)", "(weigh)"
"""Filters of our own. No template can name them."""

_LONG_WIDTH = re.compile(r"%[^A-Za-z%]*(?:[0-9]{5}|\*)")
_LONG_FIELD = re.compile(r"\{[^{}]*(?:[0-9]{5}|:[^{}]*\{)")


class TemplateLimitError(SecurityError):
    """A template asks for more than any configuration needs."""


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox for one file and what it includes.

    `names` are those that the templates take from outside or from themselves.
    """

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, loader: Any) -> None:  # noqa: ANN401 - a loader of Jinja2
        super().__init__(
            loader=loader,
            undefined=StrictUndefined,
            autoescape=False,  # the output is YAML, not HTML
            keep_trailing_newline=True,
            auto_reload=False,
            optimized=False,  # what is worked out beforehand has no line yet
            finalize=self._shown,
        )
        self._steps = 0
        self.globals["range"] = self._range
        del self.globals["lipsum"]
        for name, function in self.filters.items():
            self.filters[name] = self._bounded(name, function)
        self.filters |= {_STEP: self._counted, _JOIN: self._joined, _KEEP: self._kept}
        self.filters[_WEIGH] = self._weighed

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:  # noqa: ANN401
        return super()._generate(_Bound().visit(source), *args, **kwargs)

    # Steps ----------------------------------------------------------------------------------------

    def step(self, value: object = None) -> None:
        """Count one step, or more for a long value. Raises: TemplateLimitError."""
        self._steps += 1
        if isinstance(value, str):
            self._steps += len(value) // _TEXT_PER_STEP
        elif isinstance(value, Sequence | Mapping):
            self._steps += len(value) // _ITEMS_PER_STEP
        if self._steps > MAX_STEPS:
            raise TemplateLimitError(f"more than {MAX_STEPS:,} steps; loops in loops multiply")

    def _counted(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self.step()
            yield item

    def _weighed(self, value: Any) -> Any:  # noqa: ANN401 - any value
        """Return a value that is looked through; a range is not. Raises: TemplateLimitError."""
        if not isinstance(value, range):
            self.step(value)
        return value

    def _range(self, *bounds: object) -> range:
        for bound in bounds:
            _refuse_undefined(bound)
            if not isinstance(bound, int):
                raise TypeError(f"range takes integers, got {type(bound).__name__} {bound!r:.40}")
        made = range(*cast(tuple[int, ...], bounds))
        try:
            fits = len(made) <= MAX_RANGE
        except OverflowError:
            fits = False
        if not fits:
            raise TemplateLimitError(f"a range of more than {MAX_RANGE:,} numbers")
        return made

    # Sizes ----------------------------------------------------------------------------------------

    def _kept(self, value: Any) -> Any:  # noqa: ANN401 - any value
        """Return a value that is not too large. Raises: TemplateLimitError."""
        if isinstance(value, str | list | tuple) and len(value) > MAX_FILE:
            raise _too_long()
        return value

    def _shown(self, value: Any) -> Any:  # noqa: ANN401 - any value
        """Return a value that may be written out. Raises: TemplateLimitError."""
        if not isinstance(value, str):
            _size(value)
        return value

    def _joined(self, parts: list[Any]) -> str:
        return "".join(map(str, self._measured(parts, 0)))

    def _measured(self, items: Iterable[Any], between: int) -> Iterator[Any]:
        """Yield the items as long as the text that they make is not too long."""
        total = 0
        for item in items:
            total += between + _size(item)
            if total > MAX_FILE:
                raise _too_long()
            self.step()
            yield item

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401
        """Refuse what would make too much, such as `"x" * 10**12`. Raises: TemplateLimitError."""
        self.step(left)
        if operator == "%" and isinstance(left, str):
            _check_printf(left)
        elif operator == "*":
            _check_product(left, right)
        elif operator == "**" and isinstance(left, int) and isinstance(right, int):
            _check_bits(left.bit_length() * right)
        return self._kept(super().call_binop(context, operator, left, right))

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401, N805
        """Call a function of a template, a macro or a method. Raises: TemplateLimitError."""
        owner = getattr(__obj, "__self__", None)
        __self.step(owner)
        if isinstance(__obj, LoopContext):
            args = (__self._counted(args[0]), *args[1:])
        elif isinstance(owner, str | bytes):
            args = __self._checked(__obj.__name__, owner, args, kwargs)
        result = super().call(__context, __obj, *args, **kwargs)
        return __self._kept(result) if isinstance(__obj, Macro) else result

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:  # noqa: ANN401
        """Return whether a template may have the attribute."""
        return attr not in _NOT_NEEDED and super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:  # noqa: ANN401
        """Return `str.format` without fields of any width."""
        formatted = super().wrap_str_format(value)
        if formatted is None:
            return None

        def bounded(*args: Any, **kwargs: Any) -> str:  # noqa: ANN401
            if _LONG_FIELD.search(value.__self__):
                raise TemplateLimitError("a width above 9,999, or one that is not written out")
            return formatted(*args, **kwargs)

        return bounded

    def _bounded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a filter that is measured before it runs."""
        # A filter may ask for the context or the environment in front of the value.
        position = 1 if hasattr(function, "jinja_pass_arg") else 0

        @wraps(function)
        def bounded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            value = args[position]
            self.step(value)
            if name in _EACH_ITEM and isinstance(value, Sized):
                self._steps += len(value)
            if name == "join":
                between = args[position + 1] if len(args) > position + 1 else kwargs.get("d", "")
                value = self._measured(value, len(str(between)))
            if name in _WHOLE_TEXT:
                _size(value)
            rest = self._checked(name, value, args[position + 1 :], kwargs)
            return self._kept(function(*args[:position], value, *rest, **kwargs))

        return bounded

    def _checked(
        self,
        name: str,
        value: object,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> tuple[Any, ...]:
        """Return the arguments of a filter or method that makes no more than its value allows.

        Raises: TemplateLimitError.
        """
        given = (*args, *kwargs.values())
        if name in _WITH_WIDTH:
            length = max(1, len(value)) if isinstance(value, str | bytes) else 1
            for one in given:
                _refuse_undefined(one)
                width = one if isinstance(one, int) else len(one) if isinstance(one, str) else 0
                if width * length > MAX_FILE:
                    raise _too_long()
        elif name == "format" and isinstance(value, str):
            _check_printf(value)
        elif name == "replace" and len(given) > 1:
            if str(value).count(str(given[0])) * len(str(given[1])) > MAX_FILE:
                raise _too_long()
        elif name == "join" and isinstance(value, str | bytes) and args:
            return (self._measured(args[0], len(value)), *args[1:])
        return args


class _Bound(NodeTransformer):
    """Leads what grows without a call through our own filters."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - the name is Jinja2's
        """Count the turns of a loop."""
        node = cast(nodes.For, self.generic_visit(node))
        node.iter = _through(_STEP, cast(nodes.Expr, node.iter), node)
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        """Weigh what is compared, and what is looked through for it."""
        node = cast(nodes.Compare, self.generic_visit(node))
        node.expr = _through(_WEIGH, node.expr, node)
        for operand in node.ops:
            operand.expr = _through(_WEIGH, operand.expr, node)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        """Measure `~`."""
        node = cast(nodes.Concat, self.generic_visit(node))
        return _through(_JOIN, nodes.List(node.nodes, lineno=node.lineno), node)

    def visit_AssignBlock(self, node: nodes.AssignBlock) -> nodes.Node:  # noqa: N802
        """Measure what `{% set x %}...{% endset %}` caught."""
        node = cast(nodes.AssignBlock, self.generic_visit(node))
        node.filter = _through(_KEEP, node.filter, node)
        return node


def _through(name: str, value: nodes.Expr | None, at: nodes.Node) -> nodes.Filter:
    """Return the node that gives the value to a filter, in the place of another node."""
    made = nodes.Filter(value, name, [], [], None, None, lineno=at.lineno)
    made.set_environment(cast(Environment, at.environment))
    return made


def _refuse_undefined(value: object) -> None:
    """Raise what Jinja2 says about an undefined name. Raises: UndefinedError."""
    if isinstance(value, Undefined):
        str(value)


def _too_long() -> TemplateLimitError:
    return TemplateLimitError(f"a text or list of more than {MAX_FILE:,} characters or items")


def _check_printf(text: str) -> None:
    if _LONG_WIDTH.search(text):
        raise TemplateLimitError("a width above 9,999, or one that is not written out")


def _check_bits(bits: int) -> None:
    if bits > _MAX_BITS:
        raise TemplateLimitError("a number of more than 1,000 digits")


def _check_product(left: Any, right: Any) -> None:  # noqa: ANN401 - any operands
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())
    for one, other in ((left, right), (right, left)):
        is_sized = isinstance(one, str | bytes | list | tuple)
        if is_sized and isinstance(other, int) and len(one) * other > MAX_ITEMS:
            raise TemplateLimitError(f"a multiplication makes more than {MAX_ITEMS:,} items")


def _size(value: object) -> int:
    """Return about how long a value is as text. Raises: TemplateLimitError beyond MAX_FILE."""
    total = 0
    waiting: list[Iterator[object]] = [iter((value,))]
    while waiting:
        for item in waiting[-1]:
            total += len(item) if isinstance(item, str | bytes) else 4
            if total > MAX_FILE:
                raise _too_long()
            if isinstance(item, Mapping):
                waiting.append(iter((*item.keys(), *item.values())))
            elif isinstance(item, list | tuple | set | frozenset):
                waiting.append(iter(item))
            else:
                continue
            break
        else:
            waiting.pop()
    return total
