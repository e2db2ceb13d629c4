"""What ProxySQL makes of a variable's text at LOAD, and which texts it does not take.

The LOAD always answers OK: a text may be refused, rounded, cut or written in other letters.
Everything that has to know this (the files, the runtime image, the import of a .cnf, the schema,
the sandbox) asks here. The end of the file has what a LOAD makes of variables beside their texts.
Source: ProxySQL 2.7.1, for those of pgsql 3.0.3; every variable was run at and beyond its limits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from proxyctl.catalog.charsets import CHARSETS, COLLATIONS, charset_of, default_collation
from proxyctl.catalog.model import MAX_INT, Variable, VariableKind
from proxyctl.catalog.pgsql_variables import DATE_STYLES, ENCODINGS
from proxyctl.catalog.releases import NEWEST_KNOWN, WIDE_GROUPING_LIMITS, Version
from proxyctl.catalog.variables import CHOICES, NEVER_EMPTY, STEPS, VARIABLES

CHARSET = "mysql-default_charset"
COLLATION = "mysql-default_collation_connection"
CHARSET_PAIR = (CHARSET, COLLATION)
CAPABILITIES = "mysql-server_capabilities"
NETWORKS = "mysql-proxy_protocol_networks"
KEYLOG = "admin-ssl_keylog_file"

NO_VALUE = "(null)"
"""How ProxySQL prints some unset texts. Written into them it unsets them."""

_ANY_CASE = frozenset({CHARSET, COLLATION})
"""Texts that RUNTIME shows as they were written, although the case of letters means nothing."""

_BOOLEANS = {"true": "true", "1": "true", "false": "false", "0": "false"}


@dataclass(frozen=True)
class Complaint:
    """Why a text must not stand in a file. The text itself is not in it: it may be a secret."""

    message: str
    fix: str | None = None
    choices: tuple[str, ...] = ()


# --- numbers ------------------------------------------------------------------------------------


def atoi(text: str) -> int:
    """Return the number that C's atoi reads: blanks, a sign, digits; 32 bits of them, else 0."""
    return _signed(max(-(2**63), min(_leading_number(text), 2**63 - 1)))


def _leading_number(text: str) -> int:
    found = re.match(r"[ \t\n\v\f\r]*([+-]?[0-9]+)", text)
    return int(found[1]) if found else 0


def _signed(number: int) -> int:
    """Return the low 32 bits as a signed number."""
    return (number + 2**31) % 2**32 - 2**31


def bounds(variable: Variable, version: Version = NEWEST_KNOWN) -> tuple[int, int]:
    """Return the smallest and the largest number that a file may give an integer variable.

    The newest release has the widest bounds.
    """
    low, high = variable.limits_in(version)
    return low or 0, MAX_INT if high is None else high


def is_out_of_reach(name: str, text: str, version: Version) -> bool:
    """Return whether a number is one that only later releases take.

    MEMORY and DISK may hold it all the same, and it means nothing there: 2.5.5 begins with 569867
    for the capabilities on DISK, refuses more than 65535, and works with 569899. Source: run.
    """
    known = VARIABLES.get(name)
    if known is None or known.limits_in(version) == known.limits_in(NEWEST_KNOWN):
        return False
    low, high = bounds(known, version)
    return not low <= atoi(text) <= high


_LOGIN_CAPABILITY = 0x8000
_SIGNED_BYTES = frozenset(
    {"mysql-query_digests_grouping_limit", "mysql-query_digests_groups_grouping_limit"}
)


def number_complaint(name: str, number: int, version: Version) -> Complaint | None:
    """Return why a number within its bounds must not be given to an integer variable, or None."""
    if name == CAPABILITIES and not number & _LOGIN_CAPABILITY:
        # CLIENT_SECURE_CONNECTION. Measured: 15 to 20 of 20 admin logins fail without it.
        return Complaint(
            "without the capability 32768 logins fail, those of administrators too",
            "add 32768; the default is 569867",
        )
    if name in _SIGNED_BYTES and number & 0x80 and not version.has(WIDE_GROUPING_LIMITS):
        # Measured: with 200, `SELECT f(1,a)` ends the process.
        return Complaint(
            f"ProxySQL {version} keeps it in one signed byte and reads {number} as a negative"
            " number: a query with a list can end the process",
            "take at most 127",
        )
    if name in STEPS and taken(name, str(number)) != str(number):
        listed = ", ".join(map(str, STEPS[name]))
        return Complaint(f"ProxySQL would round {number} up", f"write one of {listed}")
    return None


