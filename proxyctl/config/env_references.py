"""Text that the files refer to: `{env: NAME}`, `{file: PATH}`, `{hex: DIGITS}`, `{command: WORDS}`.

No other module of the package takes values of the files from the environment or a program. The text
may be a secret, so no message here repeats it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from proxyctl.config.child import printed_by
from proxyctl.config.documents import FROM_FOLDER, near_file
from proxyctl.config.sources import ANYWHERE, Fence, UnreadableError, read_bytes
from proxyctl.errors import ProxyctlError
from proxyctl.rows.row import REFERENCES, Secret

MAX_SECRET = 1024 * 1024
"""The largest file that `{file:}` reads, and the longest output of a command. Units: bytes."""

UNKNOWN_SECRET = Secret("unknown:unknown")
"""Replaces an unavailable secret; it is a valid password and a valid list of logins."""

COMMAND_S = 10
"""How long a command may take. Units: s."""


class SecretCommands:
    """The commands of the files: each is run once, however many rows, instances or plans use it."""

    def __init__(self, timeout_s: float = COMMAND_S) -> None:
        self._timeout_s = timeout_s
        self._printed: dict[tuple[str, ...], bytes | ProxyctlError] = {}
        self._guard = threading.Lock()

    def printed_by(self, words: Sequence[str], folder: str) -> bytes:
        """Return what a command prints, run in `folder`. Raises: UnreadableError."""
        question = (folder, *words)
        with self._guard:
            if question not in self._printed:
                self._printed[question] = self._run(words, folder)
        printed = self._printed[question]
        if isinstance(printed, ProxyctlError):
            raise UnreadableError(printed.message, "run it in a shell where proxyctl runs")
        return printed

    def _run(self, words: Sequence[str], folder: str) -> bytes | ProxyctlError:
        try:
            return printed_by(
                words,
                words[0],
                timeout_s=self._timeout_s,
                folder=folder,
                most=MAX_SECRET,
                repeats_errors=True,
            )
        except ProxyctlError as error:
            return error


def is_reference(value: object) -> bool:
    """Return whether a value is a whole reference: one known key, with a text or words."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    ((kind, argument),) = value.items()
    if kind == "command":
        is_list = isinstance(argument, list) and bool(argument)
        return is_list and all(isinstance(word, str) and word for word in argument)
    return kind in REFERENCES and isinstance(argument, str) and (argument != "" or kind == "hex")


REFERENCE_FIX = "write text, {env: NAME}, {file: PATH} or {hex: DIGITS}"
COMMAND_FIX = "write text, {env: NAME}, {file: PATH}, {command: [PROGRAM, ...]} or {hex: DIGITS}"


def reference_fix(value: object, *, is_secret: bool) -> str:
    """Return the fix for a mapping that is no reference, or none that this value may be."""
    if is_secret:
        return COMMAND_FIX
    has_command = isinstance(value, Mapping) and "command" in value
    only = "; a command can give only a password or a secret variable" if has_command else ""
    return f"{REFERENCE_FIX}{only}"


def resolve(
    reference: Mapping[str, Any],
    folder: str,
    fence: Fence = ANYWHERE,
    *,
    is_secret: bool = False,
    commands: SecretCommands | None = None,
) -> str:
    """Return the text of a reference, with surrogates for bytes that are not UTF-8.

    `folder`: where relative paths start, and where a command runs. An empty secret is refused: a
    variable that a pipeline forgot to set would let anybody in. `commands`: None runs no command,
    and gives UNKNOWN_SECRET.

    Raises: UnreadableError.
    """
    ((kind, argument),) = reference.items()
    name = argument if isinstance(argument, str) else argument[0]
    if kind == "command":
        content = _without_line_break(_printed(argument, folder, fence, commands))
        if b"\n" in content:
            fix = "let the command print the secret and nothing else"
            raise UnreadableError(f"{name} printed several lines", fix)
    elif kind == "hex":
        try:
            content = bytes.fromhex(argument)
        except ValueError:
            raise UnreadableError("hex needs an even number of hexadecimal digits") from None
    elif kind == "file":
        try:
            path = fence.path(argument, folder)
            content = _without_line_break(read_bytes(path, limit=MAX_SECRET, fence=fence))
        except UnreadableError as error:
            near = near_file(os.path.join(folder, argument), FROM_FOLDER)
            raise UnreadableError(f"{argument}: {error.message}", error.fix or near) from None
    elif argument.startswith("PROXYCTL_"):
        # A pull request could name the admin password, and show it in a plan.
        message = f"{argument} is for proxyctl itself, not for files"
        raise UnreadableError(message, "give the value in another variable")
    elif argument in os.environ:
        content = os.fsencode(os.environ[argument])
    else:
        message = f"the environment variable {argument} is not set"
        raise UnreadableError(message, "set it where proxyctl runs")
    if is_secret and not content:
        fix = "set it, or write '' for an empty value"
        raise UnreadableError(f"{_EMPTY[kind].format(name)} is empty", fix)
    text = content.decode("utf-8", "surrogateescape")
    return text if kind == "hex" else Secret(text)


_EMPTY = {
    "env": "the environment variable {}",
    "file": "the file {}",
    "hex": "hex {}",
    "command": "the output of {}",
}


def _printed(
    words: Sequence[str], folder: str, fence: Fence, commands: SecretCommands | None
) -> bytes:
    """Return what the command prints. Raises: UnreadableError."""
    if fence.folders is not None:
        message = "a command may read and do anything, so --restrict-paths refuses it"
        fix = "take the secret from {env: NAME}, or leave out --restrict-paths for files you trust"
        raise UnreadableError(message, fix)
    if commands is None:
        return UNKNOWN_SECRET.encode()
    return commands.printed_by(words, folder)


def _without_line_break(content: bytes) -> bytes:
    return content[:-1].removesuffix(b"\r") if content.endswith(b"\n") else content
