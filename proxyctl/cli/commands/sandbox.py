"""Commands around the embedded admin interface: sandbox, demo."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from proxyctl.catalog import Version
from proxyctl.catalog.plugins import simulated_version
from proxyctl.cli.login import password_from
from proxyctl.cli.option_kinds import flag, parsed, value
from proxyctl.cli.output import say, style, write, write_file
from proxyctl.errors import ExitCode, InternalError, UsageError

if TYPE_CHECKING:
    from proxyctl.sandbox import Sandbox

_SECRETS = {"APP_PASSWORD": "a-demo-password", "MONITOR_PASSWORD": "another-one"}


_VERSION = parsed("--proxysql-version", simulated_version)


def _is_loopback(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def sandbox(
    host: str = value("HOST", "Address to listen on.", default="127.0.0.1"),
    password_file: str | None = value(
        "PATH", "File with the password of admin and radmin; needed to listen on another address."
    ),
    port: int = value("PORT", "Port; 0 picks a free one.", default=6032, min=0, max=65535),
    proxysql_version: Version = value(
        "X.Y.Z",
        "The ProxySQL version to simulate. The documentation shows what 2.7.1 answers.",
        default="2.7.1",
        parser=_VERSION,
    ),
    disk: str | None = value("FILE", "Keep the DISK layer in this file."),
    sample: bool = flag(
        "--sample", "Start with a made-up shop: servers, users, rules and running statistics."
    ),
) -> int:
    """Serve an embedded ProxySQL admin interface. Users: admin/admin, radmin/radmin."""
    from proxyctl.sandbox import Sandbox

    if sample and disk is not None:
        raise UsageError(
            "--sample and --disk cannot be used together",
            fix="leave one of them out: the sample would be written into the file",
        )
    if password_file is None and not _is_loopback(host):
        raise UsageError(
            f"--host {host} lets other machines connect, and a sandbox has well-known passwords",
            fix="add --password-file PATH, or leave out --host",
        )
    password = None
    if password_file is not None:
        password = password_from(password_file, "--password-file")
        if not password:
            raise UsageError("--password-file: the password is empty")
    gc.enable()  # the sandbox runs for long, unlike other commands
    server = Sandbox(
        str(proxysql_version),
        None if password is None else {"admin": password, "radmin": password},
        stats_users=None if password is None else {"stats": password},
        path=None if disk is None else Path(disk),
    )
    remarks = []
    if sample:
        server.fill_with_sample()
        remarks = [
            "it plays the traffic of a made-up shop; try digest top, rules, digest suggest, top"
        ]
    elif disk is None:
        remarks = ["it is empty; --sample fills it with a made-up shop"]
    try:
        server.start(host, port)
        say(f"ProxySQL {proxysql_version} sandbox on {server.address}; ctrl-c stops it", *remarks)
        threading.Event().wait()
    except KeyboardInterrupt:
        say("stopped")
    finally:
        server.close()
    return ExitCode.DONE


_TOUR = """
# This tour runs against an embedded ProxySQL admin interface; no ProxySQL is needed.
$ proxyctl init --template read-write-split config
# What would change? plan writes nothing.
$ proxyctl plan -f config
# Apply it: write MEMORY, LOAD, read RUNTIME back, SAVE, read DISK back.
$ proxyctl apply -f config --auto-approve
$ proxyctl plan -f config
# Somebody edits a row by hand and loads it:
admin> UPDATE mysql_servers SET weight=9 WHERE hostname='db2.example.com';
admin> LOAD MYSQL SERVERS TO RUNTIME;
# drift shows what differs from the files, and in which layer (exit code 2):
$ proxyctl drift -f config
# Export the running configuration as files:
$ proxyctl export
"""
_STATISTICS_TOUR = """
# On another instance, a made-up shop: which queries take the time, and by which rule?
$ proxyctl digest top --rule --limit 3
# Which rules are hit?
$ proxyctl rules
# What would help? digest suggest also looks at caching and slow queries.
$ proxyctl digest suggest --only reads --limit 1
"""


def demo() -> int:
    """Show the main commands on a sandbox, from init to statistics."""
    from proxyctl.sandbox import Sandbox

    with tempfile.TemporaryDirectory(prefix="proxyctl-demo-") as name:
        write_file(Path(name, "admin.password"), "admin\n", mode=0o600)
        with Sandbox() as sandbox:
            _show(_TOUR, Path(name), sandbox)
        with Sandbox() as sandbox:
            sandbox.fill_with_sample()
            _show(_STATISTICS_TOUR, Path(name), sandbox)
    write("Done. Next: docs/tutorial.md, and for statistics docs/how-to/sandbox.md\n")
    return ExitCode.DONE


def _show(tour: str, folder: Path, sandbox: Sandbox) -> None:
    """Print the lines of a tour, and run its commands and statements as a user would.

    Raises: InternalError for an unexpected exit code.
    """
    # The tour uses only the sandbox, never the user's own instance or password.
    environment = {n: v for n, v in os.environ.items() if not n.startswith("PROXYCTL_")} | {
        **_SECRETS,
        "PROXYCTL_PORT": str(sandbox.port),
        "PROXYCTL_PASSWORD_FILE": str(folder / "admin.password"),
        "PROXYCTL_STATE_DIR": str(folder / "state"),
        **({"FORCE_COLOR": "1"} if style().is_coloured else {}),
    }
    for line in tour.strip().splitlines():
        kind, command = line.split(maxsplit=1)
        write(style()("dim" if kind == "#" else "bold", line) + "\n")
        if kind == "admin>":
            sandbox.run(command)
        elif kind == "$":
            _, *arguments = command.split()
            done = subprocess.run(  # noqa: S603  # our own interpreter and our own arguments
                [sys.executable, "-m", "proxyctl", *arguments],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            write(done.stdout.decode("utf-8", "surrogateescape") + "\n")
            if done.returncode != (ExitCode.DIFFERENCES if "drift" in arguments else ExitCode.DONE):
                raise InternalError(f"the tour did not expect exit code {done.returncode}")