def _taken_number(variable: Variable, text: str) -> str | None:
    if variable.name == CAPABILITIES:
        return _taken_capabilities(variable, text)
    number = atoi(text)
    low, high = bounds(variable)
    if not low <= number <= high:
        return None
    steps = STEPS.get(variable.name)
    return str(number if steps is None else next(step for step in steps if step >= number))


def _taken_capabilities(variable: Variable, text: str) -> str | None:
    """Return the bit mask: read without a sign (strtoul), shown with one."""
    number = _leading_number(text)
    if abs(number) >= 2**64:
        number = 2**64 - 1
    return None if number % 2**32 < (variable.minimum or 0) else str(_signed(number))


# --- texts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextRule:
    """What a text variable takes.

    Shape: `taken` returns what RUNTIME shows, or None where ProxySQL refuses the text. `expected`
    and `fix` are for people; `choices` are the many texts to which a typing error may be close.
    """

    taken: Callable[[str], str | None]
    expected: str
    fix: str | None = None
    choices: tuple[str, ...] = ()


def _one_of(choices: tuple[str, ...], *, any_case: bool = False) -> TextRule:
    return TextRule(_taken_choice(choices, any_case=any_case), " or ".join(choices))


def _taken_choice(choices: tuple[str, ...], *, any_case: bool) -> Callable[[str], str | None]:
    shown = {choice.lower() if any_case else choice: choice for choice in choices}
    return lambda text: shown.get(text.lower() if any_case else text)


def _taken_networks(text: str) -> str | None:
    networks = [network for network in text.split(",") if network]
    return text if text in ("", "*") or all(map(_is_network, networks)) else None


def _is_network(text: str) -> bool:
    """Return whether ProxySQL takes it for a network; it checks little more than the address."""
    # Imported late: nearly no file has networks, and every command imports this module.
    from ipaddress import AddressValueError, IPv4Address, IPv6Address

    address, _, mask = text.partition("/")
    found = re.match(r"[ \t\n\v\f\r]*([+-]?[0-9]+)", mask)
    if found is None or int(found[1]) % 2**8 > 128 or "%" in address:
        return False
    try:
        IPv6Address(address) if ":" in text else IPv4Address(address)
    except AddressValueError:
        return False
    return True


_HEARTBEAT = re.compile(r"(`?[A-Za-z\d_]+`?\.`?[A-Za-z\d_]+`?)?", re.ASCII)

_OF_ENCODINGS = ("an encoding of PostgreSQL", "such as UTF8 or LATIN1", ENCODINGS)
_FILE = TextRule(
    lambda text: None if text.endswith("/") else text,
    "the name of a file",
    "ProxySQL refuses a path that ends with a slash",
)

TEXT_RULES: Mapping[str, TextRule] = {
    KEYLOG: TextRule(
        lambda text: None if text.endswith("/") else text,
        "the absolute path of a file, or nothing",
        "ProxySQL puts its data directory before a relative path",
    ),
    "mysql-auditlog_filename": _FILE,
    "mysql-default_authentication_plugin": _one_of(CHOICES["mysql-default_authentication_plugin"]),
    CHARSET: TextRule(
        lambda text: text if default_collation(text) else None,
        "a character set that ProxySQL knows",
        "such as utf8mb4 or latin1",
        CHARSETS,
    ),
    COLLATION: TextRule(
        lambda text: text if charset_of(text) else None,
        "a collation that ProxySQL knows",
        "such as utf8mb4_general_ci or utf8mb4_0900_ai_ci",
        COLLATIONS,
    ),
    "mysql-default_session_track_gtids": _one_of(
        CHOICES["mysql-default_session_track_gtids"], any_case=True
    ),
    "mysql-eventslog_filename": _FILE,
    "mysql-monitor_replication_lag_use_percona_heartbeat": TextRule(
        lambda text: text if _HEARTBEAT.fullmatch(text) else None,
        "a schema and a table of letters, digits and _, or nothing",
        "such as percona.heartbeat",
    ),
    NETWORKS: TextRule(
        _taken_networks,
        "networks with commas between, without blanks, or *, or nothing",
        "such as 10.0.0.0/8,192.168.0.0/16",
    ),
    # Which case of letters it takes was not seen: 3.0.3 does not have it.
    "mysql-resolution_family": _one_of(CHOICES["mysql-resolution_family"]),
    "mysql-server_version": TextRule(
        lambda text: "5.5.30" if text == "5.1.30" else text, "a version"
    ),
    "pgsql-default_client_encoding": TextRule(
        _taken_choice(ENCODINGS, any_case=True), *_OF_ENCODINGS
    ),
    "pgsql-default_datestyle": TextRule(
        _taken_choice(DATE_STYLES, any_case=True),
        "the style and the order of dates",
        "such as ISO, MDY",
        DATE_STYLES,
    ),
    "pgsql-server_encoding": TextRule(
        lambda text: text if text.upper() in ENCODINGS else None, *_OF_ENCODINGS
    ),
    **{
        name: _one_of(CHOICES[name], any_case=True)
        for name in (
            "pgsql-default_intervalstyle",
            "pgsql-default_session_track_gtids",
            "pgsql-default_standard_conforming_strings",
        )
    },
}
"""Text variables that do not take any text."""

