"""Finds the files, keeps them inside their folders, renders templates and parses YAML."""

from __future__ import annotations

import codecs
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proxyctl.config.mistakes import Mistakes, ValueProblem, did_you_mean, file_place
from proxyctl.config.yaml import Document, Unusable, YamlMap, read_yaml
from proxyctl.errors import ProxyctlError, UsageError, os_reason
from proxyctl.state.row import Where

MAX_FILE = 64 * 1024 * 1024
"""Largest YAML file or template. Units: bytes."""

_CHECK_PATH = "check the path; a relative one starts in the folder where proxyctl runs"

_IN_FOLDER = (".yaml", ".yml", ".j2")


@dataclass(frozen=True)
class Sources:
    """The files to read, and the variables for their templates.

    `variables`: from `--var`. `instance_vars`: from an instance. `restrict_paths` keeps `{file:}`,
    `{csv:}`, `{jsonl:}` and template includes inside the folders of `paths`, also through links.
    """

    paths: tuple[str, ...] = ("./proxyctl.yaml",)
    variables: Mapping[str, object] = field(default_factory=dict)
    var_files: tuple[str, ...] = ()
    instance_vars: Mapping[str, object] = field(default_factory=dict)
    restrict_paths: bool = False


# One file ----------------------------------------------------------------------------------------


class UnreadableError(ValueProblem):
    """A file or a reference that cannot be read. The message names the reason, not the file.

    Shape: `line` and `column` count from 1; both are 0 for the file as a whole.
    """

    def __init__(
        self, message: str, fix: str | None = None, *, line: int = 0, column: int = 0
    ) -> None:
        super().__init__(message, fix)
        self.line = line
        self.column = column

    def where(self, path: str) -> Where:
        """Return the place of the mistake in the file at `path`."""
        return Where(path, self.line, self.column)


@dataclass(frozen=True)
class Fence:
    """The folders that must hold every file that other files name; None allows any folder."""

    folders: tuple[Path, ...] | None = None

    @classmethod
    def around(cls, sources: Sources, *paths: str) -> Fence:
        """Return the fence of the command line around `paths`, by default around its own paths."""
        if not sources.restrict_paths:
            return cls()
        for path in sources.paths:
            _refuse_way_out(path)
        return cls(tuple(map(_folder_of, paths or sources.paths)))

    def path(self, name: str, folder: str) -> str:
        """Return the path of `name` as seen from `folder`.

        Raises: UnreadableError when it lies outside, also through a symbolic link.
        """
        path = os.path.normpath(os.path.join(folder, os.path.expanduser(name)))
        self.check(path)
        return path

    def check(self, path: str) -> None:
        """Refuse a path that leads outside, or into /proc, which shows the environment.

        Raises: UnreadableError.
        """
        if "\0" in path:  # refused when it is opened
            return
        real = os.path.realpath(path)
        if real.startswith("/proc/") and os.path.isfile(real):  # a pipe of a shell is none
            raise UnreadableError("a file of /proc, which shows processes and their secrets")
        if self.folders is not None and not any(
            Path(real).is_relative_to(folder) for folder in self.folders
        ):
            raise UnreadableError("the path leads out of the folders of the -f paths")


def _refuse_way_out(path: str) -> None:
    """Refuse a path inside the working folder that a link leads out of it. Raises: UsageError."""
    here = Path.cwd()
    is_inside = Path(os.path.abspath(path)).is_relative_to(here)
    if is_inside and not Path(path).resolve().is_relative_to(here.resolve()):
        raise UsageError(
            f"--file {path}: a symbolic link leads out of the working folder (--restrict-paths)",
            fix="name the folder that it leads to",
        )


def _folder_of(path: str) -> Path:
    real = Path(path).resolve()
    return real if real.is_dir() else Path(path).parent.resolve()


ANYWHERE = Fence()


