"""Which files there are, and their text. Templates are rendered here, nothing is parsed yet."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from proxyctl.config.exposure import clear_passwords, exposure
from proxyctl.config.fenced import Fence, UnreadableError, read_text
from proxyctl.config.mistakes import Mistakes, did_you_mean, file_place
from proxyctl.config.sources import NamesUsed, Sources
from proxyctl.config.yaml_reader import Document, Unusable, YamlMap, read_yaml

_IN_FOLDER = (".yaml", ".yml", ".j2")


@dataclass(frozen=True)
class Text:
    """The text of one file; of a template, what it renders to."""

    path: str
    text: str
    is_rendered: bool = False


def is_there(path: str) -> bool:
    """Return whether a file is there, be it a link to nowhere; also where nobody may look."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True


def find_files(paths: tuple[str, ...], mistakes: Mistakes) -> list[str]:
    """Return the files that `-f` names, a folder's in order of their names.

    Shape: every file once. Changes: mistakes.
    """
    found: dict[str, str] = {}
    for given in paths:
        path = os.path.normpath(given)
        if not os.path.isdir(path):
            found.setdefault(os.path.realpath(path), path)
            continue
        try:
            listed = sorted(os.listdir(path))
        except OSError as error:
            mistakes.add(file_place(path), "", (error.strerror or "it cannot be read").lower())
            continue
        names = (n for n in listed if n.endswith(_IN_FOLDER) and n[0] != ".")
        files = [os.path.normpath(os.path.join(path, name)) for name in names]
        # A link that leads nowhere counts: without what it meant, rows would be deleted.
        files = [file for file in files if not os.path.isdir(file)]
        if not files:
            mistakes.add(file_place(path), "", "no *.yaml, *.yml or *.j2 file in this folder")
        for file in files:
            found.setdefault(os.path.realpath(file), file)
    return list(found.values())


def read_texts(sources: Sources, mistakes: Mistakes) -> list[Text]:
    """Return the text of every file, templates rendered. Changes: mistakes."""
    texts = []
    # Also without a template: a var file that is not there is a mistake anyway.
    variables = template_variables(sources, mistakes)
    used = NamesUsed()
    fence = Fence.around(sources)
    for path in find_files(sources.paths, mistakes):
        try:
            text = read_text(path, fence=fence)
        except UnreadableError as error:
            _add_unreadable(mistakes, path, error)
            used.are_all_known = False
            continue
        if not path.endswith(".j2"):
            texts.append(Text(path, text))
            continue
        from proxyctl.config.templates import render

        rendered = render(
            text, path=path, variables=variables, fence=fence, mistakes=mistakes, used=used
        )
        if rendered is not None:
            texts.append(Text(path, rendered, is_rendered=True))
    if used.are_all_known:
        _check_used(sources, used, mistakes)
    return texts


def _check_used(sources: Sources, used: NamesUsed, mistakes: Mistakes) -> None:
    """Note a --var that no template names: most likely its name is mistyped. Changes: mistakes."""
    for name in sources.variables:
        if name not in used.names:
            near = did_you_mean(name, used.names - sources.variables.keys())
            hint = near if used.names else "only *.j2 files are templates"
            mistakes.add(file_place(f"--var {name}"), "", "no template uses it", hint)


def _add_unreadable(mistakes: Mistakes, path: str, error: UnreadableError) -> None:
    hint = error.hint
    if not is_there(path):
        names: list[str] = []
        with suppress(OSError):
            names = os.listdir(os.path.dirname(path) or ".")
        hint = did_you_mean(os.path.basename(path), names)
        hint = hint or "name the files with -f, or start with `proxyctl init`"
    mistakes.add(error.where(path), "", error.message, hint)


def template_variables(sources: Sources, mistakes: Mistakes) -> dict[str, Any]:
    """Return what templates see: the var files in order, the instance's, then those of `--var`.

    Changes: mistakes.
    """
    variables: dict[str, Any] = {}
    for given in sources.var_files:
        path = os.path.normpath(given)
        try:
            text = read_text(path, fence=Fence.around_paths((given,), sources))
            document = read_yaml(text, path, mistakes)
        except UnreadableError as error:
            mistakes.add(error.where(path), "", error.message, error.hint)
            continue
        if document is None or document.root is None or isinstance(document.root, Unusable):
            continue
        if not isinstance(document.root, YamlMap):
            mistakes.add(document.where(()), "", "a var file is a mapping of names to values")
            continue
        variables.update(without_marks(document.root))
    return {**variables, **sources.instance_vars, **sources.variables}


def without_marks(value: Any) -> Any:  # noqa: ANN401 - any YAML value
    """Return plain dicts and lists: a template must not see the marks."""
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_marks(item) for item in value]
    return value


def read_documents(sources: Sources, mistakes: Mistakes) -> list[Document]:
    """Return every file, parsed. Changes: mistakes."""
    documents = []
    for text in read_texts(sources, mistakes):
        if text.is_rendered:
            mistakes.mark_rendered(text.path)
        document = read_yaml(text.text, text.path, mistakes)
        if document is not None:
            documents.append(document)
            _warn_of_passwords(text, document, Fence.around(sources))
    return documents


def _warn_of_passwords(text: Text, document: Document, fence: Fence) -> None:
    """Warn of a file that holds a password; of a template, only if it stands there itself."""
    passwords = clear_passwords(document.root)
    first = next(passwords, None)
    if first is None or exposure(text.path) is None:
        return
    if text.is_rendered:
        source = read_text(text.path, fence=fence)
        if first not in source and not any(one in source for one in passwords):
            return
    fence.warn_of(text.path)
