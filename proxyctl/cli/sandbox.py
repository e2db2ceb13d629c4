"""Commands around the embedded admin interface: sandbox, demo."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Annotated

import typer

from proxyctl.cli.options import command
from proxyctl.cli.output import say
from proxyctl.errors import ExitCode, UsageError


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "sandbox")(sandbox)
    command(app, "demo")(demo)


def sandbox(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 6032,
    proxysql_version: Annotated[
        str, typer.Option(metavar="X.Y.Z", help="Which ProxySQL to stand for.")
    ] = "2.7.1",
    disk: Annotated[
        str | None, typer.Option(metavar="FILE", help="Keep the DISK layer in this file.")
    ] = None,
    sample: Annotated[
        bool,
        typer.Option(
            "--sample",
            help="Begin with a made-up shop: servers, users, rules, statistics that go on.",
        ),
    ] = False,
) -> int:
    """Serve an embedded ProxySQL admin interface (users admin/admin, radmin/radmin)."""
    from proxyctl.cli.files import chosen_version
    from proxyctl.sandbox import Sandbox

    chosen_version(proxysql_version)
    if sample and disk is not None:
        raise UsageError(
            "--sample and --disk do not go together",
            hint="the sample would be written into the file; take one of them",
        )
    gc.enable()  # it lives long, unlike other commands

    def ready(_port: int) -> None:
        say(f"ProxySQL {proxysql_version} sandbox on {served.address}; ctrl-c ends it")
        if sample:
            say("it plays a made-up shop: see digest top, rules, digest suggest, top")
        elif disk is None:
            say("it is empty; with --sample it plays a made-up shop to look at")

    served = Sandbox(proxysql_version, path=None if disk is None else Path(disk))
    if sample:
        served.fill_with_sample()
    try:
        served.serve_forever(host, port, ready)
    except KeyboardInterrupt:
        say("stopped")
    return ExitCode.DONE


def demo() -> int:
    """Show the main job on a sandbox: init, plan, apply, an edit by hand, drift, statistics."""
    from proxyctl.cli.demo import run_demo

    return run_demo()
