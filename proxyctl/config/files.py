"""The entry: files -> `Project`. All mistakes in the files are raised at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from proxyctl.catalog import NO_DEVIATIONS, REFERENCE, Deviations, Version
from proxyctl.catalog.releases import NEWEST_KNOWN, beyond_catalogue
from proxyctl.config.context import Compilation, named_version, split
from proxyctl.config.documents import read_documents
from proxyctl.config.env_references import SecretCommands, is_reference
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.sections.hostgroups import compile_hostgroups
from proxyctl.config.sections.instances import Instance, compile_instances
from proxyctl.config.sections.lint import compile_lint
from proxyctl.config.sections.policies import compile_policies
from proxyctl.config.sources import ANYWHERE, Fence, Sources
from proxyctl.config.yaml import read_yaml
from proxyctl.errors import Mistake
from proxyctl.rows.row import Where

if TYPE_CHECKING:
    from proxyctl.config.project import Project
    from proxyctl.lint.policy import Policy
    from proxyctl.lint.run import Ignore

__all__ = ["ConfigFiles", "Instance", "Sources", "load_project"]


class ConfigFiles:
    """The files, read and parsed once; compiled when the version of the instance is known.

    Mistakes are raised by `instances` and `project`, as far as they concern them. Raises:
    UsageError for a path outside the fence; ConfigError for more mistakes than anybody reads.
    """

    def __init__(self, sources: Sources, commands: SecretCommands | None = None) -> None:
        """Read the files. `commands`: what has run before; by default nothing."""
        self._sources = sources
        self._commands = SecretCommands() if commands is None else commands
        self._by_vars = {_key(sources.instance_vars): self}
        self._fence = Fence.around(sources)
        self._mistakes = Mistakes()
        documents = read_documents(sources, self._mistakes)
        self._sections = split(documents, self._mistakes)
        self._projects: dict[tuple[Version, bool, bool, bool, Deviations], Project] = {}
        self._guard = threading.Lock()

    def with_vars(self, variables: Mapping[str, object]) -> ConfigFiles:
        """Return the files as rendered with the `vars` of an instance; read once for equal vars."""
        with _READING:
            key = _key(variables)
            if key not in self._by_vars:
                sources = replace(self._sources, instance_vars=variables)
                parsed = ConfigFiles(sources, self._commands)
                parsed._by_vars = self._by_vars
                self._by_vars[key] = parsed
            return self._by_vars[key]

    @property
    def paths(self) -> tuple[str, ...]:
        """The files and folders that were named."""
        return self._sources.paths

    @property
    def sections(self) -> frozenset[str]:
        """The names of the top-level sections."""
        return frozenset(self._sections)

    def instances(self) -> tuple[Instance, ...]:
        """Return the `instances` of the files, and compile nothing else.

        Their `vars` feed the templates, so a template that needs them is ignored here.

        Raises: ConfigError with the mistakes of the section.
        """
        context = Compilation(REFERENCE, self._fence, commands=self._commands)
        instances = compile_instances(self._sections.get("instances", []), context)
        context.mistakes.raise_if_any()
        return instances

    @property
    def is_misread(self) -> bool:
        """Whether a mistake hides a part of the files: `raise_if_misread` raises it."""
        return len(self._mistakes) > 0

    def raise_if_misread(self) -> None:
        """Raise mistakes that hide a part of the files: a missing file, broken YAML or template.

        That part may define an instance, so call this before a connection is opened.

        Raises: ConfigError.
        """
        self._mistakes.copy().raise_if_any()

    def ignores(self) -> tuple[Ignore, ...]:
        """Return what the `lint` section of the files ignores, and compile nothing else.

        Raises: ConfigError with the mistakes of the section.
        """
        context = Compilation(REFERENCE, self._fence)
        ignored = compile_lint(self._sections.get("lint", []), context)
        context.mistakes.raise_if_any()
        return ignored

    def policies(self, version: Version) -> tuple[Policy, ...]:
        """Return the policies of the files for a ProxySQL, and compile nothing else.

        Raises: ConfigError with the mistakes of the section.
        """
        context = Compilation(version, self._fence)
        policies = compile_policies(self._sections.get("policies", []), context)
        context.mistakes.raise_if_any()
        return policies

    def hostgroup_names(self) -> Mapping[int, str]:
        """Return the names of hostgroups by number, and compile nothing else.

        For commands that only show names: a name with a mistake is left out.
        """
        return compile_hostgroups(self._sections.get("hostgroups", []), Compilation(REFERENCE))[0]

    def referenced_variables(self) -> frozenset[str]:
        """Return the names of variables that come from `env` or `file`; compile nothing else."""
        return frozenset(
            name
            for part in self._sections.get("variables", [])
            for name, value in part.value.items()
            if is_reference(value) and "hex" not in value
        )

    @property
    def version(self) -> Version | None:
        """The ProxySQL that the files name with `proxysql_version`; None without it."""
        return named_version(self._sections.get("proxysql_version", []), Mistakes())

    @property
    def version_places(self) -> tuple[Where, ...]:
        """The places of `proxysql_version` in the files."""
        return tuple(part.where() for part in self._sections.get("proxysql_version", []))

    def project(
        self,
        version: Version | None = None,
        *,
        takes_dead_rules: bool = False,
        needs_secrets: bool = True,
        runs_commands: bool = True,
        deviations: Deviations = NO_DEVIATIONS,
    ) -> Project:
        """Return the project that the files define, in the layouts of `version`; compiled once.

        `version`: by default the version that the files name, or the newest known if that is older.
        `takes_dead_rules`: accept rules that ProxySQL accepts and that never work: a pattern that
        does not compile, an unreadable client_addr or digest; also such hosts, programs and
        interfaces. `needs_secrets`: False accepts secrets that are not available, as in a pull
        request, and runs no command. `runs_commands`: False only runs no command. `deviations`:
        what the instance has beyond its version.

        Raises: ConfigError with all mistakes.
        """
        from proxyctl.config.project import compile_project  # many commands compile no file

        named = self.version or REFERENCE
        chosen = version or min(named.stable, NEWEST_KNOWN)
        question = (chosen, takes_dead_rules, needs_secrets, runs_commands, deviations)
        with self._guard:
            # Instances that are read at the same time share the result of the first.
            if question not in self._projects:
                context = Compilation(
                    chosen,
                    self._fence,
                    needs_secrets,
                    self._commands if runs_commands else None,
                    self._mistakes.copy(),
                    takes_dead_rules=takes_dead_rules,
                    deviations=deviations,
                )
                if version is None and chosen != named:
                    context.named = named
                    context.warnings.append(
                        f"proxysql_version {beyond_catalogue(named)}: the files are checked as if"
                        f" for {chosen}"
                    )
                project = compile_project(self._sections, context)
                project = replace(project, paths=self.paths)
                context.mistakes.raise_if_any()
                self._projects[question] = project
            return self._projects[question]


_READING = threading.Lock()


def _key(variables: Mapping[str, object]) -> str:
    return json.dumps(variables, sort_keys=True, default=repr)


def load_project(
    sources: Sources,
    *,
    version: Version | None = None,
    takes_dead_rules: bool = False,
    needs_secrets: bool = True,
    runs_commands: bool = True,
) -> Project:
    """Return the project of the files, as `ConfigFiles.project` does. Raises: ConfigError."""
    return ConfigFiles(sources).project(
        version,
        takes_dead_rules=takes_dead_rules,
        needs_secrets=needs_secrets,
        runs_commands=runs_commands,
    )


def mistakes_in(
    text: str, version: Version, deviations: Deviations = NO_DEVIATIONS
) -> list[Mistake]:
    """Return the mistakes in the text of a file, for a ProxySQL of this version."""
    from proxyctl.config.project import compile_project

    context = Compilation(version, deviations=deviations)
    document = read_yaml(text, "", context.mistakes)
    sections = split([] if document is None else [document], context.mistakes)
    compile_project(sections, context)
    return context.mistakes.all()


def instances_in(text: str, name: str, fence: Fence | None = None) -> tuple[Instance, ...]:
    """Return the instances that a text lists: JSON or YAML, a list or a section `instances`.

    `name`: what mistakes call the text. `fence`: the folders of files that the text names; None
    allows any. Raises: ConfigError.
    """
    context = Compilation(REFERENCE, fence or ANYWHERE, commands=SecretCommands())
    first_character = text.lstrip()[:1]
    section = {"-": f"instances:\n{text}", "[": f"{{instances: {text}}}"}.get(first_character, text)
    document = read_yaml(section, name, context.mistakes)
    sections = split([] if document is None else [document], context.mistakes)
    for key in sections.keys() - {"instances", "version"}:
        (part,) = sections[key]
        message = "a command may print `instances` only"
        context.mistakes.add(part.where(of_key=True), part.name, message)
    context.mistakes.raise_if_any()
    instances = compile_instances(sections.get("instances", []), context)
    context.mistakes.raise_if_any()
    return instances
