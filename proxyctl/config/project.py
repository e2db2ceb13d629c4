"""What the files say, section by section -> `Project`. No file is opened here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from proxyctl.catalog import TABLES
from proxyctl.catalog.fast_routing import dead_text, last_rule_in_the_way
from proxyctl.config import drops
from proxyctl.config.constraints import check_constraints
from proxyctl.config.context import Context
from proxyctl.config.fast_routing import with_last_rule
from proxyctl.config.hostgroups import attribute_rows, compile_hostgroups
from proxyctl.config.instances import Instance, compile_instances
from proxyctl.config.lint_section import compile_lint
from proxyctl.config.patterns import RULE_TABLES, check_patterns, engine_in_files
from proxyctl.config.pxc import Clusters, check_nodes, compile_clusters
from proxyctl.config.routing_tests import compile_routing_tests
from proxyctl.config.rows import Batch
from proxyctl.config.scopes import apply_manage, compile_manage
from proxyctl.config.sections import TABLE_SECTIONS, Part, check, check_version, missing_table
from proxyctl.config.shards import Shards, check_digests, check_reserved, compile_shards
from proxyctl.config.shared_hostgroups import shared_hostgroups
from proxyctl.config.tables import compile_part, join, rest
from proxyctl.config.variables import compile_variables
from proxyctl.routing.tests import RoutingTest
from proxyctl.state.compare import fold_users
from proxyctl.state.row import Desired, DesiredTable, GuardAction, GuardLimits, Rows
from proxyctl.state.runtime import PASTED

if TYPE_CHECKING:
    from proxyctl.config.models import Guards
    from proxyctl.lint.linting import Ignore

FAMILIES = ("mysql", "pgsql")
_FAMILY_TABLES = (
    "mysql_replication_hostgroups",
    "mysql_group_replication_hostgroups",
    "mysql_galera_hostgroups",
    "mysql_aws_aurora_hostgroups",
    "pgsql_replication_hostgroups",
)


@dataclass(frozen=True)
class Project:
    """The files, parsed, validated and compiled."""

    desired: Desired
    instances: tuple[Instance, ...] = ()
    routing_tests: tuple[RoutingTest, ...] = ()
    ignores: tuple[Ignore, ...] = ()
    reserved: tuple[range, ...] = ()
    """The rule_ids that `sharding` sections keep for their rules."""


def compile_project(
    parts: dict[str, list[Part]], context: Context, *, takes_dead_rules: bool = False
) -> Project:
    """Return what the sections say, in the layouts of the context's version.

    `parts`: the sections of all files, by name. `takes_dead_rules`: as in `ParsedFiles.project`.
    What is wrong with them is noted in the mistakes of the context; nothing is raised.
    """
    return _Compiler(parts, context, takes_dead_rules=takes_dead_rules).project()


class _Compiler:
    """One run over the sections. Each step leaves its mistakes and the next goes on."""

    def __init__(
        self, parts: dict[str, list[Part]], context: Context, *, takes_dead_rules: bool = False
    ) -> None:
        self._parts = parts
        self._takes_dead_rules = takes_dead_rules
        self._context = context
        self._mistakes = context.mistakes
        self._rest: dict[str, DesiredTable] = {}
        self._reserved: tuple[range, ...] = ()
        self._hostgroups = compile_hostgroups(self._of("hostgroups"), context)
        self._keeps_alive: bool = self._single("keep_fast_routing_alive", default=True)

    def _of(self, name: str) -> list[Part]:
        return self._parts.get(name, [])

    def project(self) -> Project:
        """Return everything; mistakes are noted, not raised."""
        context = self._context
        for part in self._of("version"):
            check_version(part, self._mistakes)
        instances = compile_instances(self._of("instances"), context)
        tests = compile_routing_tests(self._of("routing_tests"), context)
        ignores = compile_lint(self._of("lint"), context)
        desired = Desired(
            tables=self._tables(),
            version=context.version,
            hostgroup_names=self._hostgroups.names,
            guards=self._guards(),
        )
        if not self._takes_dead_rules:
            self._check_patterns(desired)
        desired = replace(desired, warnings=tuple(context.warnings))
        return Project(desired, instances, tests, ignores, self._reserved)

    def _check_patterns(self, desired: Desired) -> None:
        engine = engine_in_files(desired)
        for tables in (desired.tables, self._rest):
            found = check_patterns(replace(desired, tables=tables), engine)
            self._mistakes.add_all(found.active)
            for one in found.idle:
                first, *hint = map(str.strip, one.lines())
                self._context.warnings.append("; ".join([f"{first}, were it active", *hint]))

    def _tables(self) -> dict[str, DesiredTable]:
        """Return all managed tables, checked."""
        context = self._context
        clusters = compile_clusters(self._of("pxc_clusters"), context)
        shards = compile_shards(self._of("sharding"), context)
        self._reserved = tuple(shards.reserved.values())
        batches = self._batches(clusters, shards)
        tables = {
            name: join(context.layouts[name], parts, self._mistakes)
            for name, parts in batches.items()
        }
        if len(self._mistakes):
            found = ((name, rest(context.layouts[name], parts)) for name, parts in batches.items())
            self._rest = {name: table for name, table in found if table is not None}
        management = compile_manage(self._of("manage"), context)
        tables = apply_manage(tables, management, context)
        variables = compile_variables(self._of("variables"), context)
        self._check(tables, variables, clusters, shards)
        for table in _present(tables, ("mysql_users", "pgsql_users")):
            # Two halves that agree are one user to ProxySQL, and are read back as one.
            rows = fold_users(table.layout, cast("Rows", table.rows))
            if len(rows) < len(table.rows):
                places = {key: table.where[key] for key in rows}
                tables[table.layout.name] = replace(table, rows=rows, where=places)
        for family in FAMILIES:
            self._keep_alive(tables, f"{family}_query_rules")
        return {**tables, **variables}

    def _keep_alive(self, tables: dict[str, DesiredTable], name: str) -> None:
        """Add the rule that fast routing needs, or say that it is dead. Changes: tables."""
        rules, routing = tables.get(name), tables.get(f"{name}_fast_routing")
        if rules is None or routing is None or not routing.rows:
            return
        last = last_rule_in_the_way(rules.layout, rules.rows.values())
        if last is None:
            return
        if self._keeps_alive:
            tables[name] = with_last_rule(rules, last, self._mistakes)
        else:
            self._context.warnings.append(dead_text(routing.layout.name, last))

    def _batches(self, clusters: Clusters, shards: Shards) -> dict[str, list[Batch]]:
        """Return the rows of every managed table, by table."""
        batches: dict[str, list[Batch]] = {}
        for name in TABLE_SECTIONS:
            for part in self._of(name):
                missing = missing_table(TABLES[name], self._context.version)
                if missing:
                    self._mistakes.add(part.where(of_key=True), name, missing)
                    continue
                batch = compile_part(part, self._context)
                batches.setdefault(name, []).extend([batch] if batch else [])
        if self._of("pxc_clusters"):
            batches.setdefault("mysql_galera_hostgroups", []).extend(clusters.galera)
            batches.setdefault("mysql_servers", []).extend(clusters.servers)
        if shards.rules:
            batches.setdefault("mysql_query_rules", []).extend(shards.rules)
        if shards.fast_routing:
            name = "mysql_query_rules_fast_routing"
            batches.setdefault(name, []).extend(shards.fast_routing)
        attributes = attribute_rows(self._hostgroups, self._context)
        if attributes is not None:
            batches.setdefault("mysql_hostgroup_attributes", []).append(attributes)
        return batches

    def _check(
        self,
        tables: dict[str, DesiredTable],
        variables: dict[str, DesiredTable],
        clusters: Clusters,
        shards: Shards,
    ) -> None:
        """Note whatever ProxySQL would refuse, or take and then drop."""
        mistakes = self._mistakes
        for name, table in tables.items():
            # A hostgroup that is taken is said by check_families, in whichever column it is.
            check_constraints(table, mistakes, with_unique=name not in _FAMILY_TABLES)
        if not self._takes_dead_rules:
            for table in (*_present(tables, RULE_TABLES), *_present(self._rest, RULE_TABLES)):
                drops.check_rules(table, mistakes, self._context.warnings)
        for table in tables.values():
            drops.check_numbers(table, mistakes)
        for table in (*_present(tables, PASTED), *_present(self._rest, PASTED)):
            drops.check_quotes(table, mistakes)
        for table in _present(tables, _FAMILY_TABLES):
            drops.check_families(table, mistakes, self._context.warnings)
        self._context.warnings += shared_hostgroups(_present(tables, _FAMILY_TABLES))
        admin = variables.get("admin_variables")
        drops.check_logins(admin, mistakes)
        for table in _present(tables, ("mysql_users", "pgsql_users")):
            drops.check_users(table, mistakes)
        if "mysql_servers" in tables:
            check_nodes(clusters, tables["mysql_servers"], mistakes)
        check_reserved(shards, tables.get("mysql_query_rules"), self._context)
        check_digests(shards, variables.get("mysql_variables"), self._context)

    def _guards(self) -> GuardLimits:
        guards: Guards | None = self._single("guards", default=None)
        if guards is None:
            return GuardLimits()
        limit = guards.max_deletes
        words = {name: word for name, word in guards if name != "max_deletes"}
        words["max_deletes"] = limit.action
        return GuardLimits(
            limit.percent,
            limit.above_rows,
            limit.rows,
            {name: GuardAction(word) for name, word in words.items()},
        )

    def _single(self, name: str, default: Any) -> Any:  # noqa: ANN401 - what the model makes
        """Return the value of a section that may stand once only."""
        parts = self._of(name)
        for part in parts[1:]:
            place = parts[0].where(of_key=True)
            message = f"the section stands twice; first at {place}"
            self._mistakes.add(part.where(of_key=True), name, message)
        value = default
        for part in parts:
            found, _ = check(part, self._context)
            value = default if found is None else found
        return value


def _present(tables: dict[str, DesiredTable], names: Iterable[str]) -> list[DesiredTable]:
    return [tables[name] for name in names if name in tables]
