"""What a variable of global_variables is. The data stands in `variables` and `pgsql_variables`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from proxyctl.catalog.releases import OLDEST, Version, parse_version


class VariableKind(StrEnum):
    """How a variable's text is read by ProxySQL."""

    BOOL = "boolean"
    INT = "integer"
    TEXT = "text"


BOOL, INT, TEXT = VariableKind.BOOL, VariableKind.INT, VariableKind.TEXT

_DEFAULTS_BEFORE_2_6: Mapping[str, str] = {
    "mysql-have_ssl": "false",
    "mysql-monitor_history": "600000",
    "mysql-query_digests_groups_grouping_limit": "0",
    "mysql-server_capabilities": "569899",
    "mysql-server_version": "5.5.30",
    "mysql-set_parser_algorithm": "1",
    "mysql-tcp_keepalive_time": "0",
    "mysql-use_tcp_keepalive": "false",
}
_OLDER_LIMITS: Mapping[str, tuple[str, int, int]] = {
    "mysql-max_stmts_cache": ("2.6.0", 1024, 1048576),
    "mysql-monitor_threads_max": ("2.4.4", 4, 256),
    "mysql-monitor_threads_min": ("2.4.4", 2, 16),
    "mysql-server_capabilities": ("2.6.0", 11, 65535),
    "mysql-set_parser_algorithm": ("3.0.9", 1, 2),
    "pgsql-set_parser_algorithm": ("3.0.9", 1, 2),
}
"""The limits that held before a version. Source: MySQL_Thread.cpp of each release; 2.5.5 run."""

_DEFAULTS_ELSEWHERE: Mapping[str, str] = {
    "admin-hash_passwords": "true",
    "admin-pgsql_ifaces": "0.0.0.0:6132",
    "mysql-default_tx_isolation": "READ-COMMITTED",
}
"""Defaults of variables that 2.7.1 does not have."""


@dataclass(frozen=True)
class Variable:
    """One variable.

    `default` is what a fresh ProxySQL 2.7.1 has, or the first version that came after it; None for
    a variable that was gone by then.
    """

    name: str
    kind: VariableKind
    default: str | None
    minimum: int | None = None
    maximum: int | None = None
    since: str = str(OLDEST)
    until: str | None = None
    secret: bool = False

    def default_in(self, version: Version) -> str | None:
        """Return what a fresh ProxySQL of this version has; None where that is not known."""
        if not version.has(parse_version("2.6.0")) and self.name in _DEFAULTS_BEFORE_2_6:
            return _DEFAULTS_BEFORE_2_6[self.name]
        return _DEFAULTS_ELSEWHERE.get(self.name) if self.default is None else self.default

    def limits_in(self, version: Version) -> tuple[int | None, int | None]:
        """Return the smallest and the largest number that this version takes; None: no limit."""
        if self.name in _OLDER_LIMITS:
            before, low, high = _OLDER_LIMITS[self.name]
            if not version.has(parse_version(before)):
                return low, high
        return self.minimum, self.maximum

    def exists_in(self, version: Version) -> bool:
        """Return whether this ProxySQL version has the variable."""
        is_gone = self.until is not None and version.stable > parse_version(self.until)
        return version.has(parse_version(self.since)) and not is_gone
