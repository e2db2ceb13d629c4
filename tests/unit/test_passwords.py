"""Clear text against stored hashes. The hashes were made by ProxySQL 2.7.1's own functions."""

import pytest

from proxyctl.proxysql.passwords import (
    hashed_password,
    is_broken_hash,
    is_hash,
    native_hash,
    same_password,
)

USERS = "mysql_users"
NATIVE = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7"


def test_native_hash():
    assert native_hash("secret") == NATIVE


@pytest.mark.parametrize("stored", [NATIVE, NATIVE.lower()])
def test_clear_text_agrees_with_its_native_hash(stored):
    assert same_password(USERS, "secret", stored)
    assert same_password(USERS, stored, "secret")
    assert not same_password(USERS, "Secret", stored)


@pytest.mark.parametrize(
    ("clear", "stored"),
    [
        ("secret", "$A$005$abcdefghijklmnopqrstYy1cVJ5jT.fk4HyAGlowRhOkI55As4SAesbspXHQvFD"),
        (
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "$A$005$0123456789!\"#%&'()*+GJ.QIcUjj4EpFLKJ.kSG5Gsq5hzRU5Zp4/OEa7fjoFB",
        ),
        (
            "pä'\\s",
            "$A$005$\x01\x02\t\nabcdefghijklmnop/EBdPB5.rx7Z4ycpUVOgxWFZA9ALxzI.P8vs0NHfsN1",
        ),
        ("a", "$A$005$zzzzzzzzzzzzzzzzzzzzDgA5fApQPkvLcaHOG5PeKVSNqh48dcsB2EqhgD4KTi5"),
    ],
)
def test_clear_text_agrees_with_its_sha2_hash(clear, stored):
    assert same_password(USERS, clear, stored)
    assert same_password(USERS, stored, clear)
    assert not same_password(USERS, clear + "x", stored)


def test_two_hashes_agree_only_if_they_are_the_same_text():
    assert not same_password(USERS, NATIVE, native_hash("other"))
    assert same_password(USERS, NATIVE, NATIVE)


def test_a_hash_is_not_taken_for_clear_text():
    assert is_hash(NATIVE)
    assert not is_hash("secret")
    assert not same_password(USERS, NATIVE, native_hash(NATIVE))


SHA2 = "$A$005$abcdefghijklmnopqrstYy1cVJ5jT.fk4HyAGlowRhOkI55As4SAesbspXHQvFD"


@pytest.mark.parametrize(
    ("text", "is_broken"),
    [
        (NATIVE, False),
        (NATIVE[:-1], True),
        (NATIVE + "0", True),
        (NATIVE + " ", True),
        ("*", False),
        ("*star", False),
        (SHA2, False),
        (SHA2[:-1], True),
        (SHA2 + "x", True),
        ("$A$005$", True),
        ("$A", False),
        ("", False),
    ],
)
def test_a_hash_that_was_cut(text, is_broken):
    assert is_broken_hash(text) is is_broken


def test_an_empty_password_is_only_itself():
    assert same_password(USERS, "", "")
    assert not same_password(USERS, "", NATIVE)


SCRAM = "SCRAM-SHA-256$4096:c2FsdHNhbHQ=$c3RvcmVk:c2VydmVy"
MD5 = "md5" + "0123456789abcdef" * 2


def test_passwords_of_postgresql_are_never_taken_for_those_of_mysql():
    users = "pgsql_users"
    assert not same_password(users, "secret", NATIVE)
    assert same_password(users, "secret", "secret")
    assert hashed_password(users, SCRAM) == SCRAM
    assert hashed_password(users, MD5) == MD5
    for clear in ("secret", NATIVE, "SCRAM-SHA-256$no", "md5short"):
        assert hashed_password(users, clear) is None


def test_a_hash_to_use_instead_of_clear_text():
    assert hashed_password(USERS, "secret") == NATIVE
    assert hashed_password(USERS, NATIVE) == NATIVE
