"""Rows with every kind of text that a .cnf can carry, in every section that it has."""

from __future__ import annotations

from proxyctl.catalog import Layout
from proxyctl.state.row import Row
from tests.support.build import layout, row

RULES = "mysql_query_rules"

Tables = dict[str, tuple[Layout, list[Row]]]

AWKWARD = (
    r"^SELECT\s+\d+ .* \\ \1 \x41 \n$",
    "ends in a backslash \\",
    "\\",
    "new\nline\ttab\rreturn\ffeed",
    "größe 東京 🐬",
    "latin \udce9\udc80",
    "50% %s %d {} ${x} # // /* ; , = :",
    "",
    " blanks ",
    "NULL",
    "\x01\x7f",
    "\x1b[31m \x9b31m \u202e \u2066 \u200b \u2028 \ufeff \U000e0041",
)


def awkward_tables() -> Tables:
    """Rows with everything that a .cnf can carry, in every section that it has."""
    tables: dict[str, list[Row]] = {
        "mysql_servers": [
            row("mysql_servers", hostgroup_id=10, hostname="10.0.0.1", comment=text + "\"'")
            if not number
            else row(
                "mysql_servers",
                hostgroup_id=20 + number,
                hostname=f"h{number}'",
                port=3300 + number,
                status="OFFLINE_SOFT",
                weight=0,
                use_ssl=1,
                max_connections=0,
                comment=text,
            )
            for number, text in enumerate(AWKWARD)
        ],
        "mysql_servers_ssl_params": [
            row("mysql_servers_ssl_params", hostname="h", ssl_ca='/x/"y"\\z', comment="it's")
        ],
        "mysql_replication_hostgroups": [
            row(
                "mysql_replication_hostgroups",
                writer_hostgroup=1,
                reader_hostgroup=2,
                check_type="super_read_only",
                comment='it\'s "x"',
            )
        ],
        "mysql_group_replication_hostgroups": [_family("mysql_group_replication_hostgroups", 50)],
        "mysql_galera_hostgroups": [_family("mysql_galera_hostgroups", 60)],
        "mysql_aws_aurora_hostgroups": [
            row(
                "mysql_aws_aurora_hostgroups",
                writer_hostgroup=70,
                reader_hostgroup=71,
                domain_name=".it's",
                check_timeout_ms=900,
                comment="",
            ),
            row(
                "mysql_aws_aurora_hostgroups",
                writer_hostgroup=72,
                reader_hostgroup=73,
                domain_name=".x",
                comment="\\",
            ),
        ],
        "mysql_users": [
            row(
                "mysql_users",
                username=f"u{number}" + text,
                password=text + '"',
                default_schema=text,
                default_hostgroup=number,
                active=number % 2,
                attributes='{"a":"\\\\ b"}',
                comment=text + "'",
            )
            for number, text in enumerate(AWKWARD)
        ],
        RULES: [
            row(
                RULES,
                rule_id=number + 1,
                active=number % 2,
                username=text,
                match_digest=text + "'",
                match_pattern=text,
                replace_pattern=text,
                re_modifiers=text,
                OK_msg=text,
                error_msg=None if number % 2 else text,
                destination_hostgroup=number,
                cache_ttl=2**31 - 1,
                apply=1,
                attributes='{"flagOUTs": [{"id": 1, "weight": 2}]}',
                comment=text + '"',
            )
            for number, text in enumerate(AWKWARD)
        ],
        "scheduler": [
            row(
                "scheduler",
                id=number,
                active=0,
                interval_ms=100_000,
                filename="/bin/true",
                arg1=text,
                arg2=None,
                arg3=text + '"',
                comment=text,
            )
            for number, text in enumerate(AWKWARD)
        ],
        "restapi_routes": [
            row(
                "restapi_routes",
                id=3,
                active=0,
                timeout_ms=1000,
                method="get",
                uri='u"\\',
                script="/s",
            )
        ],
        "proxysql_servers": [
            row("proxysql_servers", hostname="p'1", port=6032, comment="it's \\d")
        ],
    }
    return {name: (layout(name), rows) for name, rows in tables.items()}


def _family(table: str, first: int) -> Row:
    return row(
        table,
        writer_hostgroup=first,
        backup_writer_hostgroup=first + 1,
        reader_hostgroup=first + 2,
        offline_hostgroup=first + 3,
        max_writers=2,
        writer_is_also_reader=2,
        max_transactions_behind=100,
        comment='it\'s "x" \\',
    )
