"""The sample queries whose routes show whether rules separate reads from writes.

MySQL and PostgreSQL have samples of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple


class QueryKind(Enum):
    """What a query does, as far as it matters for routing."""

    READ = "reads"
    LOCK = "locking reads"
    FUNCTION = "functions of the server or the session"
    WRITE = "writes"
    CHANGING = "reads whose result differs each time"


class Probe(NamedTuple):
    """A query, and the name of what it is an example of."""

    kind: QueryKind
    name: str
    query: str


class Samples(NamedTuple):
    """The sample queries in the SQL of one side."""

    lock_ends: Mapping[str, str]
    """The ends that turn a SELECT into a locking read, by name."""
    write_words: frozenset[str]
    """The first words of simple writes."""
    probes: tuple[Probe, ...]
    """The queries to try; they begin with BASIC."""
    changing: tuple[Probe, ...]
    """Reads that no cache may answer: their answers differ each time."""
    locking: tuple[Probe, ...]
    """Reads that no cache may answer: they lock."""


def _probes(kind: QueryKind, queries: Mapping[str, str]) -> tuple[Probe, ...]:
    return tuple(Probe(kind, name, query) for name, query in queries.items())


READ = Probe(QueryKind.READ, "SELECT", "SELECT c FROM t WHERE id=1")
LOCK = Probe(QueryKind.LOCK, "FOR UPDATE", "SELECT c FROM t WHERE id=1 FOR UPDATE")
INSERT = Probe(QueryKind.WRITE, "INSERT", "INSERT INTO t (c) VALUES ('a')")
UPDATE = Probe(QueryKind.WRITE, "UPDATE", "UPDATE t SET c='a' WHERE id=1")
DELETE = Probe(QueryKind.WRITE, "DELETE", "DELETE FROM t WHERE id=1")
BEGIN = Probe(QueryKind.WRITE, "BEGIN", "BEGIN")
BASIC = (READ, LOCK, INSERT, UPDATE, DELETE, BEGIN)
"""The queries that show whether a session is split at all."""

# Both sides --------------------------------------------------------------------------------------

_LOCK_ENDS = {
    "FOR UPDATE": " FOR UPDATE",
    "FOR UPDATE;": " FOR UPDATE;",
    "FOR UPDATE NOWAIT": " FOR UPDATE NOWAIT",
    "FOR UPDATE SKIP LOCKED": " FOR UPDATE SKIP LOCKED",
    "FOR SHARE": " FOR SHARE",
}
_LOCKS = {
    "FOR UPDATE over several lines": "SELECT c\nFROM t\nWHERE id=1\nFOR UPDATE",
    "for update in lower case": "select c from t where id=1 for update",
    "FOR UPDATE OF": "SELECT c FROM t JOIN u USING (id) WHERE id=1 FOR UPDATE OF t",
    "FOR UPDATE with a comment in front": "/* page 7 */ SELECT c FROM t WHERE id=1 FOR UPDATE",
    "FOR UPDATE with a comment at the end": "SELECT c FROM t WHERE id=1 FOR UPDATE /* page 7 */",
    "FOR UPDATE with a space in front": " SELECT c FROM t WHERE id=1 FOR UPDATE",
    "FOR UPDATE in parentheses": "(SELECT c FROM t WHERE id=1 FOR UPDATE)",
    "WITH ... FOR UPDATE": "WITH a AS (SELECT 1) SELECT c FROM t, a WHERE id=1 FOR UPDATE",
}
_WRITES = {
    "CALL": "CALL close_month(7)",
    "CREATE TABLE": "CREATE TABLE u (id INT)",
    "ALTER TABLE": "ALTER TABLE t ADD d INT",
    "DROP TABLE": "DROP TABLE u",
    "TRUNCATE": "TRUNCATE TABLE t",
    "START TRANSACTION": "START TRANSACTION",
    "INSERT ... SELECT": "INSERT INTO t (c) SELECT c FROM u WHERE id=1",
    "UPDATE with a SELECT inside": "UPDATE t SET c=(SELECT c FROM u LIMIT 1) WHERE id=1",
    "DELETE with a SELECT inside": "DELETE FROM t WHERE id IN (SELECT id FROM u)",
    "WITH ... UPDATE": "WITH a AS (SELECT id FROM u) UPDATE t SET c='a' WHERE id IN (TABLE a)",
    "WITH ... DELETE": "WITH a AS (SELECT id FROM u) DELETE FROM t WHERE id IN (TABLE a)",
    "INSERT in lower case": "insert into t (c) values ('a')",
    "INSERT with a comment in front": "/* SELECT */ INSERT INTO t (c) VALUES ('a')",
    "UPDATE with a space in front": " UPDATE t SET c='a' WHERE id=1",
    "UPDATE over several lines": "UPDATE t\nSET c='SELECT'\nWHERE id=1",
}
_WRITE_WORDS = frozenset({"INSERT", "UPDATE", "DELETE", "CALL", "TRUNCATE"})
_CHANGING = {
    "NOW": "SELECT NOW()",
    "NOW in a condition": "SELECT c FROM t WHERE day > NOW()",
    "CURRENT_TIMESTAMP": "SELECT CURRENT_TIMESTAMP",
}


def _samples(
    *,
    lock_ends: Mapping[str, str],
    write_words: frozenset[str],
    locks: Mapping[str, str],
    functions: Mapping[str, str],
    writes: Mapping[str, str],
    changing: Mapping[str, str],
) -> Samples:
    """Return the samples of a side: those that both sides have, and its own."""
    ends = {**_LOCK_ENDS, **lock_ends}
    locking = _probes(QueryKind.LOCK, {name: READ.query + end for name, end in ends.items()})
    probes = (
        *BASIC,
        *(probe for probe in locking if probe != LOCK),
        *_probes(QueryKind.LOCK, {**_LOCKS, **locks}),
        *_probes(QueryKind.FUNCTION, functions),
        *_probes(QueryKind.WRITE, {**_WRITES, **writes}),
    )
    times = _probes(QueryKind.CHANGING, {**_CHANGING, **changing})
    return Samples(ends, _WRITE_WORDS | write_words, probes, times, locking)


# MySQL -------------------------------------------------------------------------------------------

MYSQL_SAMPLES = _samples(
    lock_ends={"LOCK IN SHARE MODE": " LOCK IN SHARE MODE"},
    write_words=frozenset({"REPLACE"}),
    locks={
        "LOCK IN SHARE MODE over several lines": "SELECT c\nFROM t\nLOCK IN SHARE MODE",
        "lock in share mode in lower case": "select c from t where id=1 lock in share mode",
    },
    functions={
        "GET_LOCK": "SELECT GET_LOCK('nightly', 10)",
        "RELEASE_LOCK": "SELECT RELEASE_LOCK('nightly')",
        "RELEASE_ALL_LOCKS": "SELECT RELEASE_ALL_LOCKS()",
        "IS_FREE_LOCK": "SELECT IS_FREE_LOCK('nightly')",
        "IS_USED_LOCK": "SELECT IS_USED_LOCK('nightly')",
        "get_lock in lower case": "select get_lock('nightly', 10)",
        "ROW_COUNT": "SELECT ROW_COUNT()",
    },
    writes={
        "REPLACE": "REPLACE INTO t (id, c) VALUES (1, 'a')",
        "LOAD DATA": "LOAD DATA INFILE '/tmp/t.csv' INTO TABLE t",
        "LOCK TABLES": "LOCK TABLES t WRITE",
        "GRANT": "GRANT SELECT ON shop.* TO report",
        "REPLACE ... SELECT": "REPLACE INTO t (c) SELECT c FROM u WHERE id=1",
        "CREATE TABLE ... SELECT": "CREATE TABLE u SELECT c FROM t",
    },
    changing={
        "CURDATE": "SELECT CURDATE()",
        "SYSDATE": "SELECT SYSDATE()",
        "UNIX_TIMESTAMP": "SELECT UNIX_TIMESTAMP()",
        "RAND": "SELECT c FROM t ORDER BY RAND() LIMIT 1",
        "UUID": "SELECT UUID()",
        "CONNECTION_ID": "SELECT c FROM t WHERE session=CONNECTION_ID()",
        "FOUND_ROWS": "SELECT FOUND_ROWS()",
        "ROW_COUNT": "SELECT ROW_COUNT()",
        "a user variable": "SELECT @c",
        "GET_LOCK": "SELECT GET_LOCK('nightly', 10)",
        "SLEEP": "SELECT SLEEP(1)",
    },
)

# PostgreSQL: a standby refuses the writes and functions, but keeps advisory locks to itself ------

PGSQL_SAMPLES = _samples(
    lock_ends={"FOR NO KEY UPDATE": " FOR NO KEY UPDATE", "FOR KEY SHARE": " FOR KEY SHARE"},
    write_words=frozenset(),
    locks={},
    functions={
        "nextval": "SELECT nextval('orders_id_seq')",
        "setval": "SELECT setval('orders_id_seq', 7)",
        "currval": "SELECT currval('orders_id_seq')",
        "lastval": "SELECT lastval()",
        "nextval in upper case": "SELECT NEXTVAL('orders_id_seq')",
        "pg_advisory_lock": "SELECT pg_advisory_lock(7)",
        "pg_try_advisory_lock": "SELECT pg_try_advisory_lock(7)",
        "pg_advisory_xact_lock": "SELECT pg_advisory_xact_lock(7)",
        "pg_advisory_unlock": "SELECT pg_advisory_unlock(7)",
        "pg_notify": "SELECT pg_notify('jobs', '7')",
        "SELECT ... INTO": "SELECT c INTO u FROM t",
    },
    writes={
        "COPY ... FROM": "COPY t FROM STDIN",
        "DO": "DO $$BEGIN CALL close_month(7); END$$",
        "MERGE": "MERGE INTO t USING u ON t.id=u.id WHEN MATCHED THEN UPDATE SET c=u.c",
        "LOCK TABLE": "LOCK TABLE t IN EXCLUSIVE MODE",
        "GRANT": "GRANT SELECT ON t TO report",
        "NOTIFY": "NOTIFY jobs",
        "VACUUM": "VACUUM t",
        "REFRESH MATERIALIZED VIEW": "REFRESH MATERIALIZED VIEW m",
        "PREPARE TRANSACTION": "PREPARE TRANSACTION 'order 7'",
        "CREATE TABLE ... AS": "CREATE TABLE u AS SELECT c FROM t",
        "INSERT ... RETURNING": "INSERT INTO t (c) VALUES ('a') RETURNING id",
        "INSERT in WITH": "WITH a AS (INSERT INTO t (c) VALUES ('a') RETURNING c) SELECT c FROM a",
        "UPDATE in WITH": "WITH a AS (UPDATE t SET c='a' WHERE id=1 RETURNING c) SELECT c FROM a",
        "DELETE in WITH": "WITH a AS (DELETE FROM t WHERE id=1 RETURNING c) SELECT c FROM a",
    },
    changing={
        "CURRENT_DATE": "SELECT CURRENT_DATE",
        "clock_timestamp": "SELECT clock_timestamp()",
        "random": "SELECT c FROM t ORDER BY random() LIMIT 1",
        "gen_random_uuid": "SELECT gen_random_uuid()",
        "txid_current": "SELECT txid_current()",
        "nextval": "SELECT nextval('orders_id_seq')",
        "currval": "SELECT currval('orders_id_seq')",
        "lastval": "SELECT lastval()",
        "pg_try_advisory_lock": "SELECT pg_try_advisory_lock(7)",
        "pg_sleep": "SELECT pg_sleep(1)",
    },
)


# Reads and writes of one table -------------------------------------------------------------------


def read_of(table: str) -> str:
    """Return a SELECT from a table, by its name in SQL."""
    return READ.query.replace(" t ", f" {table} ", 1)


def writes_to(table: str) -> tuple[str, ...]:
    """Return an INSERT, an UPDATE and a DELETE on a table, by its name in SQL."""
    return tuple(probe.query.replace(" t ", f" {table} ", 1) for probe in (INSERT, UPDATE, DELETE))
