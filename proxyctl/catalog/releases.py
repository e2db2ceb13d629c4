"""Releases of ProxySQL: how they are named and ordered, and from which on ProxySQL differs.

Each of the latter stands here once, with its source, as the first release of the stable tier that
has the behaviour: `version.has(PURGES_DIGESTS)` asks for it. What tables, columns and variables
there are stands with them, as `since` and `until`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

TIERS: Mapping[tuple[int, int], str] = {(3, 1): "innovative", (4, 0): "AI"}
"""By their first two numbers. Releases with the same third number have the same source."""


class Version(NamedTuple):
    """A ProxySQL version. `has` tells what it can do: the numbers of other tiers say little."""

    major: int
    minor: int
    patch: int

    @property
    def stable(self) -> Version:
        """The release of the stable tier with the same source: 3.0.10 for 3.1.10 and 4.0.10."""
        return Version(3, 0, self.patch) if self[:2] in TIERS else self

    @property
    def tier(self) -> str | None:
        """The name of its tier; None for the stable one."""
        return TIERS.get(self[:2])

    def has(self, release: Version) -> bool:
        """Return whether it has what came with a release of the stable tier."""
        return self.stable >= release

    def numbered(self, release: Version) -> Version:
        """Return a release of the stable tier with the number that it has in the tier of this one.

        For 3.1.5, 3.0.10 is 3.1.10: nobody should be told to go from 3.1.5 to 3.0.10.
        """
        return Version(*self[:2], release.patch) if self.tier and release[:2] == (3, 0) else release

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


OLDEST = Version(2, 4, 0)
"""The oldest release that the catalogue describes; older instances are refused."""


NEWEST_PROVEN = Version(3, 0, 3)
"""The newest release on which proxyctl was run."""

REFERENCE = NEWEST_PROVEN
"""The release assumed where no instance, option or file names one."""

NEWEST_KNOWN = Version(3, 0, 12)
"""The newest release that the catalogue describes."""

PGSQL = "3.0.0-alpha"
"""The first release with a PostgreSQL side, as `since` of its tables and variables."""

_DESCRIBED = {*((2, minor) for minor in range(4, 8)), NEWEST_KNOWN[:2]}


@lru_cache(maxsize=256)
def parse_version(text: str) -> Version:
    """Return the version in `text`, leniently: `2.7.1-16-g2726c27` and `3.0.0-alpha` are fine.

    Raises: ValueError when it does not begin with three numbers.
    """
    match = re.match(r"\D{0,2}(\d+)\.(\d+)\.(\d+)", text)
    if match is None:
        raise ValueError(f"not a ProxySQL version: {text!r}; write it like {REFERENCE}")
    return Version(int(match[1]), int(match[2]), int(match[3]))


def known_version(text: str) -> Version:
    """Return the version in `text`, which somebody wrote.

    Raises: ValueError when it is none, or one that the catalogue does not describe.
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
    """Return why a release may have more than the catalogue describes; None where it has not."""
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
"""Patterns of whole names, the release that has them, and its tier. Source: the macros around them
in ProxySQL_Admin_Tables_Definitions.h and MySQL_Thread.cpp, after 3.0.11; release notes of 3.1.11
and 3.1.12."""


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
"""What MariaDB puts before its version, for clients of old."""


def version_numbers(text: str) -> tuple[int, int, int] | None:
    """Return a server version as numbers, whatever follows them; None for what is no version."""
    found = _NUMBERS.match(text.strip().removeprefix(_PRETENDED))
    return None if found is None else (int(found[1]), int(found[2]), int(found[3] or 0))


def is_mariadb(text: str) -> bool:
    """Return whether the version names MariaDB."""
    return bool(_MARIADB.search(text))


# Behaviour ---------------------------------------------------------------------------------------

