"""PX521 scheduler-and-native-galera."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, cases_of
from proxyctl.lint.subject import LintSubject
from proxyctl.rows.row import ColumnValues, Secret

_SCRIPT = re.compile(
    r"[^/\s]*(?:galera[_-]?check|proxysql_node_monitor|pxc_scheduler_handler|proxysql_scheduler)"
    r"[^/\s]*",
    re.IGNORECASE,
)
_OPTION = re.compile(r"-{1,2}(?:[\w-]*(?:hg|hostgroups?)|H)[= ]\s*\"?'?([\d:,WR-]+)", re.IGNORECASE)


@check("PX521", "scheduler-and-native-galera", Severity.ERROR, any_size=True)
def scheduler_and_native_galera(subject: LintSubject) -> Iterator[Finding]:
    """A scheduler entry that moves the nodes of a row of mysql_galera_hostgroups.

    proxysql_galera_checker, pxc_scheduler_handler and similar scripts rewrite mysql_servers every
    few seconds, and so does ProxySQL's own Galera monitor. Nodes then change hostgroup back and
    forth, and at times there is no writer. It is a warning if the script reads its hostgroups
    from a file of its own: ignore the finding if they are not those of the row.

    Remove the scheduler entry, or the row.

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
    # Good
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    scheduler: []
    ```
    """
    fix = "remove this entry, or the row of mysql_galera_hostgroups"
    placed = {hostgroup for row in subject.galera for hostgroup in row.roles.values()}
    for key, cells in subject.cells("scheduler") if placed else ():
        names = ("filename", "arg1", "arg2", "arg3", "arg4", "arg5")
        texts = [text for name in names if isinstance(text := cells[name], str)]
        script = next(filter(None, map(_script_in, texts)), None)
        if cells["active"] != 1 or script is None:
            continue
        numbers = _hostgroups(cells, texts)
        if shared := sorted(numbers & placed):
            hostgroup = subject.label(shared[0])
            message = f"{script} and the Galera monitor both move the servers of {hostgroup}"
            cases = cases_of(key, shared)
            yield Finding("scheduler", key, message, None, fix, cases=cases)
        elif not numbers:
            message = f"{script} and the Galera monitor may move the same servers"
            yield Finding("scheduler", key, message, None, fix, severity=Severity.WARNING)


def _script_in(text: str) -> str | None:
    """Return the name of a known script in a text; the text of a reference is not shown."""
    match = _SCRIPT.search(text)
    return match and ("its script" if isinstance(text, Secret) else match[0])


def _hostgroups(cells: ColumnValues, texts: list[str]) -> set[int]:
    """Return the hostgroups in a script's arguments: of options, or of the first two arguments."""
    options = [match[1] for text in texts[1:] for match in _OPTION.finditer(text + " ")]
    positional = [str(cells[name]).strip() for name in ("arg1", "arg2")]
    options += [text for text in positional if text.isdecimal()]
    return {int(number) for text in options for number in re.findall(r"\d+", text)}
