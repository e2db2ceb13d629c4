"""PX551 no-time-for-pings."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, cases_of
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.dialect import MYSQL

_NAME = "mysql-default_max_latency_ms"


@check("PX551", "no-time-for-pings", Severity.ERROR, any_size=True)
def no_time_for_pings(subject: LintSubject) -> Iterator[Finding]:
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
    servers = subject.cells(MYSQL.servers)
    unlimited = [key for key, cells in servers if not cells.get("max_latency_ms")]
    if unlimited or not servers:
        message = "0 leaves no time for a ping: servers without a max_latency_ms are never used"
        fix = "set a large number to allow any latency"
        cases = cases_of((_NAME,), unlimited)
        yield Finding("mysql_variables", (_NAME,), message, "variable_value", fix, cases=cases)
