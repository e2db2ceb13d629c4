"""The way in: files -> `Project`. Everything wrong with the files is raised at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from proxyctl.catalog import NO_ADDITIONS, REFERENCE, TABLES, Additions, Version
from proxyctl.collector import collector_paused
from proxyctl.compare import fold_users
from proxyctl.config import drops
from proxyctl.config.constraints import check_constraints
from proxyctl.config.context import Context
from proxyctl.config.fast_routing import with_last_rule
from proxyctl.config.fenced import Fence
from proxyctl.config.files import Text, read_documents, read_texts
from proxyctl.config.hostgroups import attribute_rows, compile_hostgroups
from proxyctl.config.instances import Instance, compile_instances
from proxyctl.config.lint_section import compile_lint
from proxyctl.config.mistakes import Mistakes, described
from proxyctl.config.patterns import RULE_TABLES, check_patterns, engine_in_files
from proxyctl.config.pxc import Clusters, check_nodes, compile_clusters
from proxyctl.config.routing_tests import compile_routing_tests
from proxyctl.config.rows import Batch
from proxyctl.config.scopes import apply_manage, compile_manage
from proxyctl.config.sections import TABLE_SECTIONS, Part, check, missing_table, split
from proxyctl.config.shards import Shards, check_digests, check_reserved, compile_shards
from proxyctl.config.shared_hostgroups import shared_hostgroups
from proxyctl.config.sources import Sources
from proxyctl.config.tables import compile_part, join, rest
from proxyctl.config.unresolved import may_be_unresolved
from proxyctl.config.variables import compile_variables
from proxyctl.config.yaml_reader import read_yaml
from proxyctl.errors import ConfigError, Mistake
from proxyctl.fast_routing import dead_text, last_rule_in_the_way
from proxyctl.routing_tests import RoutingTest
from proxyctl.runtime_image import PASTED
from proxyctl.state import Desired, DesiredTable, GuardAction, GuardLimits, Rows

if TYPE_CHECKING:
    from proxyctl.config.models import Guards
    from proxyctl.lint.linting import Ignore

__all__ = [
    "Instance",
    "ParsedFiles",
    "Project",
    "RoutingTest",
    "Sources",
    "load_project",
    "rendered_texts",
]

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


class ParsedFiles:
    """The files, read and parsed once; compiled when the version of the instance is known.

    Nothing is raised while they are read: `instances` and `project` raise what concerns them.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._by_vars = {_key(sources.instance_vars): self}
        self._named: list[tuple[Instance, ...]] = []
        self._fence = Fence.around(sources)
        self._mistakes = Mistakes()
        with collector_paused():
            documents = read_documents(sources, self._mistakes)
            self._parts = split(documents, self._mistakes)
        self._projects: dict[tuple[Version, bool, bool, Additions], Project] = {}
        self._resolved: set[bool] = set()
        self._guard = threading.Lock()

    def with_vars(self, variables: Mapping[str, object]) -> ParsedFiles:
        """Return the files as an instance with these `vars` has them; read once for each."""
        with _READING:
            key = _key(variables)
            if key not in self._by_vars:
                found = ParsedFiles(replace(self._sources, instance_vars=variables))
                found._by_vars = self._by_vars
                found._named = self._named
                self._by_vars[key] = found
            return self._by_vars[key]

    @property
    def sections(self) -> frozenset[str]:
        """The top-level sections that stand in the files."""
        return frozenset(self._parts)

    def instances(self) -> tuple[Instance, ...]:
        """Return the `instances` of the files, before anything else of them is looked at.

        Their `vars` feed the templates, so a template that cannot be rendered without them is left
        out here.

        Raises: ConfigError with the mistakes of the section.
        """
        context = Context(REFERENCE, self._fence)
        instances = compile_instances(self._parts.get("instances", []), context)
        context.mistakes.raise_if_any()
        return instances

    def among(self, instances: tuple[Instance, ...]) -> None:
        """Tell which instances there are where others than those of the files are meant.

        Holds for the files of each of them, too. Changes: `members`.
        """
        self._named[:] = [instances]

    def members(self) -> tuple[Instance, ...]:
        """Return the instances that may be members of one cluster: those of the files, or others.

        Raises: ConfigError with the mistakes of the section.
        """
        return self._named[0] if self._named else self.instances()

    @property
    def is_misread(self) -> bool:
        """Whether `raise_if_misread` raises."""
        return len(self._mistakes) > 0

    def raise_if_misread(self) -> None:
        """Raise what hides a part of the files: a file that is not there, YAML, a template.

        An instance may stand in that part, so nobody should connect before this was asked.

        Raises: ConfigError.
        """
        self._mistakes.copy().raise_if_any()

    def raise_if_unresolved(self, *, needs_secrets: bool = True) -> None:
        """Raise what is not at hand of all that the files refer to, whatever the version.

        Nobody should connect before this was asked, who is to compile them: without it the instance
        would have to wait, or a lock there. `needs_secrets` as for `project`. Raises: ConfigError.
        """
        with self._guard:
            if needs_secrets in self._resolved:
                return
            if may_be_unresolved(self._parts, self._fence):
                context = Context(REFERENCE, self._fence, needs_secrets, self._mistakes.copy())
                with collector_paused():
                    _Compiler(self._parts, context).project()
                if context.unresolved:
                    raise ConfigError(context.unresolved)
            self._resolved.add(needs_secrets)

    def ignores(self) -> tuple[Ignore, ...]:
        """Return what the `lint` section of the files ignores; nothing else of them is looked at.

        Raises: ConfigError with the mistakes of the section.
        """
        context = Context(REFERENCE, self._fence)
        found = compile_lint(self._parts.get("lint", []), context)
        context.mistakes.raise_if_any()
        return found

    def hostgroup_names(self) -> Mapping[int, str]:
        """Return the names of hostgroups by number, for commands that only show them.

        Nothing else of the files is looked at, and a mistake leaves a name out.
        """
        return compile_hostgroups(self._parts.get("hostgroups", []), Context(REFERENCE)).names

    def project(
        self,
        version: Version = REFERENCE,
        *,
        takes_dead_rules: bool = False,
        needs_secrets: bool = True,
        additions: Additions = NO_ADDITIONS,
    ) -> Project:
        """Return what the files say, in the layouts of `version`; compiled once.

        `takes_dead_rules`: a rule that ProxySQL takes, but that cannot do what it says, is no
        mistake: a pattern that does not compile, a client_addr or a digest that it cannot read.
        `needs_secrets` False: nor is a secret that is not at hand, as where a pull request is
        looked at. `additions`: what the instance has that the files may use besides.

        Raises: ConfigError with all mistakes.
        """
        asked = (version, takes_dead_rules, needs_secrets, additions)
        with self._guard:
            # Instances that are asked at the same time wait for the first one's result.
            if asked not in self._projects:
                self._projects[asked] = self._compiled(*asked)
            return self._projects[asked]

    def _compiled(
        self,
        version: Version,
        takes_dead_rules: bool,
        needs_secrets: bool,
        additions: Additions,
    ) -> Project:
        context = Context(
            version, self._fence, needs_secrets, self._mistakes.copy(), additions=additions
        )
        with collector_paused():
            compiler = _Compiler(self._parts, context, takes_dead_rules=takes_dead_rules)
            project = compiler.project()
        context.mistakes.raise_if_any()
        return project


