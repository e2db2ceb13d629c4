"""Write the reference pages from the code: `python -m docs.generate`, or `make docs`.

What the code cannot tell, the sentence that explains a key, stands in `docs/notes.py`; for the page
about JSON in `docs/json_keys.yaml`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from docs import markdown, notes
from docs.commands_page import commands
from docs.json_page import UnexplainedError, json_page
from docs.python_page import UndocumentedError, python_page
from proxyctl import errors
from proxyctl.catalog import (
    MAX_INT,
    TABLES,
    Column,
    Layout,
    Table,
    Variable,
    VariableKind,
    releases,
)
from proxyctl.catalog.variables import (
    CHOICES,
    READ_ONLY,
    RESTART_TO_TAKE_EFFECT,
    STEPS,
    VARIABLES,
)
from proxyctl.config.columns import expected
from proxyctl.config.context import SPECIAL
from proxyctl.config.models import section_type
from proxyctl.lint.check import all_checks

FOLDER = Path(__file__).parent / "reference"
OLDEST = str(releases.OLDEST)


def pages() -> dict[str, str]:
    """Return the text of every generated page, by file name."""
    made = {
        "commands.md": commands(),
        "keys.md": _keys(),
        "variables.md": _variables(),
        "exit-codes.md": _exit_codes(),
        "lint.md": _lint(),
        "json.md": json_page(),
        "python.md": python_page(),
    }
    return {name: "\n".join(lines).rstrip("\n") + "\n" for name, lines in made.items()}


def main() -> int:
    """Write the pages that changed."""
    try:
        made = pages()
    except (UnexplainedError, UndocumentedError) as error:
        sys.exit(str(error))
    for name, text in made.items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stderr.write(f"wrote {path}\n")
    return 0


# -- keys -----------------------------------------------------------------------------------------


def _keys() -> Iterator[str]:
    yield from markdown.head("Keys", notes.KEYS)
    layouts = {name: _newest(table) for name, table in TABLES.items()}
    for name in SPECIAL:
        yield f"## {name}"
        yield ""
        yield notes.SECTIONS[name]
        yield ""
        yield from _special(name, layouts)
    yield notes.TABLE_SECTIONS
    yield ""
    for name, table in TABLES.items():
        if table.prefix is None:
            yield from _table_section(name, table, layouts[name])


def _newest(table: Table) -> Layout:
    """Return the table with the columns of all versions, each in its newest form."""
    return Layout(table, tuple({column.name: column for column in table.columns}.values()))


def _special(name: str, layouts: dict[str, Layout]) -> Iterator[str]:
    """Yield the tables of keys that are no columns, from the schema of the section's model."""
    if name in ("variables", "manage", "version", "proxysql_version", "keep_fast_routing_alive"):
        return
    schema = TypeAdapter(section_type(name, layouts)).json_schema()
    definitions: dict[str, Any] = schema.pop("$defs", {})
    for title, found in {"": _item(schema, definitions), **definitions}.items():
        label = notes.MODELS.get(title, None) if title else ""
        if label is None or (title and found == _item(schema, definitions)):
            continue
        properties = found["properties"]
        columns = {c.name for table in TABLES.values() for c in table.columns}
        is_row = name in ("hostgroups", "pxc_clusters")
        rows = [
            (
                f"`{key}`",
                _words(of, definitions),
                _given(of, is_required=key in found.get("required", ())),
                notes.KEY[f"{label or name}.{key}"],
            )
            for key, of in properties.items()
            if not (is_row and key in columns)
        ]
        if not rows:
            continue
        if label:
            yield f"`{label}`:"
            yield ""
        yield from markdown.table(("key", "value", "default", "what it does"), rows)


