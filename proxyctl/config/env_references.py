"""`{env: NAME}`, `{file: PATH}` and `{hex: DIGITS}`: text that the files refer to.

No other module of the package takes values of the files from the environment. The text may be a
secret, so no message here repeats it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from proxyctl.config.sources import ANYWHERE, Fence, UnreadableError, read_bytes
from proxyctl.rows.row import REFERENCES, Secret

MAX_SECRET = 1024 * 1024
"""Largest file that `{file:}` reads. Units: bytes."""


def is_reference(value: object) -> bool:
    """Return whether a value is a whole reference: one known key, with a text."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    ((kind, argument),) = value.items()
    return kind in REFERENCES and isinstance(argument, str) and (argument != "" or kind == "hex")


REFERENCE_FIX = "write text, {env: NAME}, {file: PATH} or {hex: DIGITS}"


def resolve(
    reference: Mapping[str, str], folder: str, fence: Fence = ANYWHERE, *, is_secret: bool = False
) -> str:
    """Return the text of a reference, with surrogates for bytes that are not UTF-8.

    `folder`: where relative paths start. An empty secret is refused: a variable that a pipeline
    forgot to set would let anybody in. Raises: UnreadableError.
    """
    ((kind, argument),) = reference.items()
    named = {"env": "the environment variable", "file": "the file"}.get(kind, "hex")
    if kind == "hex":
        try:
            content = bytes.fromhex(argument)
        except ValueError:
            raise UnreadableError("hex takes an even number of hexadecimal digits") from None
    elif kind == "file":
        try:
            path = fence.path(argument, folder)
            content = read_bytes(path, limit=MAX_SECRET, fence=fence)
        except UnreadableError as error:
            raise UnreadableError(f"{argument}: {error.message}", error.fix) from None
        if content.endswith(b"\n"):
            content = content[:-1].removesuffix(b"\r")
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
        raise UnreadableError(f"{named} {argument} is empty", fix)
    text = content.decode("utf-8", "surrogateescape")
    return text if kind == "hex" else Secret(text)
