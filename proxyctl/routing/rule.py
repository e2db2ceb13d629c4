"""One compiled query rule: whether it matches, and what it does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from proxyctl.catalog import REFERENCE, Layout, Version
from proxyctl.catalog.releases import CLIENT_ADDR_SUBNETS
from proxyctl.proxysql.cells import as_read
from proxyctl.proxysql.load_image import valid_client_addr
from proxyctl.routing.regex import Broken, Compiled, Patterns, as_bytes, never_matches_if_broken
from proxyctl.rows.row import ColumnValues, Secret, SecretBytes

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network


SETTINGS = (
    "reconnect",
    "timeout",
    "retries",
    "delay",
    "next_query_flagIN",
    "mirror_flagOUT",
    "mirror_hostgroup",
    "error_msg",
    "OK_msg",
    "cache_ttl",
    "cache_empty_result",
    "cache_timeout",
    "sticky_conn",
    "multiplex",
    "gtid_from_hostgroup",
    "log",
)
"""Columns whose values a matching rule sets; a later rule overwrites them."""

_ANY_QUERY = frozenset({"", "^", "$", ".*", "^.*", "(.*)", "^(.*)", ".*$"})
"""Patterns that match every query."""


class WeightedFlag(NamedTuple):
    """One flagOUT, and its weight in a draw."""

    flag: int
    weight: int


class Rule:
    """A rule at RUNTIME. '' in a column about the session is no criterion."""

    def __init__(
        self, cells: ColumnValues, position: int, patterns: Patterns, version: Version = REFERENCE
    ) -> None:
        self.position = position
        self.rule_id = _signed(cells, "rule_id")
        self.flag_in = _int(cells, "flagIN") or 0
        self.username = _text(cells, "username") or None
        self.schemaname = _text(cells, "schemaname") or _text(cells, "database") or None
        self.client_addr = _text(cells, "client_addr") or None
        self.subnet = subnet_of(self.client_addr or "", version)
        self.proxy_addr = _text(cells, "proxy_addr") or None
        self.proxy_port = _int(cells, "proxy_port")
        self.is_for_some_sessions = any(
            criterion is not None
            for criterion in (
                self.username,
                self.schemaname,
                self.client_addr,
                self.proxy_addr,
                self.proxy_port,
            )
        )
        digest = _text(cells, "digest")
        self.digest = int(digest, 16) if digest else None
        modifiers = _text(cells, "re_modifiers") or ""
        self.broken: dict[str, str] = {}
        self.unverified: tuple[str, ...] = ()
        caseless = "CASELESS" in modifiers
        self.match_digest = self._pattern(cells, "match_digest", patterns, caseless=caseless)
        self.match_pattern = self._pattern(cells, "match_pattern", patterns, caseless=caseless)
        self.asks_the_query = self.match_pattern is not None and not (
            isinstance(self.match_pattern, Broken) or _text(cells, "match_pattern") in _ANY_QUERY
        )
        self.negated = cells.get("negate_match_pattern") == 1
        self.dead = frozenset(self.broken if never_matches_if_broken(version) else ())
        """The columns whose pattern never matches, even negated."""
        replacement = _text(cells, "replace_pattern")
        self.replacement = None if replacement is None else as_bytes(replacement)
        self.hides_rewriting = isinstance(replacement, Secret)
        self.is_global = "GLOBAL" in modifiers
        self.flag_out = _int(cells, "flagOUT")
        # The column flagOUT overrides a draw.
        self.weighted_flags = (
            weighted_flags(cells.get("attributes")) if self.flag_out is None else ()
        )
        self.destination = _int(cells, "destination_hostgroup")
        self.sets = tuple(
            (name, value) for name in SETTINGS if isinstance(value := cells.get(name), int | str)
        )
        self.apply = cells.get("apply") == 1

    def _pattern(
        self, cells: ColumnValues, column: str, patterns: Patterns, *, caseless: bool
    ) -> Compiled | None:
        text = _text(cells, column)
        if text is None:
            return None
        compiled = patterns.compiled(text, caseless=caseless)
        if isinstance(compiled, Broken):
            self.broken[column] = str(compiled.problem)
        elif not compiled.is_verified:
            self.unverified = (*self.unverified, column)
        return compiled

    @property
    def is_for_some_queries(self) -> bool:
        """Whether the rule has any criterion other than flagIN."""
        patterns = (self.match_digest, self.match_pattern, self.digest)
        return self.is_for_some_sessions or any(pattern is not None for pattern in patterns)

    def is_from(self, address: str | None) -> bool:
        """Return whether an address fits client_addr: `10.0.%` is a prefix, `%` any address."""
        wanted = self.client_addr or ""
        prefix, wildcard, _ = wanted.partition("%")
        if wildcard and not prefix:
            return True
        if address is None:
            return False
        if self.subnet is not None:
            return _is_in(address, self.subnet)
        return address.startswith(prefix) if wildcard else address == wanted

    def rewritten(self, text: bytes) -> bytes | None:
        """Return the query as the rule rewrites it; None if that is undecided."""
        if self.match_pattern is None or self.replacement is None:
            return text
        result = self.match_pattern.replace(self.replacement, text, every=self.is_global)
        if result is None or result == text:
            return None if result is None else text
        is_secret = self.hides_rewriting or isinstance(text, SecretBytes)
        return SecretBytes(result) if is_secret else result


def subnet_of(client_addr: str, version: Version) -> IPv4Network | IPv6Network | None:
    """Return the subnet of a client_addr such as `10.20.30.0/24`; None if ProxySQL reads none."""
    if "/" not in client_addr or not version.has(CLIENT_ADDR_SUBNETS):
        return None
    from ipaddress import ip_network

    try:
        return ip_network(client_addr, strict=False)
    except ValueError:
        return None


def _is_in(address: str, subnet: IPv4Network | IPv6Network) -> bool:
    from ipaddress import ip_address

    try:
        return ip_address(address) in subnet
    except ValueError:
        return False


def compile_rules(
    layout: Layout,
    rows: Iterable[Sequence[object]],
    patterns: Patterns,
    version: Version = REFERENCE,
) -> tuple[Rule, ...]:
    """Return the rules at RUNTIME after a LOAD of these rows, sorted by rule_id.

    Shape: rows of any layer, in any order. Rows that ProxySQL ignores are left out.
    """
    # Most columns have few distinct values. `typed` keeps 1 from 1.0, and a Secret from its text.
    columns = [
        (column.name, lru_cache(None, typed=True)(partial(as_read, layout.table, column)))
        for column in layout.columns
    ]
    all_cells = [
        {
            name: read(value)
            for (name, read), value in zip(columns, row, strict=True)
            if value is None or isinstance(value, int | float | str)
        }
        for row in rows
    ]
    active = [
        cells
        for cells in all_cells
        if cells["active"] == 1 and valid_client_addr(cells["client_addr"])
    ]
    active.sort(key=lambda cells: _signed(cells, "rule_id"))
    return tuple(Rule(cells, position, patterns, version) for position, cells in enumerate(active))


def _signed(cells: ColumnValues, name: str) -> int:
    value = cells.get(name)
    return value if isinstance(value, int) else 0


def _int(cells: ColumnValues, name: str) -> int | None:
    value = cells.get(name)
    return value if isinstance(value, int) and value >= 0 else None


def _text(cells: ColumnValues, name: str) -> str | None:
    value = cells.get(name)
    # A Secret stays a Secret.
    return value if value is None or isinstance(value, str) else str(value)


def weighted_flags(attributes: object) -> tuple[WeightedFlag, ...]:
    """Return the flagOUTs that a rule draws by weight: the key `flagOUTs` of its attributes.

    ProxySQL ignores an entry whose id or weight is no whole number from 0 on. It never draws an
    entry with weight 0, and draws nothing if all weights are 0.
    """
    if not attributes:
        return ()
    try:
        parsed = json.loads(str(attributes))
    except ValueError:
        return ()
    entries = parsed.get("flagOUTs") if isinstance(parsed, dict) else None
    flags = map(_weighted_flag, entries if isinstance(entries, list) else ())
    return tuple(flag for flag in flags if flag and flag.weight)


def _weighted_flag(entry: Any) -> WeightedFlag | None:  # noqa: ANN401 - whatever JSON holds
    if not isinstance(entry, dict):
        return None
    flag, weight = entry.get("id"), entry.get("weight")
    if type(flag) is not int or type(weight) is not int or flag < 0 or weight < 0:
        return None
    return WeightedFlag(flag, weight)
