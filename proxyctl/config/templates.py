"""Jinja2 over `*.j2` files: sandboxed, undefined names are errors, bounded.

Only imported when there is a template. No environment and no secret is in reach of a template:
`{env: NAME}` is resolved after the YAML was read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, NoReturn

from jinja2 import FunctionLoader, StrictUndefined, TemplateNotFound, TemplateSyntaxError
from jinja2.exceptions import (
    SecurityError,
    TemplateError,
    TemplateRuntimeError,
    UndefinedError,
)
from jinja2.sandbox import ImmutableSandboxedEnvironment

from proxyctl.config.files import MAX_FILE, Fence, UnreadableError, read_text
from proxyctl.config.mistakes import Mistakes, did_you_mean
from proxyctl.state import Where

MAX_PRODUCT = 1_000_000
"""Longest text or list that a multiplication in a template may make; largest exponent 1,000."""

_RUNTIME_ERRORS = (
    TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What evaluating an expression of a template can raise."""


class _Sandbox(ImmutableSandboxedEnvironment):
    """The sandbox, with a limit where one short expression could fill the memory."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401
        """Refuse `"x" * 10**12`. Raises: SecurityError."""
        if operator == "**" and isinstance(right, int) and abs(right) > 1000:
            raise SecurityError("an exponent above 1,000")
        for one, other in ((left, right), (right, left)):
            is_sized = isinstance(one, str | bytes | list | tuple)
            if is_sized and isinstance(other, int) and len(one) * other > MAX_PRODUCT:
                raise SecurityError(f"a multiplication makes more than {MAX_PRODUCT:,} items")
        return super().call_binop(context, operator, left, right)


def _fail(message: object) -> NoReturn:
    """Let a template refuse its variables: `{{ fail("why") }}`. Raises: TemplateRuntimeError."""
    raise TemplateRuntimeError(str(message))


def render(
    source: str, *, path: str, variables: Mapping[str, Any], fence: Fence, mistakes: Mistakes
) -> str | None:
    """Return what the template renders to; None after a mistake. Changes: mistakes."""
    loaded: dict[str, str] = {}
    environment = _Sandbox(
        loader=FunctionLoader(_loader(source, path, fence, loaded)),
        undefined=StrictUndefined,
        autoescape=False,  # the output is YAML, not HTML
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.globals["fail"] = _fail
    pieces: list[str] = []
    size = 0
    try:
        for piece in environment.get_template(os.path.basename(path)).generate(variables):
            size += len(piece)
            if size > MAX_FILE:
                mistakes.add(Where(path, 0, 0), "", f"renders to more than {MAX_FILE:,} characters")
                return None
            pieces.append(piece)
    except TemplateSyntaxError as error:
        name = error.filename or path
        mistakes.add(Where(name, error.lineno, 1), "", f"template: {error.message}")
        return None
    except _RUNTIME_ERRORS as error:
        where = _place(error.__traceback__, path, loaded)
        mistakes.add(where, "", f"template: {_words(error)}", _hint(error, variables))
        return None
    return "".join(pieces)


def _loader(
    source: str, path: str, fence: Fence, loaded: dict[str, str]
) -> Callable[[str], tuple[str, str, None] | None]:
    """Return what finds templates by name: the file itself, and includes beside or below it.

    Changes: loaded, from path to name, as templates are found.
    """
    folder = os.path.dirname(path)

    def load(name: str) -> tuple[str, str, None] | None:
        if name == os.path.basename(path):
            loaded[path] = name
            return source, path, None
        try:
            found = fence.path(name, folder)
            text = read_text(found)
        except UnreadableError as error:
            raise TemplateNotFound(name, f"{name}: {error.message}") from None
        loaded[found] = name
        return text, found, None

    return load


def _place(traceback: TracebackType | None, path: str, loaded: Mapping[str, str]) -> Where:
    """Return the innermost line of a template that the error passed through."""
    place = Where(path, 0, 0)
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file in loaded:
            place = Where(file, traceback.tb_lineno, 1)
        traceback = traceback.tb_next
    return place


def _words(error: BaseException) -> str:
    if isinstance(error, MemoryError | RecursionError):
        return "runs out of memory or nests too deep"
    return str(error) or type(error).__name__


def _hint(error: BaseException, variables: Mapping[str, Any]) -> str | None:
    if not isinstance(error, UndefinedError):
        return None
    name = str(error).split("'")[1] if "'" in str(error) else ""
    return did_you_mean(name, variables) or "give it with --var NAME=VALUE or --var-file"
