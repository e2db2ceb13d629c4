"""Cases made by hand: one for each habit of ProxySQL that a rule set can run into."""

from __future__ import annotations

from proxyctl.catalog import Value
from tests.support.routing_shapes import Case, Cells, Client, Sent

APP = Client("app")
WEB = Client("web")
FAR = Client("app", "crm", "127.0.0.2", 1)

RE2 = {"mysql-query_processor_regex": "2"}


def _case(
    rules: list[Cells],
    *queries: bytes | Sent,
    fast: list[Cells] | None = None,
    variables: dict[str, str] | None = None,
) -> Case:
    numbered = [{"rule_id": number, **cells} for number, cells in enumerate(rules, 1)]
    sent = [query if isinstance(query, Sent) else Sent(APP, query) for query in queries]
    return Case(numbered, sent, fast or [], variables or {})


def _fast(username: str, schemaname: str, flag: int, hostgroup: int) -> Cells:
    return {
        "username": username,
        "schemaname": schemaname,
        "flagIN": flag,
        "destination_hostgroup": hostgroup,
        "comment": "",
    }


def _to(hostgroup: int, **cells: Value) -> Cells:
    return {"destination_hostgroup": hostgroup, **cells}


_HINTS = tuple(
    text.encode()
    for text in (
        "/* hostgroup=4 */ SELECT 1",
        "SELECT /* hostgroup=4 */ 1",
        "SELECT /*hostgroup = 4*/ 1",
        "SELECT /*; hostgroup=4 */ 1",
        "/* foo;hostgroup=4;bar=1 */ SELECT 1",
        "/*! hostgroup=4 */ SELECT 1",
        "/*+ hostgroup=4 */ SELECT 1",
        "/* a */ /* hostgroup=4 */ SELECT 1",
        "-- hostgroup=4\nSELECT 1",
        "SELECT '/* hostgroup=4 */'",
        "/* hostgroup=x */ SELECT 1",
        "/* host group=4 */ SELECT 1",
        "/* HOSTGROUP=4 */ SELECT 1",
        "/* hostgroup==4 */ SELECT 1",
        "/* hostgroup=4=5 */ SELECT 1",
        "/* hostgroup=4294967295 */ SELECT 1",
        "/* hostgroup=4294967300 */ SELECT 1",
        "/* hostgroup=04x */ SELECT 1",
        "/* hostgroup=-4 */ SELECT 1",
        "/* hostgroup=4",
        "/*cache_ttl=7;query_delay=1;query_retries=2;query_timeout=9999*/ SELECT 1",
        "/*cache_ttl=4294967295*/ SELECT 1",
        "/*create_new_connection=1*/ SELECT 1",
        "/*create_new_connection=2;hostgroup=4*/ SELECT 1",
        "/*" + "x" * 1000 + ";hostgroup=4*/ SELECT 1",
        "/*" + "x" * 1010 + ";hostgroup=4*/ SELECT 1",
        "/*hostgroup=4;" + "x" * 2000 + "*/ SELECT 1",
    )
)

_SPECIAL = tuple(
    text.encode()
    for text in (
        "COMMIT",
        "commit",
        "COMMIT ",
        "RollBack",
        "SET autocommit=1",
        "set autocommit = ON",
        "SET @@session.autocommit=1",
        "SET AUTOCOMMIT=only",
        "select @@version_comment limit 1",
        "SELECT @@version_comment LIMIT 1",
        "select USER()",
        "SELECT USER()",
        "select $$",
        "SET NAMES utf8mb4",
        "SET NAMES 'utf8' COLLATE 'utf8_general_ci'",
        "SHOW WARNINGS",
        "SHOW COUNT(*) WARNINGS",
        "SELECT CONNECTION_ID()",
        "SELECT CONNECTION_ID() ",
        "SELECT LAST_INSERT_ID() + 1",
        "SELECT LAST_INSERT_ID()",
        "select last_insert_id() limit 1",
        "SELECT @@IDENTITY LIMIT 1 ",
        "SELECT @@identity, 1",
        "KILL QUERY 99999999",
        "LOAD DATA LOCAL INFILE 'x' INTO TABLE t",
        "BEGIN",
    )
)