def _item(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of one entry of a section."""
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            schema = schema[key]
    if "$ref" in schema:
        found: dict[str, Any] = definitions[schema["$ref"].rsplit("/", 1)[1]]
        return found
    return schema


def _words(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Return what a schema allows, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return notes.TYPES.get(name, "a mapping")
    options = schema.get("anyOf") or schema.get("oneOf") or []
    options = [option for option in options if option != {"type": "null"}]
    if options:
        words = [_words(option, definitions) for option in options]
        if words == ["integer", "text"] and "minLength" in options[-1]:
            return "hostgroup"
        return " or ".join(dict.fromkeys(words))
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    match schema.get("type"):
        case "integer":
            low, high = schema.get("minimum", 0), schema.get("maximum", MAX_INT)
            return "integer" if high == MAX_INT else f"{low} to {high}"
        case "string":
            return "`FIRST-LAST`" if "pattern" in schema else "text"
        case "array":
            return f"list of {_words(schema['items'], definitions)}"
        case "object":
            return "mapping"
        case other:
            return str(other or "any value")


def _given(schema: dict[str, Any], *, is_required: bool) -> str:
    if is_required:
        return "required"
    default = schema.get("default")
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`" if isinstance(default, str | int) else ""


def _table_section(name: str, table: Table, layout: Layout) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    key = ", ".join(f"`{column}`" for column in table.key)
    yield f"Admin module {table.admin_module}. Key: {key}.{_versions(table.since, table.until)}"
    if name in notes.TABLE:
        yield ""
        yield notes.TABLE[name]
    yield ""
    rows = ((f"`{c.name}`", *_column(table, c)) for c in layout.columns)
    yield from markdown.table(("column", "value", "default", "versions"), rows)


def _column(table: Table, column: Column) -> tuple[str, str, str]:
    forms = [form for form in table.columns if form.name == column.name]
    versions = _versions(forms[0].since, forms[-1].until, table.since).strip(" .")
    return expected(column), _column_default(column), versions


def _column_default(column: Column) -> str:
    if column.is_required:
        return "required"
    if column.name in notes.DEFAULT:
        return notes.DEFAULT[column.name]
    if column.default is None:
        return "`''`" if column.notnull else "NULL"
    return f"`{column.default!r}`"


def _versions(since: str, until: str | None, outer: str = OLDEST) -> str:
    words = []
    if since not in (OLDEST, outer):
        words.append(f"since {since}")
    if until is not None:
        words.append(f"until {until}")
    text = ", ".join(words)
    return f" {text[:1].upper()}{text[1:]}." if text else ""


# -- variables ------------------------------------------------------------------------------------


def _variables() -> Iterator[str]:
    yield from markdown.head("Variables", notes.VARIABLES)
    rows = ((f"`{name}`", *_variable(v)) for name, v in sorted(VARIABLES.items()))
    yield from markdown.table(("variable", "value", "default", "remarks"), rows)


def _variable(variable: Variable) -> tuple[str, str, str]:
    remarks = [_versions(variable.since, variable.until).strip(" .").lower()]
    if variable.name in RESTART_TO_TAKE_EFFECT:
        remarks.append("takes effect at a restart")
    if variable.name in READ_ONLY:
        remarks.append("read only")
    if variable.secret:
        remarks.append("secret")
    default = "" if variable.default is None else f"`{variable.default or repr('')}`"
    return _variable_words(variable), default, ", ".join(filter(None, remarks))


def _variable_words(variable: Variable) -> str:
    choices = STEPS.get(variable.name) or CHOICES.get(variable.name)
    if choices:
        return "one of " + ", ".join(map(str, choices))
    match variable.kind:
        case VariableKind.BOOL:
            return "true or false"
        case VariableKind.INT if variable.maximum is None:
            return f"integer from {variable.minimum or 0}"
        case VariableKind.INT:
            return f"{variable.minimum or 0} to {variable.maximum}"
        case _:
            return "text"


# -- lint -----------------------------------------------------------------------------------------


def _lint() -> Iterator[str]:
    yield from markdown.head("Lint", notes.LINT)
    checks = all_checks()
    head = ("code", "severity", "what it finds")
    links = {code: f"{code} {check.name}" for code, check in checks.items()}
    yield from markdown.table(
        head,
        (
            (
                f"[{links[code]}](#{markdown.anchor(links[code])})",
                str(check.severity),
                check.summary,
            )
            for code, check in checks.items()
        ),
    )
    for code, check in checks.items():
        yield f"## {links[code]}"
        yield ""
        also = " It also holds for the `pgsql_*` tables." if check.pgsql else ""
        size = " A plan of any size runs it." if check.any_size else ""
        yield f"Severity: {check.severity}.{also}{size}"
        yield ""
        yield check.text
        yield ""


# -- exit codes -----------------------------------------------------------------------------------


def _exit_codes() -> Iterator[str]:
    yield from markdown.head("Exit codes", notes.EXIT_CODES)
    rows = ((str(int(code)), notes.EXIT_CODE[code.name]) for code in errors.ExitCode)
    yield from markdown.table(("code", "meaning"), rows)
    yield notes.ERRORS
    yield ""
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.ProxyctlError)
    ]
    yield from markdown.table(
        ("`type`", "code", "meaning"),
        (
            (f"`{kind.__name__}`", str(int(kind.exit_code)), (kind.__doc__ or "").split("\n\n")[0])
            for kind in kinds
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
