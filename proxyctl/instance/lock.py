"""The advisory lock: among all proxyctl processes, one apply at a time on an instance.

The lock is a row in a TEMP table. All admin sessions share one SQLite handle, so each sees the
table; SHOW TABLES does not list it, and it ends with the ProxySQL process. INSERT takes the lock;
an UPDATE by owner and expiry takes over the lock of a dead owner. Other clients can ignore it.
Source: measured on 2.7.1.
"""

from __future__ import annotations

import json
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from math import inf
from pathlib import Path

from proxyctl.errors import ConnectionLostError, InstanceError, RefusedError, StatementError
from proxyctl.instance.client import AdminClient
from proxyctl.rows.sql import Statement, literal
from proxyctl.text import printable

LEASE_S = 60
"""The length of the lease: as long as a statement may take."""

RENEW_S = 1.0
"""Before a statement that writes, the lock is checked unless the last check is newer than this."""

LATE_S = 10.0
"""An answer to a renewal that took longer is late: the lease may be over when a LOAD runs."""

POLL_S = 0.5

_TABLE = "proxyctl_lock"

_ABANDONED = "abandoned"
"""The stage of a row without an owner: the modules that an interrupted apply staged."""

_VALUES = ") VALUES "
"""Between the columns and the rows of an INSERT; no column name contains it."""

_CREATE = (
    f"CREATE TEMP TABLE IF NOT EXISTS {_TABLE}(id INTEGER PRIMARY KEY CHECK(id=1), owner, host,"
    " pid INT, purpose, stage, modules, expires INT)"
)

_NOW = "CAST(strftime('%s','now') AS INT)"
"""The clock of the instance; the clocks of several operators may differ."""


@dataclass(frozen=True)
class Holder:
    """The holder of the lock."""

    owner: str
    """A random id of the apply, `@`, and the name of its process space."""
    host: str
    """The name of the machine that the apply runs on."""
    pid: int
    """The process id of the apply."""
    expires: str
    """The text in the row; anybody may write the row, so it need not be a number."""
    left_s: int
    """The time until the lock expires; negative afterwards. Units: seconds."""
    purpose: str
    """The command that holds the lock."""
    stage: str
    """The step that the apply has reached; '' before the first."""
    modules: Mapping[str, bool]
    """The admin modules being written, and whether MEMORY of each equalled DISK before."""

    def is_dead(self) -> bool:
        """Return whether the lock expired, or its process on this machine has ended."""
        if self.left_s <= 0:
            return True
        if self.host != socket.gethostname() or not self.owner.endswith(f"@{process_space()}"):
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        except OverflowError:
            return True  # no process id is this large
        return False

    def text(self) -> str:
        """Return a description of the holder."""
        text = f"{self.purpose} by pid {self.pid} on {self.host}, {self.stage or 'starting'}"
        return printable(text)  # anybody may write the row


