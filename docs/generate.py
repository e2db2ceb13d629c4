"""Write the reference pages from the code: `python -m docs.generate`, or `make docs`.

What the code cannot tell stands in `docs/notes.py`, for the pages about JSON in
`docs/json_keys.yaml`. What keys and variables do, the program shows too: those sentences are part
of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from docs import markdown, notes
from docs.annotated_page import annotated_page
from docs.commands_page import commands
from docs.json_page import UnexplainedError, json_pages
from docs.lint_pages import lint_pages
from docs.python_page import UndocumentedError, python_page
from docs.rules_cost_page import picture, rules_cost
from proxyctl import errors
from proxyctl.catalog import TABLES
from proxyctl.catalog.sentences import manual
from proxyctl.catalog.variables import VARIABLES
from proxyctl.config.context import SPECIAL
from proxyctl.config.keys import KeyDoc, TableDoc, table_doc, variable_doc
from proxyctl.config.section_keys import section_keys
from proxyctl.config.section_sentences import SENTENCES

FOLDER = Path(__file__).parent / "reference"


def pages() -> dict[str, str]:
    """Return the text of every generated page, by its path in the folder."""
    made = {
        "annotated-file.md": annotated_page(),
        "commands.md": commands(),
        "keys.md": _keys(),
        "variables.md": _variables(),
        "exit-codes.md": _exit_codes(),
        **lint_pages(),
        **json_pages(),
        "python.md": python_page(),
        "rules-cost.md": rules_cost(),
        "../pictures/rules-cost.svg": picture(),
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
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stderr.write(f"wrote {path}\n")
    return 0


# -- keys -----------------------------------------------------------------------------------------


def _keys() -> Iterator[str]:
    yield from markdown.head("Keys", notes.KEYS)
    for name in SPECIAL:
        yield f"## {name}"
        yield ""
        yield notes.SECTIONS[name]
        yield ""
        yield from _special(name)
    yield notes.TABLE_SECTIONS
    yield ""
    for table in TABLES.values():
        if table.prefix is None:
            yield from _table_section(table_doc(table))


def _special(name: str) -> Iterator[str]:
    """Yield the tables of keys that are no columns."""
    own = [key for key in section_keys(name).values() if key.name in SENTENCES]
    for place, keys in groupby(own, lambda key: key.name.rpartition(".")[0]):
        if place != name:
            yield f"`{place.rpartition('.')[2]}`:"
            yield ""
        rows = ((f"`{key.name.rpartition('.')[2]}`", *_cells(key)) for key in keys)
        yield from markdown.table(("key", *_TITLES), rows)


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
    rows = ((f"`{name}`", *_cells(column)) for name, column in key.columns.items())
    yield from markdown.table(("column", *_TITLES), rows)


_TITLES = ("what it does", "value")


def _cells(key: KeyDoc) -> tuple[str, str]:
    return key.sentence, "; ".join(key.facts)


# -- variables ------------------------------------------------------------------------------------


def _variables() -> Iterator[str]:
    """Yield lists, not tables: some names are half as wide as a page."""
    yield from markdown.head("Variables", notes.VARIABLES)
    for side, title in notes.SIDES.items():
        yield f"## {title}"
        yield ""
        yield f"[ProxySQL's manual]({manual(f'{side}_variables')}) documents these variables."
        yield ""
        for name, variable in sorted(VARIABLES.items()):
            if name.startswith(f"{side}-"):
                key = variable_doc(variable)
                yield f"- `{name}`: {key.sentence}\\"
                yield f"  *{'; '.join(key.facts)}*"
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
