"""Finds the files, renders templates and parses YAML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from proxyctl.config.mistakes import Mistakes, did_you_mean, file_place
from proxyctl.config.sources import (
    NOT_A_FILE,
    Fence,
    Sources,
    UnreadableError,
    is_special,
    read_text,
)
from proxyctl.config.yaml import Document, Unusable, YamlMap, read_yaml
from proxyctl.errors import ProxyctlError
from proxyctl.text import os_fix, os_reason

_CHECK_PATH = "check the path; a relative one starts in the folder where proxyctl runs"
FROM_FOLDER = "check the path; a relative one starts in the folder of this file"
"""The fix for a missing file that another file names."""

_IN_FOLDER = (".yaml", ".yml", ".j2")


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
            mistakes.add(file_place(path), "", os_reason(error), os_fix(error))
            continue
        names = (n for n in listed if n.endswith(_IN_FOLDER) and n[0] != ".")
        files = [os.path.normpath(os.path.join(path, name)) for name in names]
        # A dangling link counts: without the file that it meant, rows would be deleted.
        files = [file for file in files if not os.path.isdir(file)]
        for special in filter(is_special, files):
            mistakes.add(file_place(special), "", NOT_A_FILE)
        files = [file for file in files if not is_special(file)]
        if not files:
            mistakes.add(file_place(path), "", "no *.yaml, *.yml or *.j2 file in this folder")
        for file in files:
            files_by_path.setdefault(os.path.realpath(file), file)
    return list(files_by_path.values())


def changed_at(paths: tuple[str, ...]) -> float | None:
    """Return when the newest of the files was changed; None if none of them can be read.

    Units: unix seconds.
    """
    times = []
    for path in find_files(paths, Mistakes()):
        with suppress(OSError):
            times.append(os.stat(path).st_mtime)
    return max(times, default=None)


def read_source(
    path: str, variables: Mapping[str, Any], fence: Fence, mistakes: Mistakes
) -> str | None:
    """Return the text of a file, rendered if it is a template; None after a mistake.

    Changes: mistakes.
    """
    try:
        source = read_text(path, fence=fence)
    except UnreadableError as error:
        fix = near_file(path, "name the files with -f, or start with `proxyctl init`")
        message = "no such configuration file" if fix else error.message
        mistakes.add(error.where(path), "", message, fix or error.fix)
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
    path: str,
    reason: str,
    *,
    fix: str | None = None,
    option: str = "",
    if_missing: str = _CHECK_PATH,
) -> ProxyctlError:
    """Return the error for a file that an option or an argument names.

    `fix`: the fix for the reason, if the file exists. `if_missing`: the fix for a missing file, if
    no other file has a similar name.
    """
    return ProxyctlError(
        f"{option} {path}: {reason}".lstrip(), fix=near_file(path, if_missing) or fix
    )


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
            fix = "show it with `proxyctl show {path}`, apply it with `proxyctl apply {path}`"
        if path.endswith(".j2"):
            mistakes.mark_rendered(path)
        if text is not None and kind:
            mistakes.add(file_place(path), "", f"{kind}, not YAML", fix.format(path=path))
        elif text is not None and (document := read_yaml(text, path, mistakes)):
            documents.append(document)
    return documents
