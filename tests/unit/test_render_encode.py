"""Results as JSON: only the keys of a shape, each with its value."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath

import pytest

from proxyctl.errors import InternalError
from proxyctl.render.encode import ABSENT, Shape, document


@dataclass(frozen=True)
class User:
    name: str
    password: str
    hosts: tuple[str, ...] = ()


USER: Shape[User] = Shape("user", "name hosts count note", count=lambda one: len(one.hosts))


def test_a_field_that_no_key_names_stays_away() -> None:
    user = User("app", "s3cret", ("a", "b"))
    assert USER.encode(user, note=ABSENT) == {"name": "app", "hosts": ("a", "b"), "count": 2}
    assert "s3cret" not in USER.document(user, note="n")


def test_a_given_value_needs_a_key() -> None:
    with pytest.raises(InternalError, match="other: no key of user"):
        USER.encode(User("app", "x"), note=None, other=1)
    with pytest.raises(InternalError, match="typo: no key of user"):
        Shape("user", "name", typo=str)


def test_a_shape_goes_on_from_another() -> None:
    longer = USER.extended("owner", "owns", owns=lambda one: one.name.upper())
    assert [*longer.encode(User("app", "x"), note=1)] == [*USER.keys, "owns"]
    assert longer.base is USER


def test_what_json_has_no_type_for() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    assert json.loads(document({"at": moment, "path": PurePath("a"), "rows": ({1: None},)})) == {
        "format": 1,
        "at": "2026-01-02T03:04:05+00:00",
        "path": "a",
        "rows": [{"1": None}],
    }
    with pytest.raises(InternalError, match="User has no place in JSON"):
        document({"user": User("app", "s3cret")})
