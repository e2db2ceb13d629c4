"""Who may log in: the administrators, the readers of statistics, and the monitor's account."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from proxyctl.sandbox.replies import AdminError


class LoginRole(StrEnum):
    """What a login may do: everything, or read statistics."""

    ADMIN = "admin"
    STATS = "stats"


_LOCAL_ONLY = frozenset({"admin", "stats"})
_LOCAL_HOSTS = frozenset({"127.0.0.1", "::1"})
_LOCAL_ONLY_CODE = 1040


@dataclass(frozen=True)
class ClientSession:
    """One logged-in client."""

    user: str
    role: LoginRole
    host: str = "127.0.0.1"


class Proof(NamedTuple):
    """A client's proof by mysql_native_password that it knows the password."""

    nonce: bytes
    """The 20 bytes that the server sent."""
    response: bytes
    """The answer of the client."""

    def shows(self, password: str) -> bool:
        """Return whether the client knows this password."""
        if not password or not self.is_given:
            return not password and not self.is_given
        inner = _sha1(password.encode("utf-8", "surrogateescape"))
        outer = _sha1(self.nonce + _sha1(inner))
        return self.response == bytes(a ^ b for a, b in zip(inner, outer, strict=True))

    @property
    def is_given(self) -> bool:
        """Whether the client sent any password: without one it sends nothing, or a NUL."""
        return self.response.rstrip(b"\0") != b""


def _sha1(raw: bytes) -> bytes:
    return hashlib.sha1(raw, usedforsecurity=False).digest()


class AdminAccounts:
    """The administrators and the readers of statistics, in one map as in ProxySQL."""

    def __init__(self) -> None:
        self._credentials: dict[str, tuple[str, LoginRole]] = {}
        self._loaded = dict.fromkeys(LoginRole, "")

    def _load(self, running: Mapping[str, str]) -> None:
        """Update the logins from the two lists of credentials that have changed."""
        for role in LoginRole:
            text = running.get(f"admin-{role}_credentials", "")
            if text == self._loaded[role]:
                continue
            for name in _parsed(self._loaded[role]):
                self._credentials.pop(name, None)
            self._loaded[role] = text
            for name, password in _parsed(text).items():
                self._credentials[name] = (password, role)

    def log_in(
        self, user: str, host: str, proof: Proof, running: Mapping[str, str], *, is_remote: bool
    ) -> ClientSession:
        """Log a client in and return its session.

        `is_remote`: take the client as remote, whatever its address. Raises: AdminError, in
        ProxySQL's words, for a refused login.
        """
        self._load(running)
        login = self._credentials.get(user)
        is_monitor = login is None and user == running.get("mysql-monitor_username")
        if is_monitor:
            login = (running.get("mysql-monitor_password", ""), LoginRole.STATS)
        if login is None or not proof.shows(login[0]):
            raise denied(user, host, proof)
        if (is_remote or host not in _LOCAL_HOSTS) and (user in _LOCAL_ONLY or is_monitor):
            raise AdminError(
                f"User '{user}' can only connect locally", code=_LOCAL_ONLY_CODE, sqlstate="42000"
            )
        return ClientSession(user, login[1], host)


def denied(user: str, host: str, proof: Proof) -> AdminError:
    """Return the error for a refused login."""
    used = "YES" if proof.is_given else "NO"
    return AdminError(
        f"ProxySQL Error: Access denied for user '{user}'@'{host}' (using password: {used})"
    )


def _parsed(credentials: str) -> dict[str, str]:
    """Return the names and passwords of a list `user:password;user:password`."""
    entries = [entry.split(":") for entry in credentials.split(";") if entry]
    return {fields[0]: fields[1] if len(fields) > 1 else "" for fields in entries}
