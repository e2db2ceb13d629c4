"""Whether a clear-text password and a stored hash are the same password.

ProxySQL stores passwords as given. For MySQL: clear text, `*` and 40 hex digits
(mysql_native_password), or `$A$005$` with salt and digest (caching_sha2_password). Comparing texts
would report a change for every user with a hash on one side and clear text on the other. For
PostgreSQL: clear text, `SCRAM-SHA-256$` or `md5`. There only equal texts are the same password: the
form of the password decides what ProxySQL can do at a backend.
"""

from __future__ import annotations

import hashlib
import hmac
import re

_NATIVE = re.compile(r"\*[0-9A-Fa-f]{40}\Z")


_SHA2 = re.compile(r"\$A\$([0-9A-Fa-f]{3})\$(.{20})([./0-9A-Za-z]{43})\Z", re.DOTALL)


_SCRAM = re.compile(r"SCRAM-SHA-256\$\d+:[A-Za-z0-9+/=]+\$[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+\Z")


_MD5 = re.compile(r"md5[0-9a-f]{32}\Z")


_CRYPT_ALPHABET = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


_CRYPT_ORDER = (
    (0, 10, 20), (21, 1, 11), (12, 22, 2), (3, 13, 23), (24, 4, 14),
    (15, 25, 5), (6, 16, 26), (27, 7, 17), (18, 28, 8), (9, 19, 29),
)  # fmt: skip


def same_password(table: str, left: str, right: str) -> bool:
    """Return whether both texts are the same password of a users table.

    They are if they are identical or, for MySQL, clear text and its hash.
    """
    if left == right:
        return True
    return _is_mysql(table) and (_verifies(left, right) or _verifies(right, left))


def hashed_password(table: str, password: str) -> str | None:
    """Return a hash that works like the password in a users table; None if no hash is safe."""
    if _is_mysql(table):
        return password if is_hash(password) else native_hash(password)
    return password if _SCRAM.match(password) or _MD5.match(password) else None


def _is_mysql(table: str) -> bool:
    return table.startswith("mysql_")


def is_hash(text: str) -> bool:
    """Return whether ProxySQL reads the text as the hash of a MySQL password."""
    return bool(_NATIVE.match(text) or _SHA2.match(text))


_BROKEN = re.compile(
    rf"(?!{_NATIVE.pattern}|{_SHA2.pattern})(?:\*[0-9A-Fa-f]+\s*\Z|\$A\$)", _SHA2.flags
)


def is_broken_hash(text: str) -> bool:
    """Return whether the text looks like the hash of a MySQL password, cut or damaged.

    ProxySQL takes it for clear text, so nobody can log in with the password that was hashed.
    """
    return _BROKEN.match(text) is not None


def native_hash(clear: str) -> str:
    """Return the mysql_native_password hash: `*` and the hex digits of SHA1(SHA1(password))."""
    inner = hashlib.sha1(_bytes(clear), usedforsecurity=False).digest()
    return "*" + hashlib.sha1(inner, usedforsecurity=False).hexdigest().upper()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _verifies(clear: str, stored: str) -> bool:
    if not stored or is_hash(clear):
        return False
    if _NATIVE.match(stored):
        return hmac.compare_digest(native_hash(clear), stored.upper())
    match = _SHA2.match(stored)
    if match is None:
        return False
    rounds = int(match[1], 16) * 1000
    digest = sha256_crypt(_bytes(clear), _bytes(match[2]), rounds)
    return hmac.compare_digest(digest, match[3].encode())


def sha256_crypt(password: bytes, salt: bytes, rounds: int) -> bytes:
    """Return the 43 characters of SHA-256-crypt.

    Source: the SHA-crypt specification, section "Algorithm for crypt using SHA-256/SHA-512". MySQL
    uses a salt of 20 arbitrary bytes, which the crypt libraries refuse.
    """
    sha256 = hashlib.sha256
    inner = sha256(password + salt + password).digest()
    length = len(password)
    start = password + salt + _stretch(inner, length)
    bits = length
    while bits:
        start += inner if bits & 1 else password
        bits >>= 1
    digest = sha256(start).digest()
    p_bytes = _stretch(sha256(password * length).digest(), length)
    s_bytes = _stretch(sha256(salt * (16 + digest[0])).digest(), len(salt))
    for turn in range(rounds):
        parts = p_bytes if turn & 1 else digest
        if turn % 3:
            parts += s_bytes
        if turn % 7:
            parts += p_bytes
        digest = sha256(parts + (digest if turn & 1 else p_bytes)).digest()
    return _crypt_text(digest)


def _stretch(block: bytes, length: int) -> bytes:
    return (block * (length // len(block) + 1))[:length]


def _crypt_text(digest: bytes) -> bytes:
    text = bytearray()
    for a, b, c in _CRYPT_ORDER:
        text += _base64(digest[a] << 16 | digest[b] << 8 | digest[c], 4)
    return bytes(text + _base64(digest[31] << 8 | digest[30], 3))


def _base64(value: int, count: int) -> bytes:
    return bytes(_CRYPT_ALPHABET[value >> 6 * place & 63] for place in range(count))
