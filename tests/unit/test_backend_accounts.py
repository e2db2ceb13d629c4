"""The accounts of a server that become users of ProxySQL."""

from __future__ import annotations

from proxyctl.catalog import REFERENCE, known_version
from proxyctl.instance.backend_accounts import BackendAccount
from proxyctl.interchange.content import FileContent, leave_out_administrators
from proxyctl.interchange.import_users import chosen_accounts, needs, user_rows
from tests.support.build import layout, row

SHA2 = "$A$005$" + "\x01\x02abcdefghijklmnopqr" + "A" * 43
NATIVE = "*" + "A" * 40


def account(user: str, host: str = "%", **fields: object) -> BackendAccount:
    return BackendAccount(user, host, **{"plugin": "", "password": NATIVE, **fields})  # type: ignore[arg-type]


def names(*given: BackendAccount, version: str = "2.7.1") -> tuple[list[str], list[str]]:
    chosen, left_out = chosen_accounts(given, known_version(version))
    return [backend_account.user for backend_account in chosen], left_out


def test_system_accounts_go_without_saying() -> None:
    assert names(account("mysql.sys"), account("PUBLIC"), account("r", is_role=True)) == ([], [])


def test_dynamic_privileges_make_an_administrator() -> None:
    found = names(account("ops", privileges=("SYSTEM_VARIABLES_ADMIN",)), account("app"))
    expected = "ops@% is left out: it is an administrator (SYSTEM_VARIABLES_ADMIN)"
    assert found == (["app"], [expected])


def test_a_newer_hash_needs_a_newer_proxysql() -> None:
    newer = account("app", plugin="caching_sha2_password", password=SHA2)
    assert names(newer) == (["app"], [])
    assert names(newer, version="2.5.5")[0] == []


def test_one_name_at_several_hosts_is_one_user_if_the_passwords_agree() -> None:
    assert names(account("app", "a"), account("app", "b")) == (["app"], [])
    assert names(account("app", "a"), account("app", "b", password=""))[0] == []


def test_a_row_has_the_defaults_of_proxysql() -> None:
    users = layout("mysql_users")
    (row,) = user_rows(users, [account("app")], 7)
    cells = dict(zip(users.names, row, strict=True))
    assert (cells["username"], cells["password"], cells["default_hostgroup"]) == ("app", NATIVE, 7)
    assert (cells["active"], cells["backend"], cells["frontend"]) == (1, 1, 1)
    assert cells["max_connections"] == 10000
    assert users.index.keys() == set(cells)


def test_accounts_are_named_by_what_they_need() -> None:
    given = [
        account("app", ssl_type="ANY"),
        account("app", "10.%", ssl_type="X509"),
        account("dev", password=""),
        account("web"),
        account("job", password="", ssl_type="ANY"),
    ]
    texts = [text.partition(": ")[::2] for text in needs(given)]
    assert [names for names, _ in texts] == ["app@%, job@%", "app@10.%", "dev@%, job@%"]
    assert [text[:12] for _, text in texts] == ["REQUIRE SSL:", "REQUIRE X509", "no password:"]
    assert not [*needs([account("web")])]


def test_an_account_with_the_name_of_an_administrator_is_left_out() -> None:
    users = layout("mysql_users")
    content = FileContent(REFERENCE, {users.name: users})
    content.tables[users.name] = [row(users.name, username=name) for name in ("admin", "app")]
    leave_out_administrators(content, {})
    assert list(content.left_out[users.name]) == [("admin", 1)]


def test_a_repr_holds_no_password() -> None:
    assert NATIVE not in repr(account("app"))
