"""Metrics in Prometheus' text format, for the textfile collector of node_exporter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxyctl.fleet.outcome import Fleet
from proxyctl.plan.drift import pattern_of
from proxyctl.plan.plan import Plan
from proxyctl.stats.model import Group, is_counting
from proxyctl.stats.top.listing import Top, TopRow
from proxyctl.text import printable

LONGEST_TEXT = 200
"""Characters of a digest text in a label."""

Sample = tuple[Mapping[str, str], float]
"""Labels and a value."""


@dataclass(frozen=True)
class Metric:
    """A metric with its samples. One whose name ends in `_total` is a counter, else a gauge."""

    name: str
    help: str
    samples: Sequence[Sample]


def exposition(metrics: Iterable[Metric]) -> str:
    """Return metrics as text. One without samples is left out."""
    return "".join(f"{line}\n" for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterator[str]:
    if not metric.samples:
        return
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} {'counter' if metric.name.endswith('_total') else 'gauge'}"
    for labels, value in metric.samples:
        named = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        number = str(value) if isinstance(value, int) else repr(value)
        yield f"{metric.name}{{{named}}} {number}"


def _escaped(text: str) -> str:
    """Return the value of a label. Bytes that are not UTF-8 would make the whole file invalid."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


# -- digest top.


def digest_top_prometheus(top: Top) -> str:
    """Return the list as metrics. Times are in seconds, as Prometheus wants them.

    A digest that leaves the list takes its series along.
    """
    base, total = {"address": top.address}, top.total
    rows = [
        ({**base, **{g.value: str(value) for g, value in r.group.items()}}, r) for r in top.rows
    ]

    def of_rows(name: str, text: str, value: Callable[[TopRow], float]) -> Metric:
        return Metric(f"proxyctl_digest_{name}", text, [(at, value(row)) for at, row in rows])

    def of_all(name: str, text: str, value: float) -> Metric:
        return Metric(f"proxyctl_digests_{name}", text, [(base, value)])

    return exposition(
        [
            of_rows(
                "queries_total",
                "Queries of this group, by ProxySQL's digest statistics.",
                lambda row: row.count_star,
            ),
            of_rows(
                "query_time_seconds_total", "Time of these queries.", lambda row: row.sum_time / 1e6
            ),
            of_rows(
                "query_time_max_seconds",
                "The longest of these queries.",
                lambda row: row.max_time / 1e6,
            ),
            of_rows(
                "rows_sent_total", "Rows that these queries sent.", lambda row: row.sum_rows_sent
            ),
            of_rows(
                "rows_affected_total",
                "Rows that these queries affected.",
                lambda row: row.sum_rows_affected,
            ),
            Metric("proxyctl_digest_info", "The text of a digest.", _texts(top)),
            of_all("entries", "Entries of stats_mysql_query_digest.", total.entries),
            of_all("queries_total", "Queries of all digests.", total.count_star),
            of_all(
                "query_time_seconds_total",
                "Time of the queries of all digests.",
                total.sum_time / 1e6,
            ),
            of_all(
                "enabled",
                "Whether mysql-query_digests is true.",
                int(is_counting(top.variables)),
            ),
        ]
    )


def _texts(top: Top) -> list[Sample]:
    """Return a sample for each digest of the list: it stands in several rows with other groups."""
    texts = {
        row.group[Group.DIGEST]: row.digest_text[:LONGEST_TEXT]
        for row in top.rows
        if row.digest_text is not None
    }
    return [
        ({"address": top.address, "digest": str(digest), "digest_text": text}, 1)
        for digest, text in texts.items()
    ]


# -- drift.


def drift_prometheus(fleet: Fleet, *, is_all: bool) -> str:
    """Return how far instances are from their files, as metrics.

    `is_all`: of a fleet, with those of which nothing is known.
    """

    def of_plans(name: str, text: str, samples: Callable[[Plan], Iterable[Sample]]) -> Metric:
        found = [
            ({"name": one.name, "address": one.address, **labels}, value)
            for one in fleet.planned
            for labels, value in samples(one.plan)
        ]
        return Metric(f"proxyctl_drift_{name}", text, found)

    metrics = [
        of_plans(
            "in_sync",
            "1 if every layer of the instance matches the files.",
            lambda plan: [({}, int(plan.is_in_sync))],
        ),
        of_plans(
            "differences",
            "Rows and variables that differ from the files.",
            lambda plan: [({}, sum(len(module.changes) for module in plan.modules))],
        ),
        of_plans(
            "changes",
            "Rows and variables that differ, by what an apply would do.",
            _changes,
        ),
        of_plans(
            "patterns", "Rows and variables that differ, by the layers that differ.", _patterns
        ),
        of_plans(
            "servers_taken_out",
            "Servers drained or taken out of service, other than by the files.",
            lambda plan: [({}, len(plan.taken_out))],
        ),
        of_plans(
            "refusals",
            "Reasons why an apply would be refused.",
            lambda plan: [({}, len(plan.refusals))],
        ),
    ]
    if is_all:
        unread = [({"name": one.name, "address": one.address}, 1) for one in fleet.failed]
        text = "Instances that could not be read."
        metrics.append(Metric("proxyctl_drift_unknown", text, unread))
    return exposition(metrics)


def _changes(plan: Plan) -> Iterator[Sample]:
    counts = Counter(
        (module.name, change.table, change.action)
        for module in plan.modules
        for change in module.changes
    )
    for (module, table, action), count in sorted(counts.items()):
        yield {"module": module, "table": table, "action": action}, count


def _patterns(plan: Plan) -> Iterator[Sample]:
    counts = Counter(
        pattern_of(change).name for module in plan.modules for change in module.changes
    )
    for pattern, count in sorted(counts.items()):
        yield {"pattern": pattern}, count
