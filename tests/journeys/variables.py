"""Variables in a file, and as RUNTIME shows them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.support.cli import Project
from tests.support.servers import Instance


def write(project: Project, values: Mapping[str, object]) -> None:
    # JSON is YAML, and quotes every text.
    project.write(json.dumps({"variables": values}))


def at_runtime(instance: Instance) -> dict[str, str]:
    rows = instance.query("SELECT variable_name, variable_value FROM runtime_global_variables")
    return {str(name): str(value) for name, value in rows}
