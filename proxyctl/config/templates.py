"""Jinja2 over `*.j2` files: sandboxed, undefined names are errors, bounded.

Only imported when there is a template. No environment and no secret is in reach of a template:
`{env: NAME}` is resolved after the YAML was read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, NoReturn

from jinja2 import FunctionLoader, TemplateNotFound, TemplateSyntaxError, meta, nodes
from jinja2.exceptions import TemplateError, TemplateRuntimeError, UndefinedError

from proxyctl.config.fenced import MAX_FILE, Fence, UnreadableError, read_text
from proxyctl.config.mistakes import Mistakes, did_you_mean
from proxyctl.config.sources import NamesUsed
from proxyctl.config.template_limits import BoundedEnvironment
from proxyctl.state.row import Where

_RUNTIME_ERRORS = (
    TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    NameError,  # an infinite number such as 1e999 becomes a name in the compiled code
    RecursionError,
    TypeError,
    ValueError,
)
"""What evaluating an expression of a template can raise."""


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
    used: NamesUsed,
) -> str | None:
    """Return what the template renders to; None after a mistake. Changes: mistakes, used."""
    loaded: dict[str, str] = {}
    environment = BoundedEnvironment()
    load = _loader(source, path, fence, loaded, environment.included)
    environment.loader = FunctionLoader(load)
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
        used.are_all_known = False
        return None
    except SyntaxError as error:
        # Jinja makes Python of it, which has limits of its own: 200 brackets, 100 blocks.
        mistakes.add(Where(path, 0, 0), "", f"template: nests too deep: {error.msg}")
        used.are_all_known = False
        return None
    except _RUNTIME_ERRORS as error:
        where = _place(error.__traceback__, path, loaded)
        mistakes.add(where, "", f"template: {_words(error)}", _hint(error, variables))
        used.are_all_known = False
        return None
    _collect(environment, os.path.basename(path), used, set())
    return "".join(pieces)


def _collect(environment: BoundedEnvironment, name: str, used: NamesUsed, seen: set[str]) -> None:
    """Add the names in a template and in what it includes, also where no include was reached.

    Changes: used, seen.
    """
    if name in seen or environment.loader is None:
        return
    seen.add(name)
    try:
        text, path, _ = environment.loader.get_source(environment, name)
        tree = environment.parse(text, name, path)
    except TemplateError:
        used.are_all_known = False
        return
    used.names |= {found.name for found in tree.find_all(nodes.Name)}
    for included in meta.find_referenced_templates(tree):
        if included is None:
            used.are_all_known = False
        else:
            _collect(environment, environment.join_path(included, name), used, seen)


def _loader(
    source: str, path: str, fence: Fence, loaded: dict[str, str], count: Callable[[str], None]
) -> Callable[[str], tuple[str, str, None] | None]:
    """Return what finds templates by name: the file itself, and includes beside or below it.

    `count` is told what is included. Changes: loaded, from path to name, as templates are found.
    """
    folder = os.path.dirname(path)

    def load(name: str) -> tuple[str, str, None] | None:
        if name == os.path.basename(path):
            loaded[path] = name
            return source, path, None
        try:
            found = fence.path(name, folder)
            text = read_text(found, fence=fence)
        except UnreadableError as error:
            raise TemplateNotFound(name, f"{name}: {error.message}") from None
        count(text)
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
    # Python's own words for an undefined name that was taken for a number or a text.
    return (
        str(error).replace("'StrictUndefined' object", "a name that is not defined")
        or type(error).__name__
    )


def _hint(error: BaseException, variables: Mapping[str, Any]) -> str | None:
    text = str(error)
    if isinstance(error, UndefinedError) and text.endswith("is undefined"):
        name = text.split("'")[1] if "'" in text else ""
        return did_you_mean(name, variables) or "give it with --var NAME=VALUE or --var-file"
    if isinstance(error, TypeError) and "str" in text and "int" in text:
        return "a value of --var is text: `NAME | int` makes a number of it"
    return None
