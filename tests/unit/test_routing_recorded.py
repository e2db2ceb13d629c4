"""The evaluator against what a real ProxySQL made of the same rules and queries.

`python -m tests.support.routing_recorded` records `data/routing_cases.jsonl`, and says how to add a
case. Those made by hand stand first, one for each habit; then random ones, and those in which the
two once disagreed.
"""

import pytest

from tests.support.routing_predicted import predict
from tests.support.routing_recorded import Recorded, read
from tests.support.routing_shapes import differences


@pytest.mark.parametrize("recorded", read(), ids=lambda recorded: recorded.name)
def test_the_evaluator_says_what_proxysql_did(recorded: Recorded) -> None:
    assert differences(predict(recorded.case, recorded.ports), recorded.observed) == []
