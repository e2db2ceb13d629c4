"""Options that several commands share.

A dataclass is a group of options: `app` turns each of its fields into an option. `PANEL` is the
heading of the group in help.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from proxyctl.catalog import Version, known_version
from proxyctl.cli.completion import instance_names, module_names
from proxyctl.cli.help import EVERY_COMMAND, show_all
from proxyctl.cli.option_kinds import choice, flag, parsed, spelled, value
from proxyctl.errors import UsageError

if TYPE_CHECKING:
    from proxyctl.instance.authentication import Trust
    from proxyctl.plan.make import PlanOptions


VERSION = parsed("--proxysql-version", known_version)
"""The parser of --proxysql-version."""
FormatOption = Annotated[Literal["text", "json"], choice(Literal["text", "json"])]
LayerName = Literal["runtime", "memory", "disk"]
LayerOption = Annotated[
    LayerName | None,
    choice(LayerName, "--layer", "The layer of the instance to look at. Default: runtime."),
]
AutoApproveOption = Annotated[bool, typer.Option("--auto-approve", "-y", help="Do not ask.")]
LockTimeoutOption = Annotated[
    float,
    typer.Option(min=0, metavar="SECONDS", help="Wait this long for another apply to finish."),
]
VersionOption = Annotated[
    Version | None,
    typer.Option(
        "--proxysql-version",
        metavar="X.Y.Z",
        parser=VERSION,
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
_every = functools.partial(typer.Option, rich_help_panel=EVERY_COMMAND)
DebugOption = Annotated[
    bool,
    _every(
        "--debug", help="Log decisions and statements to stderr, without secrets, for a bug report."
    ),
]
NoColorOption = Annotated[
    bool, _every("--no-color", help="Write without colour, as with the variable NO_COLOR.")
]
HelpAllOption = Annotated[
    bool,
    _every("--help-all", help="Show the help with every option.", is_eager=True, callback=show_all),
]
"""`app` adds --debug, --no-color and --help-all to every command."""
BEFORE_COMMAND = ("--debug", "--no-color")
"""Options that may also precede the command."""


@dataclass(frozen=True)
class FromCommandLine:
    """Options that a command treats differently when they come from the environment."""

    context: typer.Context

    @property
    def typed(self) -> frozenset[str]:
        """The names of the options on the command line itself."""
        names = [field.name for field in dataclasses.fields(self)]
        sources = {name: self.context.get_parameter_source(name) for name in names}
        return frozenset(
            name for name, source in sources.items() if source and source.name == "COMMANDLINE"
        )


@dataclass(frozen=True)
class ConnectionOptions(FromCommandLine):
    """The instance to connect to, and the account."""

    PANEL: ClassVar = "Connection"
    host: str | None = value(
        "HOST", "Host of the admin interface. Default: 127.0.0.1.", envvar="PROXYCTL_HOST"
    )
    port: int | None = value(
        "PORT",
        "Port of the admin interface. Default: 6032.",
        envvar="PROXYCTL_PORT",
        min=1,
        max=65535,
    )
    socket: str | None = value("PATH", "Unix socket of the admin interface.")
    user: str | None = value(
        "NAME", "Admin account. Default: admin.", "--user", "-u", envvar="PROXYCTL_USER"
    )
    password_file: str | None = value(
        "PATH",
        "File with the password. Default: PROXYCTL_PASSWORD, or a prompt on a terminal.",
        envvar="PROXYCTL_PASSWORD_FILE",
    )
    defaults_file: str | None = value(
        "PATH", "Option file of the mysql client (reads its group `client`)."
    )
    instance: str | None = value(
        "NAME",
        "An instance from the section `instances` of the files.",
        envvar="PROXYCTL_INSTANCE",
        autocompletion=instance_names,
    )
    tls_ca: str | None = value(
        "PATH", "Use TLS and verify the instance's certificate with this CA."
    )
    tls_verify_identity: bool = flag(
        "--tls-verify-identity", "With --tls-ca: the certificate also has to name the host."
    )
    tls_required: bool = flag("--tls-required", "Refuse a connection without TLS.")


@dataclass(frozen=True)
class BackendOptions:
    """What lets the servers behind ProxySQL have a password, if they ask for it."""

    PANEL: ClassVar = "Servers behind ProxySQL"
    backend_ca: str | None = value(
        "PATH", "Use TLS and verify the servers' certificates with this CA."
    )
    backend_public_key: str | None = value(
        "PATH", "Log in without TLS, with this RSA key of the server."
    )
    backend_unverified: bool = flag(
        "--backend-unverified",
        "Send the password itself if a server asks for it: anyone in between can read it.",
    )

    def trust(self) -> Trust:
        """Return the trust that the options give. Raises: UsageError, InstanceError."""
        from proxyctl.config.sections.instances import certificates
        from proxyctl.instance.authentication import Trust
        from proxyctl.instance.tls import Authority

        given = [
            spelled(name) for name in ("backend_ca", "backend_public_key", "backend_unverified")
            if getattr(self, name)
        ]  # fmt: skip
        if len(given) > 1:
            raise UsageError(f"{given[0]} and {given[1]} cannot be used together")
        ca, key = self.backend_ca, self.backend_public_key
        return Trust(
            ca=Authority(f"--backend-ca {ca}", lambda: certificates(ca, "--backend-ca"))
            if ca
            else None,
            public_key=certificates(key, "--backend-public-key").encode() if key else None,
            accepts_risk=self.backend_unverified,
        )


@dataclass(frozen=True)
class Allowances:
    """Options of plan and apply that allow a change, or limit the plan."""

    only: OnlyOption = None
    force: bool = flag("--force", "Ignore the refusals of guards.")
    discard_pending: bool = flag(
        "--discard-pending", "Overwrite managed rows that were edited in MEMORY."
    )
    allow_shard_moves: bool = flag(
        "--allow-shard-moves",
        "Allow tables and schemas to move to another shard; their data must be there already.",
    )

    def options(self) -> PlanOptions:
        """Return the options that a plan is made with."""
        from proxyctl.plan.make import PlanOptions

        return PlanOptions(**{**vars(self), "only": tuple(self.only or ())})

    def names(self) -> list[str]:
        """Return the options as typed on a command line, for a saved plan."""
        flags = [option for option, name in _FLAGS.items() if getattr(self, name)]
        return [*flags, *(f"--only={name}" for name in self.only or ())]

    @classmethod
    def of_names(cls, names: Collection[str]) -> Allowances:
        """Return the options that `names` spells out; unknown ones allow nothing."""
        only = [name.removeprefix("--only=") for name in names if name.startswith("--only=")]
        return cls(only or None, **{name: option in names for option, name in _FLAGS.items()})


_FLAGS = {spelled(name): name for name in ("force", "discard_pending", "allow_shard_moves")}


@dataclass(frozen=True)
class ChangeOptions:
    """How an apply or a rollback changes an instance."""

    auto_approve: AutoApproveOption = False
    no_save: bool = flag("--no-save", "Do not write DISK: a restart reverts the change.")
    lock_timeout: LockTimeoutOption = 30.0
    peer_timeout: float = value(
        "SECONDS",
        "Wait this long for the other members of a ProxySQL Cluster to follow (0 does not wait).",
        default=30.0,
        min=0,
        max=3600,
    )


@dataclass(frozen=True)
class AllInstancesOptions(FromCommandLine):
    """Whether a command takes all instances, and where they are listed."""

    PANEL: ClassVar = "Many instances"
    all_instances: bool = flag("--all", "Every instance in the files.")
    instances_from: str | None = value(
        "COMMAND",
        "With --all: use the instances that this command prints as JSON, in the form of"
        " the section `instances`. It must end within 60 seconds.",
    )

    def is_for_all(self) -> bool:
        """Return whether the command takes all instances. Raises: UsageError."""
        if self.typed and not self.all_instances:
            option = spelled(min(self.typed))
            raise UsageError(f"{option} needs --all", fix=f"add --all, or leave out {option}")
        return self.all_instances


@dataclass(frozen=True)
class FleetOptions(AllInstancesOptions):
    """As AllInstancesOptions, and how many instances at a time."""

    parallel: int = value(
        "NUMBER",
        "With --all: work on this many instances at the same time.",
        default=10,
        min=1,
        max=1000,
    )


@dataclass(frozen=True)
class NodeFleetOptions(FleetOptions):
    """How a drain or restore with --all proceeds from instance to instance."""

    keep_going: bool = flag(
        "--keep-going", "With --all: go on after an instance that refuses or cannot be read."
    )


@dataclass(frozen=True)
class BatchOptions(FleetOptions):
    """As FleetOptions, and how applies proceed from instance to instance."""

    strategy: Literal["rolling", "canary"] = value(
        "rolling|canary",
        "With --all: one batch after the other, or one instance before all the others.",
        default="rolling",
    )
    max_unavailable: int = value(
        "NUMBER", "With --strategy rolling: the size of a batch.", default=1, min=1
    )

    def is_for_all(self) -> bool:
        """Return whether the apply is a rollout. Raises: UsageError."""
        is_canary = super().is_for_all() and self.strategy == "canary"
        if is_canary and "max_unavailable" in self.typed:
            raise UsageError("--max-unavailable needs --strategy rolling")
        return self.all_instances


@dataclass(frozen=True)
class RolloutOptions(BatchOptions):
    """As BatchOptions, for one apply."""

    skip_unreachable: bool = flag(
        "--skip-unreachable", "With --all: skip instances that cannot be reached or read."
    )
