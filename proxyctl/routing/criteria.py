r"""Criteria of rules that load and do not work: they match nothing, everything, or something else.

ProxySQL compares most criteria as texts, character by character, and reports none that cannot
match. What is known about a column stands here once; lint and `explain` ask it.
Source: ProxySQL 2.7.1 and 3.0.3, run with each kind of value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from proxyctl.catalog import Value
from proxyctl.catalog.releases import PGSQL_DIGESTS
from proxyctl.proxysql.cells import DIGEST_FIX, digest_problem, normal_digest
from proxyctl.proxysql.configuration import Configuration
from proxyctl.proxysql.load_image import CLIENT_ADDR_FIX, client_addr_problem
from proxyctl.routing.addresses import (
    address_of_nobody,
    client_addr_of_nobody,
    client_addr_too_wide,
    interfaces_of,
)
from proxyctl.routing.dialect import MYSQL, PGSQL
from proxyctl.routing.digest import DigestOptions
from proxyctl.routing.digest.shape import Never, needs_backslash, why_never
from proxyctl.routing.firewall import Firewall
from proxyctl.routing.regex import (
    CONTROL_FIX,
    BadPattern,
    Broken,
    Compiled,
    as_bytes,
    compile_pattern,
    control_problem,
)
from proxyctl.routing.regex.samples import samples
from proxyctl.routing.router import Router
from proxyctl.routing.rule import Rule, subnet_of
from proxyctl.rows.row import SENSITIVE, ColumnValues, Secret


class Effect(Enum):
    """What a flawed criterion does to its rule."""

    NEVER = "the rule never matches"
    HARDLY_EVER = "the rule hardly ever matches"
    EVERYTHING = "the rule matches as if it were not there"
    MISREAD = "ProxySQL reads a different value"
    DOUBTFUL = "the rule may match different queries than it seems to"


class CriterionFlaw(NamedTuple):
    """What is wrong with a criterion."""

    effect: Effect
    """What the flaw does to the rule."""
    problem: str
    """The problem, in words that follow the column's value in a message."""
    fix: str | None = None
    """The fix, if one is known."""


_REPEATED = frozenset({"client_addr", "digest"})
"""The columns whose flaws repeat parts of the value."""


