"""The commands as functions: a `Selection` in, a result out.

They print nothing and ask nothing; address and password come from a `Login`, not from the
environment. Every function raises a `ProxyctlError` whose message says where, what and how to fix
it: `UsageError` for a selection that lacks the files or the instance, `ConfigError` with every
mistake in the files, `InstanceError` for an instance that cannot be reached or read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from proxyctl.errors import ConfigError, ProxyctlError, UsageError
from proxyctl.rows.row import Layer

if TYPE_CHECKING:  # a function imports what it needs: all of it takes half a second
    from proxyctl.apply.request import ApplyRequest
    from proxyctl.apply.result import ApplyResult
    from proxyctl.catalog import Version
    from proxyctl.config.files import ConfigFiles, Instance
    from proxyctl.config.project import Project
    from proxyctl.fleet.targets import Target
    from proxyctl.instance.client import AdminClient
    from proxyctl.instance.connect import Login
    from proxyctl.instance.tls import Authority
    from proxyctl.interchange.write import WrittenFile
    from proxyctl.lint.check import Check
    from proxyctl.lint.policy import Policy
    from proxyctl.lint.run import Ignore, LintReport
    from proxyctl.plan.make import PlanOptions
    from proxyctl.plan.plan import Plan
    from proxyctl.proxysql.configuration import Configuration
    from proxyctl.routing.dialect import Dialect
    from proxyctl.routing.explain import ExplainedQuery, Explainer
    from proxyctl.routing.query import ClientQuery
    from proxyctl.stats.top.model import Top, TopOptions

RowFormat = Literal["yaml", "sql", "cnf"]
SecretForm = Literal["hash", "omit", "clear"]

_NAME_FILES = "name them: Selection.of(PATH, ...)"


@dataclass(frozen=True)
class Selection:
    """The files, the instance, or both, that a call works on."""

    files: ConfigFiles | None = None
    """The files; None: only the instance."""
    login: Login | None = None
    """The instance; None: only the files."""
    files_describe_instance: bool = True
    """Whether the files are those of the instance: their mistakes stop a call, and results name
    their rows. If not, they only lend names and secrets."""

    @classmethod
    def of(
        cls,
        *paths: str,
        variables: Mapping[str, object] | None = None,
        login: Login | None = None,
        instance: str | None = None,
    ) -> Selection:
        """Return the files and folders at `paths`, and an instance.

        `variables`: for templates. `login`: an instance by address; `instance`: one by its name in
        the files. Without paths only the instance. Raises: ConfigError, UsageError.
        """
        if not paths:
            if instance is not None or variables:
                raise UsageError(
                    "naming an instance and setting variables require files", fix=_NAME_FILES
                )
            return cls(login=login)
        from proxyctl.config.files import ConfigFiles, Sources
        from proxyctl.fleet.targets import resolved

        files = ConfigFiles(Sources(paths, variables or {}))
        if instance is None:
            return cls(files, login)
        by_name = {listed.name: listed for listed in resolved(files.instances())}
        if instance not in by_name:
            files.raise_if_misread()  # it may be in the part that cannot be read
            names = f"choose from {', '.join(by_name)}" if by_name else "list it under `instances`"
            raise UsageError(f"{instance}: no such instance in the files", fix=names)
        chosen = by_name[instance]
        return cls(files.with_vars(chosen.vars), login or login_of(chosen))

    @classmethod
    def all_of(cls, *paths: str, variables: Mapping[str, object] | None = None) -> list[Selection]:
        """Return the files with each of their instances.

        Raises: UsageError if there is none; ConfigError, InstanceError.
        """
        from proxyctl.config.files import ConfigFiles, Sources
        from proxyctl.config.sections.instances import refuse_duplicate_addresses
        from proxyctl.fleet.targets import resolved

        files = ConfigFiles(Sources(paths, variables or {}))
        instances = resolved(files.instances())
        if not instances:
            files.raise_if_misread()
            raise UsageError("the files list no instances", fix="list them under `instances`")
        refuse_duplicate_addresses(instances)
        return [cls(files.with_vars(instance.vars), login_of(instance)) for instance in instances]

    @property
    def target(self) -> Target:
        """The instance with its files. Raises: UsageError when one of them is missing."""
        from proxyctl.fleet.targets import Target

        if self.files is None:
            raise UsageError("this call needs files", fix=_NAME_FILES)
        return Target(self._login, self.files)

    @property
    def _login(self) -> Login:
        if self.login is None:
            raise UsageError("this call needs an instance", fix="give a login, or instance=NAME")
        return self.login

    def connect(self) -> AdminClient:
        """Open a connection to the instance. Raises: InstanceError, UsageError, ConfigError."""
        from proxyctl.instance.client import AdminClient

        if self.files is not None and self.files_describe_instance:
            return self.target.connect()
        return AdminClient(self._login)

    def hostgroup_names(self) -> Mapping[int, str]:
        """Return the names that the files give to hostgroups; none without files."""
        return self.files.hostgroup_names() if self.files is not None else {}

    def configuration(
        self,
        layer: Layer = Layer.RUNTIME,
        *,
        version: Version | None = None,
        tables: Iterable[str] | None = None,
    ) -> Configuration:
        """Return what the instance holds in a layer; without an instance, what the files define.

        Accepts rules that ProxySQL accepts and that never work. `version`: the ProxySQL that the
        files are for. `tables`: which to read from the instance, by default all.
        """
        if self.login is None:
            return self._project(version).configuration
        from proxyctl.instance.plugins import read_ledger
        from proxyctl.instance.read import read_configuration

        with self.connect() as client:
            found = read_configuration(client, layer, tables)
            found = replace(found, plugins=read_ledger(client).plugins)
        return self._described(found)

    def _project(self, version: Version | None) -> Project:
        if self.files is None:
            raise UsageError(
                "this call needs files or an instance", fix="use Selection.of(PATH, ...)"
            )
        return self.files.project(version, takes_dead_rules=True, needs_secrets=False)

    def _described(self, configuration: Configuration) -> Configuration:
        """Return what an instance holds, with what the files know of it.

        These are the names of hostgroups, the texts that came by a reference and, if the files
        describe the instance, the places of rows. Where they have mistakes, less is known.
        """
        if self.files is None:
            return configuration
        from proxyctl.config.project import places_in
        from proxyctl.plan.secrets import hide_in_configuration

        configuration = replace(configuration, hostgroup_names=self.hostgroup_names())
        try:
            self.files.raise_if_misread()
            desired = self._project(configuration.version).desired
        except ConfigError:
            return configuration
        configuration = hide_in_configuration(configuration, desired)
        if not self.files_describe_instance:
            return configuration
        return replace(configuration, place=places_in(desired.tables), lacks=desired.source.lacks)


def login_of(instance: Instance) -> Login:
    """Return the login at an instance of the files. Raises: ConfigError."""
    from proxyctl.instance.connect import Login

    return Login(
        host=instance.host or "127.0.0.1",
        port=instance.port,
        user=instance.user or "admin",
        password=instance.password() or "",
        name=instance.name,
        socket=instance.socket,
        ca=authority_of(instance),
        tls_required=instance.tls_required,
        verifies_identity=instance.tls_verify_identity,
        certificate_name=instance.dns or "",
    )


def authority_of(instance: Instance) -> Authority | None:
    """Return the CA of an instance of the files, if it has one."""
    from proxyctl.instance.tls import Authority

    if not instance.tls_ca:
        return None
    return Authority(f"tls_ca {instance.tls_ca}", instance.certificates)


def validate(selection: Selection, version: Version | None = None) -> Project:
    """Compile the files without a server.

    Runs no command of the files: a placeholder stands for what it would print. `version`: the
    ProxySQL that they are for; by default the one that they name. Raises: ConfigError with every
    mistake and its place.
    """
    if selection.files is None:
        raise UsageError("this call needs files", fix=_NAME_FILES)
    return selection.files.project(version, runs_commands=False)


def plan(selection: Selection, options: PlanOptions | None = None) -> Plan:
    """Return what an apply would change, and why it would be refused. Sends only SELECTs."""
    from proxyctl.plan.files import plan_files
    from proxyctl.plan.make import PlanOptions

    target = selection.target
    with target.connect() as client:
        return plan_files(client, target.files, options or PlanOptions())


def drift(selection: Selection, only: Sequence[str] = ()) -> Plan:
    """Return the plan that would end the drift; `pattern_of` says what each change means.

    `only`: admin modules or tables. Sends only SELECTs.
    """
    from proxyctl.plan.make import PlanOptions

    return plan(selection, PlanOptions(only=tuple(only)))


def apply(
    selection: Selection, request: ApplyRequest | None = None
) -> tuple[Plan, ApplyResult | None]:
    """Change the instance to what the files say, and read every layer back before SAVE.

    The result is None if there was nothing to do. By default no approval is needed: give an
    `ApplyRequest` with `Approval(plan)` to apply a plan that was reviewed, and nothing else.
    Raises: RefusedError with every reason not to apply; ApplyError when a change failed, with the
    state of each layer, which was restored.
    """
    from proxyctl.apply.request import ApplyRequest
    from proxyctl.fleet.rollout import apply_to
    from proxyctl.plan.make import PlanOptions

    target = selection.target
    request = request or ApplyRequest(PlanOptions())
    return apply_to(target, replace(request, sources=request.sources or target.files.paths))


def export(
    selection: Selection,
    layer: Layer = Layer.RUNTIME,
    form: RowFormat = "yaml",
    secrets: SecretForm = "hash",
) -> WrittenFile:
    """Return a layer of the instance as the text of a file, with warnings. Sends only SELECTs."""
    from proxyctl.interchange.export_instance import export_instance

    with selection.connect() as client:
        return export_instance(client, layer, form, secrets)


def explain(
    selection: Selection, query: ClientQuery, layer: Layer = Layer.RUNTIME
) -> ExplainedQuery:
    """Return which rules match a query, how it is rewritten, and where it goes.

    Under the rules of the instance, or without an instance those of the files. For many queries
    make one `explainer`.
    """
    return explainer(selection, layer).answer(query)


def explainer(
    selection: Selection,
    layer: Layer = Layer.RUNTIME,
    *,
    version: Version | None = None,
    dialect: Dialect | None = None,
) -> Explainer:
    """Return an explainer whose `answer` explains one query.

    `version`: the ProxySQL that the files are for. `dialect`: MYSQL or PGSQL of `routing.dialect`.
    """
    from proxyctl.catalog import parse_version
    from proxyctl.catalog.releases import PGSQL as HAS_PGSQL
    from proxyctl.routing.dialect import MYSQL, PGSQL
    from proxyctl.routing.explain import Explainer

    dialect = dialect or MYSQL
    configuration = selection.configuration(layer, version=version, tables=dialect.explained_tables)
    if dialect is PGSQL and not configuration.version.has(parse_version(HAS_PGSQL)):
        raise ProxyctlError(
            f"ProxySQL {configuration.version} does not support PostgreSQL",
            fix="use ProxySQL 3.0.0 or newer",
        )
    is_placed = selection.login is not None and layer is Layer.RUNTIME
    return Explainer(configuration, dialect, is_placed=is_placed)


def lint(
    selection: Selection,
    checks: Sequence[Check] | None = None,
    layer: Layer = Layer.RUNTIME,
    *,
    version: Version | None = None,
    backend_versions: Sequence[str] = (),
) -> LintReport:
    """Return the mistakes that ProxySQL accepts: in the instance, or without one in the files.

    `checks`: by default all; `lint.check.chosen` selects some. `version`: the ProxySQL that the
    files are for. `backend_versions`: of the servers behind ProxySQL.
    """
    from proxyctl.lint.check import UNUSED_IGNORE, all_checks
    from proxyctl.lint.run import lint as run
    from proxyctl.lint.subject import LintSubject

    checks = [*all_checks().values()] if checks is None else checks
    name = ""
    ignores: Sequence[Ignore] = ()
    policies: Sequence[Policy] = ()
    if selection.login is None:
        project = selection._project(version)
        configuration, ignores = project.configuration, project.ignores
        policies = project.policies
        plain = {
            (instance.name or instance.dns or ""): instance.where
            for instance in project.instances
            if instance.has_plain_password
        }
    else:
        name = selection.login.name or selection.login.address
        if selection.files is not None:
            selection.files.raise_if_misread()
            ignores = selection.files.ignores()
        configuration, plain = selection.configuration(layer), {}
        if selection.files is not None:
            policies = selection.files.policies(configuration.version)
        # The files may ignore findings about rows that this instance does not have.
        checks = [check for check in checks if check.code != UNUSED_IGNORE]
    subject = LintSubject(
        configuration,
        backend_versions=backend_versions,
        plain_passwords=plain,
        policies=policies,
    )
    try:
        return run(subject, checks, ignores, name=name)
    except ValueError as error:
        # Some values of the digest variables crash ProxySQL itself.
        raise ProxyctlError(str(error)) from error


def digests(
    selection: Selection, options: TopOptions | None = None, *, has_rules: bool = False
) -> Top:
    """Return the most expensive digests of the instance. Sends only SELECTs.

    `has_rules`: also say which rule at RUNTIME catches each digest; `options` then group by
    `stats.top.model.RULE_GROUPS`.
    """
    from proxyctl.stats.top.model import TopOptions
    from proxyctl.stats.top.read import read_top, with_rules

    with selection.connect() as client:
        ranking = read_top(client, options or TopOptions())
        if has_rules:
            ranking = with_rules(client, ranking)
    return replace(ranking, hostgroup_names=selection.hostgroup_names())
