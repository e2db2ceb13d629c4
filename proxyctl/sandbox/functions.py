"""The SQL functions that ProxySQL adds to SQLite."""

from __future__ import annotations

import secrets
import sqlite3
from datetime import UTC, datetime

from proxyctl.sandbox.replies import Cell
from proxyctl.state.passwords import native_hash, sha256_crypt

_WRONG_TYPE = "Invalid argument type"
_WRONG_SIZE = "Invalid argument size"
_SALT_LENGTH = 20
_ROUNDS = 5000
_SALT_ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def add_functions(connection: sqlite3.Connection) -> None:
    """Let SQL call them."""
    connection.create_function("MYSQL_NATIVE_PASSWORD", 1, _mysql_native_password)
    connection.create_function("CACHING_SHA2_PASSWORD", 1, _caching_sha2_password_random)
    connection.create_function(
        "CACHING_SHA2_PASSWORD", 2, _caching_sha2_password, deterministic=True
    )
    connection.create_function("from_unixtime", -1, _from_unixtime)


def _mysql_native_password(clear: Cell) -> Cell:
    if not isinstance(clear, str):
        return _WRONG_TYPE
    return native_hash(clear) if clear else _WRONG_SIZE


def _caching_sha2_password(clear: Cell, salt: Cell) -> Cell:
    if not isinstance(clear, str) or not isinstance(salt, str):
        return _WRONG_TYPE
    raw, raw_salt = (text.encode("utf-8", "surrogateescape") for text in (clear, salt))
    if not raw or not 0 < len(raw_salt) <= _SALT_LENGTH:
        return _WRONG_SIZE
    return f"$A$005${salt}{sha256_crypt(raw, raw_salt, _ROUNDS).decode()}"


def _caching_sha2_password_random(clear: Cell) -> Cell:
    salt = "".join(secrets.choice(_SALT_ALPHABET) for _ in range(_SALT_LENGTH))
    return _caching_sha2_password(clear, salt)


def _from_unixtime(seconds: Cell = None, *_others: Cell) -> Cell:
    text = seconds.decode(errors="replace") if isinstance(seconds, bytes) else str(seconds)
    try:
        moment = datetime.fromtimestamp(int(float(text)), UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.strftime("%Y-%m-%d %H:%M:%S")
