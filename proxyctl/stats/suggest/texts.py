"""Derives from a digest text whether a query only reads, can be cached, and names which tables.

A query in doubt is left out: an unknown function may be a stored function.
"""

from __future__ import annotations

import re
from functools import lru_cache

from proxyctl.routing.probes import MYSQL_SAMPLES


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CHANGING = _words("""
NOW CURRENT_TIMESTAMP CURDATE CURRENT_DATE CURTIME CURRENT_TIME LOCALTIME LOCALTIMESTAMP SYSDATE
UNIX_TIMESTAMP UTC_DATE UTC_TIME UTC_TIMESTAMP RAND UUID UUID_SHORT RANDOM_BYTES SYS_GUID USER
CURRENT_USER SESSION_USER SYSTEM_USER CURRENT_ROLE DATABASE SCHEMA VERSION STATEMENT_DIGEST
""")
"""Functions whose answer differs by call or session; some need no parentheses."""
_BARE = re.compile(
    r"\b(CURRENT_(TIMESTAMP|DATE|TIME|USER|ROLE)|LOCALTIME(STAMP)?|UTC_(DATE|TIME|TIMESTAMP))\b",
    re.IGNORECASE,
)
_PURE = _words("""
ABS ACOS ADDDATE ADDTIME ANY_VALUE ASCII ASIN ATAN ATAN2 AVG BIN BIT_AND BIT_COUNT BIT_OR
BIT_XOR CAST CEIL CEILING CHAR CHAR_LENGTH CHARACTER_LENGTH COALESCE CONCAT CONCAT_WS CONV
CONVERT CONVERT_TZ COS COT COUNT CRC32 CUME_DIST DATE DATE_ADD DATE_FORMAT DATE_SUB DATEDIFF DAY
DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR DEGREES DENSE_RANK ELT EXP EXTRACT FIELD FIND_IN_SET
FIRST_VALUE FLOOR FORMAT FROM_BASE64 FROM_DAYS FROM_UNIXTIME GREATEST GROUP_CONCAT GROUPING HEX
HOUR IF IFNULL INET_ATON INET_NTOA INSTR ISNULL JSON_ARRAY JSON_ARRAYAGG JSON_CONTAINS
JSON_EXTRACT JSON_LENGTH JSON_OBJECT JSON_OBJECTAGG JSON_UNQUOTE JSON_VALUE LAG LAST_DAY
LAST_VALUE LCASE LEAD LEAST LEFT LENGTH LN LOCATE LOG LOG10 LOG2 LOWER LPAD LTRIM MAKEDATE
MAKETIME MATCH MAX MD5 MICROSECOND MID MIN MINUTE MOD MONTH MONTHNAME NTH_VALUE NTILE NULLIF OCT
OCTET_LENGTH ORD PERCENT_RANK PERIOD_ADD PERIOD_DIFF PI POSITION POW POWER QUARTER QUOTE RADIANS
RANK REGEXP_LIKE REGEXP_REPLACE REGEXP_SUBSTR REPEAT REPLACE REVERSE RIGHT ROUND ROW_NUMBER RPAD
RTRIM SEC_TO_TIME SECOND SHA SHA1 SHA2 SIGN SIN SOUNDEX SPACE SQRT STD STDDEV STDDEV_POP
STDDEV_SAMP STR_TO_DATE STRCMP SUBDATE SUBSTR SUBSTRING SUBSTRING_INDEX SUBTIME SUM TAN TIME
TIME_FORMAT TIME_TO_SEC TIMEDIFF TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TO_BASE64 TO_DAYS
TO_SECONDS TRIM TRUNCATE UCASE UNHEX UPPER VAR_POP VAR_SAMP VARIANCE WEEK WEEKDAY WEEKOFYEAR
YEAR YEARWEEK
""")
"""Functions with the same answer on every server that has the same rows."""
_WORDS = _words("""
ALL AND ANY AS BETWEEN BY CASE DISTINCT DIV ELSE EXCEPT EXISTS FROM HAVING IN INDEX INTERSECT
INTERVAL IS JOIN KEY LIKE LIMIT NOT OFFSET ON OR OVER PARTITION REGEXP RLIKE ROW SELECT SOME
THEN UNION USING VALUES WHEN WHERE XOR AGAINST BINARY DECIMAL DATETIME DOUBLE FLOAT NUMERIC VARCHAR
""")
"""Words that a parenthesis may follow but that call no function."""

