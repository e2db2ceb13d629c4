"""Secrets that nobody writes by chance, and every form of them that must not be shown."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field


def native_hash(text: str) -> str:
    """Return what mysql_native_password stores of a password, without its asterisk."""
    return hashlib.sha1(hashlib.sha1(text.encode()).digest()).hexdigest().upper()


@dataclass
class Sentinels:
    """Secrets by the place they stand in.

    `in_columns` stand in columns and variables that hold secrets. `referenced` came by a reference
    into other columns: an export of an instance cannot know of those.
    """

    in_columns: dict[str, str] = field(default_factory=dict)
    referenced: dict[str, str] = field(default_factory=dict)

    def secret(self, place: str) -> str:
        """Return a new secret for a column or variable that holds secrets."""
        return self.in_columns.setdefault(place, f"SeNtInEl-{place}-{len(self.in_columns)}-x")

    def reference(self, place: str) -> str:
        """Return a new secret for a column that holds none as such."""
        return self.referenced.setdefault(place, f"ReFeReNcE-{place}-{len(self.referenced)}-x")

    def shown_in(
        self, text: str | bytes, *, hashes: bool = True, references: bool = True
    ) -> list[str]:
        """Return which secrets a text shows, as they are or in a form that gives them away.

        `hashes` and `references` False: those may be shown, as in an export.
        """
        found = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        lowered = found.lower()
        known = {**self.in_columns, **(self.referenced if references else {})}
        shown = [place for place, one in known.items() if one.lower() in lowered]
        for place, one in known.items():
            digests = [kind(one.encode()).hexdigest() for kind in (hashlib.sha1, hashlib.sha256)]
            forms = [
                one.encode().hex(),
                base64.b64encode(one.encode()).decode().rstrip("=").lower(),
                *(digests if hashes else ()),
                *([native_hash(one).lower()] if hashes else ()),
            ]
            shown += [f"{place} as {form}" for form in forms if form in lowered]
        return shown
