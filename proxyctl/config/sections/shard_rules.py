"""One scheme of `sharding` -> query rules or fast-routing rows.

Pure: no file, no server. Tables become rules that match whole names, schemas become fast routing.
The model checks the types before this; what only the whole scheme can tell is refused here. The
scheme that is given has numbers in the place of the names of hostgroups.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from proxyctl.catalog import Value
from proxyctl.config.sections.shard_names import (
    Keys,
    Names,
    Problem,
    ShardingError,
    expanded,
    split,
)

if TYPE_CHECKING:
    from proxyctl.config.models import ShardingModel

MATCHES = {"digest": "match_digest", "pattern": "match_pattern"}

BEFORE = "(^|[^0-9A-Za-z_$])"
AFTER = "($|[^0-9A-Za-z_$])"
"""What stands around the names: a blank, the dot behind a schema, a backtick, a parenthesis are all
characters that no unquoted name has, so `db`.`t` needs nothing of its own. A letter beyond ASCII
right beside a name counts as one too."""


# Placement --------------------------------------------------------------------------------------


def assign(
    names: Sequence[str],
    hostgroups: Sequence[int],
    method: str,
    mapping: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return the hostgroup number of every name, in the order of the names.

    modulo: the last number in the name modulo the count of hostgroups; without a number, the
    position from 0. range: equal consecutive blocks. explicit: `mapping`.

    Raises: ShardingError.
    """
    if method == "explicit":
        return _explicit(names, hostgroups, mapping)
    if mapping is not None:
        raise ShardingError(f"a mapping already places each name: remove {method}", "assign")
    if not hostgroups:
        raise ShardingError(f"{method} needs a list of hostgroups", "hostgroups")
    count = len(hostgroups)
    if method == "modulo":
        return {
            name: hostgroups[_number(name, position) % count] for position, name in enumerate(names)
        }
    return {name: hostgroups[position * count // len(names)] for position, name in enumerate(names)}


def _explicit(
    names: Sequence[str], hostgroups: Sequence[int], mapping: Mapping[str, int] | None
) -> dict[str, int]:
    if mapping is None:
        raise ShardingError("explicit needs a mapping of names to hostgroups", "assign")
    result: dict[str, int] = {}
    for name in names:
        if name not in mapping:
            raise ShardingError(f"the mapping gives no hostgroup for {name!r}", "assign")
        if hostgroups and mapping[name] not in hostgroups:
            raise ShardingError(
                f"{name!r} is in hostgroup {mapping[name]}, which is not listed", "hostgroups"
            )
        result[name] = mapping[name]
    return result


def _number(name: str, position: int) -> int:
    found = re.findall(r"[0-9]+", name)
    return int(found[-1]) if found else position


# Generation -------------------------------------------------------------------------------------


def generate(scheme: ShardingModel) -> list[dict[str, Value]]:
    """Return the rows that one scheme stands for: rules if it is by table, else fast routing.

    Shape: a row holds only columns that differ from the default. Rule ids run on from
    first_rule_id; per_hostgroup in the order of the hostgroups, per_table in the order of the
    tables: there a table that moves to another hostgroup changes one field of one rule. Raises:
    ShardingError.
    """
    if (scheme.tables is None) == (scheme.schemas is None):
        raise ShardingError("give either tables or schemas", "tables")
    if scheme.schemas is not None:
        return _fast_routing(scheme, _placement(scheme, "schemas"))
    return _rules(scheme, _placement(scheme, "tables"))


def _placement(scheme: ShardingModel, key: Literal["tables", "schemas"]) -> dict[str, int]:
    source = cast(Names, getattr(scheme, key))
    hostgroups = cast(list[int], scheme.hostgroups)
    places, patterns, problems = expanded(source, key)
    problems += _name_problems(scheme, places)
    if problems:
        raise ShardingError(problems[0].message, problems=problems)
    if not isinstance(source, Mapping):
        return assign(list(places), hostgroups, scheme.assign or "modulo")
    mapping = {name: source[pattern] for name, pattern in patterns.items()}
    return assign(list(mapping), hostgroups, scheme.assign or "explicit", mapping)


_CHANGED_IN_DIGEST = re.compile(
    r"""[^0-9A-Za-z_$\-\ \x80-\U0010FFFF]|--|\ \ |^\ |\ $|-\ |\ -
    |(?<![0-9A-Za-z_$])(?:[0-9][0-9eE]*|0[xX][0-9A-Fa-f]*)(?![0-9A-Za-z_$])""",
    re.VERBOSE,
)
"""Names that a digest text does not show as they are: `t-1` reads `t-?` there, `1e5` reads `?`."""


MAX_NAME = 64
"""Longest name of a table or a schema. Units: characters."""


def _name_problems(scheme: ShardingModel, places: Mapping[str, Keys]) -> list[Problem]:
    """Return names that no table or schema has, or that a rule could not see or tell apart.

    Shape: the first of each place.
    """
    seen: dict[str, str] = {}
    problems: dict[Keys, Problem] = {}
    for name, keys in places.items():
        other = seen.setdefault(name.lower(), name)
        fix = None
        if len(name) > MAX_NAME:
            start = f"{name[:20]}..."
            message = f"{start!r} is longer than a name can be: {MAX_NAME} characters"
        elif scheme.tables is None:
            continue
        elif re.search(r"[\x00-\x1f\x7f`./\\\ud800-\udfff]", name):
            message = f"{name!r} is no table name"
            fix = "the session's schema goes into schema:" if "." in name else None
        elif scheme.match == "digest" and _CHANGED_IN_DIGEST.search(name):
            message, fix = f"{name!r} looks different in digests", "use match: pattern"
        elif other != name:
            message = f"{other!r} and {name!r}: rules ignore upper and lower case"
        else:
            continue
        problems.setdefault(keys, Problem(message, keys, fix))
    return list(problems.values())


def _rules(scheme: ShardingModel, placement: Mapping[str, int]) -> list[dict[str, Value]]:
    patterns: list[tuple[int, str, tuple[str, ...]]] = []
    if scheme.rules == "per_table":
        for name, hostgroup in placement.items():
            patterns += [(hostgroup, *part) for part in split([name], BEFORE, AFTER)]
    else:
        order = cast(list[int], scheme.hostgroups) or list(placement.values())
        groups: dict[int, list[str]] = {number: [] for number in order}
        for name, hostgroup in placement.items():
            groups[hostgroup].append(name)
        for hostgroup, names in groups.items():
            if names:
                patterns += [(hostgroup, *part) for part in split(names, BEFORE, AFTER)]
    first = _first_rule_id(scheme, len(patterns))
    return [_rule(scheme, first + position, pattern) for position, pattern in enumerate(patterns)]


def _first_rule_id(scheme: ShardingModel, count: int) -> int:
    """Return the id of the first rule. Raises: ShardingError when `count` rules do not fit."""
    if scheme.rule_ids is None:
        if scheme.first_rule_id is None:
            raise ShardingError("sharding by table needs first_rule_id", "first_rule_id")
        return scheme.first_rule_id
    low, high = rule_id_range(scheme.rule_ids)
    first = low if scheme.first_rule_id is None else scheme.first_rule_id
    if low > high:
        raise ShardingError(f"{low}-{high} runs backwards", "rule_ids")
    if not low <= first <= high:
        raise ShardingError(f"{first} is outside rule_ids {low}-{high}", "first_rule_id")
    if first + count - 1 > high:
        raise ShardingError(
            f"{count} rules starting at {first} do not fit into {low}-{high}", "rule_ids"
        )
    return first


def rule_id_range(text: str) -> tuple[int, int]:
    """Return the first and the last id of `1000-1999`."""
    first, _, last = text.partition("-")
    return int(first), int(last)


def _rule(
    scheme: ShardingModel, rule_id: int, pattern: tuple[int, str, tuple[str, ...]]
) -> dict[str, Value]:
    hostgroup, expression, names = pattern
    row: dict[str, Value] = {"rule_id": rule_id, "active": 1}
    if scheme.username is not None:
        row["username"] = scheme.username
    if scheme.schema_ is not None:
        row["schemaname"] = scheme.schema_
    if scheme.flagIN:
        row["flagIN"] = scheme.flagIN
    row[MATCHES[scheme.match]] = expression
    row["destination_hostgroup"] = hostgroup
    row["apply"] = 1
    row["comment"] = _comment(scheme, names)
    return row


def _comment(scheme: ShardingModel, names: Sequence[str]) -> str:
    """Return `sharding sbtest: sbtest2, sbtest4 ... sbtest60 (30 tables)`."""
    shown = ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} ... {names[-1]}"
    counted = f" ({len(names)} tables)" if len(names) > 3 else ""
    own = f"; {scheme.comment}" if scheme.comment else ""
    return f"sharding {scheme.name}: {shown}{counted}{own}"


def _fast_routing(scheme: ShardingModel, placement: Mapping[str, int]) -> list[dict[str, Value]]:
    comment = f"sharding {scheme.name}" + (f"; {scheme.comment}" if scheme.comment else "")
    username = scheme.username or ""
    return [
        {
            "username": username,
            "schemaname": name,
            "flagIN": scheme.flagIN,
            "destination_hostgroup": hostgroup,
            "comment": comment,
        }
        for name, hostgroup in placement.items()
    ]
