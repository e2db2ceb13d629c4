"""Every fix is an imperative, names the safe way first, and an override last."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = [*ROOT.glob("tests/golden/**/*"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]

OVERRIDE = re.compile(r"--(force|discard-|allow-|no-|skip-|backend-unverified|auto-approve|keep-)")
"""The options that allow what proxyctl refuses, or leave out what it does for safety."""

VERB = re.compile(
    r"(adapt|add|append|apply|ask|begin|change|check|choose|close|collect|compare|copy|correct"
    r"|count|create|decide|empty|end|escape|find out|free|give"
    r"|grant|group|ignore|import|install|keep|leave|let|list|log|look|make|match|move|name|publish|put|quote|raise|read|remove|rename|render|replace|report"
    r"|restart|restore|return|revoke|roll|run|save|see|send|set|show|start|switch|synchronise"
    r"|take|try|turn|upgrade|use|wait|watch|widen|write)\b"
)
PURPOSE = re.compile(r"(to [^,;]+, |if [^,]+, )+")
"""What may precede the verb, as in `to keep it, SAVE MYSQL SERVERS TO DISK`."""
STATEMENT = re.compile(r"(UPDATE|LOAD|SAVE|SET|DELETE|INSERT|CREATE) ")


def literal(node: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression may be; what is computed is `{}`."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)
        case ast.IfExp(body=first, orelse=second):
            yield from (*literal(first), *literal(second))
        case ast.BoolOp(values=values):
            for value in values:
                yield from literal(value)


def fixes_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each fix that a module names by itself."""
    for node in ast.walk(ast.parse(source)):
        values: list[ast.expr] = []
        if isinstance(node, ast.Call):
            values = [keyword.value for keyword in node.keywords if keyword.arg == "fix"]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if any(re.search(r"(^|_)(fix|FIX)$", name) for name in names):
                values = [node.value]
        yield from ((node.lineno, text) for value in values for text in literal(value))


SOURCES = [
    (f"{path.relative_to(ROOT)}:{line}", text)
    for path in sorted(ROOT.glob("proxyctl/**/*.py"))
    for line, text in fixes_of(path.read_text())
    if not text.startswith("{}") and text
]
SHOWN = sorted(
    {
        fix.replace("\\", "").removeprefix("then: ")
        for path in TEXTS
        if path.is_file() and path.suffix != ".pyc"
        for fix in re.findall(r"^[-\s>]*fix: (.+)$", path.read_text(errors="replace"), re.MULTILINE)
    }
)


def is_imperative(fix: str) -> bool:
    """Return whether a fix begins with a verb, a question for a word, or SQL."""
    rest = PURPOSE.sub("", fix, count=1)
    return bool(VERB.match(rest) or STATEMENT.match(rest) or rest.startswith("did you mean "))


def first_way(fix: str) -> str:
    """Return the first thing that a fix tells to do."""
    return re.split(r"; |, or | or ", fix)[0]


def test_there_are_fixes() -> None:
    assert len(SOURCES) > 200
    assert len(SHOWN) > 200


@pytest.mark.parametrize(("place", "fix"), SOURCES)
def test_a_fix_of_the_source_is_imperative_and_safe(place: str, fix: str) -> None:
    assert is_imperative(fix), place
    assert first_way(fix).startswith("leave out") or not OVERRIDE.search(first_way(fix)), place


@pytest.mark.parametrize("fix", SHOWN)
def test_a_fix_that_is_shown_is_imperative_and_safe(fix: str) -> None:
    assert is_imperative(fix)
    assert first_way(fix).startswith("leave out") or not OVERRIDE.search(first_way(fix))


@pytest.mark.parametrize(
    "fix", ["allow it with --force", "--force", "use --force", "or allow it", "the files say so"]
)
def test_another_fix_is_found(fix: str) -> None:
    assert not is_imperative(fix) or OVERRIDE.search(first_way(fix))
