"""Do the regular expressions compile, in the engine that ProxySQL will use?

ProxySQL never says: a rule whose pattern is wrong matches nothing, or everything when negated.
"""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.config.drops import field_place
from proxyctl.errors import Mistake
from proxyctl.regex import BadPattern, Engine, compile_pattern
from proxyctl.state import Desired, DesiredTable

RULE_TABLES = ("mysql_query_rules", "pgsql_query_rules")
COLUMNS = ("match_digest", "match_pattern")


def engine_of(value: object) -> Engine:
    """Return the engine for a value of mysql-query_processor_regex; PCRE is the default."""
    return Engine.RE2 if str(value) == "2" else Engine.PCRE


def engine_in_files(desired: Desired) -> Engine:
    """Return the engine that the files ask for, or the default where they do not say."""
    variables = desired.tables.get("mysql_variables")
    row = variables.rows.get(("mysql-query_processor_regex",)) if variables else None
    return engine_of(row[1] if row else None)


def check_patterns(desired: Desired, engine: Engine) -> list[Mistake]:
    """Return a mistake for every pattern of a rule that the engine does not compile."""
    fields = [
        (table, column)
        for table in (desired.tables.get(name) for name in RULE_TABLES)
        for column in COLUMNS
        if table is not None and column in table.used
    ]
    if not fields:
        return []
    checker = _Checker(engine)
    return [mistake for table, column in fields for mistake in checker.check(table, column)]


class _Checker:
    """Checks patterns with one engine, each different pattern once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[str, str | None] = {}

    def check(self, table: DesiredTable, column: str) -> Iterator[Mistake]:
        """Yield the mistakes of one column."""
        position = table.layout.index[column]
        for key, row in table.rows.items():
            pattern = row[position]
            problem = self._problem(pattern) if isinstance(pattern, str) else None
            if problem is not None:
                where, label = field_place(table, key, column)
                message = f"not a regular expression for {self._engine}: {problem};"
                message += " the rule would never match"
                yield Mistake(where.path, where.line, where.column, label, message)

    def _problem(self, pattern: str) -> str | None:
        if pattern not in self._known:
            self._known[pattern] = None
            try:
                compile_pattern(pattern.encode("utf-8", "surrogateescape"), self._engine)
            except BadPattern as bad:
                self._known[pattern] = str(bad)
        return self._known[pattern]
