"""`{env: NAME}`, `{file: PATH}` and `{hex: DIGITS}`: text that does not stand in the files.

The only module of the package that reads the environment. What it returns may be a secret, so no
message here repeats a value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from proxyctl.config.files import Fence, UnreadableError, read_bytes
from proxyctl.config.mistakes import did_you_mean

MAX_SECRET = 1024 * 1024
"""Largest file that `{file:}` reads. Units: bytes."""

KINDS = ("env", "file", "hex")


class UnresolvedError(Exception):
    """A reference leads nowhere."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class References:
    """Resolves references that stand in one file. `folder`: where its relative paths start."""

    folder: str
    fence: Fence = field(default_factory=Fence)

    def resolve(self, reference: Mapping[str, str]) -> str:
        """Return the text that a reference stands for; bytes that are not UTF-8 as surrogates.

        Raises: UnresolvedError.
        """
        ((kind, argument),) = reference.items()
        if kind == "env":
            return _environment(argument)
        if kind == "file":
            return self._file(argument)
        try:
            return bytes.fromhex(argument).decode("utf-8", "surrogateescape")
        except ValueError:
            raise UnresolvedError("hex takes an even number of hexadecimal digits") from None

    def _file(self, name: str) -> str:
        try:
            content = read_bytes(self.fence.path(name, self.folder), limit=MAX_SECRET)
        except UnreadableError as error:
            raise UnresolvedError(f"{name}: {error.message}") from None
        if content.endswith(b"\n"):
            content = content[: -2 if content.endswith(b"\r\n") else -1]
        return content.decode("utf-8", "surrogateescape")


def _environment(name: str) -> str:
    try:
        return os.environ[name]
    except KeyError:
        # Our own variables, one of which is the admin password, are never what was meant.
        known = [other for other in os.environ if not other.startswith("PROXYCTL_")]
        hint = did_you_mean(name, known)
        raise UnresolvedError(f"the environment variable {name} is not set", hint) from None
