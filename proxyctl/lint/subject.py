"""The configuration under lint, with what the checks derive from it, computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import NamedTuple, TypeVar, cast

from proxyctl.catalog import Value
from proxyctl.lint.finding import Finding, quoted
from proxyctl.lint.patterns import Literals, literals_of
from proxyctl.lint.policy import Policy
from proxyctl.proxysql.cells import normal_modifiers, number
from proxyctl.proxysql.configuration import Configuration
from proxyctl.proxysql.servers import Address, Server
from proxyctl.routing.addresses import client_addr_of_nobody
from proxyctl.routing.criteria import Criteria, CriterionFlaw
from proxyctl.routing.dialect import MYSQL, PGSQL, Dialect
from proxyctl.routing.reach import Reach, Session
from proxyctl.routing.regex import Broken, Compiled, RegexEngine
from proxyctl.routing.router import Router, router_of
from proxyctl.routing.rule import Rule
from proxyctl.routing.servers import (
    HostgroupServers,
    NamedRole,
    role_in_name,
)
from proxyctl.routing.tables import Frontend, RoutingVariables
from proxyctl.rows.row import ColumnValues, Key, Row, Where

T = TypeVar("T")


@dataclass(frozen=True)
class RuleRow:
    """An active row of a table of query rules."""

    key: Key
    """The key of the row."""
    cells: Mapping[str, Value]
    """The cells as the table holds them, by column."""
    rule: Rule | None
    """The rule as ProxySQL reads it; None if it drops the row at LOAD."""

    def text(self, column: str) -> str | None:
        """Return a cell as text, None for NULL. The text of a Secret cell is a plain str."""
        value = self.cells.get(column)
        return None if value is None else str(value)

    def shown(self, column: str) -> str:
        """Return a cell as a message shows it."""
        value = self.cells[column]
        return quoted(value if isinstance(value, str) else str(value))

    @property
    def patterns(self) -> Iterator[tuple[str, str]]:
        """The row's patterns that are not NULL, as (column, text)."""
        for column in ("match_digest", "match_pattern"):
            text = self.text(column)
            if text is not None:
                yield column, text


class FamilyRow(NamedTuple):
    """An active row of a family table."""

    table: str
    """The family table."""
    key: Key
    """The key of the row."""
    cells: ColumnValues
    """The cells of the row, by column."""
    roles: dict[str, int]
    """The hostgroups, by column name."""


