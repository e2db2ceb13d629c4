"""What the checks ask: a configuration, and what follows from it, worked out once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar, cast

from proxyctl.catalog import Value
from proxyctl.lint.digest_texts import Kind, why_never
from proxyctl.lint.flags import Reach, reach_of
from proxyctl.lint.literals import Literals, literals_of
from proxyctl.routing import Router, RoutingVariables
from proxyctl.routing.digest import DigestOptions
from proxyctl.routing.regex import Broken, Compiled, Engine
from proxyctl.routing.router import router_of
from proxyctl.routing.rule import Rule
from proxyctl.state.cells import normal_modifiers, number
from proxyctl.state.configuration import Configuration
from proxyctl.state.families import FAMILY_TABLES, Family, families_in
from proxyctl.state.row import Key, Row, Where

T = TypeVar("T")

RULES = "mysql_query_rules"
USERS = "mysql_users"
FAST_ROUTING = "mysql_query_rules_fast_routing"


@dataclass(frozen=True)
class RuleRow:
    """An active row of mysql_query_rules. `rule` None: ProxySQL drops it at LOAD.

    Shape: `cells` as the table holds them, `rule` as ProxySQL reads them.
    """

    key: Key
    cells: Mapping[str, Value]
    rule: Rule | None

    def text(self, column: str) -> str | None:
        """Return a text of the row, None for NULL."""
        value = self.cells.get(column)
        return None if value is None else str(value)


class Subject:
    """A configuration under lint."""

    def __init__(
        self,
        configuration: Configuration,
        *,
        backend_versions: Sequence[str] = (),
        plain_passwords: Mapping[str, Where] = MappingProxyType({}),
    ) -> None:
        self.configuration = configuration
        self.plain_passwords = plain_passwords
        """The instances whose password stands in the files as it is, by name, with their place."""
        self.backend_versions = backend_versions
        """What is known of the MySQL servers behind it, such as `8.0.36-28.1`."""
        self._once: dict[object, object] = {}

    def once(self, make: Callable[[Subject], T]) -> T:
        """Return what a function makes of this subject, made once for all checks that ask."""
        if make not in self._once:
            self._once[make] = make(self)
        return cast(T, self._once[make])

    @cached_property
    def router(self) -> Router:
        """What routes its queries. Raises: ValueError for digest variables that end ProxySQL."""
        return router_of(self.configuration)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules at work, compiled, sorted by rule_id."""
        return self.router.rules

    @cached_property
    def rule_rows(self) -> tuple[RuleRow, ...]:
        """The active rows of mysql_query_rules, sorted by rule_id, also those that are dropped."""
        by_id = {rule.rule_id: rule for rule in self.rules}
        found = [
            RuleRow(key, cells, by_id.get(number(cells["rule_id"]) or 0))
            for key, cells in self.cells(RULES)
            if number(cells["active"]) == 1
        ]
        return tuple(sorted(found, key=lambda row: number(row.cells["rule_id"]) or 0))

    @cached_property
    def reach(self) -> Reach:
        """Which rules a query can get to, patterns aside."""
        again = self.variables.query_processor_iterations > 0
        return reach_of(self.rules, starts_again=again)

    @cached_property
    def literals(self) -> Mapping[Compiled, Literals]:
        """The plain texts in each pattern that compiles."""
        found: dict[Compiled, Literals] = {}
        for row in self.rule_rows:
            for column in ("match_digest", "match_pattern"):
                pattern = getattr(row.rule, column, None)
                text = row.text(column)
                if pattern is None or isinstance(pattern, Broken) or text is None:
                    continue
                if pattern not in found:
                    modifiers = normal_modifiers(row.text("re_modifiers") or "") or ""
                    found[pattern] = literals_of(text, is_caseless="CASELESS" in modifiers)
        return found

    @cached_property
    def out_of_reach(self) -> Mapping[int, Kind]:
        """What match_digest asks for that no digest text has, by rule_id."""
        if not self.variables.query_digests:
            return {}
        options = DigestOptions.from_variables(self.configuration.all_variables())
        why = {pattern: why_never(one, options) for pattern, one in self.literals.items()}
        found = {
            rule.rule_id: why.get(rule.match_digest)
            for rule in self.rules
            if rule.match_digest is not None
        }
        return {rule_id: kind for rule_id, kind in found.items() if kind is not None}

    @cached_property
    def variables(self) -> RoutingVariables:
        """The variables that routing depends on."""
        return RoutingVariables.from_values(self.configuration.all_variables())

    @property
    def engine(self) -> Engine:
        """The regular expressions in force."""
        return self.variables.engine

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """The hostgroup families that the rows define."""
        layouts = {name: held.layout for name, held in self.configuration.tables.items()}
        rows = {name: self.configuration.rows(name) for name in FAMILY_TABLES if name in layouts}
        return tuple(families_in(layouts, rows, rds_discovery=False))

    def holds_all_of(self, table: str, *, if_there: bool = False) -> bool:
        """Return whether all rows of a table are known. `if_there`: a table that is not is empty.

        Files may leave a table alone, or own a part of it.
        """
        held = self.configuration.tables.get(table)
        return if_there if held is None else held.is_whole

    def cells(self, table: str) -> list[tuple[Key, dict[str, Value]]]:
        """Return the rows of a table with their keys, cells by column name."""
        held = self.configuration.tables.get(table)
        if held is None:
            return []
        names = [column.name for column in held.layout.columns]

        def by_name(row: Row) -> dict[str, Value]:
            return dict(zip(names, row, strict=True))

        return [(key, by_name(row)) for key, row in held.rows.items()]
