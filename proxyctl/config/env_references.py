"""`{env: NAME}`, `{file: PATH}` and `{hex: DIGITS}`: text that does not stand in the files.

The only module of the package that reads the environment. What it returns may be a secret, so no
message here repeats a value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from proxyctl.config.files import ANYWHERE, Fence, UnreadableError, read_bytes
from proxyctl.state.row import REFERENCES, Secret

MAX_SECRET = 1024 * 1024
"""Largest file that `{file:}` reads. Units: bytes."""


def is_reference(value: object) -> bool:
    """Return whether a value is a whole reference: one known key, with a text."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    ((kind, argument),) = value.items()
    return kind in REFERENCES and isinstance(argument, str) and (argument != "" or kind == "hex")


REFERENCE_FIX = "write text, {env: NAME}, {file: PATH} or {hex: DIGITS}"


@dataclass(frozen=True)
class References:
    """Resolves references that stand in one file. `folder`: where its relative paths start."""

    folder: str
    fence: Fence = ANYWHERE

    def resolve(self, reference: Mapping[str, str], *, is_secret: bool = False) -> str:
        """Return the text that a reference stands for; bytes that are not UTF-8 as surrogates.

        A secret must not be empty: a variable that a pipeline forgot to fill would let anybody in.

        Raises: UnreadableError.
        """
        ((kind, argument),) = reference.items()
        if kind == "env" and argument not in os.environ:
            message = f"the environment variable {argument} is not set"
            raise UnreadableError(message, "set it where proxyctl runs")
        if kind == "env":
            text = os.environ[argument]
        elif kind == "file":
            text = self._file(argument)
        else:
            text = _bytes(argument)
        if is_secret and not text:
            what = {"env": "the environment variable", "file": "the file"}.get(kind, "hex")
            raise UnreadableError(
                f"{what} {argument} is empty", "set it, or write '' for an empty value"
            )
        return text if kind == "hex" else Secret(text)

    def _file(self, name: str) -> str:
        try:
            path = self.fence.path(name, self.folder)
            content = read_bytes(path, limit=MAX_SECRET, fence=self.fence)
        except UnreadableError as error:
            raise UnreadableError(f"{name}: {error.message}", error.fix) from None
        if content.endswith(b"\n"):
            content = content[: -2 if content.endswith(b"\r\n") else -1]
        return content.decode("utf-8", "surrogateescape")


def _bytes(digits: str) -> str:
    try:
        return bytes.fromhex(digits).decode("utf-8", "surrogateescape")
    except ValueError:
        raise UnreadableError("hex takes an even number of hexadecimal digits") from None
