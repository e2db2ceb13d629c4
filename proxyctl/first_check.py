"""What a LOAD leaves to the first check of the Galera monitor, where clients are served. Pure.

The monitor places nodes in hostgroups that it knows. Those of a cluster that is new to the
instance, or that get another number, hold the rows of the files until it has looked.
Source: ProxySQL 2.7.1, run with simulated nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from proxyctl.catalog import Value
from proxyctl.families import Family, ServerColumns, node_text
from proxyctl.plan import ModulePlan
from proxyctl.state import Row

_INTERVAL = "mysql-monitor_galera_healthcheck_interval"


def until_first_check(
    module: ModulePlan,
    families: Iterable[Family],
    before: Iterable[Family],
    used: Collection[Value],
    used_after: Collection[Value],
    check_ms: int,
) -> Iterator[str]:
    """Yield where several nodes are written to, or nobody is read from, before the first check.

    `module`: MYSQL SERVERS with its images. `families` are those of the files, `before` those that
    the monitor places now. `used`: hostgroups that rules and users send traffic to now, and
    `used_after` then. `check_ms`: the interval of the checks.
    """
    survey = module.surveys["mysql_servers"]
    columns = ServerColumns.of(survey.layout)

    def takes_queries(row: Row) -> bool:
        return row[columns.status] == "ONLINE" and row[columns.max_connections] != 0

    serving = [row for row in (survey.runtime or {}).values() if takes_queries(row)]
    if not module.images or not any(row[columns.hostgroup] in used for row in serving):
        return
    known = frozenset[Value]().union(*(one.hostgroups for one in before if one.is_galera))
    loaded = [row for row in module.images[-1]["mysql_servers"].values() if takes_queries(row)]
    when = f"until the monitor's first check ({_INTERVAL}, {check_ms} ms)"
    for family in families:
        there = [row for row in loaded if row[columns.hostgroup] in family.hostgroups]
        if not family.is_galera or not there:
            continue
        writers = sorted(
            node_text(columns.node(row)) for row in there if row[columns.hostgroup] == family.writer
        )
        is_written = family.writer in used_after and family.writer not in known
        if is_written and len(writers) > max(family.max_writers, 1):
            yield f"{', '.join(writers)} take writes in hostgroup {family.writer} {when}"
        is_read = family.reader in used_after and family.writer_is_also_reader
        is_empty = not any(row[columns.hostgroup] == family.reader for row in there)
        if family.reader not in known and is_read and is_empty:
            yield f"hostgroup {family.reader} has no server that takes queries {when}"
