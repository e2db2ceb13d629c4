"""PX122 client-addr-in-vain."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.rule_columns import (
    address_problem,
    cell_text,
    misread_cells,
)
from proxyctl.lint.subject import RULES, Subject
from proxyctl.lint.wording import quoted
from proxyctl.state.runtime import client_addr_problem


@check("PX122", "client-addr-in-vain", Severity.ERROR)
def client_addr_in_vain(subject: Subject) -> Iterator[Finding]:
    """A client_addr that no client has, or for which ProxySQL drops the whole rule.

    ProxySQL compares it with the client's address letter by letter. Only a `%` at the end is a
    wildcard: `10.0.0.0/8`, `10.0.0.*`, a range, a list or a host name never match. (A client of the
    Unix socket has the address `localhost`.) With a `%` elsewhere, or more than 45 characters, LOAD
    leaves the rule out without a word.

    Write the part of the address that is the same, and one `%`; or a rule for each address.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, client_addr: '10.%.0.5', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, client_addr: '10.0.0.0/8', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, client_addr: '10.0.0.%', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, client_addr: '10.%', destination_hostgroup: 2, apply: 1}
    ```
    """
    for row in subject.rule_rows:
        text = row.text("client_addr")
        problem = client_addr_problem(text)
        if problem is not None and text is not None:
            hint = "write one % at the end, or a rule for each address" if "%" in text else None
            message = f"client_addr {quoted(cell_text(row, 'client_addr'))}: {problem}"
            yield Finding(RULES, row.key, message, "client_addr", hint)
    hint = "only % at the end is a wildcard, as in 10.0.0.%"
    yield from misread_cells(subject, "client_addr", address_problem, hint)
