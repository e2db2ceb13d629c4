"""The `sharding` section: models -> ShardingSpec -> rows. `sharding` makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proxyctl.catalog import MAX_INT
from proxyctl.config.context import Context
from proxyctl.config.mistakes import key_text
from proxyctl.config.row_sources import Item, ItemRows
from proxyctl.config.rows import Batch, RowCompiler
from proxyctl.config.sections import Part, check_items
from proxyctl.state.row import DesiredTable, Where

if TYPE_CHECKING:
    from proxyctl.config.models import ShardingModel
    from proxyctl.config.sharding import ShardingSpec

RULES = "mysql_query_rules"
FAST_ROUTING = "mysql_query_rules_fast_routing"

_DIGEST_VARIABLES = {
    ("mysql-query_digests", "false"): "rules on match_digest then match every query",
    ("mysql-query_digests_no_digits", "true"): "digests then lose the digits of table names",
}


@dataclass
class Shards:
    """What the section stands for. `by_digest`: where a scheme needs digests."""

    rules: list[Batch] = field(default_factory=list)
    fast_routing: list[Batch] = field(default_factory=list)
    by_digest: list[Where] = field(default_factory=list)
    reserved: dict[str, range] = field(default_factory=dict)
    """The rule ids that each scheme keeps for itself, by the origin of its rows."""

    def add(self, part: Part, position: int, model: ShardingModel, context: Context) -> None:
        """Generate the rows of one scheme. Changes: self, context.mistakes."""
        from proxyctl.config.sharding import generate
        from proxyctl.config.sharding_names import ShardingError

        count = len(context.mistakes)
        _check_keys(part, position, model, context)
        spec, is_broken = _spec(part, position, model, context)
        try:
            generated = generate(spec)
        except ShardingError as error:
            for problem in error.problems:
                if is_broken and problem.keys[0] not in ("tables", "schemas"):
                    continue  # it would follow from the missing number
                label = key_text((part.name, position, *problem.keys))
                where = part.where(position, *problem.keys, of_key=len(problem.keys) > 1)
                context.mistakes.add(where, label, problem.message, problem.hint)
            return
        if is_broken or len(context.mistakes) > count:
            return
        if any(rule["rule_id"] > MAX_INT for rule in generated.rules):  # type: ignore[operator]
            label = f"sharding[{position}].first_rule_id"
            where = part.where(position, "first_rule_id")
            context.mistakes.add(where, label, f"rule ids would run on beyond {MAX_INT}")
            return
        item = Item(part.document, ((part.name, position),), f"sharding {model.name}")
        if spec.rule_ids is not None:
            self.reserved[item.origin] = range(spec.rule_ids[0], spec.rule_ids[1] + 1)
        for name, rows, batches in (
            (RULES, generated.rules, self.rules),
            (FAST_ROUTING, generated.fast_routing, self.fast_routing),
        ):
            if rows:
                source = ItemRows([item] * len(rows))
                batches.append(RowCompiler(context.layouts[name], source, context).compile(rows))
        if generated.rules and model.match == "digest":
            self.by_digest.append(item.place())


def compile_shards(parts: list[Part], context: Context) -> Shards:
    """Return the rows of all schemes in all files. Changes: context.mistakes."""
    result = Shards()
    names: dict[str, Where] = {}
    for part in parts:
        for position, model in check_items(part, context).items():
            place = part.where(position)
            earlier = names.setdefault(model.name, place)
            if earlier is not place:
                key = f"sharding[{position}].name"
                message = f"the name is taken; first at {earlier}"
                context.mistakes.add(part.where(position, "name"), key, message)
            result.add(part, position, model, context)
    return result


def _check_keys(part: Part, position: int, model: ShardingModel, context: Context) -> None:
    """Note keys that have no effect in a scheme by schema. Changes: context.mistakes."""
    from proxyctl.config.sharding_names import ONLY_FOR_TABLES

    if model.schemas is None or model.tables is not None:
        return
    for key in ONLY_FOR_TABLES:
        if part.value[position].get(key) is not None:
            label = key_text((part.name, position, key))
            message = "it has no effect: schemas become fast routing, which has no rules"
            where = part.where(position, key, of_key=True)
            context.mistakes.add(where, label, message, "remove it")


def _spec(
    part: Part, position: int, model: ShardingModel, context: Context
) -> tuple[ShardingSpec, bool]:
    """Return the spec, hostgroup names resolved, and whether one of them has no number.

    Changes: context.mistakes.
    """
    from proxyctl.config.sharding import ShardingSpec

    broken: list[str | int] = []

    def number(value: int | str, *keys: str | int) -> int:
        known = value if isinstance(value, int) else context.hostgroups.get(value)
        if known is not None:
            return known
        # Places are looked up for mistakes only: it takes long, and a mapping has many names.
        label = f"sharding[{position}].{keys[0]}"
        context.hostgroup(value, part.where(position, *keys), label)
        broken.append(value)
        return 0

    def names(key: str, value: Any) -> Any:  # noqa: ANN401 - one of the forms of Names
        if not isinstance(value, Mapping):
            return value
        return {name: number(target, key, name) for name, target in value.items()}

    first, _, last = (model.rule_ids or "").partition("-")
    spec = ShardingSpec(
        name=model.name,
        hostgroups=[
            (str(value), number(value, "hostgroups", n)) for n, value in enumerate(model.hostgroups)
        ],
        tables=names("tables", model.tables),
        schemas=names("schemas", model.schemas),
        assign=model.assign,
        rules=model.rules,
        first_rule_id=model.first_rule_id,
        rule_ids=(int(first), int(last)) if model.rule_ids else None,
        username=model.username,
        schema=model.schema_,
        match=model.match,
        comment=model.comment,
        flagIN=model.flagIN,
    )
    return spec, bool(broken)


def check_reserved(shards: Shards, rules: DesiredTable | None, context: Context) -> None:
    """Note rules that stand in a range that a scheme reserves. Changes: context.mistakes."""
    if rules is None or not shards.reserved:
        return
    for key in rules.rows:
        number, where = key[0], rules.where[key]
        for origin, ids in shards.reserved.items():
            if number in ids and where.origin != origin:
                message = f"{number} is reserved for {origin} (rule_ids {ids[0]}-{ids[-1]})"
                context.mistakes.add(where, "rule_id", message, "choose an id outside that range")


def check_digests(shards: Shards, variables: DesiredTable | None, context: Context) -> None:
    """Note schemes by table that cannot work with the digests that the files ask for.

    Changes: context.mistakes.
    """
    if variables is None or not shards.by_digest:
        return
    for (name, value), reason in _DIGEST_VARIABLES.items():
        row = variables.rows.get((name,))
        if row is not None and row[1] == value:
            for where in shards.by_digest:
                message = f"sharding by table does not work with {name} {value}: {reason}"
                context.mistakes.add(
                    where, "sharding", message, f"change {name}, or write match: pattern"
                )
