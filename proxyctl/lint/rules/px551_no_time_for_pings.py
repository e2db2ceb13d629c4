"""PX551 no-time-for-pings."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import Finding, Severity, check
from proxyctl.lint.subject import SERVERS, Subject

_NAME = "mysql-default_max_latency_ms"


@check("PX551", "no-time-for-pings", Severity.ERROR)
def no_time_for_pings(subject: Subject) -> Iterator[Finding]:
    """A mysql-default_max_latency_ms of 0, which leaves no time for a ping.

    ProxySQL then uses no server without a max_latency_ms of its own: queries wait for
    mysql-connect_timeout_server_max and fail with error 9001.

    To allow any latency, set a large number.

    ```yaml
    # Bad
    variables: {mysql-default_max_latency_ms: 0}
    ```

    ```yaml
    # Good
    variables: {mysql-default_max_latency_ms: 60000}
    ```
    """
    if str(subject.configuration.variables.get(_NAME)) != "0":
        return
    limits = [cells.get("max_latency_ms") for _, cells in subject.cells(SERVERS)]
    if not limits or not all(limits):
        message = "0 leaves no time for a ping: servers without a max_latency_ms are never used"
        fix = "set a large number to allow any latency"
        yield Finding("mysql_variables", (_NAME,), message, "variable_value", fix)
