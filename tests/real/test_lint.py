"""What lint calls dead has no hit on a real ProxySQL either."""

from __future__ import annotations

from random import Random

import pytest

from tests.support.routing_recorded import observed
from tests.support.routing_rig import Rig
from tests.unit.test_lint_claims import case_of, dead_rules, subject_of

pytestmark = pytest.mark.real


@pytest.mark.since("2.6.0", "some digests are others")
@pytest.mark.parametrize("seed", range(8))
def test_a_dead_rule_has_no_hit(rig: Rig, seed: int) -> None:
    case = case_of(Random(seed), rig.ports)
    dead = dead_rules(subject_of(case))
    assert dead & observed(rig, case).hits.keys() == set(), case.rules
