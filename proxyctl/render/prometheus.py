"""Metrics in Prometheus' text format, for the textfile collector of node_exporter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from proxyctl.fleet.outcome import Fleet
from proxyctl.plan.drift import pattern_of
from proxyctl.plan.plan import Plan
from proxyctl.stats.model import is_counting
from proxyctl.stats.top.listing import Top, TopRow
from proxyctl.text import printable

LONGEST_TEXT = 200
"""Characters of a digest text in a label."""


_OF_A_ROW: tuple[tuple[str, str, str, Callable[[TopRow], float]], ...] = (
    (
        "queries_total",
        "counter",
        "Queries of this group, by ProxySQL's digest statistics.",
        lambda row: row.count_star,
    ),
    (
        "query_time_seconds_total",
        "counter",
        "Time of these queries.",
        lambda row: row.sum_time / 1e6,
    ),
    (
        "query_time_max_seconds",
        "gauge",
        "The longest of these queries.",
        lambda row: row.max_time / 1e6,
    ),
    (
        "rows_sent_total",
        "counter",
        "Rows that these queries sent.",
        lambda row: row.sum_rows_sent,
    ),
    (
        "rows_affected_total",
        "counter",
        "Rows that these queries affected.",
        lambda row: row.sum_rows_affected,
    ),
)
"""Name, kind, what it says, and the value of a row."""


@dataclass(frozen=True)
class Family:
    """A metric: its name, `counter` or `gauge`, what it says, and its samples by labels."""

    name: str
    kind: str
    help: str
    samples: tuple[tuple[Mapping[str, str], float], ...]


def exposition(families: Iterable[Family]) -> str:
    """Return families as text. A family without samples is left out."""
    return "".join(f"{line}\n" for family in families for line in _lines(family))


def digest_top_prometheus(top: Top) -> str:
    """Return the list as metrics. Times are in seconds, as Prometheus wants them.

    A digest that leaves the list takes its series along.
    """
    base = {"address": top.address}
    rows = [
        ({**base, **{group.value: str(value) for group, value in row.group.items()}}, row)
        for row in top.rows
    ]
    families = [
        Family(
            f"proxyctl_digest_{name}",
            kind,
            text,
            tuple((labels, value(row)) for labels, row in rows),
        )
        for name, kind, text, value in _OF_A_ROW
    ]
    texts = tuple(
        ({**base, "digest": labels["digest"], "digest_text": row.digest_text[:LONGEST_TEXT]}, 1)
        for labels, row in rows
        if row.digest_text is not None
    )
    by_digest = {labels["digest"]: (labels, one) for labels, one in texts}
    total = top.total
    families += [
        Family("proxyctl_digest_info", "gauge", "The text of a digest.", tuple(by_digest.values())),
        Family(
            "proxyctl_digests_entries",
            "gauge",
            "Entries of stats_mysql_query_digest.",
            ((base, total.entries),),
        ),
        Family(
            "proxyctl_digests_queries_total",
            "counter",
            "Queries of all digests.",
            ((base, total.count_star),),
        ),
        Family(
            "proxyctl_digests_query_time_seconds_total",
            "counter",
            "Time of the queries of all digests.",
            ((base, total.sum_time / 1e6),),
        ),
        Family(
            "proxyctl_digests_enabled",
            "gauge",
            "Whether mysql-query_digests is true.",
            ((base, int(is_counting(top.variables))),),
        ),
    ]
    return exposition(families)


def drift_prometheus(fleet: Fleet, *, is_all: bool) -> str:
    """Return how far instances are from their files, as metrics.

    `is_all`: of a fleet, with those of which nothing is known.
    """
    merged: dict[str, Family] = {}
    for planned in fleet.planned:
        for one in _drift_families(planned.own_plan):
            known = merged.get(one.name, replace(one, samples=()))
            merged[one.name] = replace(known, samples=known.samples + one.samples)
    families = [*merged.values()]
    if is_all:
        samples = tuple(({"name": one.name, "address": one.address}, 1) for one in fleet.failed)
        text = "Instances of which nothing is known, since they could not be read."
        families.append(Family("proxyctl_drift_unknown", "gauge", text, samples))
    return exposition(families)


def _drift_families(plan: Plan) -> list[Family]:
    base = {"name": plan.name, "address": plan.address}
    patterns = Counter(
        pattern_of(change).name for module in plan.modules for change in module.changes
    )
    changes = Counter(
        (module.name, change.table, change.action)
        for module in plan.modules
        for change in module.changes
    )
    return [
        Family(
            "proxyctl_drift_in_sync",
            "gauge",
            "Whether the instance holds what the files say, in every layer.",
            ((base, int(plan.is_in_sync)),),
        ),
        Family(
            "proxyctl_drift_differences",
            "gauge",
            "Rows and variables that differ from the files.",
            ((base, sum(changes.values())),),
        ),
        Family(
            "proxyctl_drift_changes",
            "gauge",
            "The same by what an apply would do; nothing where there is nothing to do.",
            tuple(
                ({**base, "module": module, "table": table, "action": action}, count)
                for (module, table, action), count in sorted(changes.items())
            ),
        ),
        Family(
            "proxyctl_drift_patterns",
            "gauge",
            "The same by the layers that differ; nothing where none does.",
            tuple(({**base, "pattern": one}, count) for one, count in sorted(patterns.items())),
        ),
        Family(
            "proxyctl_drift_servers_taken_out",
            "gauge",
            "Servers that are drained, or that an operator took out; the files do not say so.",
            ((base, len(plan.taken_out)),),
        ),
        Family(
            "proxyctl_drift_refusals",
            "gauge",
            "Reasons for which an apply would refuse to act.",
            ((base, len(plan.refusals)),),
        ),
    ]


def _lines(family: Family) -> Iterator[str]:
    if not family.samples:
        return
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.kind}"
    for labels, value in family.samples:
        named = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        number = str(value) if isinstance(value, int) else repr(value)
        yield f"{family.name}{{{named}}} {number}"


def _escaped(text: str) -> str:
    """Return the value of a label. Bytes that are not UTF-8 would make the whole file invalid."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')
