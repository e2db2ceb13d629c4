"""The variables that decide what a digest is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

from proxyctl.catalog import REFERENCE, VariableKind, Version
from proxyctl.catalog.releases import DIGESTS_DROP_LAST_COMMENT, WIDE_GROUPING_LIMITS
from proxyctl.catalog.variable_rules import bounds, canonical, number_complaint
from proxyctl.catalog.variables import VARIABLES

PREFIX = "mysql-query_digests_"
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class DigestOptions:
    """Each field but `version` is the variable `mysql-query_digests_<field>`, with its default.

    `version` is that of the ProxySQL whose digests are made. Up to 2.7 it keeps each of the two
    limits in one signed byte. A limit whose low byte is zero, such as 256, therefore means that
    nothing is folded, and 257 means 1. One whose low byte is above 127 makes ProxySQL read and
    write outside of its buffer: with grouping_limit=200, `SELECT f(1,a)` ends the process.

    Units: both lengths are bytes. Raises: ValueError for a number that ProxySQL refuses as a value
    of the variable, and for a limit that can end the process.
    """

    lowercase: bool = False
    replace_null: bool = False
    no_digits: bool = False
    keep_comment: bool = False
    grouping_limit: int = 3
    groups_grouping_limit: int = 10
    max_digest_length: int = 2048
    max_query_length: int = 65000
    version: Version = REFERENCE

    def __post_init__(self) -> None:
        for field in fields(self):
            known = VARIABLES.get(PREFIX + field.name)
            if known is None or known.kind is not VariableKind.INT:
                continue
            number = getattr(self, field.name)
            low, high = bounds(known, self.version)
            if not low <= number <= high:
                raise ValueError(f"{known.name}: {number} is not from {low} to {high}")
            complaint = number_complaint(known.name, number, self.version)
            if complaint:
                raise ValueError(f"{known.name}: {complaint.message}")

    @property
    def _keeps_bytes(self) -> bool:
        return not self.version.has(WIDE_GROUPING_LIMITS)

    @property
    def values(self) -> int:
        """How many values of a list stay when it is folded; 0 if none is folded."""
        return self.grouping_limit & 0x7F if self._keeps_bytes else self.grouping_limit

    @property
    def groups(self) -> int:
        """How many groups stay when a row of them is folded; 0 if none is folded."""
        limit = self.groups_grouping_limit
        return limit & 0x7F if self._keeps_bytes else limit

    @property
    def drops_last_comment(self) -> bool:
        """Whether a comment is one wherever it stands: short before the end, or beyond the room."""
        return self.version.has(DIGESTS_DROP_LAST_COMMENT)

    @classmethod
    def from_variables(cls, variables: Mapping[str, str], version: Version = REFERENCE) -> Self:
        """Read them from rows of global_variables or from files, by full name.

        What is missing has its default; what is no digest variable is passed over. Texts are taken
        as a LOAD takes them: `1` and `TRUE` are true, ` 600` is 600.

        Raises: ValueError for a text that ProxySQL refuses, and as the class does.
        """
        found: dict[str, bool | int] = {}
        for field in fields(cls):
            name = PREFIX + field.name
            if name not in variables or field.name == "version":
                continue
            text = canonical(name, variables[name])
            if isinstance(field.default, bool):
                if text not in _TRUTH:
                    raise ValueError(f"{name}: {text!r} is neither true nor false")
                found[field.name] = _TRUTH[text]
            elif text.isdecimal():
                found[field.name] = int(text)
            else:
                raise ValueError(f"{name}: {text!r} is not a number")
        return cls(**found, version=version)  # type: ignore[arg-type]  # each checked against its field above
