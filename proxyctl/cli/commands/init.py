"""The command init: it copies a starter layout from the folder templates/."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from proxyctl.cli.completion import completion
from proxyctl.cli.option import no_such, value
from proxyctl.cli.output import say
from proxyctl.errors import ExitCode, ProxyctlError, RefusedError, os_reason

_MARK = "proxyctl.yaml"
"""The file that marks a starter. Other folders of templates/ belong to commands, such as report."""


@completion
def starters(_: typer.Context) -> list[str]:
    """Return the names that `init --template` takes."""
    return starter_names()


def init(
    folder: str = typer.Argument(..., metavar="DIR", help="The folder to write into."),
    template: str = value(
        "NAME",
        "The layout: minimal, read-write-split, pxc or sharded.",
        default="minimal",
        autocompletion=starters,
    ),
) -> int:
    """Write a starter layout into a folder."""
    written = copy_starter(template, Path(folder))
    for path in written:
        say(f"wrote {path}")
    say("next: put your own servers and users into the files, then run")
    for step in next_steps(Path(folder), written):
        say(f"  {step}")
    return ExitCode.DONE


def templates_folder() -> Path:
    """Return the folder templates/ of the project or of the installed package."""
    package = Path(__file__).parents[2]
    for folder in (package / "templates", package.parent / "templates"):
        if folder.is_dir():
            return folder
    raise ProxyctlError("the starter layouts are missing from this installation")


def starter_names() -> list[str]:
    """Return the names that `init --template` takes."""
    return sorted(mark.parent.name for mark in templates_folder().glob(f"*/{_MARK}"))


_SCHEMA = "proxyctl.schema.json"
"""Where the first line of each file tells editors to look for the JSON Schema."""


def copy_starter(name: str, target: Path) -> list[Path]:
    """Copy a starter and the JSON Schema into a folder; return the files written.

    Raises: UsageError for an unknown name, RefusedError when a file exists already.
    """
    from proxyctl.config.json_schema import schema_text
    from proxyctl.instance.interrupts import uninterrupted

    names = starter_names()
    if name not in names:
        fix = f"templates: {', '.join(names)}"
        raise no_such("--template", name, "template", names, fix=fix)
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
        with uninterrupted():
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
