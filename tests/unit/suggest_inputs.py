"""Small builders for tests of suggest: digests, and the configuration that they were seen with."""

from __future__ import annotations

from proxyctl.catalog import REFERENCE
from proxyctl.proxysql.configuration import ConfigTable, Configuration
from proxyctl.routing.digest import Digester
from proxyctl.stats.model import DigestTable, SeenDigest
from tests.support.build import layout, rows

APP = {"username": "app", "default_hostgroup": 10, "frontend": 1, "backend": 1}
FAMILY = {"writer_hostgroup": 10, "reader_hostgroup": 20}
SERVERS = ({"hostgroup_id": 10, "hostname": "a"}, {"hostgroup_id": 20, "hostname": "b"})


def configuration(*rules, users=(APP,), family=(FAMILY,), servers=SERVERS, names=None, fast=()):
    given = {
        "mysql_query_rules": rules,
        "mysql_query_rules_fast_routing": fast,
        "mysql_users": users,
        "mysql_replication_hostgroups": family,
        "mysql_servers": servers,
    }
    tables = {name: ConfigTable(layout(name), rows(name, *some)) for name, some in given.items()}
    return Configuration(REFERENCE, tables, {}, names or {})


def rule(rule_id, pattern, hostgroup=10, **more):
    return {
        **{"rule_id": rule_id, "match_digest": pattern, "destination_hostgroup": hostgroup},
        **{"apply": 1, **more},
    }


def digest(query, *, hostgroup=10, calls=1_000, average=500, rows_sent=1.0, **other):
    made = Digester().digest(query)
    cells = {
        **{"schemaname": "shop", "username": "app", "client_address": ""},
        **{"hostgroup": hostgroup, "digest": made.hexadecimal, "digest_text": made.text.decode()},
        **{"count_star": calls, "first_seen": 1_000, "last_seen": 1_100},
        **{"sum_time": calls * average, "min_time": 1, "max_time": average * 2},
        **{"sum_rows_affected": 0, "sum_rows_sent": round(calls * rows_sent)},
        **other,
    }
    return SeenDigest(**cells)


def table(*seen, **variables):
    return DigestTable("px1", "127.0.0.1:6032", "2.7.1", 1_200, list(seen), variables)
