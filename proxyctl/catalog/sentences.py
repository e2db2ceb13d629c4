"""What tables, columns and variables do, in sentences for people.

They stand in `sentences.toml`, which is read once, when the first sentence is asked for: commands
that show none do not need it.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any

_EVERY_TABLE = "*"


def table_sentence(table: str) -> str | None:
    """Return what a table holds; None if it has no sentence."""
    return _first(table, *(_data()["tables"].get(name) for name in _twins(table, "_")))


def column_sentence(table: str, column: str) -> str | None:
    """Return what a column does; None if it has no sentence."""
    columns = _data()["columns"]
    tables = (*_twins(table, "_"), _EVERY_TABLE)
    return _first(table, *(columns.get(name, {}).get(column) for name in tables))


def variable_sentence(variable: str) -> str | None:
    """Return what a variable does; None if it has no sentence."""
    return _first(variable, *(_data()["variables"].get(name) for name in _twins(variable, "-")))


def manual(table: str) -> str | None:
    """Return the address of the table in ProxySQL's manual; None if the manual lacks it."""
    address: str | None = _data()["manual"].get(table)
    return address


def _twins(name: str, separator: str) -> tuple[str, ...]:
    """Return the name, and for one of the PostgreSQL side the name of its twin for MySQL."""
    side, _, rest = name.partition(separator)
    return (name, f"mysql{separator}{rest}") if side == "pgsql" else (name,)


def _first(name: str, *sentences: str | None) -> str | None:
    """Return the first sentence that there is, for the side of the name."""
    side = "pgsql" if name.startswith("pgsql") else "mysql"
    found = next((sentence for sentence in sentences if sentence is not None), None)
    return None if found is None else found.replace("{side}", side)


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    """Return the sentences: `manual`, `tables` and `variables` by name, `columns` by table."""
    file = resources.files("proxyctl.catalog").joinpath("sentences.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))