def read_bytes(path: str, *, limit: int, fence: Fence = ANYWHERE) -> bytes:
    """Return the content of a file.

    Raises: UnreadableError, also for a file larger than `limit` bytes or outside the fence.
    """
    fence.check(path)
    try:
        with open(path, "rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise UnreadableError(os_reason(error)) from error
    except ValueError as error:
        raise UnreadableError("the path holds a NUL character") from error
    if len(content) > limit:
        raise UnreadableError(f"the file is larger than {limit // 1024:,} KB")
    return content


def read_text(path: str, *, limit: int = MAX_FILE, fence: Fence = ANYWHERE) -> str:
    """Return the text of a UTF-8 file, without a byte order mark.

    Raises: UnreadableError.
    """
    content = read_bytes(path, limit=limit, fence=fence).removeprefix(codecs.BOM_UTF8)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        begin = content.rfind(b"\n", 0, error.start) + 1
        raise UnreadableError(
            f"not UTF-8: byte 0x{content[error.start]:02X} fits no character",
            "save the file as UTF-8",
            line=content.count(b"\n", 0, begin) + 1,
            column=len(content[begin : error.start].decode()) + 1,
        ) from None


# All files ---------------------------------------------------------------------------------------


def find_files(paths: tuple[str, ...], mistakes: Mistakes) -> list[str]:
    """Return the files that `-f` names, each once; a folder gives its files in order of name.

    Changes: mistakes.
    """
    files_by_path: dict[str, str] = {}
    for given in paths:
        path = os.path.normpath(given)
        if not os.path.isdir(path):
            files_by_path.setdefault(os.path.realpath(path), path)
            continue
        try:
            listed = sorted(os.listdir(path))
        except OSError as error:
            mistakes.add(file_place(path), "", os_reason(error))
            continue
        names = (n for n in listed if n.endswith(_IN_FOLDER) and n[0] != ".")
        files = [os.path.normpath(os.path.join(path, name)) for name in names]
        # A dangling link counts: without the file that it meant, rows would be deleted.
        files = [file for file in files if not os.path.isdir(file)]
        if not files:
            mistakes.add(file_place(path), "", "no *.yaml, *.yml or *.j2 file in this folder")
        for file in files:
            files_by_path.setdefault(os.path.realpath(file), file)
    return list(files_by_path.values())


def read_source(
    path: str, variables: Mapping[str, Any], fence: Fence, mistakes: Mistakes
) -> str | None:
    """Return the text of a file, rendered if it is a template; None after a mistake.

    Changes: mistakes.
    """
    try:
        source = read_text(path, fence=fence)
    except UnreadableError as error:
        fix = near_file(path, "name the files with -f, or start with `proxyctl init`") or error.fix
        mistakes.add(error.where(path), "", error.message, fix)
        return None
    if not path.endswith(".j2"):
        return source
    from proxyctl.config.templates import render  # Jinja2 is slow to import

    return render(source, path=path, variables=variables, fence=fence, mistakes=mistakes)


def is_there(path: str) -> bool:
    """Return whether a file exists, also as a dangling link or in an unreadable folder."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True


def near_file(path: str, otherwise: str = _CHECK_PATH) -> str | None:
    """Return `did you mean 'proxyctl.yaml'?` for a missing file; None for an existing one."""
    if is_there(path):
        return None
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(os.path.dirname(path) or ".")
    return did_you_mean(os.path.basename(path), names) or otherwise


def unreadable_file(
    path: str, reason: str, *, option: str = "", fix: str = _CHECK_PATH
) -> ProxyctlError:
    """Return the error for a file that an option or an argument names.

    `fix`: the fix if no other file has a similar name.
    """
    return ProxyctlError(f"{option} {path}: {reason}".lstrip(), fix=near_file(path, fix))


def template_variables(sources: Sources, mistakes: Mistakes) -> dict[str, Any]:
    """Return the variables of templates: var files in order, then the instance's, then `--var`.

    Changes: mistakes.
    """
    variables: dict[str, Any] = {}
    for name in sources.var_files:
        path = os.path.normpath(name)
        try:
            text = read_text(path, fence=Fence.around(sources, name))
        except UnreadableError as error:
            where = error.where(path) if error.line else file_place(f"--var-file {path}")
            mistakes.add(where, "", error.message, error.fix or near_file(path))
            continue
        document = read_yaml(text, path, mistakes)
        root = document.root if document else None
        if isinstance(root, YamlMap):
            variables.update(without_marks(root))
        elif document and root is not None and not isinstance(root, Unusable):
            mistakes.add(document.where(()), "", "expected a mapping of names to values")
    return {**variables, **sources.instance_vars, **sources.variables}


def without_marks(value: Any) -> Any:  # noqa: ANN401 - any YAML value
    """Return plain dicts and lists: a template must not see the marks."""
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_marks(item) for item in value]
    return value


_NOT_YAML = {
    ".cnf": ("a configuration file of ProxySQL", "proxyctl import {path} -o proxyctl.yaml"),
    ".sql": ("SQL statements", "send them to ProxySQL's admin interface, then proxyctl export"),
}
"""ProxySQL configurations that -f may name by mistake. Shape: kind and fix, by suffix."""

SAVED_PLAN = '{\n  "kind": "proxyctl plan"'
"""The beginning of a file of `plan --out`."""


def read_documents(sources: Sources, mistakes: Mistakes) -> list[Document]:
    """Return every file, parsed. Changes: mistakes."""
    documents = []
    # A missing var file is a mistake even without a template.
    variables = template_variables(sources, mistakes)
    fence = Fence.around(sources)
    for path in find_files(sources.paths, mistakes):
        text = read_source(path, variables, fence, mistakes)
        kind, fix = _NOT_YAML.get(Path(path).suffix, ("", ""))
        if text is not None and text.startswith(SAVED_PLAN):
            kind = "a saved plan"
            fix = "`proxyctl show {path}` shows it, `proxyctl apply {path}` applies it"
        if path.endswith(".j2"):
            mistakes.mark_rendered(path)
        if text is not None and kind:
            mistakes.add(file_place(path), "", f"{kind}, not YAML", fix.format(path=path))
        elif text is not None and (document := read_yaml(text, path, mistakes)):
            documents.append(document)
    return documents
