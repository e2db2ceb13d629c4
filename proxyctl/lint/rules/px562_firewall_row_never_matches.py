"""PX562 firewall-row-never-matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import SEVERITIES, Finding, Severity, grouped, quoted
from proxyctl.lint.shadowing import flag_reach
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.cells import number
from proxyctl.routing.criteria import CriterionFlaw
from proxyctl.rows.row import ColumnValues, Key


@check("PX562", "firewall-row-never-matches", Severity.ERROR, pgsql=True)
def firewall_row_never_matches(subject: LintSubject) -> Iterable[Finding]:
    """A user or a rule of the firewall whitelist that no query matches.

    ProxySQL compares every column exactly. client_address is '' for any client, or one address:
    `%`, `10.0.0.%` and `10.0.0.0/8` match no client, and a user with such a row is treated as not
    listed, even with the mode OFF. A rule needs the client_address of the user's row: '' with '',
    an address with the same address. Its schemaname has no value for any schema, neither '' nor
    `%`, and its digest is the one of the query before a rule rewrites it. It is a warning for a
    user that mysql_users does not have.

    Write a row for each address, and a rule for each schema.

    ```yaml
    # Bad
    mysql_firewall_whitelist_users:
      - {username: app, client_address: '10.0.0.%', mode: PROTECTING}
    mysql_firewall_whitelist_rules:
      - {username: app, client_address: '10.0.0.%', schemaname: '%', flagIN: 0,
         digest: '0x1C46AE529DD5A40E'}
    ```

    ```yaml
    # Good
    mysql_firewall_whitelist_users:
      - {username: app, client_address: '', mode: PROTECTING}
    mysql_firewall_whitelist_rules:
      - {username: app, client_address: '', schemaname: shop, flagIN: 0,
         digest: '0x1C46AE529DD5A40E'}
    ```
    """
    return grouped((*_of_users(subject), *_of_rules(subject)))


def _of_users(subject: LintSubject) -> Iterator[Finding]:
    table, _ = subject.dialect.firewall_tables
    for key, cells in subject.cells(table):
        if number(cells["active"]) == 1:
            flaws = subject.criteria.firewall_user(cells)
            yield from _findings(table, key, cells, flaws)


def _of_rules(subject: LintSubject) -> Iterator[Finding]:
    reach = flag_reach(subject)
    flags = {0, *reach.setters, *reach.enders}
    _, table = subject.dialect.firewall_tables
    for key, cells in subject.cells(table):
        if number(cells["active"]) != 1:
            continue
        flaws = subject.criteria.firewall_rule(cells)
        yield from _findings(table, key, cells, flaws)
        flag = number(cells["flagIN"])
        if flag not in flags and subject.has_all_rows(subject.dialect.rules):
            message = f"flagIN {flag}: no rule of {subject.dialect.rules} sets it as flagOUT"
            yield Finding(table, key, message, "flagIN", "write flagIN 0")


def _findings(
    table: str, key: Key, cells: ColumnValues, flaws: Iterable[tuple[str, CriterionFlaw]]
) -> Iterator[Finding]:
    for column, flaw in flaws:
        shown = quoted(str(cells[column])) if cells[column] else "''"
        message = f"{column} {shown}: {flaw.problem}"
        yield Finding(table, key, message, column, flaw.fix, severity=SEVERITIES[flaw.effect])
