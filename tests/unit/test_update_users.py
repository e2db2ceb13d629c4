"""A file of users that `import --users-from --update` brings up to date."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from proxyctl.catalog import known_version
from proxyctl.errors import ConfigError, ProxyctlError, RefusedError
from proxyctl.instance.backend import Account
from proxyctl.instance.backend_accounts import BackendAccount
from proxyctl.interchange.import_users import AccountServer, imported_content
from proxyctl.interchange.update_users import UpdatedUsers, read_users_file, update
from proxyctl.interchange.write import written_file
from proxyctl.render.files import updated_users_text

NATIVE, OTHER = "*" + "A" * 40, "*" + "B" * 40
SHA2 = "$A$005$" + "\x01\x02abc#efghij'lmnopqr" + "A" * 43


def account(user: str, host: str = "%", password: str = NATIVE, **more: object) -> BackendAccount:
    return BackendAccount(user, host, "", password, **more)  # type: ignore[arg-type]


def accounts(*users: str) -> list[BackendAccount]:
    return [account(user) for user in users]


def updated(
    folder: Path,
    text: str | None,
    given: Iterable[BackendAccount],
    *,
    has_passwords: bool = True,
    version: str | None = None,
) -> UpdatedUsers:
    """Return the update of a file with this text; None: there is no file."""
    path = folder / "users.yaml"
    if text is not None:
        path.write_text(text)
    return update(
        read_users_file(str(path)),
        list(given),
        version=known_version(version) if version else None,
        default_hostgroup=10,
        has_passwords=has_passwords,
    )


def file_of(*rows: str) -> str:
    return "version: 1\n\nmysql_users:\n" + "".join(f"  - {{{row}}}\n" for row in rows)


def row(user: str, password: str = NATIVE, rest: str = ", default_hostgroup: 10") -> str:
    return f"username: {user}, password: '{password}'{rest}"


@pytest.mark.parametrize("version", [None, "2.7.1"])
def test_the_first_update_writes_what_an_import_writes(tmp_path: Path, version: str | None) -> None:
    given = [account("b", password=SHA2), account("a'#: {", password=""), account("on")]
    found = updated(tmp_path, None, given, version=version)
    of_version = known_version(version) if version else None
    content = imported_content(given, version=of_version, default_hostgroup=10)
    assert found.text == written_file(content, "yaml", "hash").text
    assert (found.added, found.before) == (("a'#: {", "b", "on"), None)
    again = updated(tmp_path, found.text, reversed(given))
    assert not again.is_changed
    assert updated_users_text(again) == f"{tmp_path}/users.yaml: no change\n"


def test_what_changes_is_listed_and_the_rest_of_a_row_stays(tmp_path: Path) -> None:
    text = file_of(
        row("old"),
        row("app", rest=", default_hostgroup: writer, attributes: {a: [1, true, null]}"),
        "username: vault, password: {env: VAULT}, comment: {hex: 'ff'}, unknown: 'on'",
        "username: bare, max_connections: 5",
        row("same", rest=", active: false"),
    )
    given = [
        account("app", password=OTHER),
        account("vault", password=OTHER),
        account("bare", password=OTHER),
        *accounts("same", "new"),
    ]
    found = updated(tmp_path, text, given)
    assert found.text == file_of(
        row("app", OTHER, ", default_hostgroup: writer, attributes: {a: [1, true, null]}"),
        "username: bare, max_connections: 5",
        row("new"),
        row("same", rest=", active: false"),
        "username: vault, password: {env: VAULT}, comment: {hex: ff}, unknown: 'on'",
    )
    assert updated_users_text(found).splitlines() == [
        f"{tmp_path}/users.yaml: 1 to add, 1 to change, 1 to delete",
        "  + user new",
        "  ~ user app: password",
        "  - user old",
    ]


def test_without_passwords_none_is_written_or_changed(tmp_path: Path) -> None:
    text = file_of(row("app", OTHER))
    found = updated(tmp_path, text, accounts("app", "new"), has_passwords=False)
    assert found.text == file_of(row("app", OTHER), "username: new, default_hostgroup: 10")
    assert found.changed == ()


def test_a_password_as_hex_is_compared(tmp_path: Path) -> None:
    text = file_of(f"username: app, password: {{hex: '{NATIVE.encode().hex()}'}}")
    assert not updated(tmp_path, text, accounts("app")).changed
    assert updated(tmp_path, text, [account("app", password=OTHER)]).changed == ("app",)


def test_another_form_is_a_change_once(tmp_path: Path) -> None:
    row = f"- username: app\n  password: '{NATIVE}'\n"
    text = f"# made by a job\n\n# at night\nmysql_users:\n{row}"
    found = updated(tmp_path, text, accounts("app"))
    assert "the same users in a different form" in updated_users_text(found)
    assert found.text.startswith("# made by a job\n\n# at night\nversion: 1\n\nmysql_users:\n")
    assert not updated(tmp_path, found.text, accounts("app")).is_changed


def test_a_user_with_several_passwords_keeps_his_row(tmp_path: Path) -> None:
    """As in the middle of a change of passwords, host by host."""
    both = [account("app", "a"), account("app", "b", OTHER), *accounts("x")]
    found = updated(tmp_path, file_of(row("app"), row("x")), both)
    assert not found.is_changed
    assert [warning.partition(":")[0] for warning in found.warnings] == [
        "app is left out",
        f"app is kept as it is in {tmp_path}/users.yaml",
    ]
    assert updated(tmp_path, file_of(row("x")), both).added == ()


@pytest.mark.parametrize(
    "more", [{"privileges": ("PROCESS",)}, {"plugin": "ed25519"}, {"password": "?"}]
)
def test_a_user_whose_account_is_left_out_keeps_his_row(
    tmp_path: Path, more: dict[str, object]
) -> None:
    """As after GRANT PROCESS: the application still logs in."""
    given = [replace(account("app"), **more), account("x")]  # type: ignore[arg-type]
    found = updated(tmp_path, file_of(row("app"), row("x")), given)
    assert not found.is_changed
    assert f"app is kept as it is in {tmp_path}/users.yaml" in found.warnings
    assert updated(tmp_path, file_of(row("x")), given).added == ()


def test_a_user_whose_account_is_locked_goes(tmp_path: Path) -> None:
    given = [account("app", is_locked=True), account("x")]
    assert updated(tmp_path, file_of(row("app"), row("x")), given).removed == ("app",)


def test_an_administrator_of_proxysql_is_left_out(tmp_path: Path) -> None:
    found = updated(tmp_path, file_of(row("app")), accounts("admin", "app"))
    assert not found.is_changed
    assert found.warnings[0].startswith(
        "user admin is left out: an administrator also has this name"
    )
    with pytest.raises(RefusedError, match="no user would be left"):
        updated(tmp_path, file_of(row("app")), accounts("admin"))


def names(count: int) -> list[str]:
    return [f"u{number:02}" for number in range(count)]


@pytest.mark.parametrize(
    ("before", "after", "is_refused"),
    [(10, 1, False), (11, 8, False), (11, 7, True), (40, 28, False), (40, 27, True)],
)
def test_a_much_smaller_answer_is_refused(
    tmp_path: Path, before: int, after: int, is_refused: bool
) -> None:
    text = file_of(*map(row, names(before)))
    given = accounts(*names(after), "new")
    if not is_refused:
        assert len(updated(tmp_path, text, given).removed) == before - after
        return
    with pytest.raises(RefusedError) as caught:
        updated(tmp_path, text, given)
    assert "more than 30 percent" in caught.value.message
    assert names(before)[-1] in caught.value.reasons[0]


def test_no_account_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="no account becomes a user") as caught:
        updated(tmp_path, file_of(row("app")), [account("app", is_locked=True)])
    assert caught.value.reasons == ["app@% is left out: it is locked"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 1\nhostgroups: {a: {id: 1}}\nmysql_users: []\n", "has the section hostgroups"),
        ("version: 1\n", "has no section mysql_users"),
        ("", "has no section mysql_users"),
        ("mysql_users: {csv: users.csv}\n", ":1:14: --update needs rows that each name"),
        (
            "mysql_users:\n  - {username: a}\n  - {username: a, backend: 0}\n",
            ":3:5: --update needs",
        ),
        ("mysql_users: [a]\n", "--update needs rows that each name a different user"),
        ("# top\nmysql_users:\n  # here\n  - {username: a}\n", ":3: a comment, which --update"),
        ("mysql_users:\n  - {username: 'a#b'}   # there\n", ":2: a comment, which --update would"),
        ("mysql_users:\n  - {username: a}\n# end\n", ":3: a comment, which --update would lose"),
    ],
)
def test_a_file_that_would_lose_something_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(RefusedError) as caught:
        updated(tmp_path, text, accounts("a"))
    assert message in caught.value.message


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        updated(tmp_path, "mysql_users: [\n", accounts("a"))
    (tmp_path / "users.yaml").write_bytes(b"\xff")
    with pytest.raises(ProxyctlError, match="not UTF-8"):
        updated(tmp_path, None, accounts("a"))


def test_accounts_are_selected_by_name() -> None:
    server = AccountServer(("h", 1), Account("x", ""), ("app_*", "b?"), ("app_tmp*",))
    users = ("app_1", "app_tmp1", "APP_2", "b1", "b12", "c")
    assert [user for user in users if server.selects(user)] == ["app_1", "b1"]
    assert AccountServer(("h", 1), Account("x", ""), exclude=("c",)).selects("b")
