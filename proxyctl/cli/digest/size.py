"""A very large table of digests is announced before it is read, and asked about on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.output import is_terminal, say, says_yes
from proxyctl.errors import RefusedError

if TYPE_CHECKING:
    from proxyctl.admin.client import AdminClient

AutoApproveOption = Annotated[
    bool, typer.Option("--auto-approve", help="Do not ask before a very large table is read.")
]

_PATIENCE = 30
"""How many times the expected time is waited: others may read as well, or the machine be busy."""


def warn_of_size(client: AdminClient, *, is_approved: bool) -> None:
    """Say beforehand that a very large table will be read, and ask on a terminal.

    Changes: the client connects anew where it would not wait long enough. Raises: RefusedError.
    """
    from dataclasses import replace

    from proxyctl.admin.digest_size import read_digest_size
    from proxyctl.digests.units import size_text

    size = read_digest_size(client)
    if not size.is_large:
        return
    say(
        f"{client.address}: digests take {size_text(size.memory)} of memory; ProxySQL copies all of"
        f" it for one look, about {size.expected_s:.0f} s, and its admin interface waits meanwhile"
    )
    can_ask = is_terminal(sys.stdin) and is_terminal(sys.stderr)
    if can_ask and not is_approved and not says_yes("Read it?"):
        raise RefusedError("not read: the answer was not 'yes'")
    patience_s = round(size.expected_s * _PATIENCE)
    if patience_s > client.login.read_timeout_s:
        client.login = replace(client.login, read_timeout_s=patience_s)
        client.connect()
