"""The sessions that queries are tried in: one for each kind of user that rules can tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from proxyctl.lint.subject import Subject
from proxyctl.routing import Frontend, Request, frontends
from proxyctl.routing.rule import Rule
from proxyctl.state.row import Key


class Session(NamedTuple):
    """A client, as far as rules ask for it. None is what no rule asks for."""

    username: str | None
    schemaname: str | None = None
    client_addr: str | None = None
    proxy_addr: str | None = None
    proxy_port: int | None = None
    flag: int = 0

    def request(self, query: str) -> Request:
        """Return a query of this session."""
        return Request(
            query.encode("utf-8", "surrogateescape"),
            self.username,
            self.schemaname,
            self.client_addr,
            self.proxy_addr,
            self.proxy_port,
            self.flag,
        )

    def __str__(self) -> str:
        """The words that follow a query: whose it is. Empty where any session would do."""
        words = [f" of user {self.username}"] if self.username is not None else []
        if self.schemaname is not None:
            words.append(f" in schema {self.schemaname}")
        if self.client_addr is not None:
            words.append(f" from {self.client_addr}")
        if self.proxy_addr is not None:
            words.append(f" through {self.proxy_addr}")
        if self.proxy_port is not None:
            words.append(f" through port {self.proxy_port}")
        if self.flag:
            words.append(f" with flagIN {self.flag}")
        return "".join(words)


@lru_cache(maxsize=1)
def logins(subject: Subject) -> dict[str, Frontend]:
    """Return who may log in, by name."""
    users = subject.configuration.tables.get("mysql_users")
    return frontends(users.layout, users.rows.values()) if users else {}


@lru_cache(maxsize=1)
def login_keys(subject: Subject) -> dict[str, Key]:
    """Return the row of mysql_users that each login comes from, by name."""
    return {
        str(cells["username"]): key
        for key, cells in subject.cells("mysql_users")
        if cells["active"] == cells["frontend"] == 1
    }


@lru_cache(maxsize=1)
def classes(subject: Subject) -> dict[str | None, str | None]:
    """Return for each user the one that stands for it: no rule tells the two apart.

    Shape: None stands for nobody in particular where no user is known.
    """
    users = logins(subject)
    named = {rule.username for rule in subject.rules}
    schemas = {rule.schemaname for rule in subject.rules}
    first: dict[object, str] = {}
    found: dict[str | None, str | None] = {}
    for name, user in users.items():
        schema = user.default_schema if user.default_schema in schemas else None
        kind = (user.default_hostgroup, user.fast_forward, schema)
        found[name] = name if name in named else first.setdefault(kind, name)
    if not found:
        found[None] = None
    return found


@lru_cache(maxsize=1)
def sessions(subject: Subject) -> tuple[Session, ...]:
    """Return a session for each kind of user, and for what rules ask for besides users."""
    found = [Session(name) for name in dict.fromkeys(classes(subject).values())]
    anybody = next((s.username for s in found if s.username is not None), None)
    flags = {flag for rule in subject.rules if (flag := next_flag(rule))}
    found += [Session(anybody, flag=flag) for flag in sorted(flags)]
    found += [session_for(rule, anybody) for rule in subject.rules if rule.is_for_some_sessions]
    found += _routed_fast(subject)
    return tuple(dict.fromkeys(found))


def session_for(rule: Rule, anybody: str | None) -> Session:
    """Return a session that has what the rule asks for; of `anybody` if it names no user."""
    address = rule.client_addr
    if address is not None and "%" in address:
        address = address.partition("%")[0]
        if address.endswith("."):
            # 10.0.% takes 10.0.0.1.
            address += "0." * (3 - address.count("."))
        address = address + "1" if address else None
    return Session(
        rule.username or anybody, rule.schemaname, address, rule.proxy_addr, rule.proxy_port
    )


def next_flag(rule: Rule) -> int | None:
    """Return where the session's next query begins behind this rule, if it says so."""
    return next((int(value) for name, value in rule.sets if name == "next_query_flagIN"), None)


def _routed_fast(subject: Subject) -> Iterator[Session]:
    """Yield one user and schema for each way in which rows of fast routing are alike."""
    table = subject.configuration.tables.get("mysql_query_rules_fast_routing")
    if table is None:
        return
    index = table.layout.index
    at = [index[name] for name in ("username", "schemaname", "flagIN", "destination_hostgroup")]
    who, schema, flag, destination = at
    ways: dict[tuple[object, object], list[tuple[object, object]]] = {}
    for row in table.rows.values():
        ways.setdefault((row[who], row[schema]), []).append((row[flag], row[destination]))
    named = {rule.username for rule in subject.rules}
    schemas = {rule.schemaname for rule in subject.rules}
    users = logins(subject)
    anybody = next(iter(users), None)
    known: set[object] = set()
    for (username, schemaname), found in ways.items():
        user = users.get(str(username))
        kind = (
            username if username in named else None,
            schemaname if schemaname in schemas else None,
            None if user is None else user.default_hostgroup,
            tuple(sorted(found, key=str)),
        )
        if kind not in known:
            known.add(kind)
            yield Session(str(username) or anybody, str(schemaname))
