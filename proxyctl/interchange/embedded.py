"""The files inside a YAML file of another program: a manifest, a play, a compose file, cloud-init.

Any text in it may be such a file, under whatever key: `data` of a ConfigMap (also in a List),
`stringData` of a Secret, `content` of an Ansible task. What the other program changes before it
writes the file is not read: there the file is another one than the text.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from proxyctl.config.yaml import Document, Mark, YamlList, YamlMap, YamlNode
from proxyctl.errors import ConfigError, Mistake

_BASE64 = {"Secret": "data", "ConfigMap": "binaryData"}
"""The key with texts in base64, by kind of a Kubernetes manifest."""


@dataclass(frozen=True)
class EmbeddedFile:
    """A text, and its place in the file around it."""

    text: str
    """The text, decoded if it is in base64."""
    line: int
    """The line where the text begins. Units: counts from 1."""
    column: int
    """The column where the text begins. Units: counts from 1."""
    is_literal: bool = False
    """Whether the text has the lines of the file around it, each after `indent` blanks; otherwise
    it stands there with escapes or in base64."""
    indent: int = 0
    """The number of blanks before each line of a literal text."""


def embedded_file(
    documents: Sequence[Document], source: str, is_wanted: Callable[[str], bool], *, name: str
) -> EmbeddedFile:
    """Return the only wanted text in the documents of `source`.

    `name`: what is wanted. Raises: ConfigError if there is none, or more than one.
    """
    path = documents[0].path if documents else ""
    lines = source.split("\n")
    found: dict[str, EmbeddedFile] = {}
    for document in documents:
        replaces_dollar = isinstance(document.root, YamlMap) and "services" in document.root
        for text, mark in _texts(document.root, is_base64=False):
            if not is_wanted(text):
                continue
            if replaces_dollar and "$" in text:
                raise _refusal(
                    path,
                    mark,
                    f"a {name} in a compose file, which replaces the `$` in it",
                    "take the file out of the container: `docker compose exec SERVICE cat"
                    f" /etc/{name} > {name}`, and import that",
                )
            found.setdefault(text, _located(text, mark, lines))
    if not found:
        message = f"no text in this file is a {name}"
        fix = f"name the file that holds the {name}; a template has to be rendered first"
        raise _refusal(path, Mark(), message, fix)
    if len(found) > 1:
        numbers = " and ".join(str(file.line) for file in found.values())
        message = f"{len(found)} different texts are a {name}: at lines {numbers}"
        fix = "copy one of them into a file of its own, and import that"
        raise _refusal(path, Mark(), message, fix)
    return next(iter(found.values()))


def _refusal(path: str, mark: Mark, message: str, fix: str) -> ConfigError:
    return ConfigError([Mistake(path, mark.line + 1, mark.column + 1, "", message, fix)])


def _texts(value: YamlNode, *, is_base64: bool) -> Iterator[tuple[str, Mark]]:
    """Yield the texts inside a value with their places, decoded where they are in base64."""
    items: list[tuple[YamlNode, Mark, bool]] = []
    if isinstance(value, YamlMap):
        encoded = _BASE64.get(str(value.get("kind")))
        items = [(item, value.marks[key][1], key == encoded) for key, item in value.items()]
    elif isinstance(value, YamlList):
        items = [(item, mark, False) for item, mark in zip(value, value.marks, strict=True)]
    for item, mark, holds_base64 in items:
        if not isinstance(item, str):
            yield from _texts(item, is_base64=holds_base64)
        elif not is_base64:
            yield item, mark
        elif (decoded := _decoded(item)) is not None:
            yield decoded, mark


def _decoded(text: str) -> str | None:
    try:
        content = b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    return content.decode("utf-8", "surrogateescape")


def _located(text: str, mark: Mark, lines: Sequence[str]) -> EmbeddedFile:
    """Return the text with its place; `lines` are those of the file around it."""
    place = EmbeddedFile(text, mark.line + 1, mark.column + 1)
    if not lines[mark.line][mark.column :].startswith("|"):
        return place
    written = [line.removesuffix("\r") for line in lines[mark.line + 1 :]]
    content = text.removesuffix("\n").split("\n")
    first = next((n for n, line in enumerate(content) if line), 0)
    if len(written) < len(content):
        return place
    indent = len(written[first]) - len(content[first])
    is_same = all(
        not line or (above[:indent].isspace() and above[indent:] == line)
        for above, line in zip(written, content, strict=False)
    )
    if indent <= 0 or not is_same:
        return place
    return EmbeddedFile(text, place.line + 1, indent + 1, is_literal=True, indent=indent)
