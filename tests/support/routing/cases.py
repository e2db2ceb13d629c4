"""Random but realistic rule sets and queries, for the evaluator against a real ProxySQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

from proxyctl.catalog import REFERENCE, Value, Version
from proxyctl.catalog.releases import CLIENT_ADDR_SUBNETS, FIRST_COMMENT_BITS
from proxyctl.routing.digest import DigestOptions, digest
from tests.support.routing.shapes import ADDRESSES, Case, Cells, Client, Sent

TABLES = ("orders", "customers", "order_items", "sbtest1", "sbtest10", "`sbtest2`", "shop.orders")
TABLES += ("audit_log", "crm.`größe`", "t1", "T1")
COLUMNS = ("id", "c", "k", "pad", "name", "created_at", "o.total", "`order`")
USERNAMES = ("app", "web", "Etl")
SCHEMAS = ("shop", "crm", "information_schema")

STATEMENTS = (
    "SELECT {c} FROM {t} WHERE id={n}",
    "SELECT {c}, {c} FROM {t} WHERE {c} = {v} AND {c} > {n}",
    "select * from {t} where {c} in ({n},{n},{n},{n},{n})",
    "SELECT {c} FROM {t} WHERE id BETWEEN {n} AND {n} ORDER BY {c}",
    "SELECT DISTINCT {c} FROM {t} WHERE id BETWEEN {n} AND {n} ORDER BY c",
    "SELECT COUNT(*) FROM {t} JOIN {t} x ON x.id = {c} WHERE {c} LIKE {v}",
    "SELECT {c} FROM {t} WHERE id = {n} FOR UPDATE",
    "SELECT {c} FROM {t} LIMIT {n}, 10 LOCK IN SHARE MODE",
    "SELECT @@max_allowed_packet, NOW(), {n}",
    "SELECT LAST_INSERT_ID() + {n} FROM {t}",
    "(SELECT {c} FROM {t}) UNION ALL (SELECT {n})",
    "WITH q AS (SELECT {c} FROM {t}) SELECT * FROM q WHERE {c}={v}",
    "INSERT INTO {t} ({c}, {c}) VALUES ({n}, {v})",
    "INSERT INTO {t} VALUES ({n},{v},NULL),({n},{v},NULL),({n},{v},-1)",
    "insert into {t} select * from {t} where {c} = {n}",
    "REPLACE INTO {t} SET {c}={v}",
    "UPDATE {t} SET {c}={c}+{n}, {c}={v} WHERE id={n}",
    "DELETE FROM {t} WHERE {c} < {n} LIMIT {n}",
    "BEGIN",
    "COMMIT",
    "CREATE TABLE {t} (id INT PRIMARY KEY, c VARCHAR({n}))",
    "ALTER TABLE {t} ADD KEY k_{n} ({c})",
    "TRUNCATE TABLE {t}",
    "CALL proc_{n}({v}, {n})",
    "SHOW TABLES LIKE {v}",
    "EXPLAIN SELECT {c} FROM {t}",
    "{v}",
    "",
)
LITERALS = (
    "'abc'", '"a b"', "'it''s'", "'\\\\'", "'größe'", "x'1F'", "1.5e3", "'x;y'", "'/*'", "''",
)  # fmt: skip
BLANKS = (" ", " ", " ", " ", " ", "  ", "\n", "\t", "\r\n")
COMMENTS = (
    "/* app:web */", "/* hostgroup={h} */", "/*; hostgroup = {h} ;cache_ttl=500*/",
    "/*! hostgroup={h} */", "/*+ hostgroup={h} */", "/* hostgroup=x */",
    "/*HOSTGROUP={h};query_timeout=9000;query_retries=2;query_delay=1*/", "-- hostgroup={h}\n",
    "# note\n", "/* create_new_connection=1 */", "/* hostgroup=4294967295 */", "/**/",
)  # fmt: skip

LAST_COMMENTS = (" -- tail", "-- x", " # x", "#xx", "/*", "/**", "/* c", " --")

DIGEST_PATTERNS = (
    "^SELECT", "^SELECT.*FOR UPDATE", "^SELECT .* FOR UPDATE$", "^(INSERT|UPDATE|DELETE|REPLACE)",
    "^select", "^SELECT (?!.*FOR UPDATE)", "^(?!SELECT)", "FROM orders", "FROM `?sbtest1`? ",
    "(^|[^0-9A-Za-z_$])`?sbtest(?:1|2|10)`?($|[^0-9A-Za-z_$])", r"\bsbtest[0-9]+\b", r"id ?= ?\?",
    r"VALUES \(\?,\?\)", "VALUES (?,?)", r"COUNT\(\*\)", "BETWEEN . AND .",
    "DISTINCT(.*)ORDER BY c", r"(\w+)\.(\w+)", r"^.{0,40}$", "order", "ORDER BY `", "größe",
    "gr..e", r"[^\x00-\x7f]", "", "^$", "$", r"\?", r"\d", "'abc'", r"(.)\1", "(", "a**",
    "(?<=FROM )orders", "(a|b|c)+d", "^[A-Z]+ INTO", r"(?:\s|,)\?(?:\s|$)", "(?i:t1)", "T1",
    "LIMIT|LOCK", r"^\s*(SELECT|SHOW|EXPLAIN)\b", r"\.\.\.", "[[:upper:]]{6}", "x{2}", ";",
)  # fmt: skip
QUERY_PATTERNS = (
    r"id=(\d+)", r"id\s*=\s*[0-9]", "^ ", "^SELECT", "^select", r"\n", r"^\s*/\*", r"/\*.*?\*/",
    "'abc'", "'[^']*'", r"SELECT DISTINCT (\S+) FROM", "DISTINCT(.*)ORDER BY c",
    r"(\w+) FROM (\w+)", r"\bFROM (orders|customers)\b", "LIMIT [0-9]+, 10", r"(?s)^(.*)$",
    "^(.*)$", "o", " +", "x*", r"(a)|(b)|(c)", r"\s+$", ";$", "größe", "(?<!`)order",
    r"([^ ]+) ([^ ]+)$", "(INSERT) (INTO)", "[", "", "hostgroup=([0-9])",
)  # fmt: skip
REPLACEMENTS = (
    "", "x", r"\1", r"\0", r"\0 LIMIT 10", r"\2 \1", r"<\1\2\3>", r"\9", r"\\", r"\q", "$1&",
    "SELECT", " ", "DELETE FROM orders WHERE id=1", r"/* \1 */", "größe", "oo", r"DISTINCT\1",
)  # fmt: skip
MODIFIERS: Sequence[str | None] = ("CASELESS",) * 6 + (
    None,
    "",
    "GLOBAL",
    "CASELESS,GLOBAL",
    "CASELESS,GLOBAL",
    "global,caseless",
    " CASELESS",
    "GLOBALLY",
)
CLIENT_ADDRS = ("127.0.0.1", "127.0.0.%", "127.%", "%", "127.0.0.2", "", "10.%", "127.0.0.1%")

SUBNETS = ("127.0.0.0/8", "127.0.0.2/32", "10.0.0.0/8", "127.0.0.0/31")


def statement(random: Random) -> bytes:
    """Return a statement as an application sends it, or an odd one."""
    text = random.choice(STATEMENTS)
    for mark, choices in (("{t}", TABLES), ("{c}", COLUMNS), ("{v}", LITERALS)):
        while mark in text:
            text = text.replace(mark, random.choice(choices), 1)
    while "{n}" in text:
        text = text.replace("{n}", str(random.choice((0, 1, 7, 42, 100000))), 1)
    if random.random() < 0.25:
        words = text.split(" ")
        text = "".join(word + random.choice(BLANKS) for word in words)[
            : -random.randint(0, 1) or None
        ]
    if random.random() < 0.2:
        comment = random.choice(COMMENTS).replace("{h}", str(random.randrange(12)))
        place = random.choice([0, 0, len(text), text.find(" ") + 1])
        text = f"{text[:place]}{comment}{random.choice(('', ' '))}{text[place:]}"
    if random.random() < 0.1:
        text += random.choice((";", " ;", " ", "\n", "/", "'", "\\", *LAST_COMMENTS))
    if random.random() < 0.03:
        text = f"{text} /* {'lorem ipsum ' * random.randint(10, 60)}*/ AND id={'9' * 30}"
    if random.random() < 0.1:
        text = text.swapcase()
    made = text.encode()
    if random.random() < 0.03:
        place = random.randint(0, len(made))
        made = made[:place] + random.choice((b"\0", b"\xe9", b"\xff\xfe", b"\x1a")) + made[place:]
    return made


def rule(
    random: Random,
    rule_id: int,
    queries: Sequence[bytes],
    ports: Sequence[int],
    options: DigestOptions,
) -> Cells:
    """Return a rule with some of the columns that affect routing."""
    cells: Cells = {"rule_id": rule_id, "active": int(random.random() < 0.95)}

    def maybe(name: str, chance: float, choices: Sequence[Value]) -> None:
        if random.random() < chance:
            cells[name] = random.choice(choices)

    maybe("username", 0.15, (*USERNAMES, "etl", "", "nobody"))
    maybe("schemaname", 0.1, (*SCHEMAS, "Shop", ""))
    maybe("flagIN", 0.35, (1, 2, 3))
    subnets = SUBNETS if options.version >= CLIENT_ADDR_SUBNETS else ()
    maybe("client_addr", 0.12, (*CLIENT_ADDRS, *subnets))
    maybe("proxy_addr", 0.08, (*ADDRESSES, "", "0.0.0.0"))
    maybe("proxy_port", 0.08, (*ports, *ports, 6033))
    if queries:
        digests = [digest(query, options).hexadecimal for query in random.sample(queries, 2)]
        maybe("digest", 0.08, (*digests, digests[0].lower(), "", "abc", "0x0"))
    maybe("match_digest", 0.5, DIGEST_PATTERNS)
    maybe("match_pattern", 0.5, QUERY_PATTERNS)
    if not {"match_digest", "match_pattern", "digest"} & cells.keys():
        maybe("match_digest", 0.8, DIGEST_PATTERNS)  # a rule for all ends most of what follows
    maybe("negate_match_pattern", 0.12, (1,))
    cells["re_modifiers"] = random.choice(MODIFIERS)
    maybe("flagOUT", 0.3, (0, 1, 2, 3, 4))
    if "match_pattern" in cells:
        maybe("replace_pattern", 0.6, REPLACEMENTS)
    maybe("destination_hostgroup", 0.6, (*range(12), *range(12), 99, -1))
    maybe("cache_ttl", 0.1, (1, 5000))
    maybe("cache_empty_result", 0.05, (0, 1))
    maybe("cache_timeout", 0.05, (0, 9))
    maybe("reconnect", 0.05, (0, 1))
    maybe("timeout", 0.08, (0, 8000, 9000))
    maybe("retries", 0.08, (0, 3))
    maybe("delay", 0.03, (0, 1))
    maybe("next_query_flagIN", 0.04, (0, 1, 2))
    maybe("error_msg", 0.03, ("no", "", "größe"))
    maybe("OK_msg", 0.03, ("fine", "", "größe"))
    maybe("sticky_conn", 0.05, (0, 1))
    maybe("multiplex", 0.08, (0, 1, 2))
    maybe("log", 0.05, (0, 1))
    maybe("apply", 0.15, (1,))
    maybe("attributes", 0.06, _ATTRIBUTES)
    maybe("comment", 0.1, ("it's a rule",))
    return cells


_ATTRIBUTES = tuple(
    json.dumps(value)
    for value in (
        {"flagOUTs": [{"id": 1, "weight": 100}]},
        {"flagOUTs": [{"id": 2, "weight": 0}, {"id": 3, "weight": 5}]},
        {"flagOUTs": [{"id": 2, "weight": 0}]},
        {"flagOUTs": [{"id": "1", "weight": 1}, {"weight": 1}, 7, {"id": 1.0, "weight": 2}]},
        {"flagOUTs": {"id": 1, "weight": 1}},
        {"other": 1},
    )
)


def random_case(
    random: Random, ports: Sequence[int], *, queries: int, version: Version = REFERENCE
) -> Case:
    """Return a rule set, and queries of several sessions."""
    rules = random.choice((1, 3, 8, 15, 30))
    variables = _variables(random, version)
    options = DigestOptions.from_variables(variables, version)
    texts: list[bytes] = []
    while len(texts) < queries:
        text = statement(random)
        if digest(text, options).certain:
            texts.append(text)
    clients = [_client(random) for _ in range(4)]
    cells = []
    rule_id = 0
    for _ in range(rules):
        rule_id += random.choice((1, 1, 10))
        cells.append(rule(random, rule_id, texts, ports, options))
    if variables.get("mysql-query_digests") == "false":
        for row in cells:
            row.pop("digest", None)  # compared with what the session's last query left
    if random.random() < 0.5:
        cells[-1]["apply"] = 0
    sent = [Sent(random.choice(clients), text) for text in texts]
    return Case(cells, sent, _fast_routing(random), variables)


def _client(random: Random) -> Client:
    return Client(
        random.choice(USERNAMES),
        random.choice((None, None, *SCHEMAS)),
        random.choice(ADDRESSES),
        random.randrange(len(ADDRESSES)),
    )


def _variables(random: Random, version: Version) -> dict[str, str]:
    chosen: dict[str, str] = {}
    if version >= FIRST_COMMENT_BITS:
        bits = random.choice(("2", "2", "2", "0", "1", "3"))
        chosen["mysql-query_processor_first_comment_parsing"] = bits
    if random.random() < 0.3:
        chosen["mysql-query_processor_regex"] = "2"
    if random.random() < 0.3:
        chosen["mysql-query_processor_iterations"] = random.choice(("1", "2", "3", "10", "1000"))
    if random.random() < 0.1:
        chosen["mysql-query_digests"] = "false"
    for name in ("lowercase", "replace_null", "no_digits", "keep_comment"):
        if random.random() < 0.08:
            chosen[f"mysql-query_digests_{name}"] = "true"
    if random.random() < 0.05:
        chosen["mysql-query_digests_max_digest_length"] = "16"
    return chosen


def _fast_routing(random: Random) -> list[Cells]:
    if random.random() < 0.5:
        return []
    keys = {
        (
            random.choice((*USERNAMES, "")),
            random.choice((*SCHEMAS, "")),
            random.choice((0, 0, 1, 2)),
        )
        for _ in range(random.randint(1, 8))
    }
    return [
        {
            "username": username,
            "schemaname": schemaname,
            "flagIN": flag,
            "destination_hostgroup": random.randrange(12),
            "comment": "",
        }
        for username, schemaname, flag in sorted(keys)
    ]
