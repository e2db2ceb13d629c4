"""What a LOAD makes of variables beside taking their texts: what it hides and takes along.

Which text a variable takes is a matter of `variable_rules`. Here are the rules that need another
variable, or that set MEMORY and RUNTIME apart.
Source: ProxySQL 2.7.1, run.
"""

from __future__ import annotations

from collections.abc import Mapping

from proxyctl.catalog.variable_rules import CAPABILITIES, atoi

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
