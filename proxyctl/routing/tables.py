"""The inputs of routing other than the rules: variables, fast routing, and the users' defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from proxyctl.catalog import REFERENCE, Layout, Version
from proxyctl.catalog.releases import FIRST_COMMENT_BITS, PARSERSQL_DIGESTS
from proxyctl.proxysql.cells import number
from proxyctl.routing.dialect import MYSQL, Dialect
from proxyctl.routing.regex import RegexEngine, engine_for

BEFORE_RULES, AFTER_RULES = 1, 2
"""The bits of mysql-query_processor_first_comment_parsing."""


@dataclass(frozen=True)
class RoutingVariables:
    """The variables that routing reads, with their defaults, and the version that reads them."""

    engine: RegexEngine = RegexEngine.PCRE
    """mysql-query_processor_regex; a change takes effect when a LOAD compiles the rules."""
    query_digests: bool = True
    query_processor_iterations: int = 0
    """How often a flagOUT makes ProxySQL evaluate the rules again from the first rule."""
    default_schema: str = "information_schema"
    set_query_lock_on_hostgroup: bool = True
    """Whether a SET that ProxySQL does not understand locks the session to its hostgroup."""
    set_parser_algorithm: int = 2
    """mysql-set_parser_algorithm: how ProxySQL reads SET; proxyctl knows 2."""
    enable_load_data_local_infile: bool = False
    first_comment: int = AFTER_RULES
    """mysql-query_processor_first_comment_parsing: when ProxySQL reads hints; 0: never."""
    has_parsersql: bool = False
    """mysql-query_processor_parser: whether ParserSQL makes the digests, which proxyctl cannot."""
    version: Version = REFERENCE

    @classmethod
    def from_values(
        cls, values: Mapping[str, str], version: Version = REFERENCE, dialect: Dialect = MYSQL
    ) -> Self:
        """Return them from rows of global_variables; a missing variable has its default."""

        def text(name: str, default: str) -> str:
            return values.get(dialect.variable(name), default)

        comment = text("query_processor_first_comment_parsing", "2")
        has_parsersql = version.has(PARSERSQL_DIGESTS)
        return cls(
            engine=engine_for(values.get(dialect.variable("query_processor_regex")), version),
            query_digests=text("query_digests", "true") == "true",
            query_processor_iterations=int(text("query_processor_iterations", "0")),
            default_schema=text("default_schema", cls().default_schema),
            set_query_lock_on_hostgroup=text("set_query_lock_on_hostgroup", "1") != "0",
            set_parser_algorithm=int(text("set_parser_algorithm", "2")),
            enable_load_data_local_infile=text("enable_load_data_local_infile", "false") == "true",
            first_comment=int(comment) if version.has(FIRST_COMMENT_BITS) else AFTER_RULES,
            has_parsersql=has_parsersql and text("query_processor_parser", "0") == "1",
            version=version,
        )


FastKey = tuple[str, str, int]
"""username, schemaname, flagIN."""


class FastRouting(dict[FastKey, int]):
    """The table mysql_query_rules_fast_routing: hostgroups by key."""

    def __init__(self, layout: Layout | None = None, rows: Iterable[Sequence[object]] = ()) -> None:
        super().__init__()
        if layout is None:
            return
        index = layout.index
        schemaname = index["schemaname"] if "schemaname" in index else index["database"]
        username, flag = index["username"], index["flagIN"]
        hostgroup = index["destination_hostgroup"]
        for row in rows:
            key = (str(row[username]), str(row[schemaname]), _int(row[flag]))
            self[key] = _int(row[hostgroup])

    def find(self, username: str | None, schemaname: str, flag: int) -> FastKey | None:
        """Return the key of the row that decides: the user's row, else the row without a user."""
        if not self:
            return None
        for key in ((username or "", schemaname, flag), ("", schemaname, flag)):
            if key in self:
                return key
        return None


class Frontend(NamedTuple):
    """The defaults of a user's sessions."""

    default_hostgroup: int
    default_schema: str = ""
    fast_forward: bool = False
    """Whether the user's queries skip the rules."""


def frontends(layout: Layout, rows: Iterable[Sequence[object]]) -> dict[str, Frontend]:
    """Return the users that may log in, by name, from rows of mysql_users in any layer."""
    index = layout.index
    users: dict[str, Frontend] = {}
    for row in rows:
        if not (_int(row[index["active"]]) and _int(row[index["frontend"]])):
            continue
        schema = row[index["default_schema"]] if "default_schema" in index else None
        users[str(row[index["username"]])] = Frontend(
            _int(row[index["default_hostgroup"]]),
            schema if isinstance(schema, str) else "",  # a Secret stays a Secret
            bool(_int(row[index["fast_forward"]])),
        )
    return users


Users = Mapping[str, Frontend]


def _int(value: object) -> int:
    read = number(value) if isinstance(value, int | float | str) else None
    return read or 0
