"""Metrics in Prometheus' text format, for the textfile collector of node_exporter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxyctl.fleet.outcome import Fleet
from proxyctl.plan.drift import pattern_of
from proxyctl.plan.plan import Plan
from proxyctl.stats.events.top import EventRow
from proxyctl.stats.model import Group, is_counting
from proxyctl.stats.top.model import CountedInstance, Ranking, Top, TopRow
from proxyctl.text import printable

LONGEST_TEXT = 200
"""Characters of a digest text in a label."""

Sample = tuple[Mapping[str, str], float]
"""Labels and a value."""


@dataclass(frozen=True)
class Metric:
    """A metric with its samples: a counter if its name ends in `_total`, else a gauge."""

    name: str
    help: str
    samples: Sequence[Sample]


def exposition(metrics: Iterable[Metric]) -> str:
    """Return metrics as text, without those that have no samples."""
    return "".join(f"{line}\n" for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterator[str]:
    if not metric.samples:
        return
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} {'counter' if metric.name.endswith('_total') else 'gauge'}"
    for labels, value in metric.samples:
        pairs = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        number = str(value) if isinstance(value, int) else repr(value)
        yield f"{metric.name}{{{pairs}}} {number}"


def _escaped(text: str) -> str:
    """Return a label's value, without bytes that would make the whole file invalid UTF-8."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


# -- digest top.


_ROW_METRICS: Sequence[tuple[str, str, Callable[[TopRow], float]]] = (
    (
        "queries_total",
        "Queries of this group.",
        lambda row: row.sums.count_star,
    ),
    ("query_time_seconds_total", "Time of these queries.", lambda row: row.sums.sum_time / 1e6),
    (
        "query_time_max_seconds",
        "The longest of these queries.",
        lambda row: row.sums.max_time / 1e6,
    ),
    ("rows_sent_total", "Rows that these queries sent.", lambda row: row.sums.sum_rows_sent),
    (
        "rows_affected_total",
        "Rows that these queries affected.",
        lambda row: row.sums.sum_rows_affected,
    ),
)


_TOTALS: Sequence[tuple[str, str, Callable[[Top | CountedInstance], float]]] = (
    ("entries", "Entries of stats_mysql_query_digest.", lambda instance: instance.total.entries),
    ("queries_total", "Queries of all digests.", lambda instance: instance.total.count_star),
    (
        "query_time_seconds_total",
        "Time of the queries of all digests.",
        lambda instance: instance.total.sum_time / 1e6,
    ),
    (
        "enabled",
        "Whether mysql-query_digests is true.",
        lambda instance: int(is_counting(instance.variables)),
    ),
)


def digest_top_prometheus(top: Ranking) -> str:
    """Return the list as metrics. Units: seconds, as Prometheus prescribes.

    The series of a digest ends when the digest leaves the list. The figures of one instance have
    its address as label; those of many have none, and the totals are of each instance.
    """
    counted: Sequence[Top | CountedInstance] = [top] if isinstance(top, Top) else top.instances
    base = {"address": top.address} if isinstance(top, Top) else {}
    rows = [
        ({**base, **{g.value: str(value) for g, value in row.group.items()}}, row)
        for row in top.rows
    ]
    return exposition(
        [
            *(
                Metric(
                    f"proxyctl_digest_{name}", text, [(labels, value(row)) for labels, row in rows]
                )
                for name, text, value in _ROW_METRICS
            ),
            *_event_metrics(rows),
            Metric("proxyctl_digest_info", "The text of a digest.", _texts(top, base)),
            *(
                Metric(
                    f"proxyctl_digests_{name}",
                    text,
                    [({"address": instance.address}, value(instance)) for instance in counted],
                )
                for name, text, value in _TOTALS
            ),
        ]
    )


def _event_metrics(rows: Sequence[tuple[Mapping[str, str], TopRow]]) -> Iterator[Metric]:
    """Yield the percentiles and errors of an event log; of the digest statistics none."""
    logged = [(labels, row) for labels, row in rows if isinstance(row, EventRow)]
    yield Metric(
        "proxyctl_digest_query_time_percentile_seconds",
        "The time that this part of the queries did not exceed.",
        [
            ({**labels, "quantile": str(percent / 100)}, value / 1e6)
            for labels, row in logged
            for percent, value in row.percentiles.items()
        ],
    )
    yield Metric(
        "proxyctl_digest_errors_total",
        "Queries of this group that failed, by errno.",
        [
            ({**labels, "errno": str(errno)}, count)
            for labels, row in logged
            for errno, count in row.errors.items()
        ],
    )


def _texts(top: Ranking, base: Mapping[str, str]) -> list[Sample]:
    """Return one sample per digest; a digest may be in several rows, with different groups."""
    texts = {
        row.group[Group.DIGEST]: row.sums.digest_text[:LONGEST_TEXT]
        for row in top.rows
        if row.sums.digest_text is not None
    }
    return [
        ({**base, "digest": str(digest), "digest_text": text}, 1) for digest, text in texts.items()
    ]


# -- drift.


def drift_prometheus(fleet: Fleet, *, is_all: bool) -> str:
    """Return the drift as metrics.

    `is_all`: render a fleet: also the instances that could not be read.
    """
    metrics = [
        Metric(
            f"proxyctl_drift_{name}",
            text,
            [
                ({"name": planned.name, "address": planned.address, **labels}, value)
                for planned in fleet.planned
                for labels, value in samples(planned.plan)
            ],
        )
        for name, text, samples in _PLAN_METRICS
    ]
    if is_all:
        unread = [({"name": failed.name, "address": failed.address}, 1) for failed in fleet.failed]
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


_PLAN_METRICS: Sequence[tuple[str, str, Callable[[Plan], Iterable[Sample]]]] = (
    (
        "in_sync",
        "1 if every layer of the instance matches the files.",
        lambda plan: [({}, int(plan.is_in_sync))],
    ),
    (
        "differences",
        "Rows and variables that differ from the files.",
        lambda plan: [({}, sum(len(module.changes) for module in plan.modules))],
    ),
    ("changes", "Rows and variables that differ, by what an apply would do.", _changes),
    ("patterns", "Rows and variables that differ, by the layers that differ.", _patterns),
    (
        "servers_taken_out",
        "Servers drained or taken out of service, other than by the files.",
        lambda plan: [({}, len(plan.out_of_service))],
    ),
    (
        "refusals",
        "Reasons why an apply would be refused.",
        lambda plan: [({}, len(plan.refusals))],
    ),
)
