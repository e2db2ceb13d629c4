"""PX521 scheduler-and-native-galera."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxyctl.lint.families import galera_rows
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import called
from proxyctl.state.row import Key

_SCRIPT = re.compile(
    r"galera[_-]?check|proxysql_node_monitor|pxc_scheduler_handler|proxysql_scheduler",
    re.IGNORECASE,
)

_OPTION = re.compile(r"-{1,2}(?:[\w-]*(?:hg|hostgroups?)|H)[= ]\s*\"?'?([\d:,WR-]+)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_POSITIONAL = ("arg1", "arg2")
_ARGUMENTS = ("arg1", "arg2", "arg3", "arg4", "arg5")


def _scripts(subject: Subject) -> Iterator[tuple[Key, str, set[int]]]:
    """Yield the entries that run a script for Galera: key, name, hostgroups in the arguments."""
    for key, cells in subject.cells("scheduler"):
        texts = [str(cells[name]) for name in ("filename", *_ARGUMENTS) if cells[name] is not None]
        found = next((text for text in texts if _SCRIPT.search(text)), None)
        if cells["active"] != 1 or found is None:
            continue
        options = [option[1] for text in texts[1:] for option in _OPTION.finditer(text + " ")]
        options += [str(cells[n]) for n in _POSITIONAL if _NUMBER.fullmatch(str(cells[n]).strip())]
        numbers = {int(number) for text in options for number in _NUMBER.findall(text)}
        name = re.split(r"[/\s]", found.strip())
        yield key, next(part for part in name if _SCRIPT.search(part)), numbers


@check("PX521", "scheduler-and-native-galera", Severity.ERROR)
def same_hostgroups(subject: Subject) -> Iterator[Finding]:
    """An external scheduler and a row of mysql_galera_hostgroups place the same nodes.

    proxysql_galera_checker, pxc_scheduler_handler and their like rewrite mysql_servers every few
    seconds, and so does ProxySQL's own Galera monitor. They do not know of each other: nodes change
    hostgroup back and forth, and a writer may be missing in between. Use one of the two.

    It is a warning where the script has its hostgroups in a configuration file. If they are others
    than those of the row, ignore it.

    ```yaml
    # Bad
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    scheduler:
      - id: 1
        interval_ms: 3000
        filename: /usr/bin/proxysql_galera_checker
        arg1: --write-hg=10
        arg2: --read-hg=30
    ```

    ```yaml
    # Bad
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    scheduler:
      - id: 1
        interval_ms: 2000
        filename: /usr/bin/pxc_scheduler_handler
        arg1: --configfile=config.toml
    ```

    ```yaml
    # Good
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    scheduler: []
    ```
    """
    for key, name, numbers in _scripts(subject):
        for row in galera_rows(subject):
            shared = sorted(numbers & set(row.roles.values()))
            if shared:
                message = (
                    f"{name} moves the servers of {called(subject, shared[0])}, and so does the"
                    " Galera monitor"
                )
                hint = "remove this entry, or the row of mysql_galera_hostgroups"
                yield Finding("scheduler", key, message, None, hint)
                break
    if not galera_rows(subject):
        return
    for key, name, numbers in _scripts(subject):
        if not numbers:
            message = f"{name} and the Galera monitor may both move the same servers"
            hint = "its hostgroups have to be others than those of mysql_galera_hostgroups"
            yield Finding("scheduler", key, message, None, hint, severity=Severity.WARNING)
