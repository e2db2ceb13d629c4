"""`{env: NAME}`, `{file: PATH}` and `{hex: DIGITS}`: text that does not stand in the files.

The only module of the package that reads the environment. What it returns may be a secret, so no
message here repeats a value.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from proxyctl.config.files import ANYWHERE, Fence, UnreadableError, read_bytes
from proxyctl.config.mistakes import did_you_mean, named
from proxyctl.state.row import REFERENCES, Secret

MAX_SECRET = 1024 * 1024
"""Largest file that `{file:}` reads. Units: bytes."""


def is_reference(value: object) -> bool:
    """Return whether a value is a whole reference: one known key, with a text."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    ((kind, argument),) = value.items()
    return kind in REFERENCES and isinstance(argument, str) and (argument != "" or kind == "hex")


def reference_fix(value: object) -> str:
    """Return how text is written, for a value that is neither text nor a reference."""
    near = None
    if isinstance(value, Mapping) and len(value) == 1 and REFERENCES.isdisjoint(value):
        near = did_you_mean(str(next(iter(value))), REFERENCES)
    words = "write text, {env: NAME}, {file: PATH} or {hex: DIGITS}"
    return f"{near} {words}" if near else words


def near_variable(
    reference: Mapping[str, str], near: Callable[[str, Sequence[str]], str | None]
) -> str | None:
    """Return what `near` says of an environment variable that is not set; None of anything else."""
    name = reference.get("env")
    if name is None or name in os.environ:
        return None
    # Our own variables, one of which is the admin password, are never what was meant.
    return near(name, [other for other in os.environ if not other.startswith("PROXYCTL_")])


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
            raise UnreadableError(f"the environment variable {named(argument)} is not set")
        if kind == "env":
            text = os.environ[argument]
        elif kind == "file":
            text = self._file(argument)
        else:
            text = _bytes(argument)
        if is_secret and not text:
            what = {"env": "the environment variable", "file": "the file"}.get(kind, "hex")
            raise UnreadableError(
                f"{what} {named(argument)} is empty", "set it, or write '' for an empty value"
            )
        return text if kind == "hex" else Secret(text)

    def _file(self, name: str) -> str:
        try:
            path = self.fence.path(name, self.folder)
            content = read_bytes(path, limit=MAX_SECRET, fence=self.fence)
        except UnreadableError as error:
            raise UnreadableError(f"{named(name)}: {error.message}", error.fix) from None
        if content.endswith(b"\n"):
            content = content[: -2 if content.endswith(b"\r\n") else -1]
        return content.decode("utf-8", "surrogateescape")


def _bytes(digits: str) -> str:
    try:
        return bytes.fromhex(digits).decode("utf-8", "surrogateescape")
    except ValueError:
        raise UnreadableError("hex takes an even number of hexadecimal digits") from None
