"""Write the reference pages from the code: `python -m docs.generate`, or `make docs`.

What the code cannot tell, the sentence that explains a key, stands in `docs/notes.py`; for the page
about JSON in `docs/json_keys.yaml`. What columns and variables do, programs show too: those
sentences are part of the catalogue.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from docs import markdown, notes
from docs.annotated_page import annotated_page
from docs.commands_page import commands
from docs.json_page import UnexplainedError, json_page
from docs.python_page import UndocumentedError, python_page
from proxyctl import errors
from proxyctl.catalog import MAX_INT, TABLES, Layout, Table
from proxyctl.catalog.sentences import manual
from proxyctl.catalog.variables import VARIABLES
from proxyctl.config.context import SPECIAL
from proxyctl.config.keys import TableDoc, table_doc, variable_doc
from proxyctl.config.models import section_type
from proxyctl.lint.check import all_checks

FOLDER = Path(__file__).parent / "reference"


def pages() -> dict[str, str]:
    """Return the text of every generated page, by file name."""
    made = {
        "annotated-file.md": annotated_page(),
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
    for table in TABLES.values():
        if table.prefix is None:
            yield from _table_section(table_doc(table))


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


def _table_section(key: TableDoc) -> Iterator[str]:
    yield f"## {key.name}"
    yield ""
    yield key.sentence
    yield ""
    facts = "; ".join(key.facts)
    yield f"{facts[:1].upper()}{facts[1:]}. [ProxySQL's manual]({key.manual})."
    if key.name in notes.TABLE:
        yield ""
        yield notes.TABLE[key.name]
    yield ""
    rows = ((f"`{name}`", of.sentence, "; ".join(of.facts)) for name, of in key.columns.items())
    yield from markdown.table(("column", "what it does", "value"), rows)


# -- variables ------------------------------------------------------------------------------------


def _variables() -> Iterator[str]:
    """Yield lists, not tables: some names are half as wide as a page."""
    yield from markdown.head("Variables", notes.VARIABLES)
    for side, title in notes.SIDES.items():
        yield f"## {title}"
        yield ""
        yield f"[ProxySQL's manual]({manual(f'{side}_variables')}) has a page of them."
        yield ""
        for name, variable in sorted(VARIABLES.items()):
            if name.startswith(f"{side}-"):
                key = variable_doc(variable)
                yield f"- `{name}`: {key.sentence}\\"
                yield f"  *{'; '.join(key.facts)}*"
        yield ""


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
