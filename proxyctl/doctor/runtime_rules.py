"""The rules of an instance as the doctor looks at them, from the rows that lint reads. Pure."""

from __future__ import annotations

from collections.abc import Collection

from proxyctl.catalog import Value
from proxyctl.cells import number
from proxyctl.configuration import Held
from proxyctl.doctor.facts import Rule
from proxyctl.lint.rule_says import Say

_COLUMNS = (
    "rule_id",
    "username",
    "destination_hostgroup",
    "mirror_hostgroup",
    "mirror_flagOUT",
    "apply",
    "OK_msg",
    "error_msg",
    "match_digest",
    "replace_pattern",
    "re_modifiers",
)


def runtime_rules(held: Held, usernames: Collection[str] | None = None) -> tuple[Rule, ...]:
    """Return the rules of a table at RUNTIME, of MySQL or PostgreSQL.

    `usernames`: whose queries meet rules, None where that is not known. A rule for somebody else is
    one that is never tried, and so is each where there is nobody.
    """
    index = held.layout.index
    at = {name: index[name] for name in _COLUMNS}
    found = []
    for row in held.rows.values():
        cells = {name: row[position] for name, position in at.items()}
        is_for_somebody = _is_for_somebody(cells["username"], usernames)
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
                say=Say.DECIDES if is_for_somebody else Say.NEVER_TRIED,
                mirrors_along=cells["mirror_flagOUT"] is not None,
            )
        )
    return tuple(found)


def flags_set_by(held: Held, usernames: Collection[str] | None = None) -> frozenset[int] | None:
    """Return the flags that a query may end with; None where attributes may set any.

    `usernames`: as for `runtime_rules`. The flagOUT of a rule with apply is none of them: such a
    query ends there, and fast routing is not asked.
    """
    if "attributes" in held.layout.index and any(held.column("attributes")):
        return None
    names = ("username", "apply", "flagOUT", "next_query_flagIN", "mirror_flagOUT")
    found = {0}
    for whose, ends, *flags in zip(*map(held.column, names), strict=True):
        if _is_for_somebody(whose, usernames):
            numbers = map(number, flags[1:] if number(ends) == 1 else flags)
            found.update(flag for flag in numbers if flag is not None)
    return frozenset(found)


def _is_for_somebody(username: Value, usernames: Collection[str] | None) -> bool:
    if usernames is None:
        return True
    return str(username) in usernames if username else bool(usernames)