@cache
def process_space() -> str:
    """Return a name for the boot and the pid namespace, in which a pid identifies one process.

    Containers may share a host name without sharing processes. Empty if the system has no /proc.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return f"{boot.partition('-')[0]}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


@dataclass
class Lock:
    """The lock of one apply on one instance."""

    client: AdminClient
    """The connection to the instance."""
    purpose: str
    """The command that takes the lock."""
    owner: str = field(default_factory=lambda: f"{uuid.uuid4().hex}@{process_space()}")
    """A random id of the apply, `@`, and the name of its process space."""
    leftovers: Mapping[str, bool] = field(default_factory=dict)
    """The admin modules that a dead owner began to write, and whether MEMORY of each equalled DISK
    before. The lock records them until MEMORY is restored or an apply finishes them."""
    _renewed: float = 0.0
    _is_held: bool = False
    _is_lost: bool = False
    _is_gone: bool = False
    """Whether a restart of ProxySQL removed the row, and no new row is inserted yet."""

    @property
    def is_lost(self) -> bool:
        """Whether another owner, or nobody, held the lock for a time while this apply ran.

        Nobody knows since when, or who wrote meanwhile.
        """
        return self._is_lost

    def take(self, *, timeout_s: float, waiting: Callable[[str], None] | None = None) -> None:
        """Take the lock; wait at most `timeout_s` for another holder.

        Raises: RefusedError that names the holder.
        """
        self.client.execute(Statement.plain(_CREATE))
        end = time.monotonic() + timeout_s
        announced = False
        while True:
            if self._insert():
                return
            holder = read_holder(self.client)
            if holder is None:
                continue
            if holder.is_dead() and self._take_over(holder):
                return
            if time.monotonic() >= end:
                raise RefusedError(
                    f"{self.client.address} is locked: {holder.text()}",
                    fix=f"wait: it expires in {max(holder.left_s, 0)} s unless renewed;"
                    " --lock-timeout waits longer",
                )
            if waiting and not announced:
                waiting(f"waiting for the lock: {holder.text()}")
                announced = True
            time.sleep(POLL_S)

    def _row(self, stage: str, modules: Mapping[str, bool]) -> dict[str, str]:
        """Return the row of this owner as SQL literals, by column."""
        return {
            "owner": literal(self.owner),
            "host": literal(socket.gethostname()),
            "pid": str(os.getpid()),
            "purpose": literal(self.purpose),
            "stage": literal(stage),
            "modules": literal(json.dumps(dict(modules))),
            "expires": _lease_ends(),
        }

    def _insert(self) -> bool:
        row = self._row("", {})
        self._is_held = True  # a broken connection may have inserted the row; `release` checks
        try:
            self.client.execute(
                Statement.plain(
                    f"INSERT INTO {_TABLE}(id,{','.join(row)}) VALUES (1,{','.join(row.values())})"
                )
            )
        except StatementError as error:
            self._is_held = False
            if "UNIQUE constraint failed" in error.message:
                return False
            raise
        self._renewed = time.monotonic()
        return True

    def _take_over(self, holder: Holder) -> bool:
        """Take over a dead holder's row, with the modules in it."""
        sets = ",".join(f"{name}={value}" for name, value in self._row("", holder.modules).items())
        self.leftovers, self._is_held = holder.modules, True
        count = self.client.execute(
            Statement.plain(
                f"UPDATE {_TABLE} SET {sets}"
                f" WHERE ifnull(owner,'')={literal(holder.owner)}"
                f" AND ifnull(CAST(expires AS TEXT),'')={literal(holder.expires)}"
            )
        )
        if count != 1:
            self.leftovers, self._is_held = {}, False
        self._renewed = time.monotonic()
        return count == 1

    def mark(self, stage: str, modules: Mapping[str, bool]) -> None:
        """Record the stage and the modules, and renew the lease.

        `modules`: the admin modules being written, and whether MEMORY of each equalled DISK.
        Raises: RefusedError if the lock was taken or removed in the meantime.
        """
        text = json.dumps({**modules, **self.leftovers})
        self._update(f"stage={literal(stage)},modules={literal(text)},expires={_lease_ends()}")

    @contextmanager
    def renewed_for(self, command: str, modules: Mapping[str, bool]) -> Iterator[None]:
        """Renew the lease as the last thing before the block, which sends one LOAD or SAVE.

        Unlike a write to MEMORY, a command cannot have the lock as a condition, and a process may
        be stopped, or its output blocked, for longer than the lease. So whoever calls this writes,
        waits and reads before. Log records follow the block, and a renewal whose answer came late
        is repeated.
        `modules`: as in `mark`. Raises: as `mark`.
        """
        with self.client.logging_later():
            began = -inf
            while time.monotonic() - began > LATE_S:
                began = time.monotonic()
                self.mark(command, modules)
            yield

    def renew(self, *, at_once: bool = False) -> None:
        """Renew the lease; without `at_once` only if the last renewal is older than RENEW_S.

        A process that a debugger or a sleeping machine stopped for a while learns here, before it
        writes MEMORY, that another apply has taken over. Raises: as `mark`.
        """
        if at_once or time.monotonic() - self._renewed > RENEW_S:
            self._update(f"expires={_lease_ends()}")

    def fenced(self, statement: Statement) -> Statement:
        """Return the statement with a condition: it changes nothing unless we hold the lock.

        Another apply may take over between a check of the lock and the next statement. Shape: an
        INSERT of VALUES, or a statement that ends with a WHERE.
        """
        condition = f"EXISTS(SELECT 1 FROM {_TABLE} WHERE owner={literal(self.owner)})"

        def fence(sql: str) -> str:
            head, values, rows = sql.partition(_VALUES)
            if sql.startswith("INSERT INTO ") and values:
                return f"{head}) SELECT * FROM (VALUES {rows}) WHERE {condition}"
            return f"{sql} AND {condition}"

        return Statement(fence(statement.sql), lambda: fence(statement.masked))

    def _update(self, sets: str) -> None:
        began = time.monotonic()
        count = self.client.execute(
            Statement.plain(f"UPDATE {_TABLE} SET {sets} WHERE owner={literal(self.owner)}")
        )
        if count != 1:
            raise self._lost(read_holder(self.client))
        self._renewed = began

    def _lost(self, holder: Holder | None) -> RefusedError:
        """Return the error for a lock that was lost. Changes: the lock is not held."""
        self._is_held, self._is_lost = False, True
        reason = "the lock was removed, by unlock or by another apply that has finished"
        if holder is not None and holder.stage != _ABANDONED:
            reason = f"another command took the lock: {holder.text()}"
        return RefusedError(
            f"{self.client.address}: {reason}",
            fix="run plan again to see the current state",
        )

    def take_again(self) -> bool:
        """Take the lock again if ProxySQL was restarted; return whether it was restarted.

        Raises: RefusedError if somebody else holds the lock, or removed it without a restart.
        """
        # Kept until this method returns: the connection may break again meanwhile.
        self._is_gone = self._is_gone or not _has_table(self.client)
        holder = read_holder(self.client)
        if holder is not None and holder.owner == self.owner:
            was_gone, self._is_gone = self._is_gone, False
            return was_gone
        if holder is not None or not self._is_gone:
            raise self._lost(holder)
        self._is_held = False
        self.client.execute(Statement.plain(_CREATE))
        if not self._insert():
            raise self._lost(read_holder(self.client))
        self._is_gone = False
        return True

    def record_leftovers(self, modules: Mapping[str, bool]) -> None:
        """Record that MEMORY of these modules still holds rows of this apply."""
        self.leftovers = {**modules, **self.leftovers}

    def forget_leftovers(self, modules: Iterable[str]) -> None:
        """Forget the leftovers of these modules: MEMORY is in order again."""
        done = {*modules}
        self.leftovers = {name: was for name, was in self.leftovers.items() if name not in done}

    def release_or_report(self, say: Callable[[str], None]) -> None:
        """Release the lock, if necessary over a new connection; report a failure to `say`."""
        try:
            self.release()
        except InstanceError:
            try:
                self.client.connect()
                self.release()
            except InstanceError as error:
                say(f"the lock could not be released ({error.message}); it will expire by itself")

    def release(self) -> None:
        """Release the lock, unless a restart of ProxySQL has removed it."""
        if self._is_held and read_holder(self.client) is not None:
            _give_up(self.client, f"owner={literal(self.owner)}", self.leftovers)
        self._is_held = False


