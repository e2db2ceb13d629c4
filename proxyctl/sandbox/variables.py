"""Global variables: what a version starts with, and what RUNTIME makes of a text.

ProxySQL never says that it refused a value: the LOAD answers OK, and MEMORY is put back.
Source: ProxySQL 2.7.1, every variable tried on a running server; older defaults from the manual.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping

from proxyctl.catalog import Version
from proxyctl.catalog.charsets import fits
from proxyctl.catalog.variable_rules import (
    CAPABILITIES,
    CAPABILITY_BITS,
    CHARSET,
    COLLATION,
    DIFFS_BY_CHECKSUM,
    KEYLOG,
    NETWORKS,
    NO_VALUE,
    atoi,
    is_out_of_reach,
    pasted,
    taken,
)
from proxyctl.catalog.variables import ALWAYS_OFF, VARIABLES
from proxyctl.sandbox.replies import not_modelled

_FIXED = frozenset({"admin-version", "mysql-interfaces"})
_LOG_FILES = frozenset({"mysql-auditlog_filename", "mysql-eventslog_filename", KEYLOG})
_IGNORED_EMPTY = frozenset({"admin-cluster_password", "admin-cluster_username"})
"""Empty, these stay as RUNTIME has them, and MEMORY is not put back."""

_CHECKSUM_OF = {diffs: checksum for checksum, diffs in DIFFS_BY_CHECKSUM.items()}


def starting_values(version: Version, product: str) -> dict[str, str]:
    """Return every variable of a version with the value that a fresh ProxySQL has.

    `product` is the text of admin-version. The order is that in which a LOAD takes the rows: of a
    fresh ProxySQL all that matters is that its checksums come after their difference counts.
    """
    values: dict[str, str] = {}
    for name, variable in sorted(VARIABLES.items(), key=lambda item: item[0] in DIFFS_BY_CHECKSUM):
        if not variable.exists_in(version):
            continue
        default = variable.default_in(version) or ""
        values[name] = NO_VALUE if name.startswith("admin-telnet_") else default
    values["admin-version"] = product
    return values


def first_on_disk(version: Version, running: Mapping[str, str]) -> dict[str, str]:
    """Return the variables as the first start writes them to DISK.

    That is before they are loaded, and what a version does not take is written all the same.
    """
    default = VARIABLES[CAPABILITIES].default or ""
    is_refused = is_out_of_reach(CAPABILITIES, default, version)
    return {**running, CAPABILITIES: default} if is_refused else dict(running)


def known_name(name: str, running: Mapping[str, str]) -> str | None:
    """Return the variable that a row of global_variables sets: names match in any case."""
    if name in running:
        return name
    lowered = {known.lower(): known for known in running}
    return lowered.get(name.lower())


def rows(running: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the variables as ProxySQL writes them into a table: some admin variables never."""
    for name, text in running.items():
        shown = pasted(name, text)
        if shown is not None:
            yield name, shown


def accepted(name: str, text: str, running: Mapping[str, str], version: Version) -> str | None:
    """Return what RUNTIME holds after the LOAD of a value, or None when it refuses the value.

    A value that is ignored but stays in MEMORY counts as accepted: RUNTIME keeps the old one.
    """
    if name in _FIXED:
        return running[name] if text == running[name] else None
    if name == "mysql-threads":
        return running[name] if str(atoi(text)) == running[name] else None
    if (name == NETWORKS and taken(name, text) is None) or (name in _IGNORED_EMPTY and not text):
        return running[name]
    if name in _LOG_FILES and os.path.isabs(text) and not os.path.isdir(os.path.dirname(text)):
        return None
    value = taken(name, text, version)
    if value == "true" and name in ALWAYS_OFF and not version.tier:
        return "false"
    if value is not None and running.get(_CHECKSUM_OF.get(name, "")) == "false":
        return "0"
    return value


def put_back(name: str, running: Mapping[str, str]) -> str:
    """Return what a variable is after it refused a text: nearly always what it was.

    Capabilities get the bits of compression and TLS.
    """
    if name != CAPABILITIES:
        return running[name]
    bits = sum(bit for flag, bit in CAPABILITY_BITS.items() if running[flag] == "true")
    return str(int(running[name]) | bits)


def refuse_unmodelled(texts: Mapping[str, str]) -> None:
    """Refuse a LOAD of these texts in MEMORY where ProxySQL would make other ones of them.

    Raises: AdminError.
    """
    charset, collation = texts.get(CHARSET), texts.get(COLLATION)
    if charset is not None and collation is not None and not fits(charset, collation):
        raise not_modelled(f"{CHARSET} {charset} with {COLLATION} {collation}, which do not fit")
    keylog = texts.get(KEYLOG)
    if keylog and not os.path.isabs(keylog):
        raise not_modelled(f"a relative path in {KEYLOG}")
