"""PX551 no-time-for-pings."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject

_TABLE, _COLUMN = "mysql_variables", "variable_value"
_NAME = "mysql-default_max_latency_ms"


@check("PX551", "no-time-for-pings", Severity.ERROR)
def no_time(subject: Subject) -> Iterator[Finding]:
    """mysql-default_max_latency_ms is 0, which is no time at all.

    ProxySQL then uses no server without a max_latency_ms of its own: its queries wait for
    mysql-connect_timeout_server_max, and fail with 9001. To let pings take as long as they like,
    give a large number.

    ```yaml
    # Bad
    variables: {mysql-default_max_latency_ms: 0}
    ```

    ```yaml
    # Good
    variables: {mysql-default_max_latency_ms: 60000}
    ```
    """
    variables = subject.configuration.variables
    if _NAME not in variables or str(variables[_NAME]) != "0":
        return
    limits = [cells.get("max_latency_ms") for _, cells in subject.cells("mysql_servers")]
    if not limits or not all(limits):
        message = "0 leaves no time to a ping: servers without a max_latency_ms are never used"
        yield Finding(_TABLE, (_NAME,), message, _COLUMN, "a large number lets pings take long")
