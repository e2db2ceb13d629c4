"""The variables that digests depend on."""

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
    """Each field except `version` is the variable `mysql-query_digests_<field>`, with its default.

    Up to 2.7 ProxySQL keeps each of the two limits in one signed byte. So a limit whose low byte is
    zero, such as 256, folds nothing, and 257 means 1. With a low byte above 127 ProxySQL reads and
    writes outside its buffer: with grouping_limit=200, `SELECT f(1,a)` ends the process.

    Raises: ValueError for a number that ProxySQL refuses for the variable, and for a limit that can
    end the process.
    """

    lowercase: bool = False
    replace_null: bool = False
    no_digits: bool = False
    keep_comment: bool = False
    grouping_limit: int = 3
    groups_grouping_limit: int = 10
    max_digest_length: int = 2048
    """Units: bytes."""
    max_query_length: int = 65000
    """Units: bytes."""
    version: Version = REFERENCE
    """The ProxySQL that makes the digests."""

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
        """The number of values that stay in a folded list; 0: lists are not folded."""
        return self.grouping_limit & 0x7F if self._keeps_bytes else self.grouping_limit

    @property
    def groups(self) -> int:
        """The number of groups that stay in a folded row; 0: rows are not folded."""
        limit = self.groups_grouping_limit
        return limit & 0x7F if self._keeps_bytes else limit

    @property
    def drops_last_comment(self) -> bool:
        """Whether every comment counts, also just before the end or beyond the room."""
        return self.version.has(DIGESTS_DROP_LAST_COMMENT)

    @classmethod
    def from_variables(
        cls, variables: Mapping[str, str], version: Version = REFERENCE, *, prefix: str = PREFIX
    ) -> Self:
        """Return the options from variables by full name; a missing variable has its default.

        `prefix`: the beginning of their names, `pgsql-query_digests_` for PostgreSQL.

        Texts are read as a LOAD reads them: `1` and `TRUE` are true, ` 600` is 600.

        Raises: ValueError for a text that ProxySQL refuses, and as the class.
        """
        options: dict[str, bool | int] = {}
        for field in fields(cls):
            name = prefix + field.name
            if name not in variables or field.name == "version":
                continue
            text = canonical(name, variables[name])
            if isinstance(field.default, bool):
                if text not in _TRUTH:
                    raise ValueError(f"{name}: {text!r} is neither true nor false")
                options[field.name] = _TRUTH[text]
            elif text.isdecimal():
                options[field.name] = int(text)
            else:
                raise ValueError(f"{name}: {text!r} is not a number")
        return cls(**options, version=version)  # type: ignore[arg-type]  # each checked against its field above
