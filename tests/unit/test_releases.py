"""The order of releases, across the tiers of ProxySQL."""

from __future__ import annotations

import pytest

from proxyctl.catalog import TABLES, layout_of, parse_version
from proxyctl.catalog.destinations import is_hidden_by_last_rule
from proxyctl.catalog.releases import PCRE2, PURGES_DIGESTS, beyond_catalogue
from proxyctl.catalog.variables import VARIABLES

AURORA = TABLES["mysql_aws_aurora_hostgroups"]


@pytest.mark.parametrize("tier", ["3.0", "3.1", "4.0"])
def test_the_third_number_tells_what_a_release_of_any_tier_has(tier: str) -> None:
    old, new = parse_version(f"{tier}.8"), parse_version(f"{tier}.10-1-gabc")
    assert (is_hidden_by_last_rule(old), is_hidden_by_last_rule(new)) == (True, False)
    assert [version.has(PURGES_DIGESTS) for version in (old, new)] == [False, True]
    assert not new.has(PCRE2)
    column = "autopurge_missing_checks"
    assert [column in layout_of(AURORA, version).names for version in (old, new)] == [False, True]
    variable = VARIABLES["mysql-passthrough_auth_enabled"]
    assert [variable.exists_in(version) for version in (old, new)] == [False, True]
    parser = VARIABLES["mysql-set_parser_algorithm"]
    assert [parser.limits_in(version) for version in (old, new)] == [(1, 2), (1, 3)]
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
