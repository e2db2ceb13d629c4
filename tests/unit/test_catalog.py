"""Releases in their order, what an instance has beyond the catalogue, and rules of variables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.catalog import (
    NO_DEVIATIONS,
    REFERENCE,
    TABLES,
    Deviations,
    Kind,
    Layout,
    Version,
    layout_of,
    parse_version,
)
from proxyctl.catalog.charsets import CHARSETS, COLLATIONS, charset_of, default_collation, fits
from proxyctl.catalog.destinations import is_hidden_by_last_rule
from proxyctl.catalog.deviations import unlisted_column
from proxyctl.catalog.releases import PCRE2, PURGES_DIGESTS, beyond_catalogue
from proxyctl.catalog.variable_rules import TEXT_RULES, atoi, bounds, canonical, taken
from proxyctl.catalog.variables import VARIABLES, is_secret_variable

AURORA = TABLES["mysql_aws_aurora_hostgroups"]


@pytest.mark.parametrize("tier", ["3.0", "3.1", "4.0"])
def test_the_third_number_tells_what_a_release_of_any_tier_has(tier: str) -> None:
    old, new = parse_version(f"{tier}.8"), parse_version(f"{tier}.10-1-gabc")
    assert (is_hidden_by_last_rule(old), is_hidden_by_last_rule(new)) == (True, False)
    assert [one.has(PURGES_DIGESTS) for one in (old, new)] == [False, True]
    assert not new.has(PCRE2)
    column = "autopurge_missing_checks"
    assert [column in layout_of(AURORA, one).names for one in (old, new)] == [False, True]
    variable = VARIABLES["mysql-passthrough_auth_enabled"]
    assert [variable.exists_in(one) for one in (old, new)] == [False, True]
    parser = VARIABLES["mysql-set_parser_algorithm"]
    assert [parser.limits_in(one) for one in (old, new)] == [(1, 2), (1, 3)]
    assert str(old.numbered(PURGES_DIGESTS)) == f"{tier}.10"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("3.0.12", None),
        ("3.0.14", "3.0.14 is newer than 3.0.12, the newest known release"),
        ("3.1.9", "3.1.9 (innovative tier) is 3.0.9 with additions"),
        ("4.0.14", "4.0.14 is newer than 4.0.12, the newest known release"),
        ("3.2.0", "3.2.0 is newer than 3.0.12, the newest known release"),
    ],
)
def test_why_a_release_may_have_more_than_is_known(text: str, reason: str | None) -> None:
    assert beyond_catalogue(parse_version(text)) == reason


SERVERS = TABLES["mysql_servers"]
ZONE = unlisted_column("zone", "VARCHAR", "1", "''")


@pytest.mark.parametrize(
    ("text", "default"),
    [
        (None, None),
        ("NULL", None),
        ("-1", -1),
        ("'it''s'", "it's"),
        ('"x"', "x"),
        ("''", ""),
        ("1.5", None),
        ("CURRENT_TIMESTAMP", None),
    ],
)
def test_the_default_of_a_column(text: str | None, default: int | str | None) -> None:
    assert unlisted_column("a", "VARCHAR", "0", text).default == default


def test_a_column_that_holds_whole_numbers() -> None:
    assert unlisted_column("a", "BIGINT", "1", "0").kind is Kind.INT
    assert unlisted_column("a", "", "1", None).kind is Kind.TEXT


@pytest.mark.parametrize(
    "name",
    [
        *("password2_password", "api_token", "Secret", "root_pass", "bind_pwd", "api_key"),
        *("privateKey", "encryption_key", "hmac_key", "key_hmac", "secret_id", "token_value"),
        *("password_hash", "master_key_2", "auth_string", "monitor_pw", "pasword", "max_tokens"),
    ],
)
def test_what_may_be_a_secret_is_one(name: str) -> None:
    assert unlisted_column(name, "VARCHAR", "0", None).secret
    assert is_secret_variable(f"mysql-ldap_{name}")


@pytest.mark.parametrize("name", ["bypass", "ssl_key", "passive", "zone", "keylog_file"])
def test_what_is_no_secret_is_shown(name: str) -> None:
    assert not unlisted_column(name, "VARCHAR", "0", None).secret
    assert not is_secret_variable(f"mysql-{name}")


def test_what_is_listed_is_what_the_catalogue_says_whatever_its_name() -> None:
    assert {name for name in VARIABLES if is_secret_variable(name)} == {
        "admin-admin_credentials",
        "admin-cluster_password",
        "admin-stats_credentials",
        "mysql-monitor_password",
        "pgsql-monitor_password",
    }
    assert {(name, one.name) for name in TABLES for one in TABLES[name].columns if one.secret} == {
        ("mysql_users", "password"),
        ("pgsql_users", "password"),
    }


def test_tables_and_columns_are_those_of_the_instance_whatever_its_release_has() -> None:
    version = Version(3, 0, 9)
    layouts = dict(NO_DEVIATIONS.layouts(version))
    del layouts["pgsql_servers_ssl_params"]
    later = TABLES["mysql_aws_rds_bgd_hostgroups"]
    layouts[later.name] = layout_of(later, version)
    aurora = layouts["mysql_aws_aurora_hostgroups"]
    fewer = tuple(c for c in aurora.columns if c.name != "autopurge_missing_checks")
    layouts[aurora.name] = replace(aurora, columns=fewer)
    found = Deviations.of(layouts, (), version)
    assert found == Deviations(
        tables=frozenset({later.name}),
        missing=frozenset({"pgsql_servers_ssl_params", (aurora.name, "autopurge_missing_checks")}),
    )
    assert found.layouts(version) == layouts


def test_only_what_the_catalogue_lacks_is_an_addition() -> None:
    listed = layout_of(SERVERS, REFERENCE)
    wider = Layout(SERVERS, (*listed.columns, ZONE))
    layouts = {**NO_DEVIATIONS.layouts(REFERENCE), "mysql_servers": wider}
    found = Deviations.of(layouts, ["mysql-threads", "mysql-time_travel"], REFERENCE)
    assert found == Deviations(
        frozenset({("mysql_servers", ZONE)}), frozenset({"mysql-time_travel"})
    )
    assert found.layout_of(SERVERS, REFERENCE).names == wider.names
    assert NO_DEVIATIONS.layout_of(SERVERS, REFERENCE) is listed


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12x", 12),
        (" \v+7", 7),
        ("", 0),
        ("x", 0),
        ("010", 10),
        ("-0", 0),
        ("4294967796", 500),
        ("2147483648", -(2**31)),
        ("9223372036854775808", -1),
        ("-9223372036854775809", 0),
    ],
)
def test_atoi(text, number):
    assert atoi(text) == number


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("mysql-default_schema", "(null)", "(null)"),
        ("mysql-resolution_family", "ipv6", "ipv6"),
        ("mysql-not_known", "x", "x"),
    ],
)
def test_what_runtime_shows(name, text, shown):
    assert taken(name, text) == shown


@pytest.mark.parametrize("name", ["mysql-set_parser_algorithm", "pgsql-set_parser_algorithm"])
def test_the_bounds_of_a_release(name):
    shown = [taken(name, "3", parse_version(text)) for text in ("3.0.3", "3.0.9", "3.0.12")]
    assert shown == [None, "3", "3"]
    assert taken(name, "3") == "3"


@pytest.mark.parametrize("text", ["2.4.0", "2.5.5", "2.7.1", "3.0.3", "3.0.12"])
def test_the_newest_release_has_the_widest_bounds(text):
    for variable in VARIABLES.values():
        (low, high), (lowest, highest) = bounds(variable, parse_version(text)), bounds(variable)
        assert lowest <= low <= high <= highest, variable.name


def test_a_refused_text_stands_for_itself_alone():
    assert canonical("mysql-max_connections", "0") == "0"
    assert canonical("mysql-default_charset", "UTF8") == "utf8"
    assert canonical("mysql-default_schema", "(null)") == ""


def test_rules_are_for_variables_that_exist():
    assert set(TEXT_RULES) <= set(VARIABLES)


def test_character_sets_know_their_collations():
    assert {charset_of(collation) for collation in COLLATIONS} == {*CHARSETS} - {"utf8mb3"}
    unfit = {name for name in CHARSETS if not fits(name, default_collation(name))}
    assert unfit == {"utf16le"}
    assert not fits("nope", "nope")
