"""Run the commands of a page as one script, against the page's own sandbox."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from proxyctl.sandbox import Sandbox
from tests.support.documentation.pages import NO_SANDBOX, Block, Command, blocks_to_run, page_id
from tests.support.paths import ROOT
from tests.support.servers.instances import Instance, ProxySQL, free_port

_BASH = shutil.which("bash") or "bash"

_FIRST = "trap 'kill $(jobs -p) 2> /dev/null' EXIT"
"""What a page starts in the background ends with it."""

_ONE = """
failed=0
trap 'failed=$?' ERR
{{
{command}
}} > {out} 2>&1
trap - ERR
echo $failed > {out}.code
"""

_SHIM = """#!/bin/sh
# An apply that would ask is run on a terminal, and is answered with yes.
case " $* " in
*" --auto-approve "*) ;;
" apply "*) exec {python} -m tests.support.documentation.terminal {proxyctl} "$@" ;;
esac
exec {proxyctl} "$@"
"""

_PYTHON = """#!/bin/sh
exec {python} "$@"
"""

_CLIENT = """#!/bin/sh
exec {python} -m tests.support.documentation.client "$@"
"""

_VARYING = (
    (re.compile(r"\d{8}T\d{6}\.\d{6}Z"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"),
    (re.compile(r"(<time>)  [\d.,]+ (?:bytes?|kB)"), r"\1  <size>"),
    (re.compile(r"\bby [^\s,]+@[^\s,]+"), "by <somebody>"),
    (re.compile(r"\brollout [0-9a-f]{8}\b"), "rollout <id>"),
    (re.compile(r"\bdrained by \S+ on \S+ since"), "drained by <somebody> since"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"), "<time>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<fingerprint>"),
    # The counters of the sample shop go on.
    (re.compile(r"\b\d{1,3}(,\d{3})+\b"), "<count>"),
    (re.compile(r"\bv?(2\.7\.1|3\.0\.\d+)(-[\w-]+)?"), "<ProxySQL>"),
    (re.compile(r"\bSynced, \S+"), "Synced, <version>"),
    # A real ProxySQL lacks security fixes, which a sandbox does not need.
    (re.compile(r", 1 ignored\b"), ""),
    # A real ProxySQL that a test started has ports and logins of its own, and no monitor.
    (re.compile(r"^ *mysql-monitor_enabled: false\n", re.M), ""),
    (re.compile(r"^# variables:$", re.M), "variables:"),
    (
        re.compile(
            r"^ *# (admin-admin_credentials|\w+-(\w+_if|interf)aces|pgsql-threads): .*\n", re.M
        ),
        "",
    ),
    (re.compile(r"^.*\bmysql-monitor\\?_enabled .*\bPX505 .*\n +(- )?fix: .*\n", re.M), ""),
    (re.compile(r"\b\d+ findings? (was|were) there before"), "<count> findings were there before"),
    (re.compile(r"^proxysql_version: [\d.]+$", re.M), "proxysql_version: <ProxySQL>"),
    (re.compile(r'("proxyctl": "|^proxyctl )\d+\.\d+\.\d+', re.MULTILINE), r"\1<version>"),
)


@dataclass(frozen=True)
class Ran:
    """The output and exit code of a command, with the names that the page uses."""

    command: Command
    exit_code: int
    output: list[str]

    def is_as_written(self) -> bool:
        """Return whether the page shows this output and exit code."""
        expected = self.command.output
        return self.exit_code == self.command.exit_code and (
            not expected or _matches(_same(expected), _same(self.output))
        )


_COLD = (sys.executable, "-m", "proxyctl")


def run_page(
    page: Path,
    folder: Path,
    server: ProxySQL | Instance | None = None,
    *,
    proxyctl: Sequence[str] = _COLD,
    given: Mapping[str, str] = MappingProxyType({}),
    called: Mapping[str, str] = MappingProxyType({}),
    in_containers: bool = False,
) -> list[Ran]:
    """Run the commands of a page in order, in a new folder: with a cluster, or without.

    `server` is a real ProxySQL; without one, the page has a sandbox. `proxyctl` is the command line
    that replaces the page's `proxyctl`. `given` are environment variables. `called` maps names on
    the page to the names here.
    """
    called = _free_ports(page) | dict(called)
    found = blocks_to_run(page, in_containers=in_containers)
    if not any(block.commands() for block in found):
        return []
    work, home = folder / "work", folder / "home"
    _furnish(page, work)
    home.mkdir()
    starts_own = NO_SANDBOX in page.read_text(encoding="utf-8")
    with nullcontext(server) if starts_own or server else Sandbox() as instance:
        port = str(instance.port if instance else free_port())
        script, commands = _script(found, folder, {**called, "6032": port})
        subprocess.run(
            [_BASH, "-c", script],
            cwd=work,
            env=_environment(folder, home, port, proxyctl) | given,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    return [
        Ran(command, _code(out), _output(out, port, home, called))
        for command, out in commands
        if out.exists()
    ]


def _free_ports(page: Path) -> dict[str, str]:
    """Return a free port for each port on which the page starts a server."""
    written = set(re.findall(r"\b614\d\b", page.read_text(encoding="utf-8")))
    free: dict[str, None] = {}
    while len(free) < len(written):
        free[str(free_port())] = None
    return dict(zip(sorted(written), free, strict=True))


def _furnish(page: Path, work: Path) -> None:
    """Give a starter's page the folder that `init` wrote, and other pages a checkout."""
    if page.parent.parent == ROOT / "templates":
        shutil.copytree(page.parent, work)
        return
    work.mkdir()
    for name in ("examples", "templates"):
        (work / name).symlink_to(ROOT / name)


