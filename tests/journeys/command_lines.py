"""Every command of the program, with arguments that it can run with."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.cli.app import build, commands_of

NOT_RUN = {"sandbox", "demo", "top", "watch"}
"""Commands that serve or start others, which `test_no_child_gets_the_password` looks at, one that
needs a terminal and reads statistics only, and one that goes on until a signal ends it."""

ARGUMENTS = {
    "init": ("made",),
    "import": ("proxysql.cnf",),
    "show": ("reviewed.plan",),
    "explain": ("SELECT 1", "--username", "app"),
    "rollback": ("--dry-run",),
    "digest snapshot": ("-o", "seen.gz"),
    "digest diff": ("seen.gz",),
    "digest report": ("-o", "report.html"),
    "digest collect": ("--store", "digests.db"),
    "digest regressions": ("--store", "digests.db"),
    "digest reset": ("--auto-approve",),
    "nodes discover": ("--seed", "127.0.0.1:1"),
    "nodes drain": ("db1", "--force"),
    "nodes restore": ("db1",),
    "upgrade-check": ("--to", "3.0.12", "--proxysql-version", "3.0.3"),
}
"""What commands need that do not run without arguments."""

STORE_ONLY = {"digest regressions"}
"""Commands whose options for an instance choose one in a store."""

MORE = {
    "apply": ("--auto-approve",),
    "digest snapshot": ("-o", "new.gz"),
    "upgrade-check": ("--to", "3.0.12"),
}

FORMATS = {
    "digest top": "text|json|csv|markdown|prometheus",
    "digest regressions": "text|json|markdown|prometheus",
}
"""Where help does not list them."""


def command_lines() -> Iterator[tuple[str, ...]]:
    """Yield every command with each of its formats."""
    for name, command in commands_of(build()).items():
        if name in NOT_RUN:
            continue
        listed = next((p.metavar for p in command.params if "--format" in p.opts), "")
        for form in FORMATS.get(name, listed).split("|"):
            chosen = ("--format", form) if form else ()
            yield (*name.split(), *ARGUMENTS.get(name, ()), *chosen)


CONNECTING = {
    name: (*name.split(), *(ARGUMENTS | MORE).get(name, ()))
    for name, command in commands_of(build()).items()
    if name not in NOT_RUN | STORE_ONLY
    and any("--host" in parameter.opts for parameter in command.params)
}
"""What asks an instance, on its own or that of the files."""

Asked = tuple[int, list[str]]
"""The port of an instance, and the statements that reach it."""
