"""How a LOAD reads a variable's text, and which texts it refuses.

The LOAD always answers OK: it may refuse, round or truncate a text, or change its case. The files,
the runtime image, the import of a .cnf, the schema and the sandbox all use these rules. The end of
the file has the effects of one variable on other variables.
Source: ProxySQL 2.7.1 and, for pgsql variables, 3.0.3; every variable was run at and beyond its
limits.
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
"""The text that ProxySQL prints for some unset variables. As a value it unsets them."""

_ANY_CASE = frozenset({CHARSET, COLLATION})
"""Variables whose case ProxySQL ignores, while RUNTIME shows it as written."""

_BOOLEANS = {"true": "true", "1": "true", "false": "false", "0": "false"}


@dataclass(frozen=True)
class Complaint:
    """Why a file must not have a text. It does not repeat the text, which may be a secret."""

    message: str
    fix: str | None = None
    choices: tuple[str, ...] = ()


# --- numbers ------------------------------------------------------------------------------------


def atoi(text: str) -> int:
    """Return the number that C's atoi reads: blanks, a sign, digits, cut to 32 bits; else 0."""
    return _signed(max(-(2**63), min(_leading_number(text), 2**63 - 1)))


_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")


def _leading_number(text: str) -> int:
    match = _NUMBER.match(text)
    return int(match[1]) if match else 0


def _signed(number: int) -> int:
    """Return the low 32 bits as a signed number."""
    return (number + 2**31) % 2**32 - 2**31


def bounds(variable: Variable, version: Version = NEWEST_KNOWN) -> tuple[int, int]:
    """Return the smallest and the largest number that a file may set for an integer variable.

    The newest release has the widest bounds.
    """
    low, high = variable.limits_in(version)
    return low or 0, MAX_INT if high is None else high


