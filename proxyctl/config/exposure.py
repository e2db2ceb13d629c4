"""Files that hold a password in clear text, and that every user of the machine can read."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator

from proxyctl.catalog import TABLES
from proxyctl.catalog.variables import is_secret_variable
from proxyctl.config.yaml_reader import Unusable
from proxyctl.state.passwords import is_hash

_COLUMNS = {
    "instances": ("password",),
    **{
        table.name: names
        for table in TABLES.values()
        if (names := tuple(column.name for column in table.columns if column.secret))
    },
}
"""The secret keys of the rows of each section."""


def exposure(path: str) -> str | None:
    """Return what to say of a file with a password that everybody can read; None where nobody can.

    The group is left out: sharing a file with it is a choice. So are pipes, which are read once.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return None
    if not stat.S_ISREG(mode) or not mode & stat.S_IROTH:
        return None
    return (
        f"{path} holds a password in clear text, and every user of this machine can read it:"
        f" chmod 600 {shlex.quote(path)}"
    )


def is_clear(value: object) -> bool:
    """Return whether a value of a secret key is a password in clear text."""
    return (
        isinstance(value, str)
        and value != ""
        and not isinstance(value, Unusable)
        and not is_hash(value)
    )


def clear_passwords(root: object) -> Iterator[str]:
    """Yield the passwords that stand in a file in clear text."""
    if not isinstance(root, dict):
        return
    for section, names in _COLUMNS.items():
        rows = root.get(section)
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict):
                yield from (row[name] for name in names if is_clear(row.get(name)))
    variables = root.get("variables")
    for name, value in variables.items() if isinstance(variables, dict) else ():
        if is_secret_variable(name) and is_clear(value):
            yield value
