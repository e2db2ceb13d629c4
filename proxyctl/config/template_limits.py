"""A Jinja2 sandbox in which no template runs away: every loop and every text has a limit.

The sandbox of Jinja2 keeps a template from reaching out; it does not keep `'x' * 10**10` or two
loops in each other from eating the memory or the night. Steps are counted, and what multiplies a
text is measured before it is made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, cast

from jinja2 import Environment, StrictUndefined, Template, nodes
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from proxyctl.config.fenced import MAX_FILE
from proxyctl.config.template_prices import JOIN, KEEP, SPEND, STEP, WEIGH, Counting
from proxyctl.config.template_sizes import (
    TemplateLimitError,
    check_bits,
    check_field,
    check_printf,
    check_product,
    refuse_undefined,
    too_long,
)

MAX_STEPS = 1_000_000
"""Most turns of loops, and calls of functions and filters, in one file.

Long texts count more, and so does a long body of a loop, a macro or an included file.
"""

MAX_NESTED = 20
"""Most templates in each other: the file, what it includes, what that includes."""

MAX_RANGE = 100_000
"""Longest range. Jinja2's own limit."""

_TEXT_PER_STEP = 1000
_ITEMS_PER_STEP = 10
_BITS_PER_STEP = 100
_PIECES_PER_STEP = 5
_SIZED_PER_STEP = 2
_STEPS_PER_TAG = 50
"""Of a file that is included: what it takes to compile a `{{` or `{%`."""
_STEPS_PER_CALL = 3

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


class _CountedTemplate(Template):
    """A template whose pieces are counted as they are made, wherever it was included."""

    @classmethod
    def from_code(cls, environment: Environment, *args: Any, **kwargs: Any) -> Template:  # noqa: ANN401
        """Return the template of compiled code."""
        made = super().from_code(environment, *args, **kwargs)
        made.root_render_func = cast(BoundedEnvironment, environment).nested(made.root_render_func)
        return made


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox for one file and what it includes; its steps are counted together."""

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
        self.filters |= {STEP: self._counted, JOIN: self._joined, KEEP: self._kept}
        self.filters |= {WEIGH: self._weighed, SPEND: self._spend}

    def join_path(self, template: str, parent: str) -> str:  # noqa: ARG002 - Jinja2's
        """Return one name for a file, in whatever way it was written: it is read once."""
        return os.path.normpath(template)

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:  # noqa: ANN401
        return super()._generate(Counting().visit(source), *args, **kwargs)

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
            refuse_undefined(bound)
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
            raise too_long()
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
                raise too_long()
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
                    raise too_long()
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
            check_printf(left)
        elif operator == "*":
            check_product(left, right)
        elif operator == "**" and isinstance(left, int) and isinstance(right, int):
            check_bits(left.bit_length() * right)
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
            check_field(value.__self__)
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
                refuse_undefined(one)
                width = one if isinstance(one, int) else len(one) if isinstance(one, str) else 0
                if width * length > MAX_FILE:
                    raise too_long()
        elif name == "format" and isinstance(value, str):
            check_printf(value)
        elif name == "replace" and len(given) > 1:
            if str(value).count(str(given[0])) * len(str(given[1])) > MAX_FILE:
                raise too_long()
        elif name == "join" and isinstance(value, str | bytes) and args:
            return (self._measured(args[0], len(value)), *args[1:])
        return args
