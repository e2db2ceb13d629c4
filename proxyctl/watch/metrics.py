"""What a watch knows, as metrics of Prometheus.

Needs the package prometheus_client, which is an extra: only `watch --metrics` imports this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import (
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from proxyctl.watch.status import InstanceStatus, WatchStatus

_INSTANCE = ("name", "address")

InstanceSample = tuple[Mapping[str, str], float]
"""The labels other than those of the instance, and the value."""


class WatchCollector(Collector):
    """Turns the status of a watch into metrics, whenever somebody asks for them."""

    def __init__(self, status: Callable[[], WatchStatus]) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics. An instance that is gone has no series any more."""
        status = self._status()
        yield from _watch_metrics(status)
        for name, help_text, labels, samples in _INSTANCE_METRICS:
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            family = kind(f"proxyctl_{name}", help_text, labels=[*_INSTANCE, *labels])
            for instance in status.instances:
                for more, value in samples(instance):
                    family.add_metric([instance.name, instance.address, *more.values()], value)
            yield family


def registry_of(status: Callable[[], WatchStatus]) -> CollectorRegistry:
    """Return the metrics of a watch, and those of its process. `status`: returns the newest."""
    registry = CollectorRegistry()
    registry.register(WatchCollector(status))
    ProcessCollector(registry=registry)
    return registry


def _watch_metrics(status: WatchStatus) -> Iterator[Metric]:
    """Yield the metrics that concern no instance."""
    yield CounterMetricFamily(
        "proxyctl_watch_rounds_total", "Number of completed rounds.", status.rounds
    )
    gauges: dict[str, tuple[str, float | None]] = {
        "watch_round_duration_seconds": ("How long the last round took.", status.round_s),
        "watch_round_timestamp_seconds": ("When the last round ended.", status.ended_at),
        "watch_paused": ("1 while the pause file exists.", status.is_paused),
        "watch_instances": ("Number of watched instances.", len(status.instances)),
        "watch_instances_known": ("0 while not all instances are known.", status.are_known),
        "files_valid": ("0 while the files have mistakes.", status.mistakes == 0),
        "files_mistakes": ("Number of mistakes in the files.", status.mistakes),
        "files_changed_timestamp_seconds": (
            "When the most recently changed file was changed.",
            status.files_changed_at,
        ),
    }
    for name, (help_text, value) in gauges.items():
        if status.rounds and value is not None:
            yield GaugeMetricFamily(f"proxyctl_{name}", help_text, value)


def _only(value: float | None) -> list[InstanceSample]:
    return [] if value is None else [({}, value)]


def _modules(status: InstanceStatus) -> list[InstanceSample]:
    modules = status.plan.modules.items() if status.plan else ()
    return [({"module": name}, float(is_in_sync)) for name, is_in_sync in modules]


def _rows(status: InstanceStatus) -> list[InstanceSample]:
    rows = status.plan.rows.items() if status.plan else ()
    return [({"layer": layer.value}, float(count)) for layer, count in rows]


def _refusals(status: InstanceStatus) -> list[InstanceSample]:
    refusals = status.plan.refusals.items() if status.plan else ()
    return [({"code": code}, float(count)) for code, count in refusals]


def _lint_errors(status: InstanceStatus) -> list[InstanceSample]:
    errors = status.plan.lint_errors if status.plan else None
    return [] if errors is None else [({}, float(errors.before))]


def _applies(status: InstanceStatus) -> list[InstanceSample]:
    return [
        ({"result": "success"}, float(status.applies)),
        ({"result": "failure"}, float(status.failed_applies)),
    ]


_INSTANCE_METRICS: tuple[
    tuple[str, str, tuple[str, ...], Callable[[InstanceStatus], list[InstanceSample]]], ...
] = (
    (
        "instance_up",
        "1 if the instance answered when it was last queried.",
        (),
        lambda instance: _only(instance.is_up),
    ),
    (
        "instance_state",
        "Always 1; the label is the state, as in the log.",
        ("state",),
        lambda instance: [({"state": instance.situation.value}, 1.0)],
    ),
    (
        "instance_in_sync",
        "1 if all layers of the admin module match the files.",
        ("module",),
        _modules,
    ),
    (
        "instance_differing_rows",
        "Number of rows and variables in the layer that differ from the files.",
        ("layer",),
        _rows,
    ),
    (
        "instance_refusals",
        "Number of reasons why an apply is refused.",
        ("code",),
        _refusals,
    ),
    (
        "instance_lint_errors",
        "Number of errors that lint finds in the instance.",
        (),
        _lint_errors,
    ),
    (
        "instance_plan_success",
        "1 if the last attempt at a plan succeeded.",
        (),
        lambda instance: _only(instance.has_planned),
    ),
    (
        "instance_plan_timestamp_seconds",
        "When a plan last succeeded.",
        (),
        lambda instance: _only(instance.planned_at),
    ),
    (
        "instance_apply_success",
        "1 if the last apply succeeded.",
        (),
        lambda instance: _only(instance.has_applied if instance.applied_at is not None else None),
    ),
    (
        "instance_apply_timestamp_seconds",
        "When the last apply ended.",
        (),
        lambda instance: _only(instance.applied_at),
    ),
    (
        "instance_applies_total",
        "Number of applies since the watch started, by result.",
        ("result",),
        _applies,
    ),
)
"""The metrics of each instance: name, help, further labels, and the samples of an instance."""
