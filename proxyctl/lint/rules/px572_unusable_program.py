"""PX572 unusable-program."""

from __future__ import annotations

from collections.abc import Iterable

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, grouped
from proxyctl.lint.rules.px571_unusable_host import of_rows
from proxyctl.lint.subject import LintSubject

_TABLES = ("scheduler", "restapi_routes")


@check("PX572", "unusable-program", Severity.ERROR, any_size=True)
def unusable_program(subject: LintSubject) -> Iterable[Finding]:
    """A program of the scheduler or of a REST route that cannot run, or a route without a path.

    ProxySQL starts the program without a shell: the whole text is the path of one file, and with
    arguments in it no such file exists. Only the error log reports it. A REST route is requested as
    /sync/URI, where the URI has no slash. It is a warning if the path is relative or has a space,
    since it may exist.

    Write the absolute path alone. The scheduler has arg1 to arg5; a script of a REST route gets the
    parameters of the request as its first argument, one JSON text.

    ```yaml
    # Bad
    scheduler:
      - {id: 1, interval_ms: 10000, filename: /opt/check.sh --config=/etc/check.cnf}
    restapi_routes:
      - {id: 1, timeout_ms: 1000, method: GET, uri: /sync/report, script: /opt/report.py}
    ```

    ```yaml
    # Good
    scheduler:
      - {id: 1, interval_ms: 10000, filename: /opt/check.sh, arg1: --config=/etc/check.cnf}
    restapi_routes:
      - {id: 1, timeout_ms: 1000, method: GET, uri: report, script: /opt/report.py}
    ```
    """
    return grouped(of_rows(subject, _TABLES))