class Criteria:
    """The criteria of rules under one side of a configuration."""

    def __init__(self, configuration: Configuration, router: Router) -> None:
        """`router`: of this side; without users it is not known who may log in."""
        self._configuration = configuration
        self._dialect = router.dialect
        self._users = router.users
        self._variables = router.variables
        self._of_column: dict[str, Callable[[str], CriterionFlaw | None]] = {
            "username": self.username,
            self._dialect.schema_column: self.schemaname,
            "client_addr": self.client_addr,
            "digest": self.digest,
        }

    def flaw(self, cells: ColumnValues, rule: Rule | None, column: str) -> CriterionFlaw | None:
        """Return what is wrong with a column of an active rule; None if it may work.

        Shape: `cells` as the table holds them; `rule` None if ProxySQL drops the row at LOAD.
        """
        value = cells.get(column)
        if value is None:
            return None
        if column == "match_pattern":
            return self.escape(cells, column)
        if column == "match_digest":
            return self.escape(cells, column) or self.match_digest(cells, rule)
        if column in ("proxy_addr", "proxy_port"):
            return self.interface(cells, column)
        of_column = self._of_column.get(column)
        flaw = of_column(str(value)) if of_column else None
        if flaw is not None and column in _REPEATED and isinstance(value, Secret):
            return flaw._replace(problem=flaw.effect.value, fix="correct it")
        return flaw

    # -- the session ----------------------------------------------------------------------------

    def username(self, name: str) -> CriterionFlaw | None:
        """Return what is wrong with a username of rules or fast routing."""
        if not name:
            return None
        if not self._users:
            return self.name(name, "a username")
        user = self._users.get(name)
        if user is None:
            problem = f"no active row of {self._dialect.users} has this frontend user"
            alike = [known for known in self._users if _is_alike(known, name)]
            fix = "write the exact name, in the same case and without wildcards" if alike else None
            flaw = self.name(name, "a username")
            return CriterionFlaw(Effect.DOUBTFUL, problem, fix or (flaw and flaw.fix))
        if user.fast_forward:
            return CriterionFlaw(
                Effect.NEVER, "the user has fast_forward, which skips rules and firewall"
            )
        return None

    def schemaname(self, name: str) -> CriterionFlaw | None:
        """Return what is wrong with a schemaname of rules."""
        return self.name(name, f"a {self._dialect.schema_column}")

    def schemaname_of_row(self, name: str) -> CriterionFlaw | None:
        """Return what is wrong with a schemaname where '' does not stand for any."""
        if not name.strip("%"):
            problem = "% is not a wildcard there" if name else "no session has it"
            fix = f"write a row for each {self._dialect.schema}"
            return CriterionFlaw(Effect.NEVER, f"{problem}, so the row is never used", fix)
        return self.schemaname(name)

    def name(self, name: str, noun: str) -> CriterionFlaw | None:
        """Return what is wrong with a name that is compared exactly. `noun`: `a username`."""
        if name != name.strip():
            problem = f"{noun} is compared exactly, including leading and trailing spaces"
            return CriterionFlaw(Effect.NEVER, problem, "remove the space")
        if _QUOTED_NAME.fullmatch(name):
            problem = f"{noun} is compared exactly, including the quotes around it"
            return CriterionFlaw(Effect.NEVER, problem, "remove the quotes")
        if "%" in name:
            problem = f"{noun} is compared exactly: % is not a wildcard there"
            is_any = name.strip("%") == ""
            fix = "leave it out to match any" if is_any else "write a row for each name"
            return CriterionFlaw(Effect.NEVER, problem, fix)
        return None

    def client_addr(self, text: str) -> CriterionFlaw | None:
        """Return what is wrong with a client_addr."""
        if subnet_of(text, self._configuration.version) is not None:
            return None
        if problem := client_addr_problem(text):
            return CriterionFlaw(Effect.NEVER, problem, CLIENT_ADDR_FIX)
        if nobody := client_addr_of_nobody(text):
            return CriterionFlaw(Effect.NEVER, *nobody)
        wide = client_addr_too_wide(text)
        return wide and CriterionFlaw(Effect.DOUBTFUL, *wide)

    @cached_property
    def _interfaces(self) -> str | None:
        """The variable with the entries that ProxySQL listens on; None if it is not known."""
        return self._configuration.variables.get(self._dialect.variable("interfaces"))

    def interface(self, cells: ColumnValues, column: str) -> CriterionFlaw | None:
        """Return what is wrong with a proxy_addr or a proxy_port."""
        value = cells[column]
        if value == "":
            return None
        if self._interfaces is None:
            if column == "proxy_port":
                return _SOCKET_PORT if value == 0 else None
            flaw = self.name(str(value), "a proxy_addr")
            has_port = re.search(r"\A[^:]*:[0-9]+\Z|\]:[0-9]+\Z", str(value))
            return flaw or (_ADDRESS_AND_PORT if has_port else None)
        known = interfaces_of(self._interfaces)
        place = 0 if column == "proxy_addr" else 1
        if all(entry[place] != value for entry in known):
            listed = ", ".join(str(entry[place]) for entry in known)
            name = self._dialect.variable("interfaces")
            problem = f"no entry of {name} has it; entries are compared as text"
            is_secret = isinstance(self._interfaces, Secret)
            fix = f"choose from the entries: {SENSITIVE if is_secret else listed}"
            return CriterionFlaw(Effect.NEVER, problem, fix)
        address, port = cells.get("proxy_addr"), cells.get("proxy_port")
        if column == "proxy_port" and address and (address, port) not in known:
            return CriterionFlaw(Effect.NEVER, "the entry with this proxy_addr has another port")
        return None

    # -- the query ------------------------------------------------------------------------------

    def digest(self, text: str) -> CriterionFlaw | None:
        """Return what is wrong with a digest."""
        if not text:
            return None
        problem = digest_problem(text)
        if problem is None:
            digits = len(text) - 2
            if digits >= _SHORTEST_DIGEST[self._dialect]:
                return None
            problem = f"{digits} of 16 digits: a part of a digest matches no query"
            return CriterionFlaw(Effect.DOUBTFUL, problem, DIGEST_FIX)
        if normal_digest(text) is None:
            return CriterionFlaw(Effect.EVERYTHING, problem, DIGEST_FIX)
        is_spelling = _SAME_NUMBER.fullmatch(text) is not None
        return CriterionFlaw(
            Effect.DOUBTFUL if is_spelling else Effect.MISREAD, problem, DIGEST_FIX
        )

    def escape(self, cells: ColumnValues, column: str) -> CriterionFlaw | None:
        """Return what is wrong with the backslashes of a pattern."""
        text = str(cells[column])
        if problem := control_problem(text):
            return CriterionFlaw(Effect.HARDLY_EVER, problem, CONTROL_FIX)
        if "\\\\" not in text or not needs_backslash(text):
            return None
        effect = Effect.HARDLY_EVER if column == "match_digest" else Effect.DOUBTFUL
        return CriterionFlaw(effect, _ASKS_FOR_BACKSLASH, self._single_backslashes(cells[column]))

    def _single_backslashes(self, pattern: Value) -> str:
        text = str(pattern).replace("\\\\", "\\")
        if not isinstance(pattern, Secret) and not needs_backslash(text):
            try:
                compile_pattern(as_bytes(text), self._variables.engine)
            except BadPattern:
                pass
            else:
                return f"write one backslash: '{text}'"
        return "write one backslash"

    @cached_property
    def _digest_options(self) -> DigestOptions | None:
        """The options in force; None with digests off, or of a PostgreSQL side with its own."""
        held = self._configuration
        has_own = self._dialect is PGSQL and held.version.has(PGSQL_DIGESTS)
        if has_own or not self._variables.query_digests:
            return None
        prefix = self._dialect.variable("query_digests_")
        return DigestOptions.from_variables(held.all_variables(), held.version, prefix=prefix)

    def match_digest(self, cells: ColumnValues, rule: Rule | None) -> CriterionFlaw | None:
        """Return why the match_digest of a rule matches no digest text."""
        pattern = rule.match_digest if rule else None
        if pattern is None or isinstance(pattern, Broken):
            return None
        return self.as_match_digest(
            str(cells["match_digest"]), pattern, str(cells.get("re_modifiers"))
        )

    def as_match_digest(self, text: str, pattern: Compiled, modifiers: str) -> CriterionFlaw | None:
        """Return why a pattern in match_digest matches no digest text."""
        if self._digest_options is None:
            return None
        is_caseless = "CASELESS" in modifiers.upper()
        reason = why_never(text, self._digest_options, is_caseless=is_caseless)
        if reason is None:
            return self._split_phrase(text, pattern)
        never = Never.COMMENT if _PASTED_COMMENT.search(text) else reason.never
        words, fix = _WORDS[never]
        words = words.format(variable=self._dialect.variable("query_digests"))
        if never is Never.COMMENT:
            fix += r", and write /\* and \*/ there" if _PASTED_COMMENT.search(text) else ""
            fix += _FOR_ITS_WORDS if _EXECUTABLE_COMMENT.search(text) else ""
        effect = Effect.NEVER if reason.is_certain else Effect.HARDLY_EVER
        if reason.never is Never.DOUBLE:
            effect = Effect.DOUBTFUL
        return CriterionFlaw(effect, words, fix)

    def _split_phrase(self, text: str, pattern: Compiled) -> CriterionFlaw | None:
        """Return the flaw of `START .* TRANSACTION`: it does not match START TRANSACTION."""
        for gap in _GAP.finditer(text):
            first, last = gap["first"].upper(), gap["last"].upper()
            if f" {first} {last} " not in _PHRASES[self._dialect]:
                continue
            joined = f"{text[: gap.end('first')]} {text[gap.start('last') :]}"
            if any(pattern.matches(as_bytes(sample)) for sample in samples(joined)):
                continue
            phrase = f"{first} {last}"
            problem = f"requires a word between the two spaces, so `{phrase}` does not match"
            return CriterionFlaw(Effect.DOUBTFUL, problem, rf"write {first}\s+(.*\s)?{last}")
        return None

    # -- the firewall whitelist -----------------------------------------------------------------

    @cached_property
    def firewall(self) -> Firewall:
        """The firewall whitelist of the configuration."""
        return Firewall(self._configuration, self._dialect)

    def firewall_user(self, cells: ColumnValues) -> Iterator[tuple[str, CriterionFlaw]]:
        """Yield what is wrong with the columns of an active user of the firewall whitelist."""
        name, address = str(cells["username"]), str(cells["client_address"])
        flaw = self.username(name) if name else _NO_FIREWALL_USER
        if flaw is not None:
            yield "username", flaw
        if misfit := address_of_nobody(address):
            yield "client_address", CriterionFlaw(Effect.NEVER, *misfit)

    def firewall_rule(self, cells: ColumnValues) -> Iterator[tuple[str, CriterionFlaw]]:
        """Yield what is wrong with the columns of an active rule of the firewall whitelist."""
        flaws = dict(self.firewall_user(cells))
        if not flaws and (flaw := self._firewall_address(cells)):
            flaws["client_address"] = flaw
        schema_column = self._dialect.schema_column
        if flaw := self.schemaname_of_row(str(cells[schema_column])):
            flaws[schema_column] = flaw
        text = str(cells["digest"])
        if normal_digest(text) is None:
            problem = "it is not a digest, so the rule never matches"
            flaws["digest"] = CriterionFlaw(Effect.NEVER, problem, DIGEST_FIX)
        elif flaw := self.digest(text):
            flaws["digest"] = flaw
        yield from flaws.items()

    def _firewall_address(self, cells: ColumnValues) -> CriterionFlaw | None:
        """Return what is wrong with the client_address of a rule beside the user's rows."""
        name, address = str(cells["username"]), str(cells["client_address"])
        if not self.firewall.is_known or (name, address) in self.firewall.modes:
            return None
        table = self.firewall.users_table
        if address:
            problem = f"no active row of {table} has this user with this address"
            return CriterionFlaw(Effect.NEVER, problem, "write the client_address of that row")
        rows = sorted(self.firewall.addresses(name) - {""})
        if not rows:
            return None
        listed = ", ".join(rows)
        problem = f"clients from {listed} have a row in {table}, so they need rules with it"
        return CriterionFlaw(Effect.DOUBTFUL, problem, "write the client_address of that row")


