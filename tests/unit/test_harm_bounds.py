"""The bounds of --abort-if: what they mean, and why others are refused."""

from __future__ import annotations

import pytest

from proxyctl.harm.bounds import DEFAULTS, HarmBound, bounds_of


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("errors>2x", HarmBound("errors", 2, "x")),
        (" errors > 1.5x ", HarmBound("errors", 1.5, "x")),
        ("errors>5/s", HarmBound("errors", 5, "/s")),
        ("waiting>10", HarmBound("waiting", 10, "")),
        ("waiting>1x", HarmBound("waiting", 1, "x")),
        ("failures>0/s", HarmBound("failures", 0, "/s")),
        ("time>3x", HarmBound("time", 3, "x")),
        ("errors>1234567.5/s", HarmBound("errors", 1234567.5, "/s")),
    ],
)
def test_a_bound(text: str, bound: HarmBound) -> None:
    assert HarmBound.of(text) == bound
    assert HarmBound.of(bound.text()) == bound


ALLOWED = (
    "allowed: errors>2x, errors>5/s, waiting>2x, waiting>10, failures>2x, failures>5/s and"
    " time>2x, with any number"
)


@pytest.mark.parametrize(
    "text",
    [
        "", "error", "errors>", "errors>x", "errors<2x", "errors>=2x", "errors>2", "errors>2%",
        "waiting>5/s", "time>5/s", "time>200ms", "latency>2x", "Errors>2x", "errors>-1x",
        "errors>2x,time>2x", "errors>1e9x", "errors>nanx", "errors>" + "9" * 30 + "x",
    ],
)  # fmt: skip
def test_no_bound(text: str) -> None:
    with pytest.raises(ValueError, match="is not a bound") as refused:
        HarmBound.of(text)
    assert str(refused.value) == f"{text!r} is not a bound; {ALLOWED}"


def test_a_bound_without_quotes_in_a_shell() -> None:
    with pytest.raises(ValueError, match="'errors' has no limit; quote a bound, since a shell"):
        HarmBound.of("errors")


def test_a_bound_below_the_time_before() -> None:
    with pytest.raises(
        ValueError, match=r"'time>0\.5x': a bound relative to the time before must be at"
    ):
        HarmBound.of("time>0.5x")


def test_a_given_bound_replaces_the_default_of_its_counter_alone() -> None:
    own = HarmBound.of("waiting>10")
    bounds = bounds_of([own])
    assert [*bounds] == ["errors", "waiting", "failures", "time"]
    assert bounds["waiting"] is own
    others = [bound for bound in bounds.values() if bound is not own]
    assert others == [bound for bound in DEFAULTS if bound.counter != "waiting"]


def test_two_bounds_of_a_counter() -> None:
    with pytest.raises(
        ValueError, match="errors>2x and errors>5/s: a counter can have only one bound"
    ):
        bounds_of([HarmBound.of("errors>2x"), HarmBound.of("errors>5/s")])
