"""Do the regular expressions compile, in the engine that ProxySQL will use?

ProxySQL never says: a rule whose pattern is wrong matches nothing, or everything when negated.
"""

from __future__ import annotations

from dataclasses import dataclass

from proxyctl.config.drops import field_place
from proxyctl.errors import Mistake
from proxyctl.routing.regex import BadPattern, Engine, compile_pattern, is_plain
from proxyctl.state.row import Desired, DesiredTable

RULE_TABLES = ("mysql_query_rules", "pgsql_query_rules")
COLUMNS = ("match_digest", "match_pattern")
_NEVER = "the rule would never match"


def engine_of(value: object) -> Engine:
    """Return the engine for a value of mysql-query_processor_regex; PCRE is the default."""
    return Engine.RE2 if str(value) == "2" else Engine.PCRE


def engine_in_files(desired: Desired) -> Engine:
    """Return the engine that the files ask for, or the default where they do not say."""
    return engine_of(_value_in_files(desired))


def _value_in_files(desired: Desired) -> object:
    variables = desired.tables.get("mysql_variables")
    row = variables.rows.get(("mysql-query_processor_regex",)) if variables else None
    return row[1] if row else None


@dataclass(frozen=True)
class PatternMistakes:
    """Patterns that an engine does not compile. `idle`: those of rules that are not active."""

    active: list[Mistake]
    idle: list[Mistake]


def check_patterns(desired: Desired, engine: Engine) -> PatternMistakes:
    """Return a mistake for every pattern of a rule that the engine does not compile."""
    found = PatternMistakes([], [])
    fields = [
        (table, column)
        for table in (desired.tables.get(name) for name in RULE_TABLES)
        for column in COLUMNS
        if table is not None and column in table.used
    ]
    if fields:
        checker = _Checker(engine)
        for table, column in fields:
            checker.check(table, column, found)
    return found


def mistakes_at_runtime(desired: Desired, at_runtime: int) -> list[Mistake]:
    """Return the patterns that the engine at RUNTIME does not compile, if the files name none.

    `at_runtime`: the value of mysql-query_processor_regex there.
    """
    engine = engine_of(at_runtime)
    if _value_in_files(desired) is not None or engine is engine_in_files(desired):
        return []
    return check_patterns(desired, engine).active


class _Checker:
    """Checks patterns with one engine, each different pattern once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[str, str | None] = {}

    def check(self, table: DesiredTable, column: str, found: PatternMistakes) -> None:
        """Add the mistakes of one column. Changes: found."""
        index = table.layout.index
        position, active, negate = index[column], index["active"], index["negate_match_pattern"]
        for key, row in table.rows.items():
            pattern = row[position]
            problem = self._problem(pattern) if isinstance(pattern, str) else None
            if problem is not None:
                where, label = field_place(table, key, column)
                negated = row[negate] == 1
                effect = "negated, it would fit every query" if negated else _NEVER
                message = f"not a regular expression for {self._engine}: {problem}; {effect}"
                of = found.idle if row[active] == 0 else found.active
                of.append(Mistake(where.path, where.line, where.column, label, message))

    def _problem(self, pattern: str) -> str | None:
        if pattern not in self._known:
            self._known[pattern] = None
            text = pattern.encode("utf-8", "surrogateescape")
            try:
                if not is_plain(text):
                    compile_pattern(text, self._engine)
            except BadPattern as bad:
                self._known[pattern] = str(bad)
        return self._known[pattern]
