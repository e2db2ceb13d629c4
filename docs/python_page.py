"""The page about the Python API: the functions of `proxyctl.api`, and the types of their results.

The page is written by hand, except for what stands between `<!-- generated -->` and
`<!-- end of generated -->`. Signatures and sentences come from the code.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

from docs import markdown
from proxyctl import api
from proxyctl.apply.request import ApplyRequest, Approval, Reporter
from proxyctl.apply.result import ApplyResult, ModuleResult
from proxyctl.instance.connect import Login
from proxyctl.interchange.write import WrittenFile
from proxyctl.lint.finding import Finding
from proxyctl.lint.run import LintReport, LocatedFinding
from proxyctl.plan.change import Change, FieldChange
from proxyctl.plan.make import PlanOptions
from proxyctl.plan.plan import ModulePlan, Plan, Refusal
from proxyctl.routing.explain import ExplainedQuery
from proxyctl.routing.query import ClientQuery
from proxyctl.routing.result import Route
from proxyctl.rows.row import Layer
from proxyctl.stats.top.model import GroupSums, Top, TopOptions, TopRow

PAGE = Path(__file__).parent / "reference" / "python.md"

FUNCTIONS = (
    *(api.validate, api.plan, api.apply, api.drift, api.export),
    *(api.explain, api.explainer, api.lint, api.digests),
)
TYPES: dict[type, str] = {
    api.Selection: "",
    Login: "",
    PlanOptions: "",
    Plan: "name address version modules refusals discarded left_alone out_of_service warnings"
    " findings restart_required members shard_moves is_in_sync counts fingerprint",
    ModulePlan: "name changes load save is_in_sync counts",
    Change: "table key action layers before after fields row where remark",
    FieldChange: "",
    Refusal: "code message allow details fix",
    ApplyRequest: "",
    Approval: "plan is_of_follower",
    Reporter: "progress warning before",
    ApplyResult: "",
    ModuleResult: "name memory runtime disk text",
    WrittenFile: "",
    ClientQuery: "",
    ExplainedQuery: "request route hostgroup destination outcomes explanation copy firewall doubts",
    Route: "destination_hostgroup source rule_id matched_rules settings rewritten_query digest"
    " flagIN undecided drawn reply",
    LintReport: "findings checks ignored name counts",
    LocatedFinding: "finding check where others owner severity",
    Finding: "table key message column fix also code text",
    TopOptions: "",
    Top: "",
    TopRow: "",
    GroupSums: "",
}
"""The types of the page, each with its attributes there; '' for all."""

_BEGIN, _END = "<!-- generated -->", "<!-- end of generated -->"


class UndocumentedError(Exception):
    """An attribute of a public type has no sentence in the code."""


def python_page() -> list[str]:
    """Return the lines of the page. Raises: UndocumentedError."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    made = "\n".join([*_functions(), *_types()])
    return f"{before}{_BEGIN}\n\n{made}\n{_END}{after}".splitlines()


def _functions() -> Iterator[str]:
    yield "## Functions"
    yield ""
    for function in FUNCTIONS:
        yield from _called(function, f"### {function.__name__}", f"api.{function.__name__}")


def _called(function: Callable[..., Any], heading: str, name: str) -> Iterator[str]:
    yield heading
    yield ""
    yield "```python"
    yield from _signature(function, name)
    yield "```"
    yield ""
    yield _text(function)
    yield ""


def _signature(function: Callable[..., Any], name: str) -> Iterator[str]:
    """Yield the signature, one parameter a line if it is long."""
    signature = inspect.signature(function)
    result = f" -> {signature.return_annotation}"
    parameters = [one for one in signature.parameters.values() if one.name != "self"]
    texts: list[str] = []
    is_keyword_only = False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword_only:
            is_keyword_only = True
            if not any(one.kind is one.VAR_POSITIONAL for one in parameters):
                texts.append("*")
        texts.append(_parameter(parameter))
    line = f"{name}({', '.join(texts)}){result}"
    if len(line) <= 88:
        yield line
        return
    yield f"{name}("
    yield from (f"    {text}," for text in texts)
    yield f"){result}"


def _parameter(parameter: inspect.Parameter) -> str:
    star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
    text = f"{star}{parameter.name}: {parameter.annotation}"
    if parameter.default is parameter.empty:
        return text
    default = parameter.default
    return f"{text} = {f'Layer.{default.name}' if isinstance(default, Layer) else repr(default)}"


def _types() -> Iterator[str]:
    yield "## Types"
    yield ""
    for kind, listed in TYPES.items():
        yield f"### {kind.__name__}"
        yield ""
        yield f"`from {kind.__module__} import {kind.__name__}`"
        yield ""
        yield _text(kind)
        yield ""
        inherited = (
            one for one in reversed(kind.__mro__) if one.__module__.startswith("proxyctl.")
        )
        rows = [row for one in inherited for row in _attributes(one)]
        found = {re.split(r"[`(]", row[0])[1]: row for row in rows}
        rows = [found[name] for name in listed.split() or found]
        yield from markdown.table(("attribute", "type", "what it is"), rows)
        for name, method in vars(kind).items():
            if isinstance(method, classmethod) and not name.startswith("_"):
                called = f"{kind.__name__}.{name}"
                yield from _called(getattr(kind, name), f"#### {called}", called)


def _attributes(kind: type) -> Iterator[tuple[str, str, str]]:
    """Yield the fields and properties of a type. Raises: UndocumentedError."""
    (tree,) = ast.parse(dedent(inspect.getsource(kind))).body
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for node, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            name = ast.unparse(node.target)
            text = _docstring(below)
            if not text:
                raise UndocumentedError(f"{kind.__name__}.{name} has no docstring")
            yield f"`{name}`", f"`{ast.unparse(node.annotation)}`", text
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            decorators = {ast.unparse(one) for one in node.decorator_list}
            text = (ast.get_docstring(node) or "").partition("\n\n")[0]
            returned = ast.unparse(node.returns) if node.returns else ""
            if decorators & {"property", "cached_property"}:
                yield f"`{node.name}`", f"`{returned}`", text
            elif not decorators:
                arguments = ast.unparse(node.args).removeprefix("self").removeprefix(", ")
                yield f"`{node.name}({arguments})`", f"`{returned}`", text


def _docstring(node: ast.stmt | None) -> str:
    """Return the docstring that a statement is, '' for any other."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return inspect.cleandoc(str(node.value.value))
    return ""


def _text(documented: object) -> str:
    """Return a docstring as Markdown: its labels are bold."""
    text = inspect.getdoc(documented) or ""
    return re.sub(r"\b(Raises|Units|Shape|Changes|Source):", r"**\1:**", text)
