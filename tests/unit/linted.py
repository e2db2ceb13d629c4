"""The findings of single lint checks for a few rows, or for a file."""

from __future__ import annotations

from proxyctl.catalog import REFERENCE, parse_version
from proxyctl.config.files import Sources, load_project
from proxyctl.lint.check import all_checks
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.configuration import ConfigTable, Configuration
from proxyctl.routing.dialect import MYSQL
from tests.support.build import layout, rows
from tests.unit.config_files import write


def in_file(folder, text):
    """Return a lint subject from a file."""
    path = write(folder, f"version: 1\n{text}")
    return LintSubject(load_project(Sources((path,)), takes_dead_rules=True).configuration)


def subject(*rules, users=(), fast_routing=(), version=str(REFERENCE), **variables):
    """A configuration: rules numbered 1, 2, ... unless they have a rule_id; users are not managed.

    Name variables without `mysql-`.
    """
    numbered = [{"rule_id": number, **cells} for number, cells in enumerate(rules, 1)]
    given = {MYSQL.rules: numbered, MYSQL.fast_routing: fast_routing}
    if users:
        given[MYSQL.users] = users
    of = parse_version(version)
    tables = {
        name: ConfigTable(layout(name, of), rows(name, *some)) for name, some in given.items()
    }
    set_ = {f"mysql-{name}": str(value).lower() for name, value in variables.items()}
    return LintSubject(Configuration(of, tables, set_))


def findings(code, *rules, **given):
    """Return one check's findings, as (rule_id, message) for each row; other keys as they are."""
    found = all_checks()[code].find(subject(*rules, **given))
    rows = [(key, finding.message) for finding in found for key in (finding.key, *finding.also)]
    return [(key[0] if len(key) == 1 else key, message) for key, message in rows]


def keys_found(code, *rules, **given):
    """Return the keys in one check's findings."""
    return [key for key, _ in findings(code, *rules, **given)]


def digest(pattern, **more):
    """A rule with match_digest."""
    return {"match_digest": pattern, "destination_hostgroup": 1, "apply": 1, **more}


def pattern(text, **more):
    """A rule with match_pattern."""
    return {"match_pattern": text, "destination_hostgroup": 1, "apply": 1, **more}