_READING = threading.Lock()


def _key(variables: Mapping[str, object]) -> str:
    return json.dumps(variables, sort_keys=True, default=repr)


def load_project(
    sources: Sources,
    *,
    version: Version = REFERENCE,
    takes_dead_rules: bool = False,
    needs_secrets: bool = True,
) -> Project:
    """Return what the files say, in the layouts of `version`. As `ParsedFiles.project`.

    Raises: ConfigError with all mistakes.
    """
    return ParsedFiles(sources).project(
        version, takes_dead_rules=takes_dead_rules, needs_secrets=needs_secrets
    )


def mistakes_in(text: str, version: Version, additions: Additions = NO_ADDITIONS) -> list[Mistake]:
    """Return what is wrong with a file of this text, for a ProxySQL of this version."""
    context = Context(version, additions=additions)
    with collector_paused():
        document = read_yaml(text, "", context.mistakes)
        parts = split([] if document is None else [document], context.mistakes)
        _Compiler(parts, context).project()
    return context.mistakes.all()


def rendered_texts(sources: Sources) -> list[Text]:
    """Return the text of every file, templates rendered: what line numbers count.

    Raises: ConfigError.
    """
    mistakes = Mistakes()
    texts = read_texts(sources, mistakes)
    mistakes.raise_if_any()
    return texts


def instances_in(text: str, name: str) -> tuple[Instance, ...]:
    """Return the instances that a text lists: JSON or YAML, a list or a section `instances`.

    `name`: what to call it in mistakes. Raises: ConfigError.
    """
    mistakes = Mistakes()
    is_list = text.lstrip().startswith(("[", "-"))
    section = f"instances:\n{text}" if text.lstrip().startswith("-") else f"{{instances: {text}}}"
    document = read_yaml(section if is_list else text, name, mistakes)
    parts = split([] if document is None else [document], mistakes)
    mistakes.raise_if_any()
    context = Context(REFERENCE)
    found = compile_instances(parts.get("instances", []), context)
    context.mistakes.raise_if_any()
    return found


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
        self._hostgroups = compile_hostgroups(self._of("hostgroups"), context)
        self._keeps_alive: bool = self._single("keep_fast_routing_alive", default=True)

    def _of(self, name: str) -> list[Part]:
        return self._parts.get(name, [])

    def project(self) -> Project:
        """Return everything; mistakes are noted, not raised."""
        context = self._context
        for part in self._of("version"):
            if type(part.value) is not int or part.value != 1:
                message = f"expected 1, got {described(part.value)}"
                self._mistakes.add(part.where(), "version", message)
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
        return Project(desired, instances, tests, ignores)

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
        names = drops.admin_names(admin)
        for table in _present(tables, ("mysql_users", "pgsql_users")):
            drops.check_users(table, names, mistakes)
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
