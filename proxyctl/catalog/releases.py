"""Releases of ProxySQL: their names, their order, and the behaviour that came with each.

A behaviour is named by the first release of the stable tier that has it, with its source:
`version.has(PURGES_DIGESTS)`. Tables, columns and variables have their own `since` and `until`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

TIERS: Mapping[tuple[int, int], str] = {(3, 1): "innovative", (4, 0): "AI"}
"""The tiers by major and minor number. Releases with the same patch number share their source."""


class Version(NamedTuple):
    """A ProxySQL version. Use `has` to compare behaviour across tiers."""

    major: int
    minor: int
    patch: int

    @property
    def stable(self) -> Version:
        """The release of the stable tier with the same source: 3.0.10 for 3.1.10 and 4.0.10."""
        return Version(3, 0, self.patch) if self[:2] in TIERS else self

    @property
    def tier(self) -> str | None:
        """The name of its tier; None for the stable tier."""
        return TIERS.get(self[:2])

    def has(self, release: Version) -> bool:
        """Return whether it has the behaviour of this release of the stable tier."""
        return self.stable >= release

    def numbered(self, release: Version) -> Version:
        """Return the release of this version's tier with the same source as a stable release.

        For 3.1.5, 3.0.10 is 3.1.10: a message must not send a user of 3.1.5 to 3.0.10.
        """
        return Version(*self[:2], release.patch) if self.tier and release[:2] == (3, 0) else release

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


OLDEST = Version(2, 4, 0)
"""The oldest release in the catalogue; older instances are refused."""


NEWEST_PROVEN = Version(3, 0, 3)
"""The newest release on which proxyctl was tested."""

REFERENCE = NEWEST_PROVEN
"""The release that is assumed if no instance, option or file names one."""

NEWEST_KNOWN = Version(3, 0, 12)
"""The newest release in the catalogue."""

PGSQL = "3.0.0-alpha"
"""The first release with a PostgreSQL side, as `since` of its tables and variables."""

_DESCRIBED = {*((2, minor) for minor in range(4, 8)), NEWEST_KNOWN[:2]}


@lru_cache(maxsize=256)
def parse_version(text: str) -> Version:
    """Return the version in `text`; suffixes as in `2.7.1-16-g2726c27` are ignored.

    Raises: ValueError when the text does not begin with three numbers.
    """
    match = re.match(r"\D{0,2}(\d+)\.(\d+)\.(\d+)", text)
    if match is None:
        raise ValueError(f"not a ProxySQL version: {text!r}; write it like {REFERENCE}")
    return Version(int(match[1]), int(match[2]), int(match[3]))


def known_version(text: str) -> Version:
    """Return the version that a user wrote.

    Raises: ValueError when the text is no version, or the catalogue does not know it.
    """
    version = parse_version(text)
    if not re.fullmatch(r"v?\d+\.\d+\.\d{1,3}([-+._][-+.\w]*)?", text, re.ASCII):
        raise ValueError(f"not a ProxySQL version such as {REFERENCE}: {text!r}")
    if version[:2] not in _DESCRIBED or not OLDEST <= version <= NEWEST_KNOWN:
        subject = f"ProxySQL {version}" + (f" ({version.tier} tier)" if version.tier else "")
        known = f"known: {OLDEST} to 2.7 and 3.0.0 to {NEWEST_KNOWN}"
        raise ValueError(f"the catalogue does not know {subject}; {known}")
    return version


def beyond_catalogue(version: Version) -> str | None:
    """Return why a release may have more than the catalogue lists; None if it cannot."""
    if version <= NEWEST_KNOWN:
        return None
    if version.stable <= NEWEST_KNOWN:
        return f"{version} ({version.tier} tier) is {version.stable} with additions"
    return f"{version} is newer than {version.numbered(NEWEST_KNOWN)}, the newest known release"


# Other tiers --------------------------------------------------------------------------------------

_INNOVATIVE, _AI = ("3.1", "innovative"), ("4.0", "AI")

_NAMES: Mapping[str, tuple[str, str]] = {
    "mysql-caching_sha2_password_(auto_generate_rsa_keys|private_key_path|public_key_path)": (
        "3.1.11",
        "innovative",
    ),
    "mysql-server_version_by_interface": ("3.1.12", "innovative"),
    "(mysql|pgsql)-ffto_(enabled|max_buffer_size)": ("3.1.6", "innovative"),
    "tsdb-.*": _INNOVATIVE,
    "mysql-aws_locality_awareness": _AI,
    "(mcp|genai)-.*": _AI,
    "(mcp|genai|mysqlx|duckdb)_.*|proxysql_plugin_.*": _AI,
}
"""Patterns of whole names, the first release that has them, and its tier. Source: the macros around
them in ProxySQL_Admin_Tables_Definitions.h and MySQL_Thread.cpp, after 3.0.11; release notes of
3.1.11 and 3.1.12."""


def tier_text(name: str) -> str | None:
    """Return that a table or a variable belongs to another tier; None for any other name."""
    for pattern, (release, tier) in _NAMES.items():
        if re.fullmatch(pattern, name):
            return f"it belongs to ProxySQL {release} ({tier} tier)"
    return None


# Versions of MySQL servers, such as `8.0.36-28.1` or `10.11.6-MariaDB` ---------------------------

_NUMBERS = re.compile(r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?")
_MARIADB = re.compile(r"mariadb", re.IGNORECASE)
_PRETENDED = "5.5.5-"
"""The prefix that MariaDB puts before its version, for old clients."""


def version_numbers(text: str) -> tuple[int, int, int] | None:
    """Return a server version as numbers; None if the text is no version."""
    match = _NUMBERS.match(text.strip().removeprefix(_PRETENDED))
    return None if match is None else (int(match[1]), int(match[2]), int(match[3] or 0))


def is_mariadb(text: str) -> bool:
    """Return whether the version names MariaDB."""
    return bool(_MARIADB.search(text))


# Behaviour: the first release that has it ---------------------------------------------------------

WIDE_GROUPING_LIMITS = Version(3, 0, 1)
"""`mysql-query_digests_grouping_limit` and `_groups_grouping_limit` are no signed byte: 200 means
200. Source: ProxySQL 2.7.1 and 3.0.3, run; the releases between were not tested."""

DIGESTS_DROP_LAST_COMMENT = Version(3, 0, 1)
"""`SELECT 1 -- tail` has the digest of `SELECT 1`, and comments beyond
`mysql-query_digests_max_query_length` are removed. Source: as above."""

EVENTS_TABLES = Version(3, 0, 1)
"""`stats_mysql_query_events` and `history_mysql_query_events` exist. Source: 2.7.1 and 3.0.3, run;
3.0.1 has their variables."""

IGNORES_SESSION_TRACKING = Version(3, 0, 3)
"""A SET of `session_track_system_variables` is answered OK and ignored; before, it locks the
session to a hostgroup. Source: 2.7.1 and 3.0.3, run; the releases between were not tested."""

PGSQL_DIGESTS = Version(3, 0, 4)
"""PostgreSQL queries have their own digests; up to 3.0.3 ProxySQL digests them as MySQL queries.
Source: ProxySQL 3.0.3, run, and pull request 5254 of 2025-12; its release is not known."""

SECOND_PASSWORDS = Version(3, 0, 0)
"""A MySQL user may have a second password in `attributes`. Source: 2.7.1 and 3.0.3, run, and the
source of 3.0.0-alpha; 2.7.2 and later releases of 2.7 were not tested."""

CNF_HAS_HOSTGROUP_ATTRIBUTES = Version(3, 0, 1)
"""A .cnf may have a section `mysql_hostgroup_attributes`. Source: 2.7.1 and 3.0.3, run; the release
notes of 2.7.2 name it, which was not tested."""

CNF_BINDS_VALUES = Version(3, 0, 4)
"""ProxySQL binds the values of a .cnf instead of pasting them, so a value may have any quote; it
also removes the prefix of a variable's name. Source: release notes of 3.0.4."""

