"""The evaluator against what a real ProxySQL made of the same rules and queries.

`python -m tests.support.routing_recorded` records `data/routing_cases.jsonl`. Cases made by hand
stand first, one for each habit; then random ones, and those in which the two once disagreed.
"""

from __future__ import annotations

import pytest

from tests.support.routing_made import MADE
from tests.support.routing_predicted import predict
from tests.support.routing_recorded import read
from tests.support.routing_shapes import differences

RECORDED = list(read())


@pytest.mark.parametrize("recorded", RECORDED, ids=[name for name, *_ in RECORDED])
def test_the_evaluator_says_what_proxysql_did(recorded):
    _, case, ports, observed = recorded
    assert differences(predict(case, ports), observed) == []


def test_every_case_made_by_hand_is_recorded_as_it_stands():
    recorded = {name: case for name, case, *_ in RECORDED}
    assert {name: recorded.get(name) for name in MADE} == MADE
