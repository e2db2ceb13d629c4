"""The sample queries whose routes show whether rules separate reads from writes."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What a query does, as far as it matters for routing."""

    READ = "reads"
    LOCK = "locking reads"
    FUNCTION = "functions of the server or the session"
    WRITE = "writes"
    CHANGING = "reads whose answer differs each time"


class Probe(NamedTuple):
    """A query, and the name of what it is an example of."""

    kind: Kind
    name: str
    query: str


def _probes(kind: Kind, queries: dict[str, str]) -> list[Probe]:
    return [Probe(kind, name, query) for name, query in queries.items()]


READ = Probe(Kind.READ, "SELECT", "SELECT c FROM t WHERE id=1")
LOCK = Probe(Kind.LOCK, "FOR UPDATE", "SELECT c FROM t WHERE id=1 FOR UPDATE")
INSERT = Probe(Kind.WRITE, "INSERT", "INSERT INTO t (c) VALUES ('a')")
UPDATE = Probe(Kind.WRITE, "UPDATE", "UPDATE t SET c='a' WHERE id=1")
DELETE = Probe(Kind.WRITE, "DELETE", "DELETE FROM t WHERE id=1")
BEGIN = Probe(Kind.WRITE, "BEGIN", "BEGIN")
BASIC = (READ, LOCK, INSERT, UPDATE, DELETE, BEGIN)
"""The queries that show whether a session is split at all."""

LOCK_ENDS = {
    "FOR UPDATE": " FOR UPDATE",
    "FOR UPDATE;": " FOR UPDATE;",
    "FOR UPDATE NOWAIT": " FOR UPDATE NOWAIT",
    "FOR UPDATE SKIP LOCKED": " FOR UPDATE SKIP LOCKED",
    "FOR SHARE": " FOR SHARE",
    "LOCK IN SHARE MODE": " LOCK IN SHARE MODE",
}
"""The ends that turn a SELECT into a locking read, by name."""

_LOCKS = {
    **{name: READ.query + end for name, end in LOCK_ENDS.items()},
    "FOR UPDATE over several lines": "SELECT c\nFROM t\nWHERE id=1\nFOR UPDATE",
    "for update in lower case": "select c from t where id=1 for update",
    "FOR UPDATE OF": "SELECT c FROM t JOIN u USING (id) WHERE id=1 FOR UPDATE OF t",
    "FOR UPDATE with a comment in front": "/* page 7 */ SELECT c FROM t WHERE id=1 FOR UPDATE",
    "FOR UPDATE with a comment at the end": "SELECT c FROM t WHERE id=1 FOR UPDATE /* page 7 */",
    "FOR UPDATE with a blank in front": " SELECT c FROM t WHERE id=1 FOR UPDATE",
    "FOR UPDATE in parentheses": "(SELECT c FROM t WHERE id=1 FOR UPDATE)",
    "WITH ... FOR UPDATE": "WITH a AS (SELECT 1) SELECT c FROM t, a WHERE id=1 FOR UPDATE",
    "LOCK IN SHARE MODE over several lines": "SELECT c\nFROM t\nLOCK IN SHARE MODE",
    "lock in share mode in lower case": "select c from t where id=1 lock in share mode",
}
_FUNCTIONS = {
    "GET_LOCK": "SELECT GET_LOCK('nightly', 10)",
    "RELEASE_LOCK": "SELECT RELEASE_LOCK('nightly')",
    "RELEASE_ALL_LOCKS": "SELECT RELEASE_ALL_LOCKS()",
    "IS_FREE_LOCK": "SELECT IS_FREE_LOCK('nightly')",
    "IS_USED_LOCK": "SELECT IS_USED_LOCK('nightly')",
    "get_lock in lower case": "select get_lock('nightly', 10)",
    "ROW_COUNT": "SELECT ROW_COUNT()",
}
_WRITES = {
    "REPLACE": "REPLACE INTO t (id, c) VALUES (1, 'a')",
    "CALL": "CALL close_month(7)",
    "CREATE TABLE": "CREATE TABLE u (id INT)",
    "ALTER TABLE": "ALTER TABLE t ADD d INT",
    "DROP TABLE": "DROP TABLE u",
    "TRUNCATE": "TRUNCATE TABLE t",
    "LOAD DATA": "LOAD DATA INFILE '/tmp/t.csv' INTO TABLE t",
    "START TRANSACTION": "START TRANSACTION",
    "LOCK TABLES": "LOCK TABLES t WRITE",
    "GRANT": "GRANT SELECT ON shop.* TO report",
    "INSERT ... SELECT": "INSERT INTO t (c) SELECT c FROM u WHERE id=1",
    "REPLACE ... SELECT": "REPLACE INTO t (c) SELECT c FROM u WHERE id=1",
    "CREATE TABLE ... SELECT": "CREATE TABLE u SELECT c FROM t",
    "UPDATE with a SELECT inside": "UPDATE t SET c=(SELECT c FROM u LIMIT 1) WHERE id=1",
    "DELETE with a SELECT inside": "DELETE FROM t WHERE id IN (SELECT id FROM u)",
    "WITH ... UPDATE": "WITH a AS (SELECT id FROM u) UPDATE t SET c='a' WHERE id IN (TABLE a)",
    "WITH ... DELETE": "WITH a AS (SELECT id FROM u) DELETE FROM t WHERE id IN (TABLE a)",
    "INSERT in lower case": "insert into t (c) values ('a')",
    "INSERT with a comment in front": "/* SELECT */ INSERT INTO t (c) VALUES ('a')",
    "UPDATE with a blank in front": " UPDATE t SET c='a' WHERE id=1",
    "UPDATE over several lines": "UPDATE t\nSET c='SELECT'\nWHERE id=1",
}

_CHANGING = {
    "NOW": "SELECT NOW()",
    "NOW in a condition": "SELECT c FROM t WHERE day > NOW()",
    "CURRENT_TIMESTAMP": "SELECT CURRENT_TIMESTAMP",
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
}

PROBES = (
    *BASIC,
    *(probe for probe in _probes(Kind.LOCK, _LOCKS) if probe != LOCK),
    *_probes(Kind.FUNCTION, _FUNCTIONS),
    *_probes(Kind.WRITE, _WRITES),
)


CHANGING = tuple(_probes(Kind.CHANGING, _CHANGING))
LOCKING = tuple(probe for probe in PROBES if probe.name in LOCK_ENDS)
"""Queries that no cache may answer: their answers differ each time, or they lock."""


def read_of(table: str) -> str:
    """Return a SELECT from a table, by its name in SQL."""
    return READ.query.replace(" t ", f" {table} ", 1)


def writes_to(table: str) -> tuple[str, ...]:
    """Return an INSERT, an UPDATE and a DELETE on a table, by its name in SQL."""
    return tuple(probe.query.replace(" t ", f" {table} ", 1) for probe in (INSERT, UPDATE, DELETE))
