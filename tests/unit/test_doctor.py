"""What the doctor finds, from the rows that it is given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.catalog import Version
from proxyctl.doctor.examination import KINDS, all_checks, examine
from proxyctl.doctor.facts import (
    Checksum,
    Facts,
    Rule,
)
from proxyctl.doctor.finding import Severity
from proxyctl.doctor.wording import lasting, listed
from proxyctl.families import Family
from proxyctl.render.doctor_machine import doctor_json
from proxyctl.render.doctor_text import doctor_text
from tests.docs.pages import ROOT
from tests.support.build import layout, survey
from tests.unit.doctor_facts import (
    HEALTHY,
    clustered,
    failing,
    found,
    only,
    said,
    with_logs,
    with_survey,
    with_variables,
)


def test_nothing_is_said_of_a_healthy_one() -> None:
    assert found(HEALTHY) == []
    text = doctor_text(examine(HEALTHY))
    assert text == "px1  10.0.0.1:6032  ProxySQL 2.7.1: nothing is wrong\n"


def test_digests_that_are_off() -> None:
    off = with_variables(**{"mysql__query_digests": "false"})
    assert only(off)[0] == "digests-off-with-rules"
    assert only(replace(off, rules=(Rule(5, 20),)))[0] == "digests-off"


def test_memory() -> None:
    assert only(replace(HEALTHY, digest_bytes=340_000_000))[0] == "digests-large"
    assert only(replace(HEALTHY, resident_bytes=4_000_000_000))[2] == "ProxySQL holds 4.00 GB"


FAST = replace(HEALTHY, fast_routing={10: 200}, rules=(Rule(1), Rule(9, 20, apply=True)))
RE2 = replace(
    with_variables(**{"mysql__query_processor_regex": "2"}), rules=(Rule(3, replaces=True),)
)
GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40)


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (FAST, "fast-routing-skipped"),
        (RE2, "re2-replaces-by-case"),
        (replace(HEALTHY, version=Version(2, 5, 1)), "digests-stall-queries"),
        (
            replace(
                with_variables(**{"mysql__server_version": "9.1.0"}),
                families=(GALERA,),
                said=said(db1="9.1.0", db2="9.1.0"),
            ),
            "maintenance-not-seen",
        ),
        (
            replace(
                clustered(
                    Checksum(2, 1, "0xA"),
                    Checksum(2, 1, "0xA"),
                    admin__cluster_mysql_servers_sync_algorithm="1",
                ),
                families=(GALERA,),
            ),
            "placement-travels",
        ),
        (
            with_survey(
                survey(
                    None,
                    {(1,): tuple(c.default for c in layout("restapi_routes").columns)},
                    table="restapi_routes",
                )
            ),
            "restapi-saves-scheduler",
        ),
    ],
)
def test_a_known_defect_is_told_to_those_it_touches(facts: Facts, code: str) -> None:
    assert only(facts)[0] == code


def test_a_defect_of_other_versions_is_not_told() -> None:
    assert found(replace(HEALTHY, version=Version(2, 5, 2))) == []
    assert found(replace(FAST, rules=(Rule(1, 20, apply=True), Rule(9)))) == []


def test_the_gravest_comes_first_and_what_is_ignored_is_counted() -> None:
    facts = replace(FAST, resident_bytes=4_000_000_000, dead_apply="apply by pid 7 on ci")
    one = examine(facts)
    assert [finding.severity for finding in one.findings] == list(Severity)
    assert one.has_errors
    left = examine(facts, {"fast-routing-skipped"})
    assert (left.ignored, left.has_errors, left.gravest) == (1, False, Severity.WARNING)
    assert (left.exit_code(strict=False), left.exit_code(strict=True)) == (0, 1)
    assert doctor_text(left).endswith("\n1 warning, 1 remark, 1 ignored.\n")
    assert '"ignored": 1' in doctor_json(left)


def test_what_a_server_says_cannot_move_the_cursor() -> None:
    text = doctor_text(examine(with_logs(failing("connect", "Access denied \x1b[2J"))))
    assert "Access denied \\x1b[2J" in text


def test_every_module_with_checks_is_run() -> None:
    folder = ROOT / "proxyctl" / "doctor"
    with_checks = {
        path.stem
        for path in folder.glob("*.py")
        if "@check(" in path.read_text("utf-8") or "register(Check(" in path.read_text("utf-8")
    }
    assert with_checks - {"finding"} == set(KINDS)


def test_every_code_is_on_the_page() -> None:
    page = (ROOT / "docs" / "how-to" / "doctor.md").read_text("utf-8")
    for code, check in all_checks().items():
        assert f"| `{code}` | {check.severity} | {check.summary} |" in page


def test_lists_and_times() -> None:
    assert listed(range(5)) == "0, 1, 2, 3, 4"
    assert listed(range(9)) == "0, 1, 2, 3 and 5 more"
    assert [lasting(s) for s in (0, 59, 60, 7_300)] == ["0 s", "59 s", "1 min", "2 h"]
