"""Which files there are, and their text. Templates are rendered here, nothing is parsed yet."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proxyctl.config.exposure import clear_passwords, exposure
from proxyctl.config.mistakes import Mistakes, did_you_mean, file_place
from proxyctl.config.yaml_reader import Document, Unusable, YamlMap, read_yaml
from proxyctl.state import Where

MAX_FILE = 64 * 1024 * 1024
"""Largest YAML file or template. Units: bytes."""

_IN_FOLDER = (".yaml", ".yml", ".j2")


@dataclass(frozen=True)
class Sources:
    """What the command line says about the files.

    `variables` are those of `--var`; `instance_vars` those that an instance brings along.
    `restrict_paths` keeps `{file:}`, `{csv:}`, `{jsonl:}` and template includes inside the folders
    of `paths`, and lets no named file lead out of its folder. `warn` is told what is unwise.
    """

    paths: tuple[str, ...] = ("./proxyctl.yaml",)
    variables: Mapping[str, object] = field(default_factory=dict)
    var_files: tuple[str, ...] = ()
    instance_vars: Mapping[str, object] = field(default_factory=dict)
    restrict_paths: bool = False
    warn: Callable[[str], None] = lambda _text: None


@dataclass(frozen=True)
class Text:
    """The text of one file; of a template, what it renders to."""

    path: str
    text: str
    is_rendered: bool = False


class UnreadableError(Exception):
    """A file cannot be read. The message names the reason, not the file.

    Shape: `line` and `column` count from 1; both are 0 where the whole file is meant.
    """

    def __init__(
        self, message: str, hint: str | None = None, *, line: int = 0, column: int = 0
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.line = line
        self.column = column

    def where(self, path: str) -> Where:
        """Return the place in the file that was to be read."""
        return Where(path, self.line, self.column)


@dataclass(frozen=True)
class Fence:
    """The folders that files named inside the files must stand in; None means anywhere.

    `warn` is told of a file with a password that everybody can read.
    """

    folders: tuple[str, ...] | None = None
    warn: Callable[[str], None] = lambda _text: None
    named: str = "folders of the -f paths"

    @classmethod
    def around(cls, sources: Sources) -> Fence:
        """Return the fence that the command line asks for."""
        return cls.around_paths(sources.paths, sources)

    @classmethod
    def around_paths(cls, paths: tuple[str, ...], sources: Sources) -> Fence:
        """Return the fence around the folders of these paths, if one is asked for."""
        if not sources.restrict_paths:
            return cls(warn=sources.warn)
        folders = tuple(dict.fromkeys(map(_folder_of, paths)))
        return cls(folders, sources.warn)

    @classmethod
    def around_path(cls, path: str, named: str) -> Fence:
        """Return the fence around the folder of one file, and what that is called."""
        return cls((_folder_of(path),), named=named)

    def path(self, name: str, folder: str) -> str:
        """Return the path of `name` as seen from `folder`.

        Raises: UnreadableError when it lies outside, also through a symbolic link.
        """
        path = os.path.normpath(os.path.join(folder, os.path.expanduser(name)))
        self._real(path)
        return path

    def check(self, descriptor: int, path: str) -> None:
        """Check a file that was opened as `path`, which may have become another one meanwhile.

        Raises: UnreadableError when it lies outside.
        """
        real = self._real(path)
        if real is not None and not os.path.samestat(os.fstat(descriptor), os.stat(real)):
            raise UnreadableError(f"the path leads out of the {self.named}")

    def _real(self, path: str) -> str | None:
        """Return where a path leads, if that matters.

        Raises: UnreadableError when that is outside.
        """
        # A NUL is no name to look up: opening the file says so.
        if self.folders is None or "\0" in path:
            return None
        real = os.path.realpath(path)
        if not any(real.startswith(os.path.join(inside, "")) for inside in self.folders):
            raise UnreadableError(f"the path leads out of the {self.named}")
        return real

    def warn_of(self, path: str) -> None:
        """Warn of a file with a password in clear text, if everybody can read it."""
        said = exposure(path)
        if said:
            self.warn(said)


def _folder_of(path: str) -> str:
    return os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path) or ".")


ANYWHERE = Fence()
_PIPES = "give a file, or a pipe of the shell such as <(command)"


def read_bytes(path: str, *, limit: int, fence: Fence = ANYWHERE) -> bytes:
    """Return the content of a file.

    Raises: UnreadableError, also for a file larger than `limit` bytes, outside the fence, or a
    named pipe: whoever names one can let proxyctl wait for ever. That of `<(command)` has an end.
    """
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode) and os.path.exists(os.path.realpath(path)):
            raise UnreadableError("a named pipe, which may never have an end", _PIPES)
        with open(path, "rb") as file:
            fence.check(file.fileno(), path)
            content = file.read(limit + 1)
    except OSError as error:
        raise UnreadableError((error.strerror or "it cannot be read").lower()) from error
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
        is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        raise UnreadableError(
            f"not UTF-8: byte 0x{content[error.start]:02X} fits no character",
            f"save the file as UTF-8{', it is UTF-16' if is_utf16 else ''}",
            line=content.count(b"\n", 0, begin) + 1,
            column=len(content[begin : error.start].decode()) + 1,
        ) from None


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
        names = sorted(n for n in os.listdir(path) if n.endswith(_IN_FOLDER) and n[0] != ".")
        files = [os.path.normpath(os.path.join(path, name)) for name in names]
        files = [file for file in files if os.path.isfile(file)]
        if not files:
            mistakes.add(file_place(path), "", "no *.yaml, *.yml or *.j2 file in this folder")
        for file in files:
            found.setdefault(os.path.realpath(file), file)
    return list(found.values())


@dataclass
class NamesUsed:
    """The names that all templates together take from outside, or give themselves.

    Not `are_all_known` where a template cannot be read, or includes a file whose name it works out.
    """

    names: set[str] = field(default_factory=set)
    are_all_known: bool = True


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
    if not os.path.exists(path):
        folder = os.path.dirname(path) or "."
        names = os.listdir(folder) if os.path.isdir(folder) else []
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
