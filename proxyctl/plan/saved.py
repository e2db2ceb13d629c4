"""A saved plan: a receipt of what was reviewed, not a script.

`apply PLANFILE` computes the plan again from the same files and the same instance, and refuses when
the fingerprint differs. The file holds no statement to run and no secret: a salted hash, slow on
purpose, shows whether the secrets are still those of the plan.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proxyctl import __version__
from proxyctl.errors import ProxyctlError, RefusedError
from proxyctl.plan.plan import Plan

FORMAT = 1


@dataclass(frozen=True)
class SavedPlan:
    """The contents of the file, for `show` and for an apply."""

    address: str
    """The address of the instance that the plan is for."""
    fingerprint: str
    """The fingerprint of the plan."""
    seal: str
    """The salt and the hash of the secrets that the plan would write; empty without secrets."""
    paths: tuple[str, ...]
    """The configuration files."""
    variables: tuple[str, ...]
    """The names of the variables for templates."""
    options: tuple[str, ...]
    """The options of the plan."""
    text: str
    """The plan as text, for `show` only."""
    shown: Mapping[str, object]
    """The plan as JSON, for `show` only."""

    @classmethod
    def read(cls, path: Path) -> SavedPlan:
        """Read a saved plan.

        Raises: ProxyctlError when the file is no saved plan, or has a newer format.
        """
        from proxyctl.config.documents import unreadable_file
        from proxyctl.config.sources import UnreadableError, read_bytes

        if path.is_dir():
            named = f"-f {shlex.quote(str(path))}"
            raise ProxyctlError(
                f"{path}: a folder, not a saved plan",
                fix=f"name files with -f: proxyctl plan {named}, then proxyctl apply {named}",
            )
        try:
            document = json.loads(read_bytes(str(path), limit=_MOST_BYTES))
        except UnreadableError as error:
            raise unreadable_file(
                str(path), error.message, fix=error.fix, if_missing=_FIX
            ) from error
        except (ValueError, RecursionError) as error:
            raise ProxyctlError(f"{path}: not a saved plan (not JSON)", fix=_FIX) from error
        if not isinstance(document, dict) or document.get("kind") != "proxyctl plan":
            raise ProxyctlError(f"{path}: not a saved plan", fix=_FIX)
        if document.get("format") != FORMAT:
            raise ProxyctlError(
                f"{path}: a saved plan of format {document.get('format')!r}; this proxyctl"
                f" {__version__} reads format {FORMAT}",
                fix="make the plan again with this version",
            )
        texts = [document.get(name) for name in ("address", "fingerprint", "seal", "text")]
        lists = [document.get(name) for name in ("paths", "variables", "options")]
        is_sound = all(map(_is_text, texts)) and all(
            isinstance(items, list) and all(map(_is_text, items)) for items in lists
        )
        is_sound = is_sound and str(document["seal"]).isascii()
        if not is_sound or not isinstance(document.get("plan"), dict):
            raise ProxyctlError(f"{path}: the saved plan is damaged", fix=_FIX)
        address, fingerprint, seal, text = map(str, texts)
        paths, variables, options = (tuple(map(str, items or ())) for items in lists)
        return cls(address, fingerprint, seal, paths, variables, options, text, document["plan"])

    def matches(self, plan: Plan) -> bool:
        """Return whether a plan does the same as the saved plan, with the same secrets."""
        if plan.fingerprint != self.fingerprint:
            return False
        salt, _, _ = self.seal.partition(":")
        return hmac.compare_digest(self.seal, _seal(plan, salt))

    def check_files(self) -> None:
        """Refuse to go on in a folder without the files of the plan. Raises: ProxyctlError."""
        from proxyctl.config.documents import is_there

        for path in self.paths:
            if not os.path.isabs(path) and not is_there(path):
                raise ProxyctlError(
                    f"{Path(path)}: no such configuration file; the plan names its files relative"
                    " to the folder where it was made",
                    fix="run it in the folder where the plan was made, or name the files with -f",
                )

    def check_address(self, address: str) -> None:
        """Refuse an instance for which the plan was not made."""
        if address != self.address:
            raise RefusedError(
                f"the plan was made for {self.address}, not for {address}",
                fix="make a plan for this instance",
            )


def _is_text(value: object) -> bool:
    """Return whether a value is text that can be a path: of a damaged file it may be anything."""
    try:
        return isinstance(value, str) and b"\0" not in value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False


def _seal(plan: Plan, salt: str) -> str:
    """Return `salt:hash` of the secrets that the plan would write; empty without secrets."""
    secrets = plan.secrets
    if not secrets:
        return ""
    text = json.dumps(secrets).encode()
    digest = hashlib.scrypt(text, salt=salt.encode(), n=2**14, r=8, p=1, dklen=32)
    return f"{salt}:{digest.hex()}"


_MOST_BYTES = 512 << 20
"""The most bytes of a saved plan: it shows each changed row."""
_FIX = "make one with: proxyctl plan --out FILE; name configuration files with -f"


def is_saved_plan(path: Path) -> bool:
    """Return whether the file begins as a saved plan does. Raises: OSError."""
    from proxyctl.config.documents import SAVED_PLAN

    with path.open("rb") as file:
        return file.read(len(SAVED_PLAN)) == SAVED_PLAN.encode()


def check_target(path: Path) -> None:
    """Refuse to replace a file that is no saved plan, such as a configuration file.

    Raises: RefusedError.
    """
    try:
        if not path.is_file() or is_saved_plan(path):
            return
        is_empty = not path.stat().st_size
    except OSError:
        return  # Writing the file reports the error.
    if not is_empty:
        raise RefusedError(
            f"{path}: already exists and is not a saved plan", fix="choose another file"
        )


def save(
    plan: Plan,
    shown: Mapping[str, object],
    text: str,
    *,
    paths: Sequence[str],
    variables: Sequence[str],
    options: Sequence[str],
) -> str:
    """Return the text of the file. `shown` and `text`: the plan as JSON and as text.

    `variables`: names only, since values may be secrets.
    """
    document = {
        "kind": "proxyctl plan",
        "format": FORMAT,
        "proxyctl": __version__,
        "address": plan.address,
        "fingerprint": plan.fingerprint,
        "seal": _seal(plan, os.urandom(16).hex()),
        "paths": list(paths),
        "variables": list(variables),
        "options": list(options),
        "plan": shown,
        "text": text,
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"
