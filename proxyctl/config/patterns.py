"""Do the regular expressions compile, in the engine that ProxySQL will use?

ProxySQL never says: a rule whose pattern is wrong matches nothing, or everything when negated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proxyctl.config.context import Context
from proxyctl.config.rows import field_place
from proxyctl.errors import Mistake
from proxyctl.routing.regex import (
    BadPattern,
    Engine,
    compile_pattern,
    engine_for,
    is_plain,
    never_matches_if_broken,
)
from proxyctl.state.row import Desired, DesiredTable

RULE_TABLES = ("mysql_query_rules", "pgsql_query_rules")
COLUMNS = ("match_digest", "match_pattern")


def chosen_in_files(tables: Mapping[str, DesiredTable]) -> object:
    """Return the value of mysql-query_processor_regex in the files; None where they do not say."""
    variables = tables.get("mysql_variables")
    row = variables.rows.get(("mysql-query_processor_regex",)) if variables else None
    return row[1] if row else None


def check_patterns(table: DesiredTable, chosen: object, context: Context) -> None:
    """Note every pattern that the engine does not compile; of an inactive rule as a warning.

    `chosen`: the value of mysql-query_processor_regex; None is the default. Changes: context.
    """
    for mistake, is_active in _bad_patterns(table, chosen):
        if is_active:
            context.mistakes.add_all([mistake])
        else:
            context.warnings.append(f"{mistake.lines()[0]}, were it active")


def mistakes_at_runtime(desired: Desired, at_runtime: int) -> list[Mistake]:
    """Return the patterns that the engine at RUNTIME does not compile, if the files name none.

    `at_runtime`: the value of mysql-query_processor_regex there.
    """
    if chosen_in_files(desired.tables) is not None or engine_for(at_runtime) is not Engine.RE2:
        return []
    return [
        mistake
        for name in RULE_TABLES
        if name in desired.tables
        for mistake, is_active in _bad_patterns(desired.tables[name], at_runtime)
        if is_active
    ]


def _bad_patterns(table: DesiredTable, chosen: object) -> Iterator[tuple[Mistake, bool]]:
    """Yield a mistake for every pattern that does not compile, and whether its rule is active."""
    version = table.layout.version
    engine = engine_for(chosen, version)
    index = table.layout.index
    columns = [(name, index[name]) for name in COLUMNS if name in table.used]
    active, negate = index["active"], index["negate_match_pattern"]
    known: dict[str, str | None] = {}
    for key, row in table.rows.items() if columns else ():
        for name, position in columns:
            pattern = row[position]
            if not isinstance(pattern, str):
                continue
            if pattern not in known:
                known[pattern] = _problem(pattern, engine)
            if known[pattern] is not None:
                where, label = field_place(table, key, name)
                effect = "the rule would never match"
                if row[negate] == 1 and not never_matches_if_broken(version):
                    effect = "negated, it would match every query"
                message = f"not a regular expression for {engine}: {known[pattern]}; {effect}"
                mistake = Mistake(where.path, where.line, where.column, label, message)
                yield mistake, row[active] != 0


def _problem(pattern: str, engine: Engine) -> str | None:
    """Return why a pattern does not compile; None if it does."""
    text = pattern.encode("utf-8", "surrogateescape")
    try:
        if not is_plain(text):
            compile_pattern(text, engine)
    except BadPattern as bad:
        return str(bad)
    return None
