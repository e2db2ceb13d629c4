"""What an error of the monitor's connections tells of a server, and what helps.

Source: MariaDB 10.11 behind ProxySQL 2.7.1, run, but for what the manual of MySQL 8.0 says of an
account that is blocked for days.
"""

from __future__ import annotations

import re

_DENIED = (
    "access denied",
    "using password:",
    "authentication",
    "is not allowed to connect",
    "insecure transport",
    "too many credential errors",
    "password has expired",
    "has exceeded the",
)
"""The server answers, and does not let this account in."""
_CLOSED = ("too many connections", "max_user_connections", "blocked because of")
"""The server answers, and lets nobody in, or nobody more."""
_TIMED_OUT = ("timeout", "timed out", "system error: 110", "(110)")
_GONE = ("can't connect", "lost connection", "gone away", "connection refused")
_EXPIRED = ("password has expired", "you must set password", "you must reset your password")
"""The last two: the account gets in, and every query of it fails."""
_LIMIT = re.compile(r"exceeded the '(\w+)' resource")

_TLS = "`use_ssl: true` of the server in mysql_servers"


def is_denied(error: str) -> bool:
    """Return whether a server has answered, and did not let the monitor in."""
    return any(words in error.lower() for words in _DENIED)


def is_refusal(error: str) -> bool:
    """Return whether a server has answered, and takes no new connection from here.

    Connections that were opened before go on: that they work proves nothing.
    """
    return is_denied(error) or any(words in error.lower() for words in _CLOSED)


def is_timeout(error: str) -> bool:
    """Return whether no answer came in time."""
    return not is_refusal(error) and any(words in error.lower() for words in _TIMED_OUT)


def is_expired(error: str) -> bool:
    """Return whether the account has to get a new password."""
    return any(words in error.lower() for words in _EXPIRED)


def way_in(user: str, error: str, *, may_lack_tls: bool) -> str:
    """Return what lets the account in that is denied, or whose password has expired.

    `may_lack_tls`: ProxySQL connects without. Whoever has to use TLS and does not, is told that his
    account or password is wrong.
    """
    text = error.lower()
    account = f"'{user}'@'%'"
    right = "set mysql-monitor_password (`{env: NAME}`) to that of the account"
    if "insecure transport" in text:
        return _TLS
    if "account is locked" in text:
        return f"ALTER USER {account} ACCOUNT UNLOCK"
    if "account is blocked" in text:
        return f"{right}, then ALTER USER {account} ACCOUNT UNLOCK"
    if "too many credential errors" in text:
        return f"{right}, then FLUSH PRIVILEGES there"
    if is_expired(error):
        return f"ALTER USER {account} IDENTIFIED BY '...' there, and {right}"
    if limit := _LIMIT.search(text):
        return f"ALTER USER {account} WITH {limit[1].upper()} 0 there, which is no limit"
    way_out = (
        f"{right}, or create it there: CREATE USER {account} IDENTIFIED BY '...';"
        f" GRANT REPLICATION CLIENT ON *.* TO {account}"
    )
    return (
        f"{way_out}; if both are right, it may have to use TLS: {_TLS}" if may_lack_tls else way_out
    )


def way_to_connect(error: str) -> str:
    """Return what helps where the monitor cannot connect, but is not denied."""
    text = error.lower()
    if "too many connections" in text:
        return "raise max_connections there, or lower that of the server in mysql_servers"
    if "max_user_connections" in text:
        return "raise max_user_connections there"
    if "blocked because of" in text:
        return "FLUSH HOSTS there, or TRUNCATE performance_schema.host_cache since MySQL 8.4"
    if is_timeout(error):
        return "look at the network and at firewalls between ProxySQL and it"
    if "unknown server host" in text:
        return (
            "put the name right in mysql_servers, or look at the name service (DNS) of the machine"
            " that ProxySQL runs on"
        )
    if any(words in text for words in _GONE):
        return "start it, or take it out of mysql_servers; see `proxyctl nodes list`"
    return "look there at what the error says; see `proxyctl nodes list`"
