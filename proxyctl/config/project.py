"""Sections -> `Project`: compiles every section, then joins and checks the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from proxyctl.catalog import TABLES
from proxyctl.config.checks import check_tables
from proxyctl.config.context import TABLE_SECTIONS, Compilation, FileSection, named_version
from proxyctl.config.reserved import check_reserved
from proxyctl.config.row_files import compile_row_file
from proxyctl.config.rows import SourceRows, checked_rows, field_place, join
from proxyctl.config.sections.hostgroups import compile_clusters, compile_hostgroups
from proxyctl.config.sections.instances import Instance, compile_instances
from proxyctl.config.sections.lint import compile_lint
from proxyctl.config.sections.manage import apply_manage
from proxyctl.config.sections.policies import compile_policies
from proxyctl.config.sections.routing import compile_routing_tests, keep_alive
from proxyctl.config.sections.sharding import compile_shards
from proxyctl.config.validation import check, missing_table
from proxyctl.config.variables import compile_variables
from proxyctl.config.yaml import YamlList
from proxyctl.proxysql.configuration import ConfigTable, Configuration, PlaceFinder, variables_of
from proxyctl.proxysql.user_halves import fold_users
from proxyctl.routing.routing_test import RoutingTest
from proxyctl.rows.desired import Desired, DesiredTable, GuardAction, GuardLimits
from proxyctl.rows.row import KEEP, Key, Rows, Where

if TYPE_CHECKING:
    from proxyctl.config.models import Guards
    from proxyctl.lint.policy import Policy
    from proxyctl.lint.reports import LintReports
    from proxyctl.lint.run import Ignore, LintReport

Sections = dict[str, list[FileSection]]
"""The sections of all files, by name."""


@dataclass(frozen=True, eq=False)
class Project:
    """The files, parsed, validated and compiled. Compared by identity: they compile once."""

    desired: Desired
    """The rows that the files ask for."""
    instances: tuple[Instance, ...] = ()
    """The instances that the files list."""
    routing_tests: tuple[RoutingTest, ...] = ()
    """The queries of the files, and where they have to go."""
    ignores: tuple[Ignore, ...] = ()
    """The findings of lint that the files ignore."""
    policies: tuple[Policy, ...] = ()
    """The house rules for rows and changes."""
    reserved: tuple[range, ...] = ()
    """The rule_ids that `sharding` sections keep for their rules."""
    paths: tuple[str, ...] = ()
    """The files and folders to read, as the command line names them."""

    @property
    def configuration(self) -> Configuration:
        """The configuration that MEMORY would hold after an apply to an empty instance.

        A cell that the files leave to the instance has the column's default.
        """
        tables: dict[str, ConfigTable] = {}
        variables: dict[str, str] = {}
        for name, table in self.desired.tables.items():
            columns = table.layout.columns
            rows = {
                key: tuple(
                    column.default if cell is KEEP else cell
                    for column, cell in zip(columns, row, strict=True)
                )
                for key, row in table.rows.items()
            }
            if table.layout.table.prefix is not None:
                variables |= variables_of(rows.values())
            else:
                tables[name] = ConfigTable(table.layout, rows, is_whole=table.scope is None)

        names, place = self.desired.hostgroup_names, places_in(self.desired.tables)
        return Configuration(self.desired.version, tables, variables, names, place)

    @cached_property
    def lint_reports(self) -> LintReports:
        """What lint found at the instances of these files so far."""
        from proxyctl.lint.reports import LintReports  # importing every check takes a while

        return LintReports(self.policies, self.ignores)

    @cached_property
    def without_policies(self) -> Project:
        """The same files, but with no policies."""
        return replace(self, policies=())

    def broken_policies(self) -> LintReport | None:
        """Return the rows of the files that break a policy; None if the files have no policy."""
        if not self.policies:
            return None
        from proxyctl.lint.check import all_checks
        from proxyctl.lint.policy import BROKEN_POLICY
        from proxyctl.lint.run import lint
        from proxyctl.lint.subject import LintSubject

        subject = LintSubject(self.configuration, policies=self.policies)
        return lint(subject, [all_checks()[BROKEN_POLICY]], self.ignores)


def places_in(tables: Mapping[str, DesiredTable]) -> PlaceFinder:
    """Return the function that finds the rows and columns of these tables in the files."""

    def place(name: str, key: Key, column: str | None) -> Where | None:
        table = tables.get(name)
        if table is None or key not in table.where:
            return None
        return table.where[key] if column is None else field_place(table, key, column)[0]

    return place


_NOTHING = (
    "the files have no table section and no variable, so nothing is managed; `proxyctl export -o"
    " FILE` writes what an instance holds, `proxyctl import` converts a proxysql.cnf, `proxyctl"
    " init DIR` writes examples"
)


def compile_project(sections: Sections, context: Compilation) -> Project:
    """Return the project of the sections, in the layouts of the context's version.

    Mistakes are noted in the context; nothing is raised. Changes: context.
    """
    for part in sections.get("version", []):
        check(part, context)
    named_version(sections.get("proxysql_version", []), context.mistakes)
    names, attributes = compile_hostgroups(sections.get("hostgroups", []), context)
    instances = compile_instances(sections.get("instances", []), context)
    tests = compile_routing_tests(sections.get("routing_tests", []), context)
    ignores = compile_lint(sections.get("lint", []), context)
    policies = compile_policies(sections.get("policies", []), context)
    keeps_alive: bool = _single(sections, "keep_fast_routing_alive", True, context)
    tables, reserved = _tables(sections, attributes, context)
    keep_alive(tables, context, is_wanted=keeps_alive)
    check_reserved(tables, context)
    if not tables:
        context.warnings.append(_NOTHING)
    desired = Desired(
        tables=tables,
        version=context.version,
        hostgroup_names=names,
        guards=_guards(sections, context),
        warnings=tuple(context.warnings),
        keeps_fast_routing_alive=keeps_alive,
    )
    return Project(desired, instances, tests, ignores, policies, reserved)


def _tables(
    sections: Sections, attributes: SourceRows | None, context: Compilation
) -> tuple[dict[str, DesiredTable], tuple[range, ...]]:
    """Return all managed tables, checked, and the rule_ids that `sharding` keeps.

    Changes: context.
    """
    rows: dict[str, list[SourceRows]] = {}
    for part in (part for name in TABLE_SECTIONS for part in sections.get(name, [])):
        if missing := missing_table(TABLES[part.name], context):
            context.mistakes.add(part.where(of_key=True), part.name, missing)
        else:
            is_list = isinstance(part.value, YamlList)
            compiled = checked_rows(part, context) if is_list else compile_row_file(part, context)
            rows.setdefault(part.name, []).extend([compiled] if compiled else [])
    clusters = compile_clusters(sections.get("pxc_clusters", []), context)
    shards = compile_shards(sections.get("sharding", []), context)
    for generated in (*clusters, *shards.rows, attributes):
        if generated is not None:
            rows.setdefault(generated.layout.name, []).append(generated)
    tables = {
        name: join(context.layouts[name], parts, context.mistakes) for name, parts in rows.items()
    }
    tables = apply_manage(tables, sections.get("manage", []), context)
    variables = compile_variables(sections.get("variables", []), context)
    check_tables(tables, variables, context)
    shards.check_reserved(tables.get("mysql_query_rules"), context)
    shards.check_digests(variables.get("mysql_variables"), context)
    folded = {name: _folded_users(table) for name, table in tables.items()}
    return {**folded, **variables}, tuple(shards.reserved.values())


def _folded_users(table: DesiredTable) -> DesiredTable:
    """Return the table, with two equal halves of a user as one row: ProxySQL reads them back so."""
    rows = fold_users(table.layout, cast("Rows", table.rows))
    if len(rows) == len(table.rows):
        return table
    return replace(table, rows=rows, where={key: table.where[key] for key in rows})


def _guards(sections: Sections, context: Compilation) -> GuardLimits:
    guards: Guards | None = _single(sections, "guards", None, context)
    if guards is None:
        return GuardLimits()
    limit = guards.max_deletes
    words = {**dict(guards), "max_deletes": limit.action}
    actions = {name: GuardAction(word) for name, word in words.items()}
    return GuardLimits(limit.percent, limit.above_rows, limit.rows, actions)


def _single(sections: Sections, name: str, default: Any, context: Compilation) -> Any:  # noqa: ANN401
    """Return the value of a section that may occur only once. Changes: context.mistakes."""
    value = default
    parts = sections.get(name, [])
    for part in parts:
        if part is not parts[0]:
            message = f"duplicate section (first defined at {parts[0].where(of_key=True)})"
            context.mistakes.add(part.where(of_key=True), name, message)
        checked = check(part, context)
        value = default if checked is None else checked
    return value
