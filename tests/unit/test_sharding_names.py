"""Names of sharded tables and schemas: brace patterns."""

from __future__ import annotations

import pytest

from proxyctl.config.sections.shard_names import MAX_NAMES, ShardingError, expanded


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("sbtest{1..3}", ["sbtest1", "sbtest2", "sbtest3"]),
        ("t_{08..11}", ["t_08", "t_09", "t_10", "t_11"]),
        ("t{8..11}x", ["t8x", "t9x", "t10x", "t11x"]),
        ("t{2..8..3}", ["t2", "t5", "t8"]),
        ("{a,b}_log", ["a_log", "b_log"]),
        ("t{,_old}", ["t", "t_old"]),
        ("t{1..3, 7}", ["t1", "t2", "t3", "t7"]),
        ("{a,b}{1..2}", ["a1", "a2", "b1", "b2"]),
        (["a{1..2}", "b"], ["a1", "a2", "b"]),
        ("plain", ["plain"]),
    ],
)
def test_names(pattern: str | list[str], names: list[str]) -> None:
    assert list(expanded(pattern, "tables")[0]) == names


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("t{1..}", "is not a range of numbers"),
        ("t{a..f}", "is not a range of numbers"),
        ("t{60..1}", "runs backwards"),
        ("t{1..9..0}", "has a step of 0"),
        ("t{7}", "neither a range"),
        ("t{}", "neither a range"),
        ("t{1..2", "is not closed"),
        ("t}1", "is not closed"),
        ("t{a,{1..2}}", "is not closed"),
        ("t{1..1000001}", "more than 1,000,000"),
        ("t{1..999999999999999999}{1..999999999999999999}", "more than 1,000,000"),
        (["a{1..600000}", "b{1..600000}"], "more than 1,000,000"),
        (["a{1..2}", "a2"], "named twice"),
        ("{a,a}", "named twice"),
        ("", "empty name"),
        ([], "no name at all"),
    ],
)
def test_names_that_cannot_be(pattern: str | list[str], message: str) -> None:
    try:
        (problem,) = expanded(pattern, "schemas")[2]
    except ShardingError as error:  # there is no going on
        (problem,) = error.problems
    assert message in problem.message
    assert problem.keys[0] == "schemas"


def test_as_many_names_as_allowed() -> None:
    assert len(expanded(f"t{{1..{MAX_NAMES}}}", "tables")[0]) == MAX_NAMES
