"""PX532 well-known-password."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, cases_of
from proxyctl.lint.subject import LintSubject

_WELL_KNOWN = {
    "admin-admin_credentials": ("admin:admin", "cluster1:clusterpass", "radmin:radmin"),
    "admin-stats_credentials": ("stats:stats",),
}
_MONITOR, _PASSWORD = "mysql-monitor_username", "mysql-monitor_password"


@check("PX532", "well-known-password", Severity.WARNING, any_size=True)
def well_known_password(subject: LintSubject) -> Iterator[Finding]:
    """A password from ProxySQL's documentation, of the admin interface or of a family's monitor.

    ProxySQL lets `admin` log in from its own machine only, but every other name from anywhere.
    Whoever logs in can read and replace all users. The monitor logs in to each backend: an attacker
    first tries `monitor` with the password `monitor` there. If no such user exists, the monitor
    removes Galera nodes and does not follow a replication family. Only variables that are set are
    checked, not defaults.

    Choose another password, and create the monitor's user on the backends.

    ```yaml
    # Bad
    variables: {admin-admin_credentials: "admin:admin;radmin:radmin"}
    ```

    ```yaml
    # Bad
    variables: {mysql-monitor_username: monitor, mysql-monitor_password: monitor}
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    ```

    ```yaml
    # Good
    variables:
      admin-admin_credentials: "admin:nut-ell-9;radmin:bay-oak-4"
      mysql-monitor_username: proxysql
      mysql-monitor_password: {env: MONITOR_PASSWORD}
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    ```
    """
    variables = subject.configuration.variables
    for name, logins in _WELL_KNOWN.items():
        known = [login for login in str(variables.get(name, "")).split(";") if login in logins]
        if known:
            names = " and ".join(login.partition(":")[0] for login in known)
            message = f"the password of {names} is well known"
            fix = "choose another password"
            cases = cases_of((name,), known)
            yield Finding("admin_variables", (name,), message, "variable_value", fix, cases=cases)
    is_default = variables.get(_MONITOR, "monitor") == "monitor" == str(variables.get(_PASSWORD))
    if subject.families and is_default:
        message = "the monitor logs in to the backends as monitor, with the default password"
        fix = f"set {_MONITOR} and {_PASSWORD}"
        yield Finding("mysql_variables", (_PASSWORD,), message, "variable_value", fix)
