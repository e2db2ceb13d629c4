"""The `sharding` section: tables become rules for whole names, schemas become fast routing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from proxyctl.catalog import MAX_INT, Value
from proxyctl.config.context import Compilation, FileSection, SectionPath
from proxyctl.config.rows import RowPlace, SourceRows, table_rows
from proxyctl.config.sections.shard_names import (
    NamePatterns,
    ShardingError,
    expanded,
    split,
)
from proxyctl.config.validation import check_items
from proxyctl.rows.desired import DesiredTable
from proxyctl.rows.row import Where
from proxyctl.text import shown

if TYPE_CHECKING:
    from proxyctl.config.models import ShardingModel

RULES = "mysql_query_rules"
FAST_ROUTING = "mysql_query_rules_fast_routing"

MATCHES = {"digest": "match_digest", "pattern": "match_pattern"}

BEFORE = "(^|[^0-9A-Za-z_$])"
AFTER = "($|[^0-9A-Za-z_$])"
"""The patterns before and after the names: a character that no unquoted name has, such as a blank,
the dot after a schema, a backtick or a parenthesis. So `db`.`t` needs no pattern of its own. A
letter beyond ASCII next to a name counts as such a character too."""

_ONLY_FOR_TABLES = ("first_rule_id", "rule_ids", "rules", "match", "schema_")
"""Fields that concern rules and have no effect on fast routing."""

_DIGEST_VARIABLES = {
    ("mysql-query_digests", "false"): "rules with match_digest then match every query",
    ("mysql-query_digests_no_digits", "true"): "digests then lack the digits of table names",
}


@dataclass
class Shards:
    """The rows of the section, and the schemes that later checks need."""

    rows: list[SourceRows] = field(default_factory=list)
    """The rows of each scheme."""
    by_digest: list[Where] = field(default_factory=list)
    """The places of the schemes that need digests."""
    reserved: dict[str, range] = field(default_factory=dict)
    """The rule ids that each scheme keeps for itself, by the origin of its rows."""

    def check_reserved(self, rules: DesiredTable | None, context: Compilation) -> None:
        """Note rules with an id that a scheme reserves. Changes: context.mistakes."""
        if rules is None or not self.reserved:
            return
        for key in rules.rows:
            number, where = key[0], rules.where[key]
            for origin, ids in self.reserved.items():
                if number in ids and where.origin != origin:
                    message = f"{number} is reserved for {origin} (rule_ids {ids[0]}-{ids[-1]})"
                    fix = "choose an id outside that range"
                    context.mistakes.add(where, "rule_id", message, fix)

    def check_digests(self, variables: DesiredTable | None, context: Compilation) -> None:
        """Note schemes by table that cannot work with the digest variables of the files.

        Changes: context.mistakes.
        """
        for (name, value), reason in _DIGEST_VARIABLES.items():
            row = variables.rows.get((name,)) if variables else None
            for where in self.by_digest if row and row[1] == value else ():
                message = f"sharding by table does not work with {name} {value}: {reason}"
                fix = f"change {name}, or write match: pattern"
                context.mistakes.add(where, "sharding", message, fix)


def compile_shards(parts: list[FileSection], context: Compilation) -> Shards:
    """Return the rows of all schemes in all files. Changes: context.mistakes."""
    result = Shards()
    for part in parts:
        for position, scheme in check_items(part, context).items():
            _compile(part, position, scheme, result, context)
    return result


def _compile(
    part: FileSection, position: int, scheme: ShardingModel, result: Shards, context: Compilation
) -> None:
    """Generate the rows of one scheme. Changes: result, context.mistakes."""
    rows, problems = generate(scheme)
    for problem in problems:
        keys, of_key = (position, *problem.keys), len(problem.keys) > 1
        context.note(part, keys, problem.message, problem.fix, of_key=of_key)
    if problems:
        return
    place = RowPlace(part, (position,), f"sharding {scheme.name}")
    if scheme.rule_ids is not None:
        first, last = _rule_id_range(scheme.rule_ids)
        result.reserved[place.origin] = range(first, last + 1)
    name = FAST_ROUTING if scheme.tables is None else RULES
    result.rows.append(table_rows(context.layouts[name], rows, [place] * len(rows)))
    if scheme.tables is not None and scheme.match == "digest":
        result.by_digest.append(place.where())


# One scheme -------------------------------------------------------------------------------------


def generate(scheme: ShardingModel) -> tuple[list[dict[str, Value]], list[ShardingError]]:
    """Return the rows of one scheme, or its problems.

    Shape: rules for tables, fast routing for schemas. A row holds only columns that differ from the
    default. Rule ids count up from first_rule_id: per_hostgroup in the order of the hostgroups,
    per_table in the order of the tables. With per_table, a table that moves to another hostgroup
    changes one field of one rule. The hostgroups of the scheme are numbers.
    """
    key, make = ("tables", _rules) if scheme.schemas is None else ("schemas", _fast_routing)
    try:
        if (scheme.tables is None) == (scheme.schemas is None):
            raise ShardingError("give either tables or schemas", "tables")
        source = cast(NamePatterns, getattr(scheme, key))
        places, problems = expanded(source, key)
        problems += _name_problems(scheme, places)
        for name in _ONLY_FOR_TABLES if key == "schemas" else ():
            if name in scheme.model_fields_set:
                message = "no effect: schemas become fast-routing rows, which are not rules"
                problems.append(ShardingError(message, name.rstrip("_"), fix="remove it"))
        return ([], problems) if problems else (make(scheme, _placed(scheme, source, places)), [])
    except ShardingError as problem:
        return [], [problem]


def _placed(
    scheme: ShardingModel, source: NamePatterns, places: Mapping[str, SectionPath]
) -> dict[str, int]:
    """Return the hostgroup of every name, in the order of the names. Raises: ShardingError."""
    if not isinstance(source, Mapping):
        return assign(list(places), scheme.hostgroups, scheme.assign or "modulo")
    if scheme.assign not in (None, "explicit"):
        message = f"a mapping already places each name: remove {scheme.assign}"
        raise ShardingError(message, "assign")
    placed = {name: source[str(keys[-1])] for name, keys in places.items()}
    for name, hostgroup in placed.items():
        if scheme.hostgroups and hostgroup not in scheme.hostgroups:
            message = f"{name!r} is in hostgroup {hostgroup}, which is not listed"
            raise ShardingError(message, "hostgroups")
    return placed


def assign(names: Sequence[str], hostgroups: Sequence[int], method: str) -> dict[str, int]:
    """Return the hostgroup number of every name, in the order of the names.

    modulo: the last number in the name modulo the count of hostgroups; without a number, the
    position from 0. range: equal consecutive blocks.

    Raises: ShardingError.
    """
    if method == "explicit":
        raise ShardingError("explicit needs a mapping of names to hostgroups", "assign")
    if not hostgroups:
        raise ShardingError(f"{method} needs a list of hostgroups", "hostgroups")
    count = len(hostgroups)
    placed: dict[str, int] = {}
    for position, name in enumerate(names):
        numbers = re.findall(r"[0-9]+", name)
        shard = int(numbers[-1] if numbers else position) % count
        if method == "range":
            shard = position * count // len(names)
        placed[name] = hostgroups[shard]
    return placed


_CHANGED_IN_DIGEST = re.compile(
    r"""[\x00-\x1f!-#%-,./:-@\[-^`{-\x7f]|--|\ \ |^\ |\ $|-\ |\ -
    |(?<![0-9A-Za-z_$])(?:[0-9][0-9eE]*|0[xX][0-9A-Fa-f]*)(?![0-9A-Za-z_$])""",
    re.VERBOSE,
)
"""Names that a digest text changes: `t-1` becomes `t-?`, `1e5` becomes `?`."""


MAX_NAME = 64
"""Longest name of a table or a schema. Units: characters."""


def _name_problems(scheme: ShardingModel, places: Mapping[str, SectionPath]) -> list[ShardingError]:
    """Return problems of names: a table cannot have the name, or a rule cannot match it alone.

    Shape: at most one problem for each pattern.
    """
    seen: dict[str, str] = {}
    problems: dict[SectionPath, ShardingError] = {}
    for name, keys in places.items():
        first = seen.setdefault(name.lower(), name)
        fix = None
        if len(name) > MAX_NAME:
            message = f"{shown(name)} is longer than a name can be: {MAX_NAME} characters"
        elif scheme.tables is None:
            continue
        elif re.search(r"[\x00-\x1f\x7f`./\\\ud800-\udfff]", name):
            message = f"{name!r} is not a table name"
            fix = "write the session's schema into schema:" if "." in name else None
        elif scheme.match == "digest" and _CHANGED_IN_DIGEST.search(name):
            message, fix = f"{name!r} looks different in digests", "use match: pattern"
        elif first != name:
            message = f"{first!r} and {name!r}: rules ignore case"
        else:
            continue
        problems.setdefault(keys, ShardingError(message, *keys, fix=fix))
    return list(problems.values())


def _rules(scheme: ShardingModel, placed: Mapping[str, int]) -> list[dict[str, Value]]:
    """Return the query rules. Raises: ShardingError."""
    groups = [(hostgroup, [name]) for name, hostgroup in placed.items()]
    if scheme.rules == "per_hostgroup":
        by_hostgroup = {number: list[str]() for number in scheme.hostgroups or placed.values()}
        for name, hostgroup in placed.items():
            by_hostgroup[hostgroup].append(name)
        groups = [*by_hostgroup.items()]
    patterns = [
        (hostgroup, pattern, part)
        for hostgroup, names in groups
        for pattern, part in (split(names, BEFORE, AFTER) if names else ())
    ]
    criteria: dict[str, Value] = {
        "username": scheme.username,
        "schemaname": scheme.schema_,
        "flagIN": scheme.flagIN or None,
    }
    shared = {name: value for name, value in criteria.items() if value is not None}
    first = _first_rule_id(scheme, len(patterns))
    return [
        {
            "rule_id": rule_id,
            "active": 1,
            **shared,
            MATCHES[scheme.match]: pattern,
            "destination_hostgroup": hostgroup,
            "apply": 1,
            "comment": _comment(scheme, names),
        }
        for rule_id, (hostgroup, pattern, names) in enumerate(patterns, first)
    ]


def _first_rule_id(scheme: ShardingModel, count: int) -> int:
    """Return the id of the first rule. Raises: ShardingError when `count` rules do not fit."""
    low, high = _rule_id_range(scheme.rule_ids or f"0-{MAX_INT}")
    first = low if scheme.first_rule_id is None else scheme.first_rule_id
    if scheme.first_rule_id is None and scheme.rule_ids is None:
        raise ShardingError("sharding by table needs first_rule_id", "first_rule_id")
    if not low <= first <= high - count + 1:
        key = "rule_ids" if scheme.rule_ids else "first_rule_id"
        raise ShardingError(f"{count} rules from {first} on do not fit into {low}-{high}", key)
    return first


def _rule_id_range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last)


def _comment(scheme: ShardingModel, names: Sequence[str] = ()) -> str:
    """Return `sharding sbtest: sbtest2, sbtest4 ... sbtest60 (30 tables)`."""
    listed = ", ".join(names)
    if len(names) > 3:
        listed = f"{names[0]}, {names[1]} ... {names[-1]} ({len(names)} tables)"
    own = f"; {scheme.comment}" if scheme.comment else ""
    return f"sharding {scheme.name}{f': {listed}' if listed else ''}{own}"


def _fast_routing(scheme: ShardingModel, placed: Mapping[str, int]) -> list[dict[str, Value]]:
    comment = _comment(scheme)
    return [
        {
            "username": scheme.username or "",
            "schemaname": name,
            "flagIN": scheme.flagIN,
            "destination_hostgroup": hostgroup,
            "comment": comment,
        }
        for name, hostgroup in placed.items()
    ]
