"""Global variables: what a version starts with, and what RUNTIME makes of a text.

ProxySQL never says that it refused a value: the LOAD answers OK, and MEMORY is put back.
Source: ProxySQL 2.7.1, every variable tried on a running server; older defaults from the manual.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from proxyctl.catalog import Version
from proxyctl.catalog.variables import (
    NEVER_EMPTY,
    STEPS,
    VARIABLES,
    Variable,
    VariableKind,
)
from proxyctl.sandbox.charsets import charset_of, default_collation

_FIXED = frozenset({"admin-version", "mysql-interfaces"})
_UNSET = "(null)"
_FIRST_CHARSET = "utf8"
_FEWEST_CAPABILITIES = 10
_CAPABILITY_BITS = {"mysql-have_compress": 0x20, "mysql-have_ssl": 0x800}


def starting_values(version: Version, product: str) -> dict[str, str]:
    """Return every variable of a version with the value that a fresh ProxySQL has.

    `product` is the text of admin-version.
    """
    values: dict[str, str] = {}
    for name, variable in sorted(VARIABLES.items()):
        if not variable.exists_in(version):
            continue
        default = variable.default_in(version) or ""
        values[name] = _UNSET if name.startswith("admin-telnet_") else default
    values["admin-version"] = product
    return values


def known_name(name: str, running: Mapping[str, str]) -> str | None:
    """Return the variable that a row of global_variables sets: names match in any case."""
    if name in running:
        return name
    lowered = {known.lower(): known for known in running}
    return lowered.get(name.lower())


def accepted(name: str, text: str, running: Mapping[str, str]) -> str | None:
    """Return what RUNTIME shows after the LOAD of a value, or None when it refuses the value."""
    if name in _FIXED:
        return running[name] if text == running[name] else None
    if name == "mysql-threads":
        return running[name] if str(_atoi(text)) == running[name] else None
    if not text and name in NEVER_EMPTY:
        return None
    special = _SPECIAL.get(name)
    if special is not None:
        return special(text, running[name])
    variable = VARIABLES.get(name)
    if variable is None or variable.kind is VariableKind.TEXT:
        return text
    if variable.kind is VariableKind.BOOL:
        return {"true": "true", "1": "true", "false": "false", "0": "false"}.get(text.lower())
    return _integer(variable, text)


def put_back(name: str, text: str, running: Mapping[str, str]) -> str:
    """Return what a variable is after it refused a text: nearly always what it was.

    Two variables depend on others: capabilities get the bits of compression and TLS, an unknown
    collation becomes the default of the character set.
    """
    if name == "mysql-server_capabilities":
        bits = sum(bit for flag, bit in _CAPABILITY_BITS.items() if running[flag] == "true")
        return str(int(running[name]) | bits)
    if name == "mysql-default_collation_connection":
        charset = running["mysql-default_charset"] if text else _FIRST_CHARSET
        return default_collation(charset) or running[name]
    return running[name]


def reconciled(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a LOAD of MYSQL VARIABLES changes on its own, MEMORY included.

    Character set and collation have to fit, letter by letter. Only if the character set is what
    changed it wins.
    """
    charset = after.get("mysql-default_charset")
    collation = after.get("mysql-default_collation_connection")
    if charset is None or collation is None or charset_of(collation) == charset:
        return {}
    is_charset_new = charset != before["mysql-default_charset"]
    if is_charset_new and collation == before["mysql-default_collation_connection"]:
        return {"mysql-default_collation_connection": default_collation(charset) or collation}
    return {"mysql-default_charset": charset_of(collation) or charset}


def _atoi(text: str) -> int:
    found = re.match(r"\s*([+-]?\d+)", text)
    number = int(found[1]) if found else 0
    return (number + 2**31) % 2**32 - 2**31


def _integer(variable: Variable, text: str) -> str | None:
    number = _atoi(text)
    low, high = variable.minimum, variable.maximum
    if (low is not None and number < low) or (high is not None and number > high):
        return None
    if variable.name in STEPS:
        number = next(step for step in STEPS[variable.name] if step >= number)
    return str(number)


def _server_version(text: str, _running: str) -> str | None:
    return "5.5.30" if text == "5.1.30" else text


def _authentication_plugin(text: str, _running: str) -> str | None:
    return text if text in ("mysql_native_password", "caching_sha2_password") else None


def _track_gtids(text: str, _running: str) -> str | None:
    return text.upper() if text.upper() in ("OFF", "OWN_GTID") else None


def _heartbeat(text: str, _running: str) -> str | None:
    return text if re.fullmatch(r"(`?[A-Za-z\d_]+`?\.`?[A-Za-z\d_]+`?)?", text) else None


def _networks(text: str, running: str) -> str | None:
    """Return the networks; a list that cannot be read is ignored, but stays in MEMORY."""
    usable = text in ("", "*") or all("/" in network for network in text.split(","))
    return text if usable else running


def _charset(text: str, _running: str) -> str | None:
    return text if default_collation(text) else None


def _collation(text: str, _running: str) -> str | None:
    return text if charset_of(text) else None


def _capabilities(text: str, _running: str) -> str | None:
    number = _atoi(text)
    return None if 0 <= number <= _FEWEST_CAPABILITIES else str(number)


_SPECIAL: dict[str, Callable[[str, str], str | None]] = {
    "mysql-default_authentication_plugin": _authentication_plugin,
    "mysql-default_charset": _charset,
    "mysql-default_collation_connection": _collation,
    "mysql-default_session_track_gtids": _track_gtids,
    "mysql-monitor_replication_lag_use_percona_heartbeat": _heartbeat,
    "mysql-proxy_protocol_networks": _networks,
    "mysql-server_capabilities": _capabilities,
    "mysql-server_version": _server_version,
}
