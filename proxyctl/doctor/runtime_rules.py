"""The rules of an instance as the doctor looks at them, from the rows that lint reads. Pure."""

from __future__ import annotations

from proxyctl.cells import number
from proxyctl.configuration import Held
from proxyctl.doctor.facts import Rule

_COLUMNS = (
    "rule_id",
    "destination_hostgroup",
    "mirror_hostgroup",
    "apply",
    "OK_msg",
    "error_msg",
    "match_digest",
    "replace_pattern",
    "re_modifiers",
)


def runtime_rules(held: Held) -> tuple[Rule, ...]:
    """Return the rules of a table at RUNTIME, of MySQL or PostgreSQL."""
    index = held.layout.index
    at = {name: index[name] for name in _COLUMNS}
    found = []
    for row in held.rows.values():
        cells = {name: row[position] for name, position in at.items()}
        found.append(
            Rule(
                number(cells["rule_id"]) or 0,
                number(cells["destination_hostgroup"]),
                number(cells["mirror_hostgroup"]),
                apply=number(cells["apply"]) == 1,
                answers=cells["OK_msg"] is not None or cells["error_msg"] is not None,
                matches_digest=cells["match_digest"] is not None,
                replaces=cells["replace_pattern"] is not None,
                is_caseless="CASELESS" in str(cells["re_modifiers"]).upper(),
            )
        )
    return tuple(found)