KEEPS_OPTIMIZER_HINTS = Version(3, 0, 6)
"""`/*+ ... */` may be no comment, so digests and hints of such queries differ. Source: release
notes of 3.0.6; a later c_tokenizer.cpp does not implement it."""

FIRST_COMMENT_BITS = Version(3, 0, 6)
"""`mysql-query_processor_first_comment_parsing` decides when ProxySQL reads hints in the first
comment: before the rules, or after them in the rewritten query. Source: Query_Processor.cpp of
2026-08."""

SYNCS_PGSQL = Version(3, 0, 8)
"""Members of a ProxySQL Cluster sync the PGSQL modules. Source: pull request 5297."""

FAST_ROUTING_BEHIND_LAST_RULE = Version(3, 0, 9)
"""A last rule with apply=1 hides fast routing only from queries that it matches. Source: issue 5620
and pull request 5763."""

PARSERSQL_DIGESTS = Version(3, 0, 9)
"""With `mysql-query_processor_parser` 1 ParserSQL makes the digests. Source: release notes."""

PURGES_DIGESTS = Version(3, 0, 10)
"""`PURGE stats_mysql_query_digest TO <unix time>` exists. Source: pull request 5943."""

LOAD_COUNTS_VARIABLES = Version(3, 0, 10)
"""LOAD ... VARIABLES TO RUNTIME answers `Records: .. Updated: .. Rejected: .. Unknown: ..`. Source:
pull request 5857."""

SET_REFUSES_UNKNOWN = Version(3, 0, 10)
"""SET of an unknown variable is an error; before, it is an OK whose message reports the mistake.
Source: ProxySQL 3.0.3, run, and issue 6010 on 3.0.10; the releases between were not tested."""

SET_SESSION_AUTOCOMMIT = Version(3, 0, 11)
"""ProxySQL accepts `SET @@session.autocommit=1`, which does nothing. Source: a design of
2026-08-08."""

PCRE2 = Version(3, 0, 12)
"""`mysql-query_processor_regex` 1 is PCRE2 10.47 instead of PCRE 8.45. An invalid pattern never
matches, also if negated or with RE2. Source: pull request 6120."""

CLIENT_ADDR_SUBNETS = Version(3, 0, 12)
"""`client_addr` may name a subnet; its syntax is not known. Source: release notes."""

SECURITY_FIXES = (
    (Version(3, 0, 9), "CVE-2026-48772 (a forged PROXY header) and CVE-2026-48773 (overflow)"),
    (Version(3, 0, 12), "eight advisories"),
)
"""Releases with security fixes, and what they fix. Source: release notes of 3.0.9 and 3.0.12."""
