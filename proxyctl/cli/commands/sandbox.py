"""Commands around the embedded admin interface: sandbox, demo."""

from __future__ import annotations

import gc
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from proxyctl.cli.options import chosen_version, flag, value
from proxyctl.cli.output import say, style, write, write_file
from proxyctl.errors import ExitCode, InternalError, UsageError

_TEMPLATE = "read-write-split"
_SECRETS = {"APP_PASSWORD": "a-demo-password", "MONITOR_PASSWORD": "another-one"}
_EDIT = "UPDATE mysql_servers SET weight=9 WHERE hostname='db2.example.com'"


def sandbox(
    host: str = value("127.0.0.1", "HOST", "Address to listen on."),
    port: int = value(6032, "PORT", "Port; 0 takes a free one.", min=0, max=65535),
    proxysql_version: str = value(
        "2.7.1",
        "X.Y.Z",
        "The ProxySQL version to simulate. The documentation shows what 2.7.1 answers.",
    ),
    disk: str | None = value(None, "FILE", "Keep the DISK layer in this file."),
    sample: bool = flag(
        "--sample",
        "Start with a made-up shop: servers, users, rules and running statistics.",
    ),
) -> int:
    """Serve an embedded ProxySQL admin interface (users admin/admin, radmin/radmin)."""
    from proxyctl.sandbox import Sandbox

    chosen_version(proxysql_version)
    if sample and disk is not None:
        raise UsageError(
            "--sample and --disk cannot be used together",
            fix="leave one of them out: the sample would be written into the file",
        )
    gc.enable()  # it lives long, unlike other commands
    served = Sandbox(proxysql_version, path=None if disk is None else Path(disk))
    about = []
    if sample:
        served.fill_with_sample()
        about = [
            "it plays the traffic of a made-up shop; try digest top, rules, digest suggest, top"
        ]
    elif disk is None:
        about = ["it is empty; --sample fills it with a made-up shop"]
    try:
        served.start(host, port)
        say(f"ProxySQL {proxysql_version} sandbox on {served.address}; ctrl-c ends it", *about)
        threading.Event().wait()
    except KeyboardInterrupt:
        say("stopped")
    finally:
        served.close()
    return ExitCode.DONE


def demo() -> int:
    """Show the main commands on a sandbox: init, plan, apply, drift, export, statistics."""
    from proxyctl.sandbox import Sandbox

    with tempfile.TemporaryDirectory(prefix="proxyctl-demo-") as folder, Sandbox() as sandbox:
        tour = _Tour(Path(folder), sandbox.port)
        tour.say(
            "This tour runs against an embedded ProxySQL admin interface; no ProxySQL is needed."
        )
        tour.run("init", "--template", _TEMPLATE, "config", expect=ExitCode.DONE)
        tour.say("What would change? plan writes nothing.")
        tour.run("plan", "-f", "config", expect=ExitCode.DONE)
        tour.say("Apply it: write MEMORY, LOAD, read RUNTIME back, SAVE, read DISK back.")
        tour.run("apply", "-f", "config", "--auto-approve", expect=ExitCode.DONE)
        tour.run("plan", "-f", "config", expect=ExitCode.DONE)
        tour.say("Somebody edits a row by hand and loads it:")
        for sql in (_EDIT, "LOAD MYSQL SERVERS TO RUNTIME"):
            write(f"admin> {sql};\n")
            sandbox.run(sql)
        write("\n")
        tour.say("drift shows what differs from the files, and in which layer (exit code 2):")
        tour.run("drift", "-f", "config", expect=ExitCode.DIFFERENCES)
        tour.say("Export the running configuration as files:")
        tour.run("export", expect=ExitCode.DONE)
        _show_statistics(Path(folder))
    write("Done. Next: docs/tutorial.md, and for statistics docs/how-to/sandbox.md\n")
    return ExitCode.DONE


def _show_statistics(folder: Path) -> None:
    from proxyctl.sandbox import Sandbox

    with Sandbox() as sandbox:
        sandbox.fill_with_sample()
        tour = _Tour(folder, sandbox.port)
        tour.say(
            "On another instance, a made-up shop: which queries take the time, and by which rule?"
        )
        tour.run("digest", "top", "--rule", "--limit", "3", expect=ExitCode.DONE)
        tour.say("Which rules are hit?")
        tour.run("rules", expect=ExitCode.DONE)
        tour.say("What would help? digest suggest looks at caching and slow queries, too.")
        tour.run("digest", "suggest", "--only", "reads", "--limit", "1", expect=ExitCode.DONE)


class _Tour:
    """Runs proxyctl as a user would, in one folder and against one sandbox."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        password = folder / "admin.password"
        write_file(password, "admin\n", mode=0o600)
        # The tour is of the sandbox: nobody's own instance or password goes with it.
        inherited = {n: v for n, v in os.environ.items() if not n.startswith("PROXYCTL_")}
        self._environment = {
            **inherited,
            **_SECRETS,
            "PROXYCTL_PORT": str(port),
            "PROXYCTL_PASSWORD_FILE": str(password),
            "PROXYCTL_STATE_DIR": str(folder / "state"),
        }
        if style().is_coloured:
            self._environment["FORCE_COLOR"] = "1"

    def say(self, text: str) -> None:
        """Announce the next step."""
        write(style()("dim", f"# {text}") + "\n")

    def run(self, *arguments: str, expect: ExitCode) -> None:
        """Show a command and run it. Raises: InternalError for another exit code."""
        write(style()("bold", f"$ proxyctl {shlex.join(arguments)}") + "\n")
        done = subprocess.run(  # noqa: S603  # our own interpreter and our own arguments
            [sys.executable, "-m", "proxyctl", *arguments],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        write(done.stdout.decode("utf-8", "surrogateescape") + "\n")
        if done.returncode != expect:
            raise InternalError(f"the tour expected exit code {int(expect)}, got {done.returncode}")
