"""What an export does with passwords, and with rows that RUNTIME does not show."""

import pytest

from proxyctl.catalog import TABLES, Version, layout_of
from proxyctl.state.fold import Exported, from_runtime, with_secrets
from proxyctl.state.passwords import native_hash
from proxyctl.state.row import KEEP
from tests.support import build

VERSION = Version(3, 0, 0)
SCRAM = "SCRAM-SHA-256$4096:c2FsdA==$c3RvcmVk:c2VydmVy"
MD5 = "md5" + "0123456789abcdef" * 2
NATIVE = native_hash("secret")


def exported_password(table: str, password: str | None, secrets: str):
    layout = layout_of(TABLES[table], VERSION)
    cells = dict(zip(layout.names, layout.defaults, strict=True))
    row = tuple((cells | {"username": "u", "password": password}).values())
    exported = Exported(VERSION)
    (found,) = with_secrets(exported, layout, [row], secrets)
    return found[layout.index["password"]], exported.warnings


@pytest.mark.parametrize(
    ("table", "password", "expected"),
    [
        ("mysql_users", "secret", NATIVE),
        ("mysql_users", NATIVE, NATIVE),
        ("mysql_users", SCRAM, native_hash(SCRAM)),
        ("pgsql_users", SCRAM, SCRAM),
        ("pgsql_users", MD5, MD5),
        ("pgsql_users", "", ""),
        ("pgsql_users", None, None),
    ],
)
def test_a_hash_is_exported_as_it_is_and_mysql_clear_text_hashed(table, password, expected):
    assert exported_password(table, password, "hash") == (expected, [])


@pytest.mark.parametrize("password", ["secret", NATIVE])
def test_clear_text_of_postgresql_is_left_out_and_said(password):
    found, (warning,) = exported_password("pgsql_users", password, "hash")
    assert found is KEEP
    assert warning.startswith("pgsql user u: password is left out")
    assert password not in warning


def test_a_server_that_memory_switched_off_and_nobody_loaded_is_what_runs():
    layout = build.layout("mysql_servers")
    runtime = build.rows(layout.name, {"hostname": "h", "status": "ONLINE"})
    memory = build.rows(layout.name, {"hostname": "h", "status": "OFFLINE_HARD"})
    assert from_runtime(layout, runtime, memory) == runtime
