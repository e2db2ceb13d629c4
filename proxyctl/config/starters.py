"""The starter layouts in the folder templates/ -> files to begin with."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from proxyctl.errors import ProxyctlError, RefusedError
from proxyctl.text import os_reason

_MARK = "proxyctl.yaml"
"""The file that marks a starter. Other folders of templates/ belong to commands, such as report."""

_SCHEMA = "proxyctl.schema.json"
"""Where the first line of each file tells editors to look for the JSON Schema."""


def templates_folder() -> Path:
    """Return the folder templates/ of the project or of the installed package.

    Raises: ProxyctlError.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "templates", package.parent / "templates"):
        if folder.is_dir():
            return folder
    raise ProxyctlError("the starter layouts are missing from this installation")


def starter_names() -> list[str]:
    """Return the names of the starters, sorted."""
    return sorted(mark.parent.name for mark in templates_folder().glob(f"*/{_MARK}"))


def copy_starter(name: str, target: Path) -> list[Path]:
    """Copy a starter and the JSON Schema into a folder; return the files written.

    Raises: RefusedError when a file exists already; ProxyctlError when one cannot be written.
    """
    from proxyctl.config.json_schema import schema_text

    source = templates_folder() / name
    paths = sorted(path for path in source.rglob("*") if path.is_file())
    files = {target / path.relative_to(source): path.read_bytes() for path in paths}
    files[target / _SCHEMA] = schema_text().encode()
    existing = [path for path in files if path.exists()]
    if existing:
        raise RefusedError(
            "init does not overwrite files",
            reasons=[f"{path} exists" for path in existing],
            fix="name another folder, or move these files away",
        )
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        reason = f"{error.filename}: cannot be written: {os_reason(error)}"
        raise ProxyctlError(reason) from error
    return [*files]


_SECRET = re.compile(r"\{env: (\w+)\}")
_CONFIGURATION = (".yaml", ".yml", ".j2")


def next_steps(folder: Path, files: Iterable[Path]) -> Iterator[str]:
    """Yield the commands to run next, after `copy_starter` wrote `files`."""
    configuration_files = [path for path in files if path.suffix in _CONFIGURATION]
    texts = [path.read_text(encoding="utf-8") for path in configuration_files]
    secrets = {name for text in texts for name in _SECRET.findall(text)}
    option = " -f ." if len(configuration_files) > 1 else ""
    yield f"cd {shlex.quote(str(folder))}"
    if secrets:
        yield "export " + " ".join(f"{name}='...'" for name in sorted(secrets))
    yield f"proxyctl validate{option}"
    yield f"proxyctl plan{option}"
