"""Options that several commands share, as dataclasses that a command takes whole.

`command` turns a parameter of such a type into the options of its fields, so that every command
that connects takes the same ones and no list of them is written twice.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from proxyctl.errors import UsageError

if TYPE_CHECKING:
    from proxyctl.config.project import Sources

_FILES = "Files"
_CONNECTION = "Connection"

DebugOption = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Say on stderr what is decided and sent, without secrets: for a ticket.",
        rich_help_panel="Every command",
    ),
]
_DEBUG = "debug"
"""Every command takes it, and none asks for it: `command` adds it."""


@dataclass(frozen=True)
class FileOptions:
    """Which files describe the configuration."""

    file: Annotated[
        list[str] | None,
        typer.Option(
            "--file",
            "-f",
            metavar="PATH",
            envvar="PROXYCTL_FILE",
            help="File or folder (*.yaml, *.yml, *.j2); many times. Default: ./proxyctl.yaml.",
            rich_help_panel=_FILES,
        ),
    ] = None
    var: Annotated[
        list[str] | None,
        typer.Option(
            "--var", metavar="K=V", help="A variable for templates.", rich_help_panel=_FILES
        ),
    ] = None
    var_file: Annotated[
        list[str] | None,
        typer.Option(
            "--var-file",
            metavar="PATH",
            help="YAML or JSON file with variables for templates.",
            rich_help_panel=_FILES,
        ),
    ] = None
    restrict_paths: Annotated[
        bool,
        typer.Option(
            "--restrict-paths",
            help="Refuse files outside the folders of -f that files or links there lead to.",
            rich_help_panel=_FILES,
        ),
    ] = False

    def paths(self) -> list[str]:
        """Return what -f named, or the default.

        Raises: UsageError for an empty path: with an unset shell variable it would be `.`.
        """
        if self.file and not all(self.file):
            raise UsageError("--file: an empty path")
        return self.file or ["./proxyctl.yaml"]

    def variable_names(self) -> list[str]:
        """Return the names that --var gave, sorted."""
        return sorted(item.split("=", 1)[0] for item in self.var or ())

    def sources(self) -> Sources:
        """Return what the options say about the self.

        Raises: UsageError for a --var without `=`, or given twice.
        """
        from proxyctl.cli.output import say
        from proxyctl.config.project import Sources

        variables: dict[str, object] = {}
        for item in self.var or ():
            name, separator, value = item.partition("=")
            if not separator or not name.isidentifier():
                raise UsageError(f"--var {name}: expected NAME=VALUE, a NAME without - or blanks")
            if name in variables:
                raise UsageError(f"--var {name}: given twice")
            variables[name] = value
        return Sources(
            paths=tuple(self.paths()),
            variables=variables,
            var_files=tuple(self.var_file or ()),
            restrict_paths=self.restrict_paths,
            warn=functools.cache(lambda text: say(f"warning: {text}")),  # each file once
        )


@dataclass(frozen=True)
class ConnectionOptions:
    """Which instance, and who we are there."""

    host: Annotated[
        str | None,
        typer.Option(
            envvar="PROXYCTL_HOST",
            metavar="HOST",
            help="Admin interface. Default: 127.0.0.1.",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    port: Annotated[
        int | None,
        typer.Option(
            envvar="PROXYCTL_PORT",
            min=1,
            max=65535,
            help="Admin port. Default: 6032.",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    socket: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Unix socket.", rich_help_panel=_CONNECTION),
    ] = None
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            "-u",
            envvar="PROXYCTL_USER",
            metavar="NAME",
            help="Admin account. Default: admin.",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    password_file: Annotated[
        str | None,
        typer.Option(
            envvar="PROXYCTL_PASSWORD_FILE",
            metavar="PATH",
            help="File with the password; or set PROXYCTL_PASSWORD. On a terminal it is asked for.",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    defaults_file: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Option file of the mysql client; its group `client` is read.",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    instance: Annotated[
        str | None,
        typer.Option(
            envvar="PROXYCTL_INSTANCE",
            metavar="NAME",
            help="An instance of the files' `instances` section.",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    tls_ca: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Use TLS and verify the instance's certificate with this CA.",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    tls_required: Annotated[
        bool,
        typer.Option(
            "--tls-required", help="Refuse to talk without TLS.", rich_help_panel=_CONNECTION
        ),
    ] = False
    debug: Callable[[str], None] | None = field(default=None, metadata={"is_option": False})
    """Who is told what --debug shows; None without it."""
    typed: frozenset[str] = field(default=frozenset(), metadata={"is_option": False})
    """Names of the options that stand on the command line itself, not in the environment."""


@dataclass(frozen=True)
class PeerOptions:
    """What holds for the other members of a native ProxySQL Cluster."""

    peer_timeout: Annotated[
        float,
        typer.Option(
            "--peer-timeout",
            metavar="SECONDS",
            min=0,
            max=3600,
            help="Wait this long until the members of a ProxySQL Cluster follow; 0: do not wait.",
        ),
    ] = 30.0


class PlanFormat(StrEnum):
    """How a plan is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    SQL = "sql"


