"""PX532 well-known-password."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import Finding, Severity, check
from proxyctl.lint.subject import Subject

_WELL_KNOWN = {
    "admin-admin_credentials": ("admin:admin", "cluster1:clusterpass", "radmin:radmin"),
    "admin-stats_credentials": ("stats:stats",),
}


@check("PX532", "well-known-password", Severity.WARNING)
def well_known_password(subject: Subject) -> Iterator[Finding]:
    """A login of the admin interface with a password from ProxySQL's documentation.

    ProxySQL lets `admin` in from its own machine only, but every other name from anywhere. Whoever
    is in can read and replace all users. Only variables that are set are checked, not defaults.

    Choose another password.

    ```yaml
    # Bad
    variables: {admin-admin_credentials: "admin:admin;radmin:radmin"}
    ```

    ```yaml
    # Good
    variables: {admin-admin_credentials: "admin:nut-ell-9;radmin:bay-oak-4"}
    ```
    """
    for name, logins in _WELL_KNOWN.items():
        value = subject.configuration.variables.get(name, "")
        found = [login for login in str(value).split(";") if login in logins]
        if found:
            who = " and ".join(login.partition(":")[0] for login in found)
            message = f"the password of {who} is well known"
            fix = "choose another password"
            yield Finding("admin_variables", (name,), message, "variable_value", fix)
