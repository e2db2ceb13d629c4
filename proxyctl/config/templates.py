"""Renders `*.j2` files in Jinja2's own sandbox: undefined names are mistakes.

Imported only for a template. A template reaches neither the environment nor a secret: `{env: NAME}`
is resolved after the YAML was read. The size of the output is bounded, the running time is not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from traceback import walk_tb
from typing import Any, NoReturn

from jinja2 import FunctionLoader, StrictUndefined, TemplateNotFound, TemplateSyntaxError
from jinja2.exceptions import TemplateError, TemplateRuntimeError, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from proxyctl.config.mistakes import Mistakes, did_you_mean, file_place
from proxyctl.config.sources import MAX_FILE, Fence, UnreadableError, read_text
from proxyctl.rows.row import Where

RUNTIME_ERRORS = (
    TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    NameError,  # an infinite number such as 1e999 becomes a name in the compiled code
    RuntimeError,
    TypeError,
    ValueError,
)
"""The exceptions that an expression of a template can raise."""


def _fail(message: object) -> NoReturn:
    """Let a template refuse its variables: `{{ fail("why") }}`. Raises: TemplateRuntimeError."""
    raise TemplateRuntimeError(str(message))


def render(
    source: str,
    *,
    path: str,
    variables: Mapping[str, Any],
    fence: Fence,
    mistakes: Mistakes,
) -> str | None:
    """Return the text of the rendered template; None after a mistake. Changes: mistakes."""
    name, folder = os.path.basename(path), os.path.dirname(path)
    loaded = {path}

    def load(template: str) -> tuple[str, str, None]:
        if template == name:
            return source, path, None
        try:
            loaded_path = fence.path(template, folder)
            text = read_text(loaded_path, fence=fence)
        except UnreadableError as error:
            raise TemplateNotFound(template, f"{template}: {error.message}") from None
        loaded.add(loaded_path)
        return text, loaded_path, None

    environment = ImmutableSandboxedEnvironment(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        autoescape=False,  # the output is YAML, not HTML
        keep_trailing_newline=True,
        auto_reload=False,
        optimized=False,  # a constant expression is evaluated where its line is known
    )
    environment.globals["fail"] = _fail
    try:
        return _bounded_output(environment, name, variables)
    except TemplateSyntaxError as error:
        where = Where(error.filename or path, error.lineno, 1)
        mistakes.add(where, "", f"template: {error.message}")
    except SyntaxError as error:
        # Jinja2 compiles a template to Python, which has limits: 200 parentheses, 100 blocks.
        mistakes.add(file_place(path), "", f"template: nests too deeply: {error.msg}")
    except RUNTIME_ERRORS as error:
        frames = walk_tb(error.__traceback__)
        lines = [(frame.f_code.co_filename, line) for frame, line in frames]
        # The innermost line of a template that the error passed through.
        places = [Where(file, line, 1) for file, line in lines if file in loaded]
        where = places[-1] if places else file_place(path)
        mistakes.add(where, "", f"template: {error_words(error)}", _fix(error, variables))
    return None


def _bounded_output(
    environment: ImmutableSandboxedEnvironment, name: str, variables: Mapping[str, Any]
) -> str:
    """Return the text of the rendered template.

    Raises: TemplateRuntimeError beyond MAX_FILE characters; every error of the template.
    """
    pieces: list[str] = []
    size = 0
    for piece in environment.get_template(name).generate(variables):
        size += len(piece)
        if size > MAX_FILE:
            raise TemplateRuntimeError(f"renders to more than {MAX_FILE:,} characters")
        pieces.append(piece)
    return "".join(pieces)


def error_words(error: BaseException) -> str:
    """Return one of RUNTIME_ERRORS in words."""
    if isinstance(error, MemoryError | RecursionError):
        return "needs too much memory or nests too deeply"
    # Python's own words for an undefined name that is used as a number or a text.
    return (
        str(error).replace("'StrictUndefined' object", "a name that is not defined")
        or type(error).__name__
    )


def _fix(error: BaseException, variables: Mapping[str, Any]) -> str | None:
    text = str(error)
    if isinstance(error, UndefinedError) and text.endswith("is undefined"):
        name = text.split("'")[1] if "'" in text else ""
        return did_you_mean(name, variables) or "give it with --var NAME=VALUE or --var-file"
    if isinstance(error, TypeError) and "str" in text and "int" in text:
        return "a value of --var is text: `NAME | int` makes a number of it"
    return None