class LayerName(StrEnum):
    """A layer, in the order in which people ask for one."""

    RUNTIME = "runtime"
    MEMORY = "memory"
    DISK = "disk"


class TextFormat(StrEnum):
    """For people or for machines."""

    TEXT = "text"
    JSON = "json"


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator that registers a command whose option dataclasses are spread out."""

    def register(function: Callable[..., int]) -> Callable[..., int]:
        hints = get_type_hints(function, include_extras=True)
        groups = {
            parameter: hint
            for parameter, hint in hints.items()
            if isinstance(hint, type) and dataclasses.is_dataclass(hint)
        }

        def called(
            context: typer.Context, given: dict[str, Any], tell: Callable[[str], None] | None
        ) -> int:
            arguments: dict[str, Any] = {}
            for parameter, kind in groups.items():
                fields = {field.name: given.pop(field.name) for field in _options(kind)}
                known = {field.name for field in dataclasses.fields(kind)}
                if "typed" in known:
                    fields["typed"] = _typed(context, fields)
                if "debug" in known:
                    fields["debug"] = tell
                arguments[parameter] = kind(**fields)
            return function(**given, **arguments)

        @functools.wraps(function)
        def spread(context: typer.Context, **given: Any) -> int:  # noqa: ANN401
            if not (given.pop(_DEBUG) or context.find_root().params.get(_DEBUG)):
                return called(context, given, None)
            from proxyctl.cli.debug import debugged

            with debugged(context) as tell:
                code = called(context, given, tell)
                tell(f"exit code {int(code)}")
            return code

        spread.__signature__ = _spread_signature(function, hints, groups)  # type: ignore[attr-defined]
        app.command(name)(spread)
        return function

    return register


def spelled(name: str) -> str:
    """Return an option as it is typed. `name`: that of its parameter."""
    return f"--{name.replace('_', '-')}"


def _options(kind: type[Any]) -> list[dataclasses.Field[Any]]:
    return [one for one in dataclasses.fields(kind) if one.metadata.get("is_option", True)]


def _typed(context: typer.Context, names: Iterable[str]) -> frozenset[str]:
    sources = {name: context.get_parameter_source(name) for name in names}
    return frozenset(
        name for name, source in sources.items() if source and source.name == "COMMANDLINE"
    )


def _spread_signature(
    function: Callable[..., int], hints: dict[str, Any], groups: dict[str, Any]
) -> inspect.Signature:
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [context]
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in groups:
            parameters.append(
                parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
            )
            continue
        field_hints = get_type_hints(groups[name], include_extras=True)
        parameters.extend(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=field_hints[field.name],
            )
            for field in _options(groups[name])
        )
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters.append(inspect.Parameter(_DEBUG, keyword, default=False, annotation=DebugOption))
    return inspect.Signature(parameters)