def is_out_of_reach(name: str, text: str, version: Version) -> bool:
    """Return whether only later releases accept a number.

    MEMORY and DISK may hold such a number without effect: 2.5.5 starts with 569867 for the
    capabilities on DISK, refuses more than 65535, and works with 569899. Source: run.
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
    """Return why a file must not set an integer variable to this number within bounds, or None."""
    if name == CAPABILITIES and not number & _LOGIN_CAPABILITY:
        # CLIENT_SECURE_CONNECTION. Measured: 15 to 20 of 20 admin logins fail without it.
        return Complaint(
            "without the capability 32768 logins fail, including those of administrators",
            "add 32768; the default is 569867",
        )
    if name in _SIGNED_BYTES and number & 0x80 and not version.has(WIDE_GROUPING_LIMITS):
        # Measured: with 200, `SELECT f(1,a)` ends the process.
        return Complaint(
            f"ProxySQL {version} keeps it in one signed byte and reads {number} as a negative"
            " number: a query with a list can crash the process",
            "set it to 127 or less",
        )
    if name in STEPS and runtime_text(name, str(number)) != str(number):
        listed = ", ".join(map(str, STEPS[name]))
        return Complaint(f"ProxySQL would round {number} up", f"write one of {listed}")
    return None


def _shown_number(variable: Variable, text: str) -> str | None:
    if variable.name == CAPABILITIES:
        return _shown_capabilities(variable, text)
    number = atoi(text)
    low, high = bounds(variable)
    if not low <= number <= high:
        return None
    steps = STEPS.get(variable.name)
    return str(number if steps is None else next(step for step in steps if step >= number))


def _shown_capabilities(variable: Variable, text: str) -> str | None:
    """Return the bit mask, which ProxySQL reads unsigned (strtoul) and shows signed."""
    number = _leading_number(text)
    if abs(number) >= 2**64:
        number = 2**64 - 1
    return None if number % 2**32 < (variable.minimum or 0) else str(_signed(number))


# --- texts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextRule:
    """The texts that a text variable accepts."""

    shown: Callable[[str], str | None]
    """Returns the text that RUNTIME shows, or None if ProxySQL refuses the text."""
    expected: str
    """The accepted texts in words, for messages."""
    fix: str | None = None
    """The fix, for messages."""
    choices: tuple[str, ...] = ()
    """Valid texts to suggest for a typing error."""


def _one_of(choices: tuple[str, ...], *, any_case: bool = False) -> TextRule:
    return TextRule(_shown_choice(choices, any_case=any_case), " or ".join(choices))


def _shown_choice(choices: tuple[str, ...], *, any_case: bool) -> Callable[[str], str | None]:
    shown = {choice.lower() if any_case else choice: choice for choice in choices}
    return lambda text: shown.get(text.lower() if any_case else text)


def _shown_networks(text: str) -> str | None:
    networks = [network for network in text.split(",") if network]
    return text if text in ("", "*") or all(map(_is_network, networks)) else None


def _is_network(text: str) -> bool:
    """Return whether ProxySQL accepts a network; it checks little more than the address."""
    # Imported late: few files have networks, and every command imports this module.
    from ipaddress import AddressValueError, IPv4Address, IPv6Address

    address, _, mask = text.partition("/")
    match = _NUMBER.match(mask)
    if match is None or int(match[1]) % 2**8 > 128 or "%" in address:
        return False
    try:
        IPv6Address(address) if ":" in text else IPv4Address(address)
    except AddressValueError:
        return False
    return True


_HEARTBEAT = re.compile(r"(`?[A-Za-z\d_]+`?\.`?[A-Za-z\d_]+`?)?", re.ASCII)

_OF_ENCODINGS = ("a PostgreSQL encoding", "choose one such as UTF8 or LATIN1", ENCODINGS)
_FILE = TextRule(
    lambda text: None if text.endswith("/") else text,
    "the name of a file",
    "name a file: ProxySQL refuses a path that ends with a slash",
)

TEXT_RULES: Mapping[str, TextRule] = {
    KEYLOG: TextRule(
        lambda text: None if text.endswith("/") else text,
        "the absolute path of a file, or nothing",
        "write an absolute path: ProxySQL puts its data directory before a relative one",
    ),
    "mysql-auditlog_filename": _FILE,
    "mysql-default_authentication_plugin": _one_of(CHOICES["mysql-default_authentication_plugin"]),
    CHARSET: TextRule(
        lambda text: text if default_collation(text) else None,
        "a character set that ProxySQL knows",
        "choose one such as utf8mb4 or latin1",
        CHARSETS,
    ),
    COLLATION: TextRule(
        lambda text: text if charset_of(text) else None,
        "a collation that ProxySQL knows",
        "choose one such as utf8mb4_general_ci or utf8mb4_0900_ai_ci",
        COLLATIONS,
    ),
    "mysql-default_session_track_gtids": _one_of(
        CHOICES["mysql-default_session_track_gtids"], any_case=True
    ),
    "mysql-eventslog_filename": _FILE,
    "mysql-monitor_replication_lag_use_percona_heartbeat": TextRule(
        lambda text: text if _HEARTBEAT.fullmatch(text) else None,
        "a schema and a table of letters, digits and _, or nothing",
        "write it as percona.heartbeat",
    ),
    NETWORKS: TextRule(
        _shown_networks,
        "networks separated by commas without spaces, or *, or nothing",
        "write it as 10.0.0.0/8,192.168.0.0/16",
    ),
    # Whether it accepts upper case is not known: 3.0.3 does not have it.
    "mysql-resolution_family": _one_of(CHOICES["mysql-resolution_family"]),
    "mysql-server_version": TextRule(
        lambda text: "5.5.30" if text == "5.1.30" else text, "a version"
    ),
    "pgsql-default_client_encoding": TextRule(
        _shown_choice(ENCODINGS, any_case=True), *_OF_ENCODINGS
    ),
    "pgsql-default_datestyle": TextRule(
        _shown_choice(DATE_STYLES, any_case=True),
        "the style and the order of dates",
        "write it like ISO, MDY",
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
"""Text variables that accept only some texts."""

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
"""Text variables that `(null)` unsets; other variables keep it as text."""


def complaint(name: str, text: str) -> Complaint | None:
    """Return why a file must not set a text variable to this text, or None."""
    if text == "" and name in NEVER_EMPTY:
        return Complaint(
            "ProxySQL never sets this to an empty value",
            "remove the key to leave the variable alone",
        )
    if text == NO_VALUE:
        fix = "write a value" if name in NEVER_EMPTY else "write '' for no value"
        return Complaint(f"{NO_VALUE} is how ProxySQL prints that there is no value", fix)
    if name.startswith("admin-") and '"' in text:
        return Complaint(
            "RUNTIME does not show an admin variable with a double quote, so its value cannot be"
            " checked",
            "use a different character",
        )
    if name in INTERFACES:
        return interfaces_complaint(text)
    rule = TEXT_RULES.get(name)
    if rule is None:
        return None
    shown = rule.shown(text)
    if shown is None or (name == KEYLOG and _is_relative(text)):
        return Complaint(f"expected {rule.expected}", rule.fix, rule.choices)
    if shown != text and name == "mysql-server_version":
        return Complaint(f"ProxySQL turns {text} into {shown}", f"write {shown!r}")
    return None


# --- interfaces ---------------------------------------------------------------------------------

INTERFACES = ("mysql-interfaces", "pgsql-interfaces", "admin-mysql_ifaces", "admin-pgsql_ifaces")
_ENTRY = re.compile(
    r"(?:\[[^][]+\]|[^][\s:/]+):\s*(?P<port>\d+)(?P<rest>.*)"
    r"|/[^:]+:0|(?!(?:[\d.]+|localhost|\*)\Z)[^][:]+",
    re.DOTALL | re.ASCII,
)
"""An address with a port and what follows it, or the path of a Unix socket."""


def interfaces_complaint(text: str) -> Complaint | None:
    """Return why ProxySQL would not listen on an entry of a list of interfaces, or None.

    It splits the list at each `;`, and an entry at its first colon. An entry without the number of
    a port is the path of a Unix socket. What follows the number is lost, without an error.
    """
    fix = "write ADDRESS:PORT, [IPV6]:PORT or the path of a socket, separated by `;`"
    for entry in filter(None, text.split(";")):
        match = _ENTRY.fullmatch(entry)
        if entry[0].isspace():
            return Complaint(f"the space is part of the interface {entry!r}", "remove the space")
        if match is None or not 0 < int(match["port"] or 1) <= 65535:
            return Complaint(
                f"{entry!r} is neither an address with a port nor the path of a socket", fix
            )
        if re.search("[,:/]", match["rest"] or ""):
            message = f"ProxySQL reads {entry!r} as one interface and drops the text after the port"
            return Complaint(message, fix)
    return None


# --- all kinds ----------------------------------------------------------------------------------


def runtime_text(name: str, text: str, version: Version = NEWEST_KNOWN) -> str | None:
    """Return the text that RUNTIME shows after a LOAD; None if this release refuses the text.

    Effects of other variables and of the running value are left out. A variable that is not in the
    catalogue accepts any text.
    """
    known = VARIABLES.get(name)
    if is_out_of_reach(name, text, version):
        return None
    if known is not None and known.kind is VariableKind.BOOL:
        return _BOOLEANS.get(text.lower())
    if known is not None and known.kind is VariableKind.INT:
        return _shown_number(known, text)
    if text == "" and name in NEVER_EMPTY:
        return None
    if text == NO_VALUE and name in _UNSET_BY_NO_VALUE:
        return ""
    rule = TEXT_RULES.get(name)
    return text if rule is None else rule.shown(text)


def canonical(name: str, text: str) -> str:
    """Return the same text for texts with the same meaning; a refused text stays unchanged."""
    shown = runtime_text(name, text)
    result = text if shown is None else shown
    if result == NO_VALUE:
        return ""
    return result.lower() if name in _ANY_CASE else result


def _is_relative(path: str) -> bool:
    return path != "" and not path.startswith("/")


# --- effects on other variables, and what RUNTIME hides ------------------------------------------

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
"""While the checksum variable is false, the count is 0 at RUNTIME, whatever MEMORY holds."""

CAPABILITY_BITS: Mapping[str, int] = {"mysql-have_compress": 0x20, "mysql-have_ssl": 0x800}
"""The bits that a LOAD of these variables as true adds to the capabilities at RUNTIME."""


def side_effects(name: str, text: str, running: Mapping[str, str]) -> dict[str, str]:
    """Return the other variables that a LOAD of a text changes at RUNTIME, but not in MEMORY.

    A LOAD reads rows in order, so a later row of the other variable overrides the side effect: in a
    fresh ProxySQL the row of the capabilities comes after both variables of its bits.
    """
    if text == "false" and name in DIFFS_BY_CHECKSUM:
        return {DIFFS_BY_CHECKSUM[name]: "0"}
    if text == "true" and name in CAPABILITY_BITS and CAPABILITIES in running:
        return {CAPABILITIES: str(atoi(running[CAPABILITIES]) | CAPABILITY_BITS[name])}
    return {}


def pasted(name: str, text: str) -> str | None:
    """Return a text as runtime_global_variables shows it, or None if it shows no row.

    ProxySQL pastes admin variables between double quotes into an INSERT, and ignores its failure.
    SAVE TO MEMORY does the same, and then MEMORY has no row either.
    """
    if not name.startswith("admin-"):
        return text
    return None if '"' in text.replace('""', "") else text.replace('""', '"')
