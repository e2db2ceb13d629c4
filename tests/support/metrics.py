"""Metrics of a watch as a mapping."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

OURS = "proxyctl_"


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Return the values by name (without proxyctl_), name of the instance, and another label."""
    found: dict[tuple[str, ...], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.startswith(OURS):
                labels = {name: text for name, text in sample.labels.items() if name != "address"}
                of_instance = [labels.pop("name")] if "name" in labels else []
                found[sample.name.removeprefix(OURS), *of_instance, *labels.values()] = sample.value
    return found
