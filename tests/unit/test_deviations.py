"""Tables, columns and variables of an instance beyond the catalogue, for use in its files."""

from __future__ import annotations

import pytest

from proxyctl.catalog import (
    TABLES,
    ColumnKind,
)
from proxyctl.catalog.deviations import unlisted_column
from proxyctl.catalog.variables import VARIABLES, is_secret_variable


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
    assert unlisted_column("a", "BIGINT", "1", "0").kind is ColumnKind.INT
    assert unlisted_column("a", "", "1", None).kind is ColumnKind.TEXT


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
    assert {
        (name, column.name) for name in TABLES for column in TABLES[name].columns if column.secret
    } == {
        ("mysql_users", "password"),
        ("pgsql_users", "password"),
    }
