"""SET and USE in all forms, and what ProxySQL does with each.

A user has default_hostgroup 1, and a rule sends everything to hostgroup 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from proxyctl.routing.query import ClientQuery
from proxyctl.routing.router import Router

HOME, RULE = 1, 2


@dataclass(frozen=True)
class SetForm:
    """A statement in a new session.

    Shape: `hostgroup` None: ProxySQL answers, with `errno` if it is an error.
    """

    query: str
    hostgroup: int | None = None
    locks: bool = False
    errno: int | None = None


KEPT = """
SET sql_mode='ANSI'
SET SESSION sql_mode='ANSI'
SET @@sql_mode='ANSI'
SET @@session.sql_mode='ANSI'
SET @@LOCAL.sql_mode='ANSI'
SET sql_mode=CONCAT(@@sql_mode,',STRICT_ALL_TABLES')
SET sql_mode=(SELECT CONCAT(@@sql_mode, ',ANSI'))
SET sql_mode=REPLACE(REPLACE(@@sql_mode,'ANSI',''),'TRADITIONAL','')
SET sql_mode=@@sql_mode
SET sql_mode=TRADITIONAL
SET sql_mode=''
SET sql_mode='ANSI,TRADITIONAL', autocommit=1
SET `sql_mode` = "ANSI"
set session sql_mode := 'ANSI'
SET NAMES utf8mb4
SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin'
SET NAMES utf8mb3
SET NAMES utf8mb3 COLLATE utf8mb3_bin
SET NAMES utf8, sql_mode='ANSI'
SET CHARACTER SET utf8mb4
SET CHARSET 'latin1'
SET autocommit=0
SET autocommit = ON
SET @@session.autocommit=1
SET autocommit=2
SET time_zone='+01:00'
SET time_zone=DEFAULT
SET time_zone='Europe/Berlin'
SET TRANSACTION ISOLATION LEVEL READ COMMITTED
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ
SET SESSION TRANSACTION READ ONLY
SET foreign_key_checks=0
SET unique_checks=0
SET sql_log_bin=OFF
SET max_statement_time=100
SET wait_timeout=100
SET net_write_timeout=DEFAULT
SET interactive_timeout=100
SET lock_wait_timeout=100
SET innodb_lock_wait_timeout=100
SET sql_select_limit=DEFAULT
SET group_concat_max_len=1000
SET join_buffer_size=262144
SET sort_buffer_size=262144
SET tx_isolation='READ-COMMITTED'
SET transaction_read_only=1
SET character_set_results=NULL
SET character_set_results=binary
SET SESSION character_set_results = utf8mb4
SET SESSION character_set_server='utf8'
SET autocommit=OFF; SELECT 1
SET character_set_client=utf8
SET collation_connection='utf8_general_ci'
SET optimizer_switch='mrr=on,mrr_cost_based=off'
SET query_cache_type=DEMAND
SET sql_safe_updates=1
SET timestamp=1700000000
SET session_track_gtids=OWN_GTID
/* a */ SET sql_mode='ANSI'
/*!40101 SET sql_mode='ANSI' */
SET\t\tsql_mode='ANSI'
SET sql_mode='ANSI'; ;
SET sql_mode='ANSI'   /* b */
"""
FOREIGN = """
SET @a=1
SET @a:=1
SET @a=(SELECT 1)
SET x='y'
SET x=1, @a=1
SET sql_mode=@x
SET sql_mode=CONCAT(@x, 'ANSI')
SET sql_mode='ANSI', @a=1
SET autocommit=@a
SET time_zone=@tz
SET GLOBAL max_connections=1
SET GLOBAL TRANSACTION READ ONLY
SET unique_checks=DEFAULT
SET sort_buffer_size=DEFAULT
SET nosuchvar=1
SET sql_mode='ANSI', nosuchvar=1
SET PASSWORD='x'
SET ROLE admin
SET DEFAULT ROLE admin TO app
SET STATEMENT max_statement_time=1 FOR SELECT 1
SET RESOURCE GROUP x
SET profiling=1
SET big_tables=1
SET insert_id=1
SET SESSION character_set_server=nosuch
SET LOCAL sql_mode='ANSI'
SET @a='x;y'
SET @@global.sql_mode='ANSI'
SET lc_messages=@x
SET @autocommit=1
SET tx_read_only=2
SET session_track_gtids=NONE
"""
UNREADABLE = """
SET sql_mode='a;b'
SET sql_mode=''''
SET sql_mode='ANSI, TRADITIONAL'
SET group_concat_max_len=1+1
SET SESSION max_heap_table_size=1024*1024
SET long_query_time=1.5
SET sql_mode='' -- x
SET time_zone='America/Argentina/Ushuaia'
SET profiling=1+1
SET SESSION character_set_results = NULL
SET GLOBAL autocommit=1
"""
WRONG_CHARSET = """
SET NAMES nosuch
SET NAMES DEFAULT
SET NAMES utf8 COLLATE latin1_bin
SET CHARACTER SET nosuch
SET NAMES nosuch, @a=1
"""
BATCHES = """
SET sql_mode='ANSI'; SELECT 1
SET @a=1; SELECT 1
SET NAMES utf8; SELECT 1
SET autocommit=0; SELECT 1
SET nosuchvar=1; SELECT 1
SET NAMES nosuch; SELECT 1
SET sql_mode='a;b'; SELECT 1; SELECT 2
SET CHARACTER SET utf8; SELECT 1
"""
NO_SET_FIRST = """
SELECT 1; SET @a=1
SELECT 1; SET sql_mode='ANSI'
BEGIN; SET @a=1
SELECT @a:=1
"""


def _forms(text: str, hostgroup: int | None, *, locks: bool = False) -> list[SetForm]:
    lines = text.strip("\n").split("\n")
    return [SetForm(line.replace("\\t", "\t"), hostgroup, locks) for line in lines]


SET_FORMS = (
    *_forms(KEPT, None),
    *_forms(FOREIGN, RULE, locks=True),
    *_forms(UNREADABLE, HOME),
    *(SetForm(form.query, errno=1115) for form in _forms(WRONG_CHARSET, None)),
    *_forms(BATCHES, RULE, locks=True),
    *_forms(NO_SET_FIRST, RULE),
)
USE_FORMS = (
    *_forms("USE db1\nuse `db1`\n/* a */ USE db1 -- b\nUSE db1;", None),
    *(SetForm(query, errno=1148) for query in ("USE db1; SELECT 1", "USE `db1` ; DROP TABLE t")),
)
WITH_MULTIPLEX = (
    *(SetForm(form.query, HOME) for form in _forms(FOREIGN, None)),
    *_forms(BATCHES, RULE, locks=True),
    *_forms(KEPT, None),
)
"""The rule also sets multiplex."""
WITHOUT_LOCKS = (
    *(SetForm(form.query, HOME) for form in _forms(FOREIGN + BATCHES.lstrip("\n"), None)),
    *_forms(UNREADABLE, HOME),
    *_forms(KEPT, None),
)
"""mysql-set_query_lock_on_hostgroup is 0."""


def predicted(router: Router, query: str) -> SetForm:
    """Return the prediction for a statement of the user `app`, in the shape of the tables."""
    route = router.evaluate(ClientQuery(query.encode(), "app"))
    special = route.special
    if route.is_answered:
        return SetForm(query, errno=special.errno if special else None)
    locks = special is not None and special.is_set and not special.goes_home
    return SetForm(query, route.destination_hostgroup, locks)


def _words(text: str) -> list[str]:
    return text.split()


_NAMES = _words("""
sql_mode autocommit time_zone foreign_key_checks unique_checks sort_buffer_size sql_select_limit
max_join_size group_concat_max_len long_query_time query_cache_type optimizer_switch lc_messages
tx_isolation transaction_isolation tx_read_only session_track_gtids character_set_client
collation_connection wait_timeout session_track_schema session_track_system_variables big_tables
profiling nosuchvar max_connections @a @sql_mode
""")
_VALUES = _words("""
0 1 2 7 ON off TRUE DEFAULT NULL ANSI utf8 nosuch READ-COMMITTED 1.5 -1 +1 1+1 1024*1024 @a
@@sql_mode @@session.sql_mode @@global.time_zone OWN_GTID DEMAND '' "" '''' 'a' "ANSI" `a`
'ANSI,TRADITIONAL' 'READ-COMMITTED' '+01:00' '+1:00' 'Europe/Berlin' 'a/b/c' 'mrr=on'
'mrr=on,icp=off' 'mrr=maybe' 'a;b' '@a' 'a.b' 'utf8_bin' 0x10 1e3 now() CONCAT(@@sql_mode,'a')
CONCAT('a','b') REPLACE(CONCAT(@@sql_mode,',a'),'b','c') IFNULL(NULL,'a') CONCAT(@a,'b') CONCAT(a
CONCAT
""")
_VALUES += ["'a, b'", "(SELECT CONCAT(@@sql_mode, ',a'))", "(SELECT 1)", "- 1", "'a' 'b'", "' '"]
_SCOPES = ("", "", "", "SESSION ", "session ", "@@", "@@session.", "@@local.", "LOCAL ", "GLOBAL ")
_WHOLE = (
    "NAMES utf8", "NAMES 'utf8'", "NAMES `utf8mb4` COLLATE utf8mb4_bin", "NAMES nosuch",
    "NAMES DEFAULT", "NAMES utf8 COLLATE nosuch", "NAMES @a", "NAMES  utf8", "CHARSET utf8",
    "CHARACTER  SET 'latin1'", "CHARSET nosuch", "CHARACTER SET ''", 'CHARSET "utf8"',
    "TRANSACTION READ ONLY", "SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "TRANSACTION READ MAYBE", "TRANSACTION READ ONLY, ISOLATION LEVEL SERIALIZABLE",
)  # fmt: skip
_STARTS = ("SET ",) * 8 + ("set ", "SET\t", "SET\n", "/* c */ SET ", "SET /* c */ ", "-- c\nSET ")
_ENDS = ("",) * 8 + (
    ";",
    " ; ",
    "; SELECT 1",
    ";SELECT ';'",
    " -- c",
    " # c",
    " /* ; */",
    ",",
    " x",
)


def random_set(random: Random) -> str:
    """Return a SET, often one that no server would take."""
    parts = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if random.random() < 0.15:
            parts.append(random.choice(_WHOLE))
            continue
        name, sign = random.choice(_NAMES), random.choice(("=", " = ", ":=", "= "))
        name = f"`{name}`" if random.random() < 0.1 else name
        parts.append(f"{random.choice(_SCOPES)}{name}{sign}{random.choice(_VALUES)}")
    body = random.choice((", ", ",", " , ", " ")).join(parts)
    statement = random.choice(_STARTS) + body + random.choice(_ENDS)
    return f"/*!40101 {statement} */" if random.random() < 0.05 else statement
