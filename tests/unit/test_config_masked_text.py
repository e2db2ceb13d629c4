"""The text of a file without its passwords: the lines stay, the values go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.config.masked_text import masked_text

S = "hunter2"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("a: {username: b, password: hunter2, x: 1}", "a: {username: b, password: ***, x: 1}"),
        ("- password: 'hun''ter2'  # why\n  x: 1", "- password: ***  # why\n  x: 1"),
        ("mysql-monitor_password: hunter2", "mysql-monitor_password: ***"),
        ("admin-admin_credentials: admin:hunter2", "admin-admin_credentials: ***"),
        ("password: {env: NAME}", "password: {env: NAME}"),
        ("password: {file: a.txt}", "password: {file: a.txt}"),
        ("password: {hex: '68756e'}", "password: {hex: ***}"),
        ("password: [hunter2, hunter2]\nx: 1", "password: [***, ***]\nx: 1"),
        ("password: |\n  hunter2\n  more\nx: 1", "password: ***\n\n\nx: 1"),
        ('password: "hunter2\n  hunter2"\nx: 1', "password: ***\n\nx: 1"),
        ("password:\nx: 1", "password:\nx: 1"),
        ("pasword: hunter2", "pasword: ***"),
        ("""a: '{"additional_password": "hunter2"}'""", "a: ***"),
        ("""a: '{"additional_password": "hunter2'""", "a: ***"),
        (r"""a: '{"additional_passw\u006Frd" : "hunter2"}'""", "a: ***"),
        (r"""a: "{\"additional_password\": \"hunter2\"}" # b""", "a: *** # b"),
        ("a: '[\"password\", 1]'", "a: '[\"password\", 1]'"),
        ("mysql-vault_token: hunter2", "mysql-vault_token: ***"),
        ("mysql-api_key: hunter2", "mysql-api_key: ***"),
        ("mysql-root_pass: hunter2", "mysql-root_pass: ***"),
        ("mysql-hmac_key: hunter2", "mysql-hmac_key: ***"),
        ("mysql-ssl_p2s_key: /a.pem", "mysql-ssl_p2s_key: /a.pem"),
        ("admin-hash_passwords: true", "admin-hash_passwords: true"),
        ("x: [\nencryption_key: hunter2\n", "x: [\nencryption_key: ***\n"),
        ("# password: hunter2\nx: 1", "# password: ***\nx: 1"),
        ("x: [\npassword: hunter2\n", "x: [\npassword: ***\n"),
        ("x: 'open\npassword: |\n  hunter2\ny: 1", "x: 'open\npassword: ***\n  ***\ny: 1"),
        ("password: *hunter2", "password: ***"),
        ("x: 'open\npassword: hunter2\ny: it''s", "x: 'open\npassword: ***\ny: it''s"),
        ("x: '\npassword: hunter2\n'", "x: '\npassword: ***\n'"),
        ("x: {{ nothing }}: y", "x: {{ nothing }}: y"),
    ],
)  # fmt: skip
def test_what_is_masked(text: str, masked: str) -> None:
    assert masked_text(text) == masked


@given(st.text(st.sampled_from("ab:{}[]'\"|>-*&!#\n\t ,password"), max_size=60))
def test_lines_stay_where_they_are(text: str) -> None:
    assert masked_text(text).count("\n") == text.count("\n")


@given(st.text(st.sampled_from(":{}[]'\"|-&!\n\t ,x"), max_size=30))
def test_whatever_else_is_wrong(before: str) -> None:
    assert S not in masked_text(f"{before}\npassword: {S}\n{before}")