MADE: dict[str, Case] = {
    "the last match wins without apply": _case(
        [_to(4, match_digest="^SELECT"), _to(5, match_digest="FROM t"), _to(6, apply=1)],
        b"SELECT 1",
        b"SELECT 1 FROM t",
        b"DELETE FROM t",
    ),
    "apply ends": _case(
        [_to(4, match_digest="^SELECT", apply=1), _to(5)], b"SELECT 1", b"INSERT 1"
    ),
    "'' is no criterion in session columns, and matches all as a pattern": _case(
        [
            {"username": "", "cache_timeout": 1},
            {"schemaname": "", "retries": 1},
            {"client_addr": "", "timeout": 9000},
            {"proxy_addr": "", "reconnect": 1},
            {"digest": "", "sticky_conn": 1},
            {"match_digest": "", "multiplex": 1},
            {"match_pattern": "", "delay": 1},
            _to(4, match_digest="", negate_match_pattern=1),
        ],
        b"SELECT 1",
        b"",
    ),
    "session columns": _case(
        [
            {"username": "App", "retries": 1},
            {"username": "app", "retries": 2},
            {"schemaname": "crm", "multiplex": 1},
            {"schemaname": "shop", "multiplex": 2},
            {"schemaname": "information_schema", "multiplex": 0},
            {"client_addr": "127.0.0.2", "delay": 1},
            {"client_addr": "127.0.%", "cache_timeout": 2},
            {"client_addr": "%", "reconnect": 1},
            {"client_addr": "127.0.0.22%", "sticky_conn": 1},
            {"proxy_addr": "127.0.0.2", "timeout": 9001},
            {"proxy_addr": "127.0.0", "timeout": 9002},
            {"proxy_port": 1, "timeout": 9003},
        ],
        b"SELECT 1",
        Sent(WEB, b"SELECT 1"),
        Sent(FAR, b"SELECT 1"),
    ),
    "a wildcard that is not at the end drops the rule": _case(
        [_to(4, client_addr="127.%.1"), _to(5, client_addr="%1")], b"SELECT 1"
    ),
    "digest": _case(
        [
            _to(4, digest="0x1C46AE529DD5A40E"),
            _to(5, digest="0xfad1519e4760cbde"),
            {"digest": "no number", "retries": 4},
            {"digest": "0x1C46AE529DD5A40E", "negate_match_pattern": 1, "retries": 5},
        ],
        b"SELECT 1",
        b"select 1",
        b"BEGIN",
    ),
    "negation turns each pattern around on its own": _case(
        [
            {"match_digest": "a", "match_pattern": "b", "negate_match_pattern": 1, "retries": 1},
            {"negate_match_pattern": 1, "timeout": 9001},
            {"username": "nobody", "negate_match_pattern": 1, "multiplex": 1},
        ],
        b"x",
        b"a",
        b"b",
        b"ab",
    ),
    "match_digest sees the text before rewriting, match_pattern the one after": _case(
        [
            {"match_pattern": "abc", "replace_pattern": "xyz"},
            _to(4, match_digest="xyz"),
            _to(5, match_digest="abc"),
            {"match_pattern": "abc", "retries": 1},
            {"match_pattern": "xyz", "retries": 2},
        ],
        b"SELECT abc",
        b"SELECT xyz",
    ),
    "replacements": _case(
        [
            {"match_pattern": r"^1(a)(b)?", "replace_pattern": r"[\0|\1|\2]"},
            {"match_pattern": r"^2(a)", "replace_pattern": r"\\\1$1&\3"},
            {"match_pattern": "^3|a", "replace_pattern": "-", "re_modifiers": "GLOBAL"},
            {"match_pattern": "^4.*", "replace_pattern": ""},
            {"match_pattern": "^(5)", "replace_pattern": "\\"},
            {"match_pattern": "^6x*", "replace_pattern": r"\q"},
            {"match_pattern": "^7|b*", "replace_pattern": "-", "re_modifiers": "CASELESS,GLOBAL"},
        ],
        b"1ab",
        b"1aXb",
        b"2aa",
        b"3 banAna",
        b"4 gone",
        b"5 kept",
        b"6xx",
        b"abcB",
    ),
    "RE2 rewrites without CASELESS": _case(
        [
            _to(4, match_pattern="(SELECT) a", replace_pattern=r"\1 b"),
            _to(5, match_pattern="(?i)(SELECT) c", replace_pattern=r"\1 d"),
            _to(6, match_pattern="(?!x)y", replace_pattern="z"),
            _to(7, match_pattern="^.$"),
            _to(8, match_pattern="q$"),
        ],
        b"SELECT a",
        b"select a",
        b"select c",
        b"y",
        "ö".encode(),
        b"\xff",
        b"q\n",
        variables=RE2,
    ),
    "PCRE works on bytes, and $ stands before a last line feed": _case(
        [_to(4, match_pattern="^.$"), _to(5, match_pattern="q$"), _to(6, match_pattern="Ö")],
        "ö".encode(),
        b"\xff",
        b"q\n",
        b"q\n\n",
        "Ö".encode(),
    ),
    "a pattern that does not compile never matches, and always when negated": _case(
        [
            _to(4, match_digest="("),
            _to(5, match_pattern="a**", negate_match_pattern=1, replace_pattern="x"),
            _to(6, match_digest="(", negate_match_pattern=1, username="web"),
        ],
        b"SELECT 1",
        b"SELECT\0 1",
        Sent(WEB, b"SELECT 1"),
    ),
    "what stands behind a NUL is lost when a rule rewrites": _case(
        [
            _to(4, match_pattern="b", username="web"),
            {"match_pattern": "a", "replace_pattern": "a", "username": "app"},
        ],
        b"a\0b",
        b"c\0a",
        Sent(WEB, b"a\0b"),
    ),
    "modifiers": _case(
        [
            {"match_pattern": "A", "re_modifiers": None, "retries": 1},
            {"match_pattern": "A", "re_modifiers": "", "timeout": 9001},
            {"match_pattern": "A", "re_modifiers": "caseless", "multiplex": 1},
            {"match_pattern": "A", "re_modifiers": "GLOBAL, CASELESS", "delay": 1},
            {"match_pattern": "A", "re_modifiers": "GLOBAL,CASELESSLY", "cache_timeout": 1},
        ],
        b"A",
        b"a",
    ),
    "flagOUT goes on with the rules behind": _case(
        [
            _to(4, flagIN=1, match_digest="never reached"),
            {"match_digest": "^SELECT", "flagOUT": 1},
            _to(5, match_digest="SELECT", apply=1),
            _to(6, flagIN=1),
            {"flagIN": 1, "flagOUT": 0},
            {"flagIN": 0, "retries": 3},
        ],
        b"SELECT never reached",
        b"INSERT",
    ),
    "flagOUT with iterations begins anew": _case(
        [
            _to(4, flagIN=1, flagOUT=2),
            {"match_digest": "^SELECT", "flagOUT": 1},
            _to(5, flagIN=2, match_digest="a"),
        ],
        b"SELECT a",
        b"SELECT b",
        variables={"mysql-query_processor_iterations": "5"},
    ),
    "a loop ends with the iterations": _case(
        [
            {"flagIN": 0, "flagOUT": 1, "match_digest": "^SELECT"},
            {"flagIN": 1, "flagOUT": 2},
            _to(4, flagIN=2, flagOUT=0),
            {"flagIN": 0, "flagOUT": 0, "match_digest": "^INSERT"},
            _to(5, flagIN=1),
        ],
        b"SELECT a",
        b"INSERT a",
        variables={"mysql-query_processor_iterations": "1000"},
    ),
    "a loop that rewrites": _case(
        [{"match_pattern": "ab", "replace_pattern": "ba", "flagOUT": 0}, _to(4)],
        b"aaabbb",
        b"aab" * 4,
        variables={"mysql-query_processor_iterations": "20"},
    ),
    "the last rule with apply shuts fast routing off": _case(
        [_to(4, match_digest="^SELECT"), _to(5, match_digest="^INSERT", apply=1)],
        b"SELECT 1",
        b"UPDATE x",
        b"INSERT x",
        fast=[_fast("app", "information_schema", 0, 6)],
    ),
    "a rule behind it that never matches keeps fast routing alive": _case(
        [
            _to(4, match_digest="^SELECT"),
            _to(5, match_digest="^INSERT", apply=1),
            {"flagIN": 2147483647},
        ],
        b"SELECT 1",
        b"UPDATE x",
        b"INSERT x",
        fast=[_fast("app", "information_schema", 0, 6)],
    ),
    "fast routing by user, then without one, at the last flagIN": _case(
        [{"match_digest": "^SELECT", "flagOUT": 3}],
        b"INSERT 1",
        b"SELECT 1",
        Sent(WEB, b"INSERT 1"),
        Sent(WEB, b"SELECT 1"),
        Sent(FAR, b"INSERT 1"),
        fast=[
            _fast("app", "information_schema", 0, 4),
            _fast("", "shop", 0, 5),
            _fast("web", "shop", 3, 6),
            _fast("", "information_schema", 3, 7),
            _fast("app", "", 0, 8),
        ],
    ),
    "no rules at all": _case(
        [],
        b"SELECT 1",
        Sent(WEB, b"SELECT 1"),
        b"/*hostgroup=3*/ SELECT 1",
        fast=[_fast("web", "shop", 0, 5)],
    ),
    "hints": _case([_to(5, apply=1)], *_HINTS),
    "hints over settings": _case(
        [_to(5, timeout=9001, retries=1, cache_ttl=3, apply=1)],
        b"/*query_timeout=9002;query_retries=0;hostgroup=4294967295*/ SELECT 1",
        b"/*cache_ttl=4294967295*/ SELECT 1",
    ),
    "OK_msg wins over error_msg, and '' is a message": _case(
        [
            {"match_digest": "a", "OK_msg": "fine"},
            {"match_digest": "b", "error_msg": "no"},
            {"match_digest": "c", "OK_msg": ""},
            {"match_digest": "d", "error_msg": ""},
            _to(4),
        ],
        b"a",
        b"b",
        b"a b",
        b"c",
        b"d",
        b"x",
    ),
    "next_query_flagIN stays, but not behind an answer": _case(
        [
            {"match_digest": "^SELECT", "next_query_flagIN": 1},
            _to(4, flagIN=1),
            {"flagIN": 1, "match_digest": "^stop", "next_query_flagIN": 0},
            {"match_digest": "^UPDATE", "next_query_flagIN": 1, "error_msg": "no"},
        ],
        b"INSERT 1",
        b"SELECT 1",
        b"INSERT 1",
        b"INSERT 1",
        Sent(WEB, b"INSERT 1"),
        b"stop",
        b"INSERT 1",
        b"UPDATE 1",
        b"INSERT 1",
    ),
    "flagOUTs of the attributes": _case(
        [
            {"match_digest": "a", "attributes": '{"flagOUTs":[{"id":1,"weight":3}]}'},
            {"match_digest": "b", "attributes": '{"flagOUTs":[{"id":1,"weight":0}]}'},
            {
                "match_digest": "c",
                "flagOUT": 2,
                "attributes": '{"flagOUTs":[{"id":1,"weight":3},{"id":3,"weight":3}]}',
            },
            {"match_digest": "d", "attributes": '{"flagOUTs":[{"id":1,"weight":-3},7,"x",{}]}'},
            {"match_digest": "e", "attributes": '{"flagOUTs":[{"id":1.0,"weight":3}]}'},
            _to(4, flagIN=1),
            _to(5, flagIN=2),
            _to(6, flagIN=3),
        ],
        b"a",
        b"b",
        b"c",
        b"d",
        b"e",
    ),
    "LAST_INSERT_ID is never cached, as far as it gets": _case(
        [
            {"cache_ttl": 5000},
            {"match_digest": "stop", "error_msg": "no"},
            {"match_pattern": "hidden", "replace_pattern": "last_insert_id()"},
        ],
        b"SELECT LAST_INSERT_ID() + 1",
        b"SELECT last_insert_id(), 'stop', stop",
        b"SELECT @@identity + 1",
        b"SELECT hidden",
        b"SELECT 1",
    ),
    "digests off": _case(
        [
            _to(4, match_digest="never"),
            _to(5, match_digest="never", match_pattern="x"),
            {"match_digest": "never", "negate_match_pattern": 1, "retries": 1},
        ],
        b"SELECT 1",
        b"x",
        b"/*hostgroup=7*/ x",
        b"SHOW WARNINGS",
        variables={"mysql-query_digests": "false"},
    ),
    "negative numbers are not set": _case(
        [
            _to(4, retries=1),
            _to(-1, next_query_flagIN=-1, mirror_hostgroup=-5, mirror_flagOUT=-1),
            _to(-7),
        ],
        b"SELECT 1",
    ),
    "a pattern that PCRE gives up does not match": _case(
        [
            _to(4, match_pattern="(a+)+$"),
            _to(5, match_pattern="(a+)+$", negate_match_pattern=1),
            {"match_pattern": r"(?:\1?a|(b))+;", "retries": 3},
        ],
        b"a" * 40 + b"!",
        b"a" * 40,
    ),
    "statements of ProxySQL's own": _case([_to(4, retries=2)], *_SPECIAL),
    "KILL and USE meet the rules, but an answer comes too late for USE": _case(
        [{"match_digest": "^(USE|KILL)", "error_msg": "no"}], b"USE shop", b"KILL 99999999"
    ),
    "KILL with other blanks": _case(
        [_to(4)], b"KILL\tCONNECTION\t99999999", b"kill\nquery\n99999999", b"KILL 1 + 1"
    ),
    "USE is what was sent, whatever becomes of the text": _case(
        [
            {"match_pattern": "USE", "replace_pattern": "SELECT"},
            {"match_pattern": "hide", "replace_pattern": "USE"},
            _to(4),
        ],
        b"USE shop",
        b"/*hostgroup=5*/ USE crm",
        b"hide shop",
    ),
    "a SET that ProxySQL does not understand": _case(
        [_to(4, match_digest="^SET", next_query_flagIN=1), _to(5, flagIN=1)],
        Sent(APP, b"SET @a=1"),
        Sent(WEB, b"/*hostgroup=6*/ SET @a=1"),
        Sent(FAR, b"SET NAMES utf8 -- c"),
    ),
    "multiplex of a rule keeps a SET at home": _case(
        [_to(4, match_digest="^SET", multiplex=2, next_query_flagIN=1), _to(5, flagIN=1)],
        Sent(APP, b"SET @a=1"),
        Sent(APP, b"SELECT 1"),
        Sent(WEB, b"/*hostgroup=6*/ SET @a=1"),
        Sent(FAR, b"SET ROLE x"),
    ),
    "a SET locks nothing where that is switched off": _case(
        [_to(4, match_digest="^SET", next_query_flagIN=1), _to(5, flagIN=1)],
        Sent(APP, b"SET @a=1"),
        Sent(APP, b"SELECT 1"),
        Sent(WEB, b"/*hostgroup=6*/ SET foo=bar"),
        variables={"mysql-set_query_lock_on_hostgroup": "0"},
    ),
    "ProxySQL's own statements with digests off": _case(
        [_to(4)],
        b"select connection_id()",
        b"USE`shop`",
        b"USE ",
        b"use shop",
        variables={"mysql-query_digests": "false"},
    ),
}

LARGE: dict[str, Case] = {
    "more alternatives than PCRE holds": _case(
        [
            _to(4, match_digest="|".join(f"tab{number}" for number in range(3985))),
            _to(5, match_digest="|".join(f"tab{number}" for number in range(3986))),
        ],
        b"SELECT 1 FROM tab17",
    ),
    "long texts": _case(
        [
            _to(4, match_pattern="needle"),
            _to(5, match_digest="needle"),
            {"match_pattern": "needle$", "retries": 2},
        ],
        b"SELECT '" + b"x" * 100_000 + b"' needle",
        b"SELECT " + b"a, " * 30_000 + b"needle",
        b"SELECT needle, " + b"a, " * 30_000,
    ),
}
"""Cases that would fill a file; they are run on the real one only."""