class LintSubject:
    """One side of a configuration under lint; `dialect` names its tables and variables."""

    def __init__(
        self,
        configuration: Configuration,
        dialect: Dialect = MYSQL,
        *,
        backend_versions: Sequence[str] = (),
        plain_passwords: Mapping[str, Where] = MappingProxyType({}),
        policies: Sequence[Policy] = (),
        other: LintSubject | None = None,
    ) -> None:
        """`other`: the same before or after a change; its sessions are tried, too."""
        self.configuration = configuration
        self.dialect = dialect
        self.rule_finding = partial(Finding, dialect.rules)
        """Returns a finding about a rule; takes the arguments of Finding behind the table."""
        self._other = other
        self.policies = policies
        """The policies of the files; the PostgreSQL side has none of its own."""
        self.plain_passwords = plain_passwords
        """Where a file has an instance's password in clear text, by name of the instance."""
        self.backend_versions = backend_versions
        """Versions of the MySQL servers behind ProxySQL, such as `8.0.36-28.1`."""
        self._once: dict[object, object] = {}

    def once(self, make: Callable[[LintSubject], T]) -> T:
        """Return `make(self)`, computed once for all checks."""
        if make not in self._once:
            self._once[make] = make(self)
        return cast(T, self._once[make])

    @cached_property
    def pgsql_side(self) -> LintSubject | None:
        """The PostgreSQL side of the configuration, if it has rows."""
        tables = self.configuration.tables.items()
        if not any(table.rows for name, table in tables if name.startswith("pgsql_")):
            return None
        other = self._other and self._other.pgsql_side
        return LintSubject(self.configuration, PGSQL, other=other)

    def session_words(self, session: Session) -> str:
        """Return the words after a query that name its session; '' for any session."""
        return session.words(schema=self.dialect.schema)

    # -- tables -------------------------------------------------------------------------------

    def cells(self, table: str) -> list[tuple[Key, ColumnValues]]:
        """Return a table's rows as (key, cells by column name)."""
        held = self.configuration.tables.get(table)
        if held is None:
            return []
        names = [column.name for column in held.layout.columns]

        def by_name(row: Row) -> ColumnValues:
            return dict(zip(names, row, strict=True))

        return [(key, by_name(row)) for key, row in held.rows.items()]

    def has_all_rows(self, table: str, *, if_absent: bool = False) -> bool:
        """Return whether all rows of a table are known; `if_absent` where no row is known.

        Files may leave a table alone, or manage a part of it.
        """
        held = self.configuration.tables.get(table)
        return if_absent if held is None else held.is_whole

    # -- rules --------------------------------------------------------------------------------

    def rule_name(self, rule_id: int) -> str:
        """Return `rule 5`, or `rule 5 (in no file)`."""
        return f"rule {rule_id}{self.configuration.owner(self.dialect.rules, (rule_id,))}"

    @cached_property
    def router(self) -> Router:
        """The router of the configuration. Raises: as `router_of`."""
        return router_of(self.configuration, self.dialect)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in use, compiled, sorted by rule_id."""
        return self.router.rules

    @cached_property
    def reach(self) -> Reach:
        """Where sample queries go."""
        return Reach(self.router)

    @cached_property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions to try sample queries in."""
        others = self._other.reach.sessions if self._other else ()
        return tuple(filter(self.is_possible, dict.fromkeys((*self.reach.sessions, *others))))

    def is_possible(self, session: Session) -> bool:
        """Return whether a client can log in as the session's user from its address."""
        can_log_in = not self.logins or session.username is None or session.username in self.logins
        address = session.client_addr or ""
        # A session for `10.2%` has only a beginning of an address.
        is_known = not (client_addr_of_nobody(address) and client_addr_of_nobody(f"{address}%"))
        return can_log_in and is_known

    @cached_property
    def rule_rows(self) -> tuple[RuleRow, ...]:
        """All active rules, sorted by rule_id."""
        by_id = {rule.rule_id: rule for rule in self.rules}
        rows = [
            RuleRow(key, cells, by_id.get(number(cells["rule_id"]) or 0))
            for key, cells in self.cells(self.dialect.rules)
            if number(cells["active"]) == 1
        ]
        return tuple(sorted(rows, key=lambda row: number(row.cells["rule_id"]) or 0))

    @cached_property
    def criteria(self) -> Criteria:
        """What is known about the criteria of rules."""
        return Criteria(self.configuration, self.router)

    def flaws(self, *columns: str) -> Iterator[tuple[RuleRow, str, CriterionFlaw]]:
        """Yield what is wrong with these columns of the active rules."""
        for row in self.rule_rows:
            for column in columns:
                flaw = self.criteria.flaw(row.cells, row.rule, column)
                if flaw is not None:
                    yield row, column, flaw

    @cached_property
    def literals(self) -> Mapping[Compiled, Literals]:
        """The plain text at the beginning of each pattern that compiles."""
        literals: dict[Compiled, Literals] = {}
        for row in self.rule_rows:
            for column, text in row.patterns:
                pattern = getattr(row.rule, column, None)
                if pattern is None or isinstance(pattern, Broken) or pattern in literals:
                    continue
                modifiers = normal_modifiers(row.text("re_modifiers") or "") or ""
                literals[pattern] = literals_of(text, is_caseless="CASELESS" in modifiers)
        return literals

    @cached_property
    def variables(self) -> RoutingVariables:
        """The variables that routing depends on."""
        held = self.configuration
        return RoutingVariables.from_values(held.all_variables(), held.version, self.dialect)

    @property
    def engine(self) -> RegexEngine:
        """The regular expression engine in force."""
        return self.variables.engine

    # -- users --------------------------------------------------------------------------------

    @property
    def logins(self) -> Mapping[str, Frontend]:
        """The users who may log in, by name."""
        return self.router.users

    @cached_property
    def login_keys(self) -> dict[str, Key]:
        """The key of each login in the table of users, by name."""
        return {
            str(cells["username"]): key
            for key, cells in self.cells(self.dialect.users)
            if cells["active"] == cells["frontend"] == 1
        }

    # -- hostgroups ---------------------------------------------------------------------------

    @cached_property
    def families(self) -> tuple[FamilyRow, ...]:
        """The active rows of family tables: by these the monitor places nodes."""
        return tuple(
            FamilyRow(table, key, cells, _roles(cells))
            for table in self.dialect.family_tables
            for key, cells in self.cells(table)
            if cells.get("active", 1) == 1
        )

    @cached_property
    def galera(self) -> tuple[FamilyRow, ...]:
        """The active rows of mysql_galera_hostgroups."""
        return tuple(row for row in self.families if row.table == "mysql_galera_hostgroups")

    @cached_property
    def family_hostgroups(self) -> frozenset[int]:
        """The hostgroups that the monitor fills."""
        return frozenset(hostgroup for row in self.families for hostgroup in row.roles.values())

    @cached_property
    def readers(self) -> frozenset[int]:
        """The hostgroups for reads only: a family's reader, or named so while another is a writer.

        A family's writer hostgroup is never one of them.
        """
        readers = {row.roles.get("reader_hostgroup") for row in self.families}
        names = self.configuration.hostgroup_names
        roles = {hostgroup: role_in_name(name)[0] for hostgroup, name in names.items()}
        if NamedRole.WRITER in roles.values():
            named = {hostgroup for hostgroup, role in roles.items() if role is NamedRole.READER}
            readers |= named - self.family_hostgroups
        readers -= {row.roles.get("writer_hostgroup") for row in self.families}
        return frozenset(hostgroup for hostgroup in readers if hostgroup is not None)

    @cached_property
    def servers(self) -> HostgroupServers:
        """The servers of each hostgroup that are not OFFLINE_HARD."""
        return HostgroupServers(self.configuration, self.dialect)

    def nodes_of(self, family: FamilyRow) -> list[Server]:
        """Return the nodes of a family, each with its first row."""
        nodes: dict[Address, Server] = {}
        for hostgroup in dict.fromkeys(family.roles.values()):
            for backend in self.servers.of(hostgroup):
                nodes.setdefault(backend.address, backend)
        return list(nodes.values())

    def section_of(self, table: str, key: Key) -> str:
        """Return the sharding section that made a row, '' for a row written by hand."""
        where = self.configuration.place(table, key, None)
        return where.origin if where and where.origin.startswith("sharding ") else ""

    def label(self, hostgroup: object) -> str:
        """Return a hostgroup as messages write it: `hostgroup 30 (reader)`."""
        name = self.configuration.hostgroup_names.get(cast(int, hostgroup))
        return f"hostgroup {hostgroup}" + (f" ({name})" if name else "")


def _roles(cells: ColumnValues) -> dict[str, int]:
    return {
        name: value
        for name, value in cells.items()
        if name.endswith("_hostgroup") and isinstance(value, int)
    }
