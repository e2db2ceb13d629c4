"""Clear text against stored hashes. The hashes were made by ProxySQL 2.7.1's own functions."""

import pytest

from proxyctl.passwords import is_hash, native_hash, same_password

NATIVE = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7"


def test_native_hash():
    assert native_hash("secret") == NATIVE


@pytest.mark.parametrize("stored", [NATIVE, NATIVE.lower()])
def test_clear_text_agrees_with_its_native_hash(stored):
    assert same_password("secret", stored)
    assert same_password(stored, "secret")
    assert not same_password("Secret", stored)


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
    assert same_password(clear, stored)
    assert same_password(stored, clear)
    assert not same_password(clear + "x", stored)


def test_two_hashes_agree_only_if_they_are_the_same_text():
    assert not same_password(NATIVE, native_hash("other"))
    assert same_password(NATIVE, NATIVE)


def test_a_hash_is_not_taken_for_clear_text():
    assert is_hash(NATIVE)
    assert not is_hash("secret")
    assert not same_password(NATIVE, native_hash(NATIVE))


def test_an_empty_password_is_only_itself():
    assert same_password("", "")
    assert not same_password("", NATIVE)
