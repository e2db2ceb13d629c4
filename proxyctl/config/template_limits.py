"""A Jinja2 sandbox in which no template runs away: every loop and every text has a limit.

The sandbox of Jinja2 keeps a template from reaching out; it does not keep `'x' * 10**10` or two
loops in each other from eating the memory or the night. Steps are counted, and what multiplies a
text is measured before it is made.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, cast

from jinja2 import Environment, StrictUndefined, Template, Undefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from proxyctl.config.files import MAX_FILE

MAX_STEPS = 1_000_000
"""Most turns of loops, and calls of functions and filters, in one file.

Long texts count more, and so does a long body of a loop, a macro or an included file.
"""

MAX_NESTED = 20
"""Most templates in each other: the file, what it includes, what that includes."""

MAX_ITEMS = 1_000_000
"""Longest text or list that one multiplication may make."""

MAX_RANGE = 100_000
"""Longest range. Jinja2's own limit."""

_MAX_BITS = 4096
"""Largest number that an operation may make."""

_TEXT_PER_STEP = 1000
_ITEMS_PER_STEP = 10
_BITS_PER_STEP = 100
_PIECES_PER_STEP = 5
_SIZED_PER_STEP = 2
_STEPS_PER_TAG = 50
"""Of a file that is included: what it takes to compile a `{{` or `{%`."""
_STEPS_PER_CALL = 3

_NODES_PER_STEP = 3
_NODES: dict[type[nodes.Node], int] = {
    nodes.AssignBlock: 10,
    nodes.Getattr: 4,
    nodes.Block: 20,
    **dict.fromkeys((nodes.Extends, nodes.FromImport, nodes.Import, nodes.Include), 60),
}
"""What takes as long as so many of the other nodes of a template."""

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

_LOOK_UP = frozenset(
    (
        *("groupby", "map", "max", "min", "reject", "rejectattr"),
        *("select", "selectattr", "sort", "sum", "unique"),
    )
)
"""Filters that may look up an attribute such as `a.b.c` of every item: each of them is a step."""

_LETTER_BY_LETTER = frozenset(("striptags", "title", "urlize", "wordcount", "wordwrap"))
"""Filters of text that take a hundred times as long as the others."""

_NOT_NEEDED = frozenset({"encode", "to_bytes", "translate"})
"""Methods that make much out of little, and that no configuration needs."""

_STEP, _JOIN, _KEEP, _WEIGH, _SPEND = "(step)", "(join)", "(keep)", "(weigh)", "(spend)"
"""Filters of our own. No template can name them."""

_LONG_WIDTH = re.compile(r"%[^A-Za-z%]*(?:[0-9]{5}|\*)")
_LONG_FIELD = re.compile(r"\{[^{}]*(?:[0-9]{5}|:[^{}]*\{)")


class TemplateLimitError(SecurityError):
    """A template asks for more than any configuration needs."""