_SELECT = re.compile(r"\(*\s*SELECT\b", re.IGNORECASE)
_LOCKS = "|".join(end.strip(" ;").replace(" ", r"\s+") for end in MYSQL_SAMPLES.lock_ends.values())
_BOUND = re.compile(
    rf"\b({_LOCKS}|INTO|PROCEDURE|SQL_CALC_FOUND_ROWS|(NEXT|PREVIOUS)\s+VALUE\s+FOR)\b"
    r"|\.\s*`?(NEXTVAL|CURRVAL)\b"
    r"|\b(information_schema|performance_schema|sys|mysql)`?\s*\."
    r"|@|:=",
    re.IGNORECASE,
)
"""What binds a SELECT to one server or connection: locks, writes, sequences, a server's own tables,
FOUND_ROWS() afterwards, variables."""
_CALL = re.compile(r"([A-Za-z_$][\w$.]*|`[^`]*`)\s*\(")
_WRITE = re.compile(
    r"\(*\s*(INSERT|UPDATE|DELETE|REPLACE|TRUNCATE|LOAD|ALTER|DROP|RENAME|CREATE)\b", re.IGNORECASE
)
_TEMPORARY = re.compile(r"\s*CREATE\s+(OR\s+REPLACE\s+)?TEMPORARY\s+TABLE\b", re.IGNORECASE)
_NAME = r"(?:`[^`]+`|[\w$]+)(?:\s*\.\s*(?:`[^`]+`|[\w$]+))?"
_TABLES = re.compile(
    r"\b(?:FROM|JOIN|(?<!KEY )(?<!FOR )UPDATE|INTO|TABLE)\s+(?:IF NOT EXISTS\s+)?(?!SELECT\b)"
    rf"({_NAME}(?:(?:\s+(?:AS\s+)?\w+)?\s*,\s*{_NAME})*)",
    re.IGNORECASE,
)
_BEGINS = re.compile(r"\s*(BEGIN|START TRANSACTION|SET\s+(SESSION\s+)?AUTOCOMMIT)\b", re.IGNORECASE)


def is_write(text: str) -> bool:
    """Return whether a text begins like a statement that changes rows or tables."""
    return _WRITE.match(text) is not None


def begins_transaction(text: str) -> bool:
    """Return whether a statement begins a transaction or sets autocommit."""
    return _BEGINS.match(text) is not None


def makes_temporary_table(text: str) -> bool:
    """Return whether a statement creates a temporary table."""
    return _TEMPORARY.match(text) is not None


@lru_cache(maxsize=4096)
def is_plain_read(text: str) -> bool:
    """Return whether another server with the same rows could answer a query."""
    is_free = _SELECT.match(text) is not None and _BOUND.search(text) is None
    return is_free and _called(text) <= _PURE | _CHANGING


@lru_cache(maxsize=4096)
def is_cacheable(text: str) -> bool:
    """Return whether the answer stays the same as long as the rows do."""
    return is_plain_read(text) and _called(text) <= _PURE and _BARE.search(text) is None


def _called(text: str) -> frozenset[str]:
    """Return the functions that a text calls, in capitals; a quoted name counts as a function."""
    return frozenset(call[1].strip("`").upper() for call in _CALL.finditer(text)) - _WORDS


@lru_cache(maxsize=4096)
def tables_in(text: str) -> tuple[str, ...]:
    """Return the tables that a text names in the usual places, in order.

    Shape: in lower case, without a schema.
    """
    tables: dict[str, None] = {}
    for place in _TABLES.finditer(text):
        for part in place[1].split(","):
            name = re.match(_NAME, part.strip())
            if name is not None:
                tables[re.split(r"\s*\.\s*", name[0])[-1].strip("`").lower()] = None
    return tuple(tables)
