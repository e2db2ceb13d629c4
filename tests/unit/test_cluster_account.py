"""The account of a cluster: a plan that would cut members off from one another says so."""

from __future__ import annotations

import pytest

from proxyctl.cluster.account import cut_off
from proxyctl.cluster.membership import Membership
from tests.support.build import desired, module_plan, rows, survey

LOGINS, USERNAME, PASSWORD = (
    "admin-admin_credentials",
    "admin-cluster_username",
    "admin-cluster_password",
)
OLD, NEW, BOTH = "admin:a;old:p1", "admin:a;new:p2", "admin:a;old:p1;new:p2"

GOES = "loses the account that the peers log in with"
UNKNOWN = "the account is not in admin-admin_credentials before"
MISSING = "does not have the account"


def variables(logins: str, username: str, password: str) -> list[dict[str, str]]:
    values = {LOGINS: logins, USERNAME: username, PASSWORD: password}
    return [{"variable_name": name, "variable_value": value} for name, value in values.items()]


def said(before: tuple[str, str, str], after: tuple[str, str, str]) -> list[str]:
    table = "admin_variables"
    module = module_plan(
        survey(desired(table, *variables(*after)), rows(table, *variables(*before)))
    )
    at = Membership(variables={USERNAME: before[1], PASSWORD: before[2]})
    return list(cut_off([module], at))


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        # All in one file.
        ((OLD, "old", "p1"), (NEW, "new", "p2"), [GOES, UNKNOWN]),
        ((OLD, "old", "p1"), ("admin:a;old:p9", "old", "p9"), [GOES, UNKNOWN]),
        ((OLD, "old", "p1"), (BOTH, "new", "p2"), [UNKNOWN]),
        # One after the other.
        ((OLD, "old", "p1"), (BOTH, "old", "p1"), []),
        ((BOTH, "old", "p1"), (BOTH, "new", "p2"), []),
        ((BOTH, "new", "p2"), (NEW, "new", "p2"), []),
        # A step too many, or too early.
        ((BOTH, "old", "p1"), (NEW, "new", "p2"), [GOES]),
        ((OLD, "old", "p1"), ("admin:a", "old", "p1"), [MISSING]),
        ((OLD, "old", "p1"), (OLD, "new", "p2"), [MISSING, UNKNOWN]),
        # The first account of a cluster, and none.
        (("admin:a", "", ""), (NEW, "new", "p2"), []),
        ((OLD, "old", "p1"), (OLD, "", ""), []),
    ],
)
def test_what_a_change_of_the_account_cuts_off(
    before: tuple[str, str, str], after: tuple[str, str, str], texts: list[str]
) -> None:
    found = said(before, after)
    assert len(found) == len(texts)
    assert all(part in text for part, text in zip(texts, found, strict=True))
    assert not any(secret in text for text in found for secret in ("p1", "p2", "p9"))


def test_what_was_so_before_is_not_said_of_other_changes() -> None:
    assert said((OLD, "new", "p2"), (OLD, "new", "p2")) == []
