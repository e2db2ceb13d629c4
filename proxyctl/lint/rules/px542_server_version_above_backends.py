"""PX542 server-version-above-backends."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.server_version import compared_with
from proxyctl.lint.subject import Subject


@check("PX542", "server-version-above-backends", Severity.WARNING)
def above_backends(subject: Subject) -> Iterator[Finding]:
    """mysql-server_version is above the lowest version of the backends, or of another product.

    A client that believes it sends SQL which that backend does not know yet. It can be checked only
    when the versions of the backends are given.

    ```yaml
    # Bad
    # proxyctl lint --backend-version 8.0.30
    variables: {mysql-server_version: "8.4.3"}
    ```

    ```yaml
    # Good
    # proxyctl lint --backend-version 8.0.30
    variables: {mysql-server_version: "8.0.30"}
    ```
    """
    yield from compared_with(subject, subject.backend_versions)
