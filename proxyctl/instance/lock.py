"""The advisory lock: one apply at a time on an instance, among all proxyctl that may reach it.

A row in a TEMP table: all admin sessions share one SQLite handle and so see it, SHOW TABLES does
not, and it is gone with the process. INSERT takes the lock, an UPDATE by owner and expiry takes
over that of a dead owner. Nothing stops people who do not ask for it. Source: measured on 2.7.1.
"""

from __future__ import annotations

import json
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from proxyctl.errors import ConnectionLostError, InstanceError, RefusedError, StatementError
from proxyctl.instance.client import AdminClient
from proxyctl.state.sql import Statement, literal
from proxyctl.text import printable

LEASE_S = 60
"""How long a lock is good for unless it is renewed: as long as a statement may take."""


RENEW_S = 1.0
"""After this time the lock is looked at again before the next statement that writes."""


POLL_S = 0.5


_TABLE = "proxyctl_lock"


_ABANDONED = "abandoned"
"""The stage of a row that only keeps the modules which a dead apply left half done."""


_VALUES = ") VALUES "
"""Between the columns and the rows of an INSERT; no name of a column has it."""


_CREATE = (
    f"CREATE TEMP TABLE IF NOT EXISTS {_TABLE}(id INTEGER PRIMARY KEY CHECK(id=1), owner, host,"
    " pid INT, purpose, stage, modules, expires INT)"
)


_NOW = "CAST(strftime('%s','now') AS INT)"
"""The instance's clock: those of several operators need not agree."""


_LEASE_ENDS = f"{_NOW}+{LEASE_S}"


@dataclass(frozen=True)
class Holder:
    """Who holds the lock. Units: `left_s` seconds until it expires, negative when it has.

    `expires` as the row has it, which may be no number: others may write rows, too. `modules`:
    those that are being written, and whether MEMORY of each was what DISK held before.
    """

    owner: str
    host: str
    pid: int
    expires: str
    left_s: int
    purpose: str
    stage: str
    modules: Mapping[str, bool]

    def is_dead(self) -> bool:
        """Return whether it expired, or was taken beside us by a process that is gone."""
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
            return True  # no process has such a number
        return False

    def text(self) -> str:
        """Return who it is, for people."""
        text = f"{self.purpose} by pid {self.pid} on {self.host}, {self.stage or 'starting'}"
        return printable(text)  # a row that anybody may write


