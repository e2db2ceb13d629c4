"""PX561 firewall-blocks-user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, grouped
from proxyctl.lint.subject import LintSubject


@check("PX561", "firewall-blocks-user", Severity.ERROR, pgsql=True)
def firewall_blocks_user(subject: LintSubject) -> Iterable[Finding]:
    """A user whose queries are all blocked by the firewall whitelist.

    With `mysql-firewall_whitelist_enabled` ProxySQL blocks what is not listed. A user without an
    active row in mysql_firewall_whitelist_users is PROTECTING, so only rules with client_address ''
    let its queries through; with empty tables, no user's queries get through. The client gets the
    text of `mysql-firewall_whitelist_errormsg` as an error. A user with fast_forward is not
    checked.

    Nothing is reported if the files leave one of the two tables alone: then the plan reports it.

    Give the user a row with client_address '' and the mode OFF, or DETECTING, which only logs,
    until its rules are in place.

    ```yaml
    # Bad
    variables: {mysql-firewall_whitelist_enabled: true}
    mysql_users:
      - {username: app, default_hostgroup: 10}
      - {username: report, default_hostgroup: 20}
    mysql_firewall_whitelist_users:
      - {username: app, client_address: '', mode: 'OFF'}
      - {username: report, client_address: '10.0.0.%', mode: 'OFF'}
    mysql_firewall_whitelist_rules: []
    ```

    ```yaml
    # Good
    variables: {mysql-firewall_whitelist_enabled: true}
    mysql_users:
      - {username: app, default_hostgroup: 10}
      - {username: report, default_hostgroup: 20}
    mysql_firewall_whitelist_users:
      - {username: app, client_address: '', mode: 'OFF'}
      - {username: report, client_address: '', mode: DETECTING}
    mysql_firewall_whitelist_rules: []
    ```
    """
    return grouped(_blocked(subject))


def _blocked(subject: LintSubject) -> Iterator[Finding]:
    firewall = subject.criteria.firewall
    if not (firewall.is_on and firewall.is_known):
        return
    has_digests = subject.variables.query_digests
    for name, key in subject.login_keys.items():
        is_checked = not subject.logins[name].fast_forward
        if is_checked and firewall.blocks_every_query(name, has_digests=has_digests):
            message = (
                f"{firewall.switch} is on, but the firewall whitelist has neither a row nor a rule"
                " that lets any query of the user through"
            )
            fix = (
                f"add a row to {firewall.users_table} with client_address '' and mode OFF, or"
                " DETECTING, which only logs"
            )
            yield Finding(subject.dialect.users, key, message, fix=fix)
