"""The regular expression engine of RUNTIME, which the patterns meet where the files set none."""

from __future__ import annotations

from proxyctl.config.patterns import check_patterns, engine_in_files, engine_of
from proxyctl.errors import Mistake
from proxyctl.plan import REGEX_ENGINE
from proxyctl.state import SNAPSHOT, Desired


def mistakes_at_runtime(desired: Desired, at_runtime: int) -> list[Mistake]:
    """Return the patterns that the engine at RUNTIME does not compile.

    `at_runtime`: the value of the variable there. None for a snapshot: it has the patterns that
    ran, also those that never match anything.
    """
    variables = desired.tables.get("mysql_variables")
    is_set = variables is not None and (REGEX_ENGINE,) in variables.rows
    engine = engine_of(at_runtime)
    if is_set or engine is engine_in_files(desired) or desired.source is SNAPSHOT:
        return []
    return check_patterns(desired, engine).active
