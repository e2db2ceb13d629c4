"""What a LOAD makes of variables beside taking their texts: what it hides and takes along.

Which text a variable takes is a matter of `variable_rules`. Here are the rules that need another
variable, or that set MEMORY and RUNTIME apart.
Source: ProxySQL 2.7.1, run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proxyctl.catalog.charsets import charset_of, default_collation, fits
from proxyctl.catalog.variable_rules import (
    CAPABILITIES,
    CHARSET,
    COLLATION,
    atoi,
)

DIFFS_BY_CHECKSUM: Mapping[str, str] = {
    f"admin-checksum_{module}": f"admin-cluster_{module}_diffs_before_sync"
    for module in (
        "admin_variables",
        "ldap_variables",
        "mysql_query_rules",
        "mysql_servers",
        "mysql_users",
        "mysql_variables",
    )
}
"""With the checksum off, the other is 0 at RUNTIME, whatever MEMORY holds."""

CAPABILITY_BITS: Mapping[str, int] = {"mysql-have_compress": 0x20, "mysql-have_ssl": 0x800}
"""Bits that these add to the capabilities at RUNTIME whenever they are loaded as true."""


def taken_along(name: str, text: str, running: Mapping[str, str]) -> dict[str, str]:
    """Return what else RUNTIME changes when it takes a text; MEMORY keeps its own.

    Rows are taken in their order, so a later row of the other variable has the last word about it:
    in a fresh ProxySQL that of the capabilities comes behind both of their bits.
    """
    if text == "false" and name in DIFFS_BY_CHECKSUM:
        return {DIFFS_BY_CHECKSUM[name]: "0"}
    if text == "true" and name in CAPABILITY_BITS and CAPABILITIES in running:
        return {CAPABILITIES: str(atoi(running[CAPABILITIES]) | CAPABILITY_BITS[name])}
    return {}


def pasted(name: str, text: str) -> str | None:
    """Return a text as runtime_global_variables shows it, or None where it has no row for it.

    ProxySQL pastes admin variables between double quotes into an INSERT, and does not look whether
    that worked. SAVE TO MEMORY does the same, and then MEMORY has no row either.
    """
    if not name.startswith("admin-"):
        return text
    return None if '"' in text.replace('""', "") else text.replace('""', '"')


@dataclass(frozen=True)
class Decision:
    """What a variable becomes because of another one, `source`."""

    text: str
    source: str


def decided(values: Mapping[str, str]) -> dict[str, Decision]:
    """Return the variables that these values decide, among them or beside them.

    Shape: canonical texts by name, of variables in `values` only where they come out otherwise.
    Nothing is decided by a character set or collation that is not known.
    The character set and the collation have to fit: where only the character set is given, the
    collation becomes its default, else the collation wins.
    """
    found: dict[str, Decision] = {}
    charset, collation = values.get(CHARSET), values.get(COLLATION)
    source = COLLATION
    if charset is not None and collation is None:
        source = CHARSET
        collation = default_collation(charset)
        if collation is not None:
            found[COLLATION] = Decision(collation, CHARSET)
    owner = None if collation is None else charset_of(collation)
    if collation is not None and owner is not None and not fits(charset or "", collation):
        found[CHARSET] = Decision(owner, source)
    return found


def go_together(values: Mapping[str, str]) -> bool:
    """Return whether ProxySQL leaves this character set and this collation as they are."""
    return fits(values[CHARSET], values[COLLATION])