def _script(
    found: list[Block], folder: Path, names: Mapping[str, str]
) -> tuple[str, list[tuple[Command, Path]]]:
    # In one pass: a free port may hold the digits of another port of the page.
    pattern = re.compile(rf"(?<!\d)(?:{'|'.join(map(re.escape, names))})(?!\d)")

    def here(text: str) -> str:
        return pattern.sub(lambda match: names[match[0]], text)

    parts = [_FIRST]
    commands: list[tuple[Command, Path]] = []
    for number, block in enumerate(found):
        if "file" in block.options:
            kept = folder / f"{number}.file"
            kept.write_text(here(block.text), encoding="utf-8")
            parts.append(f'mkdir -p "$(dirname {block.options["file"]})"')
            parts.append(f"cp {kept} {block.options['file']}")
        for command in block.commands():
            out = folder / f"{len(commands)}.out"
            parts.append(_ONE.format(command=here(command.text), out=out))
            commands.append((command, out))
    return "\n".join(parts), commands


def _environment(folder: Path, home: Path, port: str, proxyctl: Sequence[str]) -> dict[str, str]:
    shims = folder / "bin"
    shims.mkdir()
    for name, text in (("proxyctl", _SHIM), ("mysql", _CLIENT), ("python", _PYTHON)):
        shim = shims / name
        shim.write_text(text.format(python=sys.executable, proxyctl=shlex.join(proxyctl)))
        shim.chmod(0o755)
    # No more than this: a message may suggest the name of another variable.
    kept = {n: os.environ[n] for n in ("LANG", "LC_ALL", "TMPDIR") if n in os.environ}
    return {
        **kept,
        "PATH": f"{shims}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "NO_COLOR": "1",
        "COLUMNS": "88",
        "PROXYCTL_PORT": port,
        "PROXYCTL_PASSWORD": "admin",
    }


def _code(out: Path) -> int:
    code = Path(f"{out}.code")
    return int(code.read_text()) if code.exists() else -1


def _output(out: Path, port: str, home: Path, called: Mapping[str, str]) -> list[str]:
    """Return the output with the page's port, home folder and names."""
    text = out.read_text(encoding="utf-8", errors="surrogateescape").replace(str(home), "~")
    for name, true in called.items():
        text = re.sub(rf"(?<![\d.]){re.escape(true)}(?!\d)", name, text)
    text = re.sub(rf"(?<!\d){port}(?!\d)", "6032", text)
    return [line.rstrip() for line in text.rstrip("\n").split("\n")]


def _same(lines: list[str]) -> list[str]:
    text = "\n".join(lines).rstrip("\n")
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text.split("\n")


def _matches(expected: list[str], found: list[str]) -> bool:
    """Compare line by line; `...` stands for any number of lines."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "..." else re.escape(line) + r"\n" for line in expected
    )
    return re.fullmatch(pattern, "\n".join(found) + "\n") is not None


def check_page(
    page: Path, ran: list[Ran], *, in_containers: bool = False, is_recording: bool = False
) -> None:
    """Assert that every command has the output and exit code on the page.

    `is_recording`: check the exit code only. Raises: AssertionError.
    """
    found = blocks_to_run(page, in_containers=in_containers)
    assert len(ran) == sum(len(block.commands()) for block in found)
    for result in ran:
        is_right = result.exit_code == result.command.exit_code and (
            is_recording or result.is_as_written()
        )
        assert is_right, (
            f"{page_id(page)}:{result.command.line}: {result.command.text}\n"
            f"exit code {result.exit_code}, expected {result.command.exit_code}\n"
            + "\n".join(result.output)
        )


def rewrite(page: Path, ran: list[Ran]) -> None:
    """Write the real output into the page, except where `...` shortens it."""
    lines = page.read_text(encoding="utf-8").split("\n")
    for result in reversed(ran):
        old = result.command.output
        if old and "..." not in [line.strip() for line in old] and not result.is_as_written():
            tail = [""] * (len(old) - len("\n".join(old).rstrip("\n").split("\n")))
            lines[result.command.line : result.command.line + len(old)] = [*result.output, *tail]
    page.write_text("\n".join(lines), encoding="utf-8")
