"""The `instances` section: the ProxySQL instances, and how to reach them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proxyctl.config.context import Compilation, FileSection
from proxyctl.config.documents import near_file, without_marks
from proxyctl.config.env_references import SecretCommands, resolve
from proxyctl.config.sources import ANYWHERE, Fence, UnreadableError, read_bytes
from proxyctl.config.validation import check_items
from proxyctl.errors import ConfigError, InstanceError, Mistake
from proxyctl.rows.row import Where

if TYPE_CHECKING:
    from proxyctl.config.models import InstanceModel

MAX_CA = 16 * 1024 * 1024
"""Largest file that `tls_ca` names. Units: bytes."""


@dataclass(frozen=True)
class Instance:
    """One ProxySQL. `password()` resolves the password only when it is needed.

    An instance with `dns` is as many as the name has addresses; see `fleet.targets.resolved`.
    """

    name: str
    """The name in the files; of one by `dns` its address, '' before the name is resolved."""
    host: str | None = None
    """The host of the admin interface."""
    dns: str | None = None
    """The DNS name whose addresses are instances."""
    port: int = 6032
    """The port of the admin interface."""
    user: str | None = None
    """The admin account."""
    socket: str | None = None
    """The path of a Unix socket, instead of host and port."""
    tls_ca: str | None = None
    """The file with the certificate authority, as a path relative to the working folder."""
    tls_verify_identity: bool = False
    """Whether the certificate also has to name the host."""
    tls_required: bool = False
    """Whether to refuse a connection without TLS."""
    vars: Mapping[str, Any] = field(default_factory=dict)
    """The variables that templates have for this instance."""
    where: Where = field(default=Where("", 0, 0))
    """The place of the instance in the files."""
    _secret: str | Mapping[str, Any] | None = field(default=None, repr=False)
    """The password, or a reference to it."""
    _fence: Fence = field(default=ANYWHERE, repr=False)
    """The folders that must hold the files that the instance names."""
    _commands: SecretCommands | None = field(default=None, repr=False, compare=False)
    """Runs the command that prints the password."""

    def password(self) -> str | None:
        """Return the password; None if the files have none.

        Raises: ConfigError if the password comes from a variable or a file that is missing, or from
        a command that fails.
        """
        if self._secret is None or isinstance(self._secret, str):
            return self._secret
        try:
            folder = os.path.dirname(self.where.path)
            return resolve(
                self._secret, folder, self._fence, is_secret=True, commands=self._commands
            )
        except UnreadableError as error:
            path, line, column, _ = self.where
            key = f"instances.{self.name}.password"
            mistake = Mistake(path, line, column, key, error.message, error.fix)
            raise ConfigError([mistake]) from None

    @property
    def has_plain_password(self) -> bool:
        """Whether the file holds the password itself, not a reference to it."""
        secret = self._secret
        return bool(secret.get("hex") if isinstance(secret, Mapping) else secret)

    def certificates(self) -> str:
        """Return the PEM text of `tls_ca`, without characters that are not ASCII.

        Raises: InstanceError if the file cannot be read or lies outside the fence.
        """
        return certificates(self.tls_ca or "", "tls_ca", self._fence)


def certificates(path: str, option: str, fence: Fence = ANYWHERE) -> str:
    """Return the PEM text of a file that an option or a key names. Raises: InstanceError."""
    try:
        return read_bytes(path, limit=MAX_CA, fence=fence).decode("ascii", "ignore")
    except UnreadableError as error:
        message = f"{option} {path}: {error.message}"
        raise InstanceError(message, fix=near_file(path)) from None


def refuse_duplicate_addresses(instances: Iterable[Instance]) -> None:
    """Refuse instances that share an address: after such a slip one instance is never changed.

    Only for commands on all instances: a tunnel may lead to another instance each day. Raises:
    ConfigError.
    """
    first: dict[object, Instance] = {}
    mistakes = []
    for instance in instances:
        address = instance.socket or (str(instance.host).lower(), instance.port)
        known = first.setdefault(address, instance)
        if known is not instance:
            path, line, column, _ = instance.where
            message = f"duplicate address (first used by {known.name}, at {known.where})"
            fix = "give each its own address, or remove one of them"
            key = f"instances.{instance.name}"
            mistakes.append(Mistake(path, line, column, key, message, fix))
    if mistakes:
        raise ConfigError(mistakes)


def compile_instances(parts: list[FileSection], context: Compilation) -> tuple[Instance, ...]:
    """Return the instances of all files. Changes: context.mistakes."""
    return tuple(
        _instance(part, position, model, context)
        for part in parts
        for position, model in check_items(part, context).items()
    )


_ARTICLES = {"host": "a host", "socket": "a socket", "dns": "a DNS name"}


def _instance(
    part: FileSection, position: int, model: InstanceModel, context: Compilation
) -> Instance:
    """Return one instance. Changes: context.mistakes."""
    given = [key for key in ("host", "socket", "dns") if getattr(model, key) is not None]
    if not any(getattr(model, key) for key in given):
        context.note(part, (position,), "host, socket or dns is missing")
    elif len(given) > 1:
        message = f"both {_ARTICLES[given[0]]} and {_ARTICLES[given[1]]}"
        context.note(part, (position, given[1]), message, "remove one of the two", of_key=True)
    if model.dns is not None and model.name is not None:
        message = "each address of `dns` is an instance with the address as its name"
        context.note(part, (position, "name"), message, "remove name", of_key=True)
    elif model.dns is None and model.name is None:
        context.mistakes.add(
            part.where(position), part.label((position, "name")), "name is missing"
        )
    try:
        if model.tls_ca:
            context.fence.check(model.tls_ca)
    except UnreadableError as error:
        message = f"{model.tls_ca}: {error.message}"
        context.note(part, (position, "tls_ca"), message, error.fix)
    return Instance(
        **model.model_dump(exclude={"name", "password", "vars"}),
        name=model.name or "",
        vars=without_marks(model.vars),
        where=part.where(position),
        _secret=model.password,
        _fence=context.fence,
        _commands=context.commands,
    )