class _CountedTemplate(Template):
    """A template whose pieces are counted as they are made, wherever it was included."""

    @classmethod
    def from_code(cls, environment: Environment, *args: Any, **kwargs: Any) -> Template:  # noqa: ANN401
        """Return the template of compiled code."""
        made = super().from_code(environment, *args, **kwargs)
        made.root_render_func = cast(BoundedEnvironment, environment).nested(made.root_render_func)
        return made


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox for one file and what it includes.

    `names` are those that the templates take from outside or from themselves.
    """

    intercepted_binops = frozenset({"+", "*", "**", "%"})
    template_class = _CountedTemplate

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined,
            autoescape=False,  # the output is YAML, not HTML
            keep_trailing_newline=True,
            auto_reload=False,
            optimized=False,  # what is worked out beforehand has no line yet
            finalize=self._shown,
        )
        self._steps = 0
        self._nested = 0
        self.globals["range"] = self._range
        del self.globals["lipsum"]
        for name, function in self.filters.items():
            self.filters[name] = self._bounded(name, function)
        for name, test in self.tests.items():
            self.tests[name] = self._weighing(cast(Callable[..., Any], test))
        self.filters |= {_STEP: self._counted, _JOIN: self._joined, _KEEP: self._kept}
        self.filters |= {_WEIGH: self._weighed, _SPEND: self._spend}

    def join_path(self, template: str, parent: str) -> str:  # noqa: ARG002 - Jinja2's
        """Return one name for a file, in whatever way it was written: it is read once."""
        return os.path.normpath(template)

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
        elif isinstance(value, int):
            self._steps += value.bit_length() // _BITS_PER_STEP
        self._spend(None, 0)

    def _spend(self, value: object, steps: int) -> object:
        """Count so many steps, and return the value. Raises: TemplateLimitError."""
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise TemplateLimitError(f"more than {MAX_STEPS:,} steps; loops in loops multiply")
        return value

    def included(self, source: str) -> None:
        """Count what it takes to read a file that is included. Raises: TemplateLimitError."""
        self._spend(None, _STEPS_PER_TAG * (source.count("{{") + source.count("{%")))

    def nested(
        self, render: Callable[[Context], Iterator[str]]
    ) -> Callable[[Context], Iterator[str]]:
        """Return what makes the pieces of a template, in which it may not be too deep.

        Raises: TemplateLimitError, as pieces are taken.
        """

        def counted(context: Context) -> Iterator[str]:
            if self._nested == MAX_NESTED:
                raise TemplateLimitError(
                    f"more than {MAX_NESTED} templates in each other; one includes itself?"
                )
            self._nested += 1
            self.step(context.parent)
            for number, piece in enumerate(render(context)):
                if number % _PIECES_PER_STEP == 0:
                    self.step()
                yield piece
            self._nested -= 1

        return counted

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
        if isinstance(value, str):
            self._spend(None, len(value) // _TEXT_PER_STEP)
        else:
            self._size(value)
        return value

    def _joined(self, parts: list[Any]) -> str:
        return "".join(map(str, self._measured(parts, 0)))

    def _measured(self, items: Iterable[Any], between: int) -> Iterator[Any]:
        """Yield the items as long as the text that they make is not too long."""
        total = 0
        for item in items:
            total += between + self._size(item)
            if total > MAX_FILE:
                raise _too_long()
            self.step()
            yield item

    def _size(self, value: object) -> int:
        """Return about how long a value is as text. Raises: TemplateLimitError."""
        total = 0
        waiting: list[Iterator[object]] = [iter((value,))]
        while waiting:
            for count, item in enumerate(waiting[-1], 1):
                total += len(item) if isinstance(item, str | bytes) else 4
                if total > MAX_FILE:
                    raise _too_long()
                if count % _SIZED_PER_STEP == 0:
                    self.step()
                if isinstance(item, int):
                    self._spend(None, item.bit_length() // _BITS_PER_STEP)
                    continue
                if isinstance(item, str):
                    continue
                if isinstance(item, list | tuple | set | frozenset):
                    waiting.append(iter(item))
                elif isinstance(item, Mapping):
                    waiting.append(iter((*item.keys(), *item.values())))
                else:
                    continue
                self.step()
                break
            else:
                waiting.pop()
        return total

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
        __self._spend(None, _STEPS_PER_CALL + len(args) // _ITEMS_PER_STEP)
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
            if name in _LETTER_BY_LETTER:
                self._spend(None, 20 + len(str(value)) // 3)
            if name == "dictsort":
                self._spend(None, len(value))
            if name == "join":
                between = args[position + 1] if len(args) > position + 1 else kwargs.get("d", "")
                value = self._measured(value, len(str(between)))
            if name in _WHOLE_TEXT:
                self._spend(None, _STEPS_PER_CALL)
                self._size(value)
            if name in _LOOK_UP:
                value = self._looked_up(value, args[position + 1 :], kwargs)
            rest = self._checked(name, value, args[position + 1 :], kwargs)
            return self._kept(function(*args[:position], value, *rest, **kwargs))

        return bounded

    def _weighing(self, test: Callable[..., Any]) -> Callable[..., Any]:
        """Return a test, such as `is in`, that counts what it may look through."""

        @wraps(test)
        def weighing(*args: Any) -> Any:  # noqa: ANN401
            for value in args:
                self._weighed(value)
            return test(*args)

        return weighing

    def _looked_up(
        self, value: Iterable[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Iterator[Any]:
        """Yield the items, and count for each what a filter does with it."""
        names = (one for one in (*args, *kwargs.values()) if isinstance(one, str))
        steps = 1 + max(map(len, names), default=0) // 2
        for item in value:
            self._spend(None, steps)
            yield item

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
    """Leads what grows without a call through our own filters, and lets a body tell its length."""

    def visit_Template(self, node: nodes.Template) -> nodes.Node:  # noqa: N802 - Jinja2's name
        """Count what a file does when it is included."""
        return self._with_price(node)

    def visit_Block(self, node: nodes.Block) -> nodes.Node:  # noqa: N802
        """Count what a block does."""
        return self._with_price(node)

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802
        """Count what a macro does."""
        return self._with_price(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:  # noqa: N802
        """Count what `caller()` does."""
        return self._with_price(node)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        """Count the turns of a loop, and what each of them does."""
        price = _price(() if node.test is None else (node.test,))
        node = cast(nodes.For, self._with_price(node))
        node.iter = _through(_STEP, node.iter, node)
        if node.test is not None and price:
            node.test = nodes.And(_spending(price, node), node.test, lineno=node.lineno)
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        """Weigh what is compared, and what is looked through for it."""
        node = cast(nodes.Compare, self.generic_visit(node))
        node.expr = _through(_WEIGH, node.expr, node)
        for operand in node.ops:
            operand.expr = _through(_WEIGH, operand.expr, node)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        """Weigh what a slice copies."""
        is_slice = isinstance(node.arg, nodes.Slice)
        node = cast(nodes.Getitem, self.generic_visit(node))
        return _through(_WEIGH, node, node) if is_slice else node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        """Measure `~`."""
        node = cast(nodes.Concat, self.generic_visit(node))
        return _through(_JOIN, nodes.List(node.nodes, lineno=node.lineno), node)

    def visit_AssignBlock(self, node: nodes.AssignBlock) -> nodes.Node:  # noqa: N802
        """Measure what `{% set x %}...{% endset %}` caught."""
        node = cast(nodes.AssignBlock, self.generic_visit(node))
        node.filter = _through(_KEEP, node.filter, node)
        return node

    def _with_price(self, node: Any) -> nodes.Node:  # noqa: ANN401 - whatever has a body
        """Let the body begin with counting the steps that it takes without a loop or a call."""
        price = _price(node.body)
        node = self.generic_visit(node)
        if price:
            spend = nodes.ExprStmt(_spending(price, node), lineno=node.lineno)
            node.body = [spend, *node.body]
        return cast(nodes.Node, node)


_HAVE_PRICE = (nodes.Block, nodes.CallBlock, nodes.For, nodes.Macro)


def _price(found: Iterable[nodes.Node]) -> int:
    """Return how many steps it takes to go through the nodes once."""
    return sum(map(_weight, found)) // _NODES_PER_STEP


def _spending(steps: int, at: nodes.Node) -> nodes.Filter:
    """Return the node that counts so many steps, and is true."""
    spend = _through(_SPEND, nodes.Const(True, lineno=at.lineno), at)
    spend.args = [nodes.Const(steps, lineno=at.lineno)]
    return spend


def _weight(node: nodes.Node) -> int:
    """Return how many nodes there are, but for those that have a price of their own."""
    own = _NODES.get(type(node), 1)
    if isinstance(node, _HAVE_PRICE):
        return own
    return own + sum(map(_weight, node.iter_child_nodes()))


def _through(name: str, value: nodes.Node | None, at: nodes.Node) -> nodes.Filter:
    """Return the node that gives the value to a filter, in the place of another node."""
    made = nodes.Filter(cast(nodes.Expr, value), name, [], [], None, None, lineno=at.lineno)
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
