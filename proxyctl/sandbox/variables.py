"""Global variables: what a version starts with, and what RUNTIME makes of a text.

ProxySQL never says that it refused a value: the LOAD answers OK, and MEMORY is put back.
Source: ProxySQL 2.7.1, every variable tried on a running server; older defaults from the manual.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping

from proxyctl.catalog import Version
from proxyctl.catalog.charsets import charset_of, default_collation, fits
from proxyctl.catalog.variable_rules import (
    CHARSET,
    COLLATION,
    DIFFS_BY_CHECKSUM,
    NO_VALUE,
    atoi,
    taken,
)
from proxyctl.catalog.variables import VARIABLES

_FIXED = frozenset({"admin-version", "mysql-interfaces"})
_EMPTY_IGNORED = frozenset({"admin-cluster_password", "admin-cluster_username"})
_LOG_FILES = frozenset({"mysql-auditlog_filename", "mysql-eventslog_filename"})
_NETWORKS = "mysql-proxy_protocol_networks"
_FIRST_CHARSET = "utf8"
_CAPABILITY_BITS = {"mysql-have_compress": 0x20, "mysql-have_ssl": 0x800}
_CHECKSUM_OF = {diffs: checksum for checksum, diffs in DIFFS_BY_CHECKSUM.items()}


def starting_values(version: Version, product: str) -> dict[str, str]:
    """Return every variable of a version with the value that a fresh ProxySQL has.

    `product` is the text of admin-version.
    """
    values: dict[str, str] = {}
    for name, variable in sorted(VARIABLES.items()):
        if not variable.exists_in(version):
            continue
        default = variable.default_in(version) or ""
        values[name] = NO_VALUE if name.startswith("admin-telnet_") else default
    values["admin-version"] = product
    return values


def known_name(name: str, running: Mapping[str, str]) -> str | None:
    """Return the variable that a row of global_variables sets: names match in any case."""
    if name in running:
        return name
    lowered = {known.lower(): known for known in running}
    return lowered.get(name.lower())


def accepted(name: str, text: str, running: Mapping[str, str]) -> str | None:
    """Return what RUNTIME shows after the LOAD of a value, or None when it refuses the value.

    A value that is ignored but stays in MEMORY counts as accepted: RUNTIME shows the old one.
    Not modelled: a checksum that is turned on again leaves its difference count at 0 until the next
    LOAD; an admin variable with a double quote has no row at RUNTIME.
    """
    if name in _FIXED:
        return running[name] if text == running[name] else None
    if name == "mysql-threads":
        return running[name] if str(atoi(text)) == running[name] else None
    if not text and name in _EMPTY_IGNORED:
        return running[name]
    if name in _LOG_FILES and os.path.isabs(text) and not os.path.isdir(os.path.dirname(text)):
        return None
    value = taken(name, text)
    if value is None and name == _NETWORKS:
        return running[name]
    if value is not None and running.get(_CHECKSUM_OF.get(name, "")) == "false":
        return "0"
    return value


def put_back(name: str, text: str, running: Mapping[str, str]) -> str:
    """Return what a variable is after it refused a text: nearly always what it was.

    A few depend on others: capabilities get the bits of compression and TLS, an unknown character
    set or collation comes from the other of the two, and an empty one is that of a fresh ProxySQL.
    """
    if name == "mysql-server_capabilities":
        bits = sum(bit for flag, bit in _CAPABILITY_BITS.items() if running[flag] == "true")
        return str(int(running[name]) | bits)
    if name == CHARSET:
        if text in ("", NO_VALUE):
            return _FIRST_CHARSET
        return charset_of(running[COLLATION]) or running[name]
    if name == COLLATION:
        charset = _FIRST_CHARSET if text in ("", NO_VALUE) else running[CHARSET]
        return default_collation(charset) or running[name]
    return running[name]


def reconciled(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a LOAD of MYSQL VARIABLES changes on its own, MEMORY included.

    Character set and collation have to fit. Only if the character set is what changed it wins.
    """
    charset, collation = after.get(CHARSET), after.get(COLLATION)
    if charset is None or collation is None or fits(charset, collation):
        return {}
    if charset != before[CHARSET] and collation == before[COLLATION]:
        return {COLLATION: default_collation(charset) or collation}
    return {CHARSET: charset_of(collation) or charset}
