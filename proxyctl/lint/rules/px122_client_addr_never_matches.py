"""PX122 client-addr-never-matches."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import SEVERITIES, Finding, Severity
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.rule import subnet_of


@check("PX122", "client-addr-never-matches", Severity.ERROR, pgsql=True)
def client_addr_never_matches(subject: LintSubject) -> Iterator[Finding]:
    """A client_addr that matches no client, or that makes ProxySQL drop the rule.

    ProxySQL compares the text with the client's address, character by character. Only a `%` at the
    end is a wildcard: `10.0.0.0/8`, `10.0.0.*`, a range, a list or a host name never match. (A
    client on the Unix socket has the address `localhost`.) An address is compared as the system
    writes it: `10.0.0.01` and `FE80::1` never match. With a `%` elsewhere, or more than 45
    characters, LOAD drops the rule silently. It is a warning if a `%` follows a digit, because
    `10.0.0.1%` also matches 10.0.0.10, or if the address is like `::ffff:10.0.0.1`.

    Write the common beginning of the addresses and one `%`, or a rule for each address. ProxySQL
    3.0.12 accepts a subnet such as `10.0.0.0/8`; proxyctl's reading of subnets is not verified.

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
    version = subject.configuration.version
    for row in subject.rule_rows:
        if subnet_of(row.text("client_addr") or "", version) is not None:
            message = f"client_addr {row.shown('client_addr')} as a subnet: not verified"
            yield subject.rule_finding(row.key, message, "client_addr", severity=Severity.NOTE)
    for row, column, flaw in subject.flaws("client_addr"):
        message = f"client_addr {row.shown(column)}: {flaw.problem}"
        severity = SEVERITIES[flaw.effect]
        yield subject.rule_finding(row.key, message, column, flaw.fix, severity=severity)
