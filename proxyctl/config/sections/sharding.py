"""The `sharding` section -> rows, which `shard_rules` generates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from proxyctl.catalog import MAX_INT
from proxyctl.config.context import Context, Part
from proxyctl.config.rows import TableRows, YamlRow, compile_rows
from proxyctl.config.sections.shard_names import ONLY_FOR_TABLES, Keys, ShardingError
from proxyctl.config.sections.shard_rules import generate, rule_id_range
from proxyctl.config.validation import check_items
from proxyctl.state.row import DesiredTable, Where

if TYPE_CHECKING:
    from proxyctl.config.models import ShardingModel

RULES = "mysql_query_rules"
FAST_ROUTING = "mysql_query_rules_fast_routing"

_DIGEST_VARIABLES = {
    ("mysql-query_digests", "false"): "rules with match_digest then match every query",
    ("mysql-query_digests_no_digits", "true"): "digests then lack the digits of table names",
}


@dataclass
class Shards:
    """What the section stands for.

    Shape: `rows` by table. `by_digest`: where a scheme needs digests. `reserved`: the rule ids that
    each scheme keeps for itself, by the origin of its rows.
    """

    rows: dict[str, list[TableRows]] = field(default_factory=dict)
    by_digest: list[Where] = field(default_factory=list)
    reserved: dict[str, range] = field(default_factory=dict)

    def check_reserved(self, rules: DesiredTable | None, context: Context) -> None:
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

    def check_digests(self, variables: DesiredTable | None, context: Context) -> None:
        """Note schemes by table that cannot work with the digests that the files ask for.

        Changes: context.mistakes.
        """
        for (name, value), reason in _DIGEST_VARIABLES.items():
            row = variables.rows.get((name,)) if variables else None
            for where in self.by_digest if row and row[1] == value else ():
                message = f"sharding by table does not work with {name} {value}: {reason}"
                fix = f"change {name}, or write match: pattern"
                context.mistakes.add(where, "sharding", message, fix)


def compile_shards(parts: list[Part], context: Context) -> Shards:
    """Return the rows of all schemes in all files. Changes: context.mistakes."""
    result = Shards()
    known: dict[str, Where] = {}
    for part in parts:
        for position, model in check_items(part, context).items():
            context.claim_name(known, model.name, part, (position, "name"))
            _Scheme(part, position, context).compile(model, result)
    return result


@dataclass
class _Scheme:
    """One scheme of one file."""

    part: Part
    position: int
    context: Context

    def _add(self, keys: Keys, message: str, fix: str | None = None, *, of_key: bool) -> None:
        self.context.note(self.part, (self.position, *keys), message, fix, of_key=of_key)

    def compile(self, model: ShardingModel, result: Shards) -> None:
        """Generate the rows of the scheme. Changes: result, context.mistakes."""
        count = len(self.context.mistakes)
        self._check_keys(model)
        scheme, is_broken = self._with_numbers(model)
        try:
            rows = generate(scheme)
        except ShardingError as error:
            for problem in error.problems:
                # Another mistake would only follow from a hostgroup without a number.
                if not is_broken or problem.keys[0] in ("tables", "schemas"):
                    of_key = len(problem.keys) > 1
                    self._add(problem.keys, problem.message, problem.fix, of_key=of_key)
            return
        if is_broken or len(self.context.mistakes) > count:
            return
        is_by_table = scheme.tables is not None
        if is_by_table and cast(int, rows[-1]["rule_id"]) > MAX_INT:
            message = f"rule ids would exceed {MAX_INT}"
            self._add(("first_rule_id",), message, of_key=False)
            return
        prefix = (self.part.name, self.position)
        place = YamlRow(self.part.document, (prefix,), f"sharding {model.name}")
        if scheme.rule_ids is not None:
            first, last = rule_id_range(scheme.rule_ids)
            result.reserved[place.origin] = range(first, last + 1)
        name = RULES if is_by_table else FAST_ROUTING
        found = compile_rows(self.context.layouts[name], rows, [place] * len(rows), self.context)
        result.rows.setdefault(name, []).append(found)
        if is_by_table and model.match == "digest":
            result.by_digest.append(place.where())

    def _check_keys(self, model: ShardingModel) -> None:
        """Note keys that have no effect in a scheme by schema. Changes: context.mistakes."""
        if model.schemas is None or model.tables is not None:
            return
        for key in ONLY_FOR_TABLES:
            if self.part.value[self.position].get(key) is not None:
                message = "no effect: schemas become fast-routing rows, which are not rules"
                self._add((key,), message, "remove it", of_key=True)

    def _with_numbers(self, model: ShardingModel) -> tuple[ShardingModel, bool]:
        """Return the scheme with numbers of hostgroups only, and whether one has no number.

        Changes: context.mistakes.
        """
        is_broken = False

        def number(value: int | str, *keys: str | int) -> int:
            nonlocal is_broken
            known = value if isinstance(value, int) else self.context.hostgroups.get(value)
            if known is None:
                # Places are looked up for mistakes only: a mapping may have many names.
                where = self.part.where(self.position, *keys)
                label = f"{self.part.name}[{self.position}].{keys[0]}"
                self.context.hostgroup(value, where, label)
                is_broken = True
            return known or 0

        update: dict[str, Any] = {
            "hostgroups": [number(one, "hostgroups", n) for n, one in enumerate(model.hostgroups)]
        }
        for key in ("tables", "schemas"):
            names = getattr(model, key)
            if isinstance(names, Mapping):
                update[key] = {name: number(one, key, name) for name, one in names.items()}
        return model.model_copy(update=update), is_broken