@cache
def process_space() -> str:
    """Return a name for all processes whose numbers mean the same here: a boot, and a namespace.

    Containers may share a host name and not their processes. Empty where the system does not tell.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return f"{boot.partition('-')[0]}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


@dataclass
class Lock:
    """The lock of one apply on one instance.

    `leftovers`: the admin modules that a dead owner had begun to write, and whether MEMORY of each
    was what DISK held before. They stay on record until an apply has finished them.
    """

    client: AdminClient
    purpose: str
    owner: str = field(default_factory=lambda: f"{uuid.uuid4().hex}@{process_space()}")
    leftovers: Mapping[str, bool] = field(default_factory=dict)
    _renewed: float = 0.0
    _is_held: bool = False
    _is_lost: bool = False
    _is_gone: bool = False
    """Whether the process that kept it has ended, and it was not taken again yet."""

    @property
    def is_lost(self) -> bool:
        """Whether it was found to be somebody else's, or nobody's, while it was held.

        Since when is not known, nor who was there in between.
        """
        return self._is_lost

    def take(self, *, timeout_s: float, waiting: Callable[[str], None] | None = None) -> None:
        """Take the lock, waiting for another holder at most `timeout_s`.

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
                    hint=f"it expires in {max(holder.left_s, 0)} s unless renewed;"
                    " --lock-timeout waits longer",
                )
            if waiting and not announced:
                waiting(f"waiting for the lock: {holder.text()}")
                announced = True
            time.sleep(POLL_S)

    def _row(self, stage: str, modules: Mapping[str, bool]) -> dict[str, str]:
        """Return our row as SQL, by column."""
        return {
            "owner": literal(self.owner),
            "host": literal(socket.gethostname()),
            "pid": str(os.getpid()),
            "purpose": literal(self.purpose),
            "stage": literal(stage),
            "modules": literal(json.dumps(dict(modules))),
            "expires": _LEASE_ENDS,
        }

    def _insert(self) -> bool:
        row = self._row("", {})
        self._is_held = True  # if the connection breaks now it may be: `release` finds out
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
        """Take a dead holder's row; its modules stay in it until ours are known."""
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
        """Record what is being done, and renew the lease.

        `modules`: those that are being written, and whether MEMORY of each was what DISK held.
        Raises: RefusedError when the lock was taken or removed in the meantime.
        """
        text = json.dumps({**modules, **self.leftovers})
        self._update(f"stage={literal(stage)},modules={literal(text)},expires={_LEASE_ENDS}")

    def renew(self, *, at_once: bool = False) -> None:
        """Renew the lease unless that was done a moment ago; `at_once` always does.

        A process that was stopped for longer, by a debugger or a sleeping machine, learns here that
        another apply has taken over, before it writes MEMORY. Raises: as `mark`.
        """
        if at_once or time.monotonic() - self._renewed > RENEW_S:
            self._update(f"expires={_LEASE_ENDS}")

    def fenced(self, statement: Statement) -> Statement:
        """Return the statement with a condition: it changes nothing once the lock is not ours.

        Another apply may take over between a check of the lock and the statement that follows.
        Shape: as `state.sql` makes them: an INSERT of VALUES, or one that ends with a WHERE.
        """
        condition = f"EXISTS(SELECT 1 FROM {_TABLE} WHERE owner={literal(self.owner)})"

        def fence(sql: str) -> str:
            head, values, rows = sql.partition(_VALUES)
            if sql.startswith("INSERT INTO ") and values:
                return f"{head}) SELECT * FROM (VALUES {rows}) WHERE {condition}"
            return f"{sql} AND {condition}"

        return Statement(fence(statement.sql), lambda: fence(statement.masked))

    def _update(self, sets: str) -> None:
        count = self.client.execute(
            Statement.plain(f"UPDATE {_TABLE} SET {sets} WHERE owner={literal(self.owner)}")
        )
        if count != 1:
            raise self._lost(read_holder(self.client))
        self._renewed = time.monotonic()

    def _lost(self, holder: Holder | None) -> RefusedError:
        """Return the error for a lock that is not ours any more. Changes: it is not held."""
        self._is_held, self._is_lost = False, True
        what = "the lock was removed, by unlock or by another apply that has ended"
        if holder is not None and holder.stage != _ABANDONED:
            what = f"the lock was taken by somebody else: {holder.text()}"
        return RefusedError(
            f"{self.client.address}: {what}",
            hint="run plan again: it shows what is there now",
        )

    def take_again(self) -> bool:
        """Take the lock again if ProxySQL was restarted; return whether it was.

        Raises: RefusedError when somebody else holds it, or removed it: its table is still there.
        """
        # Once gone it stays so until this returns: the connection may break again in between.
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

    def leave(self, modules: Mapping[str, bool]) -> None:
        """Keep in the lock that MEMORY of these modules still holds our rows."""
        self.leftovers = {**modules, **self.leftovers}

    def finished(self, modules: Iterable[str]) -> None:
        """Forget what a dead owner left in these modules: it is in order now."""
        done = {*modules}
        self.leftovers = {name: was for name, was in self.leftovers.items() if name not in done}

    def give_back(self, say: Callable[[str], None]) -> None:
        """Release the lock, over a new connection if ours broke; report a failure to `say`."""
        try:
            self.release()
        except InstanceError:
            try:
                self.client.connect()
                self.release()
            except InstanceError as error:
                say(
                    f"the lock could not be released ({error.message}); it ends with ProxySQL, or"
                    " expires by itself"
                )

    def release(self) -> None:
        """Release the lock; after a restart of ProxySQL it is gone already."""
        if self._is_held and read_holder(self.client) is not None:
            _give_up(self.client, f"owner={literal(self.owner)}", self.leftovers)
        self._is_held = False


def _has_table(client: AdminClient) -> bool:
    """Return whether anybody asked for the lock since the process started."""
    tables = client.query(f"SELECT count(*) FROM sqlite_temp_master WHERE name={literal(_TABLE)}")
    return tables != [("0",)]


def read_holder(client: AdminClient) -> Holder | None:
    """Return who holds the lock, or None. The table need not exist."""
    # Asked first: a statement that fails would stand in the instance's error log.
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
    """Return the admin modules of a row; none where somebody else wrote the row."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {name: was is True for name, was in found.items()} if isinstance(found, dict) else {}


def read_staged(client: AdminClient) -> Mapping[str, bool]:
    """Return the admin modules that an apply of ours had begun to write when it died."""
    holder = read_holder(client)
    return holder.modules if holder and holder.is_dead() else {}


def break_lock(client: AdminClient) -> Holder | None:
    """Remove the lock whoever holds it, and return the holder."""
    holder = read_holder(client)
    if holder is None or holder.stage == _ABANDONED:
        return None
    _give_up(client, "id=1", holder.modules)
    return holder


def _give_up(client: AdminClient, where: str, leftovers: Mapping[str, bool]) -> None:
    """Remove the row of the lock; where the next apply needs its modules, let it expire instead."""
    if not leftovers:
        client.execute(Statement.plain(f"DELETE FROM {_TABLE} WHERE {where}"))
        return
    names = literal(json.dumps(dict(leftovers)))
    # Without an owner: a process that still lives must not find its lock again.
    sets = f"owner='',stage={literal(_ABANDONED)},modules={names},expires=0"
    client.execute(Statement.plain(f"UPDATE {_TABLE} SET {sets} WHERE {where}"))


RECONNECT_S = 15


RESTARTED = "ProxySQL was restarted meanwhile: MEMORY and RUNTIME of every module came from DISK"


@dataclass
class Reconnect:
    """The way back to an instance. `is_gone`: it stayed away when we last tried."""

    client: AdminClient
    lock: Lock
    is_gone: bool = False
    was_restarted: bool = False

    def again(self, cause: ConnectionLostError) -> bool:
        """Connect, waiting for a ProxySQL that is starting. Return whether it was restarted.

        Then the lock is taken anew. Raises: `cause` when the instance stays away; RefusedError when
        somebody else holds the lock now.
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
