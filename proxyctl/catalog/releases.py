"""The releases from which on ProxySQL behaves otherwise: each fact once, with its source.

Every constant is the first release that has the behaviour, so `version >= PURGES_DIGESTS` asks for
it. What tables, columns and variables there are stands with them, as `since` and `until`.
"""

from __future__ import annotations

from proxyctl.catalog.model import Version

NEWEST_PROVEN = Version(3, 0, 3)
"""The newest release on which proxyctl was run."""

NEWEST_KNOWN = Version(3, 0, 12)
"""The newest release that the catalogue describes."""

WIDE_GROUPING_LIMITS = Version(3, 0, 1)
"""From here on `mysql-query_digests_grouping_limit` and `_groups_grouping_limit` are no signed
byte: 200 means 200. Source: ProxySQL 2.7.1 and 3.0.3, run; what lies between is not known."""

DIGESTS_DROP_LAST_COMMENT = Version(3, 0, 1)
"""From here on the digest of `SELECT 1 -- tail` is that of `SELECT 1`, and comments beyond
`mysql-query_digests_max_query_length` are removed. Source: as above."""

CNF_DECIMAL_NUMBERS = Version(3, 0, 1)
"""From here on a .cnf reads `010` as 10 (before: 8) and `33L` as 33 (before: another type, so that
it was ignored). Source: libconfig 1.7.3 in ProxySQL 2.7.1 and 1.8.1 in 3.0.3, run."""

CNF_BINDS_VALUES = Version(3, 0, 4)
"""From here on ProxySQL binds the values of a .cnf instead of pasting them, so that any quote is
carried; it also takes away the prefix of a variable's name. Source: release notes of 3.0.4."""

KEEPS_OPTIMIZER_HINTS = Version(3, 0, 6)
"""From here on `/*+ ... */` is no comment, so digests of such queries differ. Source: release
notes."""

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

IDLE_PROCESSLIST_TAKES_TRUE = Version(3, 0, 11)
"""Before, `true` for `session_idle_show_processlist` acts as 0 in the process list; 1 works.
Source: a design of 2026-08-10; the release is a guess."""

MYSQLDUMP_WORKS = Version(3, 0, 11)
"""Before, mysqldump of the admin interface writes no row. Source: issue 6010."""

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