WIDE_GROUPING_LIMITS = Version(3, 0, 1)
"""From here on `mysql-query_digests_grouping_limit` and `_groups_grouping_limit` are no signed
byte: 200 means 200. Source: ProxySQL 2.7.1 and 3.0.3, run; what lies between is not known."""

DIGESTS_DROP_LAST_COMMENT = Version(3, 0, 1)
"""From here on the digest of `SELECT 1 -- tail` is that of `SELECT 1`, and comments beyond
`mysql-query_digests_max_query_length` are removed. Source: as above."""

PGSQL_DIGESTS = Version(3, 0, 4)
"""From here on queries of PostgreSQL have digests of their own; up to 3.0.3 they are those of
MySQL. Source: ProxySQL 3.0.3, run, and pull request 5254 of 2025-12; its release is not known."""

CNF_HAS_HOSTGROUP_ATTRIBUTES = Version(3, 0, 1)
"""From here on a .cnf may have a section `mysql_hostgroup_attributes`. Source: 2.7.1 and 3.0.3,
run; 2.7.2 has it by its release notes, which nobody tried."""

CNF_BINDS_VALUES = Version(3, 0, 4)
"""From here on ProxySQL binds the values of a .cnf instead of pasting them, so that any quote is
carried; it also takes away the prefix of a variable's name. Source: release notes of 3.0.4."""

KEEPS_OPTIMIZER_HINTS = Version(3, 0, 6)
"""From here on `/*+ ... */` may be no comment, so that digests and hints of such queries differ.
Source: release notes of 3.0.6; a later c_tokenizer.cpp has nothing of it."""

FIRST_COMMENT_BITS = Version(3, 0, 6)
"""From here on `mysql-query_processor_first_comment_parsing` says when hints in the first comment
are read, and the ones behind the rules are those of the query as rules rewrote it. Source:
Query_Processor.cpp of 2026-08."""

SYNCS_PGSQL = Version(3, 0, 8)
"""From here on members of a ProxySQL Cluster sync the PGSQL modules. Source: pull request 5297."""

FAST_ROUTING_BEHIND_LAST_RULE = Version(3, 0, 9)
"""From here on a last rule with apply=1 hides fast routing only where it matches. Source: issue
5620 and pull request 5763."""

PARSERSQL_DIGESTS = Version(3, 0, 9)
"""From here on `mysql-query_processor_parser` 1 lets ParserSQL make the digests. Source: release
notes."""

PURGES_DIGESTS = Version(3, 0, 10)
"""From here on there is `PURGE stats_mysql_query_digest TO <unix time>`. Source: pull request
5943."""

LOAD_COUNTS_VARIABLES = Version(3, 0, 10)
"""From here on LOAD ... VARIABLES TO RUNTIME answers `Records: .. Updated: .. Rejected: ..
Unknown: ..`. Source: pull request 5857."""

SET_REFUSES_UNKNOWN = Version(3, 0, 10)
"""From here on SET of an unknown variable is an error; before, an OK whose text says so. Source:
ProxySQL 3.0.3, run, and issue 6010 on 3.0.10; what lies between is not known."""

SET_SESSION_AUTOCOMMIT = Version(3, 0, 11)
"""From here on `SET @@session.autocommit=1` is taken, and does nothing. Source: a design of
2026-08-08."""

PCRE2 = Version(3, 0, 12)
"""From here on `mysql-query_processor_regex` 1 is PCRE2 10.47 instead of PCRE 8.45: an invalid
pattern never matches, also negated and with RE2. Source: pull request 6120."""

CLIENT_ADDR_SUBNETS = Version(3, 0, 12)
"""From here on `client_addr` may name a subnet; its syntax was not seen. Source: release notes."""

SECURITY_FIXES = (
    (Version(3, 0, 9), "CVE-2026-48772 (a forged PROXY header) and CVE-2026-48773 (overflow)"),
    (Version(3, 0, 12), "eight advisories"),
)
"""Releases that close holes, and which. Source: release notes of 3.0.9 and 3.0.12."""