def _has_table(client: AdminClient) -> bool:
    """Return whether the table of the lock exists in this ProxySQL process."""
    tables = client.query(f"SELECT count(*) FROM sqlite_temp_master WHERE name={literal(_TABLE)}")
    return tables != [("0",)]


def _lease_ends() -> str:
    return f"{_NOW}+{LEASE_S}"


def read_holder(client: AdminClient) -> Holder | None:
    """Return the holder of the lock, or None. The table need not exist."""
    # A SELECT from a missing table would write an error to the instance's log.
    if not _has_table(client):
        return None
    rows = client.query(
        "SELECT owner, host, CAST(pid AS INT), purpose, stage, modules, expires,"
        f" CAST(expires AS INT)-{_NOW} FROM {_TABLE}",
    )
    if not rows:
        return None
    owner, host, pid, purpose, stage, modules, expires, left = (cell or "" for cell in rows[0])
    return Holder(
        owner, host, int(pid or 0), expires, int(left or 0), purpose, stage, _modules_in(modules)
    )


def _modules_in(text: str) -> dict[str, bool]:
    """Return the admin modules of a row; empty if proxyctl did not write the text."""
    try:
        modules = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {name: was is True for name, was in modules.items()} if isinstance(modules, dict) else {}


def read_staged(client: AdminClient) -> Mapping[str, bool]:
    """Return the admin modules that a dead command began to write."""
    holder = read_holder(client)
    return holder.modules if holder and holder.is_dead() else {}


def break_lock(client: AdminClient) -> Holder | None:
    """Remove the lock, whoever holds it; return the holder."""
    holder = read_holder(client)
    if holder is None or holder.stage == _ABANDONED:
        return None
    _give_up(client, "id=1", holder.modules)
    return holder


def _give_up(client: AdminClient, where: str, leftovers: Mapping[str, bool]) -> None:
    """Remove the row of the lock, or expire it if the next apply needs its modules."""
    if not leftovers:
        client.execute(Statement.plain(f"DELETE FROM {_TABLE} WHERE {where}"))
        return
    names = literal(json.dumps(dict(leftovers)))
    # Without an owner: a process that still runs must not find its lock.
    sets = f"owner='',stage={literal(_ABANDONED)},modules={names},expires=0"
    client.execute(Statement.plain(f"UPDATE {_TABLE} SET {sets} WHERE {where}"))


RECONNECT_S = 15

RESTARTED = "ProxySQL was restarted in the meantime, so MEMORY and RUNTIME now come from DISK"


@dataclass
class Reconnect:
    """Reconnect to an instance."""

    client: AdminClient
    """The connection to open again."""
    lock: Lock
    """The lock to check."""
    is_gone: bool = False
    """Whether the last attempt failed."""
    was_restarted: bool = False
    """Whether ProxySQL was restarted since the first connection."""

    def connect(self, cause: ConnectionLostError) -> bool:
        """Connect and check the lock, waiting for a ProxySQL that starts; return if it restarted.

        After a restart the lock is taken anew. Raises: `cause` if the instance does not answer;
        RefusedError if somebody else holds the lock now.
        """
        end = time.monotonic() + (0 if self.is_gone else RECONNECT_S)
        while True:
            try:
                self.client.connect()
                is_new = self.lock.take_again()
            except InstanceError:
                if time.monotonic() >= end:
                    self.is_gone = True
                    raise cause from None
                time.sleep(0.5)
            else:
                self.was_restarted = self.was_restarted or is_new
                return is_new
