"""The firewall whitelist: whose queries ProxySQL blocks.

The user's row with the client's address counts, else the row with '', else the user is PROTECTING.
A rule lets a query through if it has the address of that row; without a row it needs ''. Every
value is compared exactly.
Source: ProxySQL 2.7.1 and 3.0.3, lib/Query_Processor.cpp, and run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from proxyctl.catalog import Value
from proxyctl.proxysql.cells import normal_digest, number
from proxyctl.proxysql.configuration import Configuration
from proxyctl.routing.addresses import address_of_nobody
from proxyctl.routing.dialect import Dialect

_DETECTING, _PROTECTING = "DETECTING", "PROTECTING"


class WhitelistRule(NamedTuple):
    """What a rule asks of a query."""

    schemaname: str
    """The schema."""
    flag: int
    """The flagIN."""
    digest: str
    """The digest as RUNTIME prints it."""


class FirewallVerdict(NamedTuple):
    """What the firewall does with a query, and why."""

    is_blocked: bool | None
    """Whether the firewall blocks the query; None: it is not known."""
    reason: str
    """The reason; if the verdict is not known, what is missing."""


class Firewall:
    """The whitelist of one side of a configuration."""

    def __init__(self, configuration: Configuration, dialect: Dialect) -> None:
        held, names = configuration.tables, dialect.firewall_tables
        self.is_known = all(name in held and held[name].is_whole for name in names)
        self.switch = dialect.variable("firewall_whitelist_enabled")
        """The variable that turns the firewall on."""
        self.is_on = configuration.variable(self.switch) == "true"
        error = configuration.variable(dialect.variable("firewall_whitelist_errormsg"))
        self.error = error or ""
        self.users_table, rules_table = names
        self.modes: dict[tuple[str, str], str] = {
            (str(username), str(address)): str(mode)
            for username, address, mode in _active(
                configuration, self.users_table, "username", "client_address", "mode"
            )
        }
        """The mode of each active row, by username and client_address."""
        self._addresses: dict[str, list[str]] = {}
        """The client_addresses that a client may have, by username."""
        for name, listed in self.modes:
            if not address_of_nobody(listed):
                self._addresses.setdefault(name, []).append(listed)
        self._rules: dict[tuple[str, str], set[WhitelistRule]] = {}
        """The active rules that a query may match, by username and client_address."""
        columns = ("username", "client_address", dialect.schema_column, "flagIN", "digest")
        for username, address, schema, flag, digest in _active(
            configuration, rules_table, *columns
        ):
            number_read = normal_digest(digest)
            if number_read is not None and str(schema).strip("%"):
                rule = WhitelistRule(str(schema), number(flag) or 0, number_read)
                self._rules.setdefault((str(username), str(address)), set()).add(rule)

    def addresses(self, username: str) -> set[str]:
        """Return the client_addresses of a user's rows that a client may have, and ''."""
        return {"", *self._addresses.get(username, ())}

    def blocks_every_query(self, username: str, *, has_digests: bool) -> bool:
        """Return whether no query of the user gets through, from whatever address."""
        return all(
            self.modes.get((username, address), _PROTECTING) == _PROTECTING
            and not (has_digests and self._rules.get((username, address)))
            for address in self.addresses(username)
        )

    def verdict(
        self, username: str, client_addr: str | None, query: WhitelistRule | None
    ) -> FirewallVerdict:
        """Return the verdict on a query.

        `client_addr` None: not known. `query`: what a rule for it asks; None without digests.
        """
        if not self.is_known:
            return FirewallVerdict(None, "the files do not manage its tables")
        addresses = self.addresses(username) if client_addr is None else {client_addr}
        first, *others = (self._verdict(username, address, query) for address in sorted(addresses))
        is_certain = all(other.is_blocked is first.is_blocked for other in others)
        return first if is_certain else FirewallVerdict(None, "it depends on --client-addr")

    def _verdict(
        self, username: str, client_addr: str, query: WhitelistRule | None
    ) -> FirewallVerdict:
        address = client_addr if (username, client_addr) in self.modes else ""
        mode = self.modes.get((username, address))
        row = f"{username}@'{address}' is {mode}"
        if mode is None:
            row = f"{username} has no row in {self.users_table}"
        if mode not in (None, _DETECTING, _PROTECTING):
            return FirewallVerdict(False, row)
        if query in self._rules.get((username, address), ()):
            return FirewallVerdict(False, f"{row}, and a rule lets it through")
        if mode == _DETECTING:
            return FirewallVerdict(False, f"{row}: a query without a rule is logged and allowed")
        return FirewallVerdict(True, f"{row}, and no rule with client_address '{address}' matches")


def _active(configuration: Configuration, table: str, *columns: str) -> Iterator[tuple[Value, ...]]:
    """Yield these columns of the active rows."""
    held = configuration.tables.get(table)
    if held is not None:
        active, *columns_of = (held.column(name) for name in ("active", *columns))
        for is_active, *cells in zip(active, *columns_of, strict=True):
            if number(is_active) == 1:
                yield tuple(cells)
