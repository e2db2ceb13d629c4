"""Options that several commands share.

A dataclass is a group of options: `app` turns each of its fields into one, with the default
that the field has.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proxyctl.cli.completion import instance_names, module_names
from proxyctl.errors import UsageError

if TYPE_CHECKING:
    from proxyctl.catalog import Version
    from proxyctl.config.project import Sources
    from proxyctl.plan.make import PlanOptions


def option(default: object, *names: str, **given: Any) -> Any:  # noqa: ANN401 - as dataclasses.field
    """Return a field of a group of options; `given` as for `typer.Option`."""
    made = typer.Option(default, *names, **given)
    return dataclasses.field(default=default, metadata={"option": made})


_file_option = functools.partial(option, rich_help_panel="Files")
_connection_option = functools.partial(option, rich_help_panel="Connection")
_fleet_option = functools.partial(option, rich_help_panel="Many instances")


class TextFormat(StrEnum):
    """Output for people or for machines."""

    TEXT = "text"
    JSON = "json"


class LayerName(StrEnum):
    """A layer, in the order in which people ask for one."""

    RUNTIME = "runtime"
    MEMORY = "memory"
    DISK = "disk"


LayerOption = Annotated[
    LayerName | None,
    typer.Option("--layer", help="The layer of the instance to look at. Default: runtime."),
]
FORMAT = typer.Option("--format", help="Output format.")
"""For commands with formats of their own: `Annotated[PlanFormat, FORMAT]`."""
FormatOption = Annotated[TextFormat, FORMAT]


def file_option(*names: str, help: str, fix: str = "name a file") -> Any:  # noqa: ANN401 - Typer's type is not public
    """Return an option for a file to write. `-` would be a file of this name."""

    def check(path: str | None) -> str | None:
        if path == "-":
            raise UsageError(f"{names[0]} -: expected a file", fix=fix)
        return path

    return typer.Option(*names, metavar="FILE", help=help, callback=check)


out_option = functools.partial(file_option, "--out", "-o")
OR_STDOUT = "leave out -o to write to stdout"
"""The fix for `out_option`, where this is the default."""
AutoApproveOption = Annotated[bool, typer.Option("--auto-approve", "-y", help="Do not ask.")]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Show long values, such as patterns, in full.")
]
LockTimeoutOption = Annotated[
    float,
    typer.Option(min=0, metavar="SECONDS", help="Wait this long for another apply to finish."),
]
VersionOption = Annotated[
    str | None,
    typer.Option(
        "--proxysql-version",
        metavar="X.Y.Z",
        help="The ProxySQL that the files are for"
        " (default: their `proxysql_version`, or else 3.0.3).",
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Only this admin module (MYSQL-USERS) or table (mysql_users); repeatable.",
        autocompletion=module_names,
    ),
]
DebugOption = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Log decisions and statements to stderr, without secrets, for a bug report.",
        rich_help_panel="Every command",
    ),
]
NoColorOption = Annotated[
    bool,
    typer.Option(
        "--no-color",
        help="Write without colour, as the variable NO_COLOR does.",
        rich_help_panel="Every command",
    ),
]
"""`add_command` adds both to every command."""
BEFORE_COMMAND = ("--debug", "--no-color")
"""They may also stand before the command."""


def chosen_version(text: str | None) -> Version | None:
    """Return the version that --proxysql-version names; None without it. Raises: UsageError."""
    from proxyctl.catalog import known_version

    if text is None:
        return None
    try:
        return known_version(text)
    except ValueError as error:
        raise UsageError(f"--proxysql-version: {error}") from error


@dataclass(frozen=True)
class FromCommandLine:
    """Options for which it matters whether they were typed or come from the environment."""

    context: typer.Context

    @property
    def typed(self) -> frozenset[str]:
        """The names of the options on the command line itself."""
        sources = {
            field.name: self.context.get_parameter_source(field.name)
            for field in dataclasses.fields(self)
        }
        return frozenset(n for n, one in sources.items() if one and one.name == "COMMANDLINE")


@dataclass(frozen=True)
class FileOptions:
    """Which files describe the configuration."""

    file: list[str] | None = _file_option(
        None,
        "--file",
        "-f",
        metavar="PATH",
        envvar="PROXYCTL_FILE",
        help="File or folder (*.yaml, *.yml, *.j2); repeatable. Default: ./proxyctl.yaml.",
    )
    var: list[str] | None = _file_option(
        None, metavar="NAME=VALUE", help="A variable for templates; repeatable."
    )
    var_file: list[str] | None = _file_option(
        None, metavar="PATH", help="YAML or JSON file with variables for templates; repeatable."
    )
    restrict_paths: bool = _file_option(
        False,
        "--restrict-paths",
        help="Refuse files outside the folders of -f, also through symbolic links.",
    )

    def paths(self) -> list[str]:
        """Return what -f named, or the default.

        Raises: UsageError for an empty path: with an unset shell variable it would be `.`.
        """
        if self.file and not all(self.file):
            raise UsageError("--file: the path is empty")
        return self.file or ["./proxyctl.yaml"]

    def variable_names(self) -> list[str]:
        """Return the names that --var gave, sorted."""
        return sorted(item.split("=", 1)[0] for item in self.var or ())

    def sources(self) -> Sources:
        """Return the files, with the variables for their templates.

        Raises: UsageError for a --var without `=`, or given twice.
        """
        from proxyctl.config.project import Sources

        variables: dict[str, object] = {}
        for item in self.var or ():
            name, separator, value = item.partition("=")
            if not separator or not name.isidentifier():
                raise UsageError(
                    f"--var {name}: expected NAME=VALUE, with a NAME of letters, digits and _"
                )
            if name in variables:
                raise UsageError(f"--var {name}: defined twice")
            variables[name] = value
        return Sources(
            paths=tuple(self.paths()),
            variables=variables,
            var_files=tuple(self.var_file or ()),
            restrict_paths=self.restrict_paths,
        )


@dataclass(frozen=True)
class ConnectionOptions(FromCommandLine):
    """The instance to connect to, and the account."""

    host: str | None = _connection_option(
        None,
        envvar="PROXYCTL_HOST",
        metavar="HOST",
        help="Host of the admin interface. Default: 127.0.0.1.",
    )
    port: int | None = _connection_option(
        None,
        envvar="PROXYCTL_PORT",
        min=1,
        max=65535,
        help="Port of the admin interface. Default: 6032.",
    )
    socket: str | None = _connection_option(
        None, metavar="PATH", help="Unix socket of the admin interface."
    )
    user: str | None = _connection_option(
        None,
        "--user",
        "-u",
        envvar="PROXYCTL_USER",
        metavar="NAME",
        help="Admin account. Default: admin.",
    )
    password_file: str | None = _connection_option(
        None,
        envvar="PROXYCTL_PASSWORD_FILE",
        metavar="PATH",
        help="File with the password. Default: PROXYCTL_PASSWORD, or a prompt on a terminal.",
    )
    defaults_file: str | None = _connection_option(
        None, metavar="PATH", help="Option file of the mysql client (reads its group `client`)."
    )
    instance: str | None = _connection_option(
        None,
        envvar="PROXYCTL_INSTANCE",
        metavar="NAME",
        help="An instance from the section `instances` of the files.",
        autocompletion=instance_names,
    )
    tls_ca: str | None = _connection_option(
        None, metavar="PATH", help="Use TLS and verify the instance's certificate with this CA."
    )
    tls_required: bool = _connection_option(
        False, "--tls-required", help="Refuse a connection without TLS."
    )

    @property
    def debug(self) -> Callable[[str], None] | None:
        """The function that writes a line of the debug log; None without --debug."""
        tell: Callable[[str], None] | None = self.context.obj
        return tell


@dataclass(frozen=True)
class Allowances:
    """Options of plan and apply that allow a change, or limit the plan."""

    only: OnlyOption = None
    force: bool = option(False, "--force", help="Ignore the refusals of guards.")
    discard_pending: bool = option(
        False, "--discard-pending", help="Overwrite managed rows that were edited in MEMORY."
    )
    allow_shard_moves: bool = option(
        False,
        "--allow-shard-moves",
        help="Allow tables and schemas to move to another shard; their data must be there already.",
    )

    def options(self) -> PlanOptions:
        """Return the options that a plan is made with."""
        from proxyctl.plan.make import PlanOptions

        return PlanOptions(
            only=tuple(self.only or ()),
            force=self.force,
            discard_pending=self.discard_pending,
            allow_shard_moves=self.allow_shard_moves,
        )

    def names(self) -> list[str]:
        """Return the options as on a command line, for a saved plan."""
        given = [option for option, flag in _FLAGS.items() if getattr(self, flag)]
        return [*given, *(f"--only={name}" for name in self.only or ())]

    @classmethod
    def of_names(cls, names: Iterable[str]) -> Allowances | None:
        """Return the options that `names` spells out; None if one of them is unknown."""
        given = list(names)
        only = [name.removeprefix("--only=") for name in given if name.startswith("--only=")]
        found = cls(only or None, **{_FLAGS[name]: True for name in given if name in _FLAGS})
        return found if sorted(found.names()) == sorted(given) else None


_FLAGS = {
    "--force": "force",
    "--discard-pending": "discard_pending",
    "--allow-shard-moves": "allow_shard_moves",
}


@dataclass(frozen=True)
class ApplyOptions:
    """How an apply or a rollback changes an instance."""

    auto_approve: AutoApproveOption = False
    no_save: bool = option(
        False, "--no-save", help="Do not write DISK: a restart reverts the change."
    )
    lock_timeout: LockTimeoutOption = 30.0
    peer_timeout: float = option(
        30.0,
        metavar="SECONDS",
        min=0,
        max=3600,
        help="Wait this long for the other members of a ProxySQL Cluster to follow"
        " (0 does not wait).",
    )


@dataclass(frozen=True)
class FleetOptions(FromCommandLine):
    """Whether a command takes all instances, where they are listed, and how many at a time."""

    all_instances: bool = _fleet_option(False, "--all", help="Every instance in the files.")
    instances_from: str | None = _fleet_option(
        None,
        metavar="COMMAND",
        help="With --all: use the instances that this command prints as JSON, in the form of"
        " the section `instances`. It must end within 60 seconds.",
    )
    parallel: int = _fleet_option(
        10,
        metavar="NUMBER",
        min=1,
        max=1000,
        help="With --all: work on this many instances at the same time.",
    )

    def is_meant(self, rollout: RolloutOptions | None = None) -> bool:
        """Return whether the command takes all instances.

        Raises: UsageError for options, also of `rollout`, that need --all.
        """
        typed = self.typed | (rollout.typed if rollout is not None else frozenset())
        if typed and not self.all_instances:
            option = f"--{min(typed).replace('_', '-')}"
            raise UsageError(f"{option} needs --all", fix=f"add --all, or leave out {option}")
        return self.all_instances


class Strategy(StrEnum):
    """The order of batches in a rollout."""

    ROLLING = "rolling"
    CANARY = "canary"


@dataclass(frozen=True)
class RolloutOptions(FromCommandLine):
    """How an apply with --all proceeds from instance to instance."""

    strategy: Strategy = _fleet_option(
        Strategy.ROLLING,
        help="With --all: one batch after the other, or one instance before all the others.",
    )
    max_unavailable: int = _fleet_option(
        1, metavar="NUMBER", min=1, help="With --strategy rolling: the size of a batch."
    )
    skip_unreachable: bool = _fleet_option(
        False,
        "--skip-unreachable",
        help="With --all: skip instances that cannot be reached or read.",
    )

    def check(self, fleet: FleetOptions) -> None:
        """Refuse options that would have no effect. Raises: UsageError."""
        is_canary = fleet.is_meant(self) and self.strategy is Strategy.CANARY
        if is_canary and "max_unavailable" in self.typed:
            raise UsageError("--max-unavailable goes with --strategy rolling")
