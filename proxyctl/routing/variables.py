"""The variables that decide how rules are evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from proxyctl.routing.regex import Engine

_RE2 = "2"


@dataclass(frozen=True)
class RoutingVariables:
    """Named after the variables of 2.7, with their defaults."""

    engine: Engine = Engine.PCRE
    """mysql-query_processor_regex, as the rules were compiled: it takes effect with their LOAD."""
    query_digests: bool = True
    query_processor_iterations: int = 0
    """How often rules are evaluated from the first one again after a flagOUT."""
    default_schema: str = "information_schema"
    set_query_lock_on_hostgroup: bool = True
    """Whether a SET that is not understood locks the session to its hostgroup."""

    @classmethod
    def from_values(cls, values: Mapping[str, str]) -> Self:
        """Return them from rows of global_variables; what is missing has its default."""
        default = cls()
        engine = values.get("mysql-query_processor_regex", "1")
        return cls(
            engine=Engine.RE2 if engine == _RE2 else Engine.PCRE,
            query_digests=values.get("mysql-query_digests", "true") == "true",
            query_processor_iterations=int(values.get("mysql-query_processor_iterations", "0")),
            default_schema=values.get("mysql-default_schema", default.default_schema),
            set_query_lock_on_hostgroup=values.get("mysql-set_query_lock_on_hostgroup", "1") != "0",
        )