_UNSET_BY_NO_VALUE = frozenset(
    {
        KEYLOG,
        "mysql-add_ldap_user_comment",
        "mysql-firewall_whitelist_errormsg",
        "mysql-init_connect",
        "mysql-ldap_user_variable",
        "mysql-ssl_p2s_ca",
        "mysql-ssl_p2s_capath",
        "mysql-ssl_p2s_cert",
        "mysql-ssl_p2s_cipher",
        "mysql-ssl_p2s_crl",
        "mysql-ssl_p2s_crlpath",
        "mysql-ssl_p2s_key",
    }
)
"""Texts that `(null)` unsets; others hold it as text."""


def complaint(name: str, text: str) -> Complaint | None:
    """Return why a text must not be given to a text variable, or None."""
    if text == "" and name in NEVER_EMPTY:
        return Complaint(
            "ProxySQL never makes this empty", "remove the key to leave the variable alone"
        )
    if text == NO_VALUE:
        fix = "write a value" if name in NEVER_EMPTY else "write '' for no value"
        return Complaint(f"{NO_VALUE} is how ProxySQL prints that there is no value", fix)
    if name.startswith("admin-") and '"' in text:
        return Complaint(
            "ProxySQL does not show an admin variable with a double quote at RUNTIME, so nobody"
            " can tell what it holds",
            "take another character",
        )
    rule = TEXT_RULES.get(name)
    if rule is None:
        return None
    shown = rule.taken(text)
    if shown is None or (name == KEYLOG and _is_relative(text)):
        return Complaint(f"expected {rule.expected}", rule.fix, rule.choices)
    if shown != text and name == "mysql-server_version":
        return Complaint(f"ProxySQL turns {text} into {shown}", f"write {shown!r}")
    return None


# --- all kinds ----------------------------------------------------------------------------------


def taken(name: str, text: str, version: Version = NEWEST_KNOWN) -> str | None:
    """Return what RUNTIME shows after the LOAD of a text, or None where this release refuses it.

    Where other variables or the running value have a say, what it shows if they have none. A
    variable that is not in the catalogue takes any text.
    """
    known = VARIABLES.get(name)
    if is_out_of_reach(name, text, version):
        return None
    if known is not None and known.kind is VariableKind.BOOL:
        return _BOOLEANS.get(text.lower())
    if known is not None and known.kind is VariableKind.INT:
        return _taken_number(known, text)
    if text == "" and name in NEVER_EMPTY:
        return None
    if text == NO_VALUE and name in _UNSET_BY_NO_VALUE:
        return ""
    rule = TEXT_RULES.get(name)
    return text if rule is None else rule.taken(text)


def canonical(name: str, text: str) -> str:
    """Return one text for all that mean the same; a text that ProxySQL refuses stays as it is."""
    shown = taken(name, text)
    result = text if shown is None else shown
    if result == NO_VALUE:
        return ""
    return result.lower() if name in _ANY_CASE else result


def _is_relative(path: str) -> bool:
    return path != "" and not path.startswith("/")


# --- what one variable does to others, and what RUNTIME hides ------------------------------------

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
