"""What single checks of lint say about a few rows."""

from __future__ import annotations

from proxyctl.catalog import REFERENCE
from proxyctl.configuration import Configuration, Held
from proxyctl.lint.all_checks import all_checks
from proxyctl.lint.subject import FAST_ROUTING, RULES, USERS, Subject
from tests.build import layout, rows


def subject(*rules, users=(), fast_routing=(), **variables):
    """A configuration: rules numbered 1, 2, ... unless they have a rule_id; no users: not managed.

    A variable goes by its name without `mysql-`.
    """
    numbered = [{"rule_id": number, **cells} for number, cells in enumerate(rules, 1)]
    given = {RULES: numbered, FAST_ROUTING: fast_routing}
    if users:
        given[USERS] = users
    tables = {name: Held(layout(name), rows(name, *some)) for name, some in given.items()}
    set_ = {f"mysql-{name}": str(value).lower() for name, value in variables.items()}
    return Subject(Configuration(REFERENCE, tables, set_))


def findings(code, *rules, **given):
    """What one check finds, as (rule_id, message); other keys as they are."""
    found = all_checks()[code].find(subject(*rules, **given))
    return [(one.key[0] if len(one.key) == 1 else one.key, one.message) for one in found]


def said_of(code, *rules, **given):
    """The keys that one check names."""
    return [key for key, _ in findings(code, *rules, **given)]


def digest(pattern, **more):
    """A rule with match_digest."""
    return {"match_digest": pattern, "destination_hostgroup": 1, "apply": 1, **more}


def pattern(text, **more):
    """A rule with match_pattern."""
    return {"match_pattern": text, "destination_hostgroup": 1, "apply": 1, **more}