# Names and addresses ------------------------------------------------------------------------------

_SOCKET_PORT = CriterionFlaw(
    Effect.DOUBTFUL,
    "only clients of a Unix socket have port 0",
    "leave the column out to match any port",
)
_ADDRESS_AND_PORT = CriterionFlaw(
    Effect.NEVER,
    "no interface has an address that contains a port",
    "write the port into proxy_port",
)

_NO_FIREWALL_USER = CriterionFlaw(
    Effect.NEVER,
    "no session has an empty user name, and '' is not a wildcard",
    "write a row for each user",
)


_QUOTED_NAME = re.compile(r"([`'\"]).*\1", re.DOTALL)


def _is_alike(known: str, name: str) -> bool:
    return known.casefold() == name.strip(" %").casefold()


# Digests ------------------------------------------------------------------------------------------

_SAME_NUMBER = re.compile(r"\s*(0[xX][0-9A-Fa-f]{1,16}|[1-9][0-9]*)\s*")
_SHORTEST_DIGEST = {MYSQL: 16, PGSQL: 12}
"""The fewest digits of a digest as statistics show it. PostgreSQL's have no leading zeros, and one
digest in 65,536 has as few digits."""

_ASKS_FOR_BACKSLASH = r"requires a backslash in the query (`\\` matches a literal backslash)"
_FOR_A_VALUE = r"write \? for the value, or use match_pattern"
_FOR_SPACES = "write one space between words, none next to parentheses or commas, no line breaks"
_WORDS = {
    Never.QUOTED: ("requires quoted text, where digest texts have `?`", _FOR_A_VALUE),
    Never.NUMBER: ("requires a number, where digest texts have `?`", _FOR_A_VALUE),
    Never.DIGIT: (
        "requires a digit, which {variable}_no_digits removes",
        r"write \? for it, or use match_pattern",
    ),
    Never.CAPITAL: (
        "requires capital letters, which {variable}_lowercase removes",
        "set re_modifiers: CASELESS, or write the pattern in lower case",
    ),
    Never.COMMENT: ("requires a comment, which digest texts do not contain", "use match_pattern"),
    Never.DASHES: ("requires a comment, which digest texts do not contain", "use match_pattern"),
    Never.BACKSLASH: (_ASKS_FOR_BACKSLASH, "write one backslash"),
    Never.SPACING: ("requires spaces that no digest text has", _FOR_SPACES),
    Never.LOOSE: ("requires spaces that hardly any digest text has", _FOR_SPACES),
    Never.DOUBLE: (
        "requires two spaces, which digest texts have only where the query has a + or - between"
        " spaces",
        "write one space between words",
    ),
    Never.END: ("requires a `;` or a space at the end, which no digest text has", "leave it out"),
    Never.START: ("requires a beginning that no statement has", "begin with the first word"),
    Never.ANCHOR: (
        "requires text before its `^` or after its `$`",
        "escape the character with a backslash, or move it to the start or end",
    ),
}
"""By reason: the words and the fix."""
_PASTED_COMMENT = re.compile(r"\A\^?/\*|/\*.*(?<!\\)\*/", re.DOTALL)
"""A comment with its stars as they are, which only repeat a slash or a blank."""
_EXECUTABLE_COMMENT = re.compile(r"/\\?\*!")
_FOR_ITS_WORDS = ", or match the words in it, which digest texts keep"

_GAP = re.compile(r"\b(?P<first>[A-Za-z]+)(?: |\\s\+?)\.[*+]\??(?: |\\s\+?)(?P<last>[A-Za-z]+)\b")
_ALIKE = " START TRANSACTION | BEGIN WORK | GROUP BY | ORDER BY | LOCK TABLES | UNLOCK TABLES |"
_PHRASES = {
    MYSQL: f"{_ALIKE} FOR UPDATE | FOR SHARE | LOCK IN | IN SHARE | SHARE MODE | DUPLICATE KEY ",
    PGSQL: f"{_ALIKE} SHARE MODE ",
}
"""Words that SQL writes with nothing between them."""
