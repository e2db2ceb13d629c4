"""What a watch after an apply sees: a line while it runs, the judgement at its end, and JSON."""

from __future__ import annotations

from collections.abc import Mapping

from proxyctl.harm.bounds import HarmBound
from proxyctl.harm.judgement import HarmFigures, HarmJudgement, HarmVerdict
from proxyctl.render.encode import Shape
from proxyctl.render.style import PLAIN, Style
from proxyctl.stats.units import number_text
from proxyctl.text import printable

FIGURES: Shape[HarmFigures] = Shape(
    "counters of a period",
    "seconds queries_per_s errors_per_s waiting failures_per_s",
    seconds=lambda figures: round(figures.seconds, 1),
    queries_per_s=lambda figures: round(figures.queries_per_s, 2),
    errors_per_s=lambda figures: round(figures.errors_per_s, 2),
    failures_per_s=lambda figures: round(figures.failures_per_s, 2),
)
WATCH: Shape[HarmJudgement] = Shape(
    "watch after an apply",
    "verdict bounds before after time_ratio",
    before=lambda judgement: FIGURES.encode(judgement.before),
    after=lambda judgement: FIGURES.encode(judgement.after),
    time_ratio=lambda judgement: judgement.time_ratio and round(judgement.time_ratio, 2),
)
WATCHED: Shape[HarmJudgement] = WATCH.extended("watch after apply --all", "name")


def watch_json(
    judgement: HarmJudgement, bounds: Mapping[str, HarmBound], **more: str
) -> dict[str, object]:
    """Return a judgement as plain data. `more`: the name of the instance, with --all."""
    shape = WATCHED if more else WATCH
    return shape.encode(judgement, bounds=[bound.text() for bound in bounds.values()], **more)


def live_text(name: str, judgement: HarmJudgement, passed_s: float, watch_s: float) -> str:
    """Return the line that is shown while the watch runs: what is beyond a bound, or the counters.

    A terminal cuts it at its right edge.
    """
    head = f"{printable(name)} {_clock(passed_s)} of {_clock(watch_s)}"
    if judgement.beyond:
        return f"{head}  beyond the bounds: {printable('; '.join(judgement.beyond))}"
    before, after = judgement.before, judgement.after
    figures = "  ".join(
        f"{label} {number_text(round(now, 1))} ({number_text(round(then, 1))})"
        for label, now, then in (
            ("queries/s", after.queries_per_s, before.queries_per_s),
            ("errors/s", after.errors_per_s, before.errors_per_s),
            ("waiting", after.waiting, before.waiting),
        )
    )
    return f"{head}  {judgement.verdict}  {figures}"


def watched_text(name: str, judgement: HarmJudgement, watch_s: float, style: Style = PLAIN) -> str:
    """Return the judgement at the end of a watch without harm."""
    verdict = str(judgement.verdict)
    if judgement.verdict is HarmVerdict.NO_TRAFFIC:
        missing = [
            when
            for when, figures in (
                ("before the apply", judgement.before),
                ("since", judgement.after),
            )
            if not figures.queries_per_s
        ]
        verdict = f"no query came {' or '.join(missing)}, so this says nothing about the change"
    # The last sample comes a little later; the harm of another instance ends a watch earlier.
    watched_s = min(judgement.after.seconds, watch_s)
    watched = f"Watched {printable(name)} for {_clock(watched_s)}"
    return style.text(f"{watched}: {verdict}. {_figures_text(judgement)}.")


def _figures_text(judgement: HarmJudgement) -> str:
    before, after = judgement.before, judgement.after
    parts = [
        _part("queries/s", after.queries_per_s, before.queries_per_s),
        _part("errors/s", after.errors_per_s, before.errors_per_s),
        _part("waiting", after.waiting, before.waiting),
        _part("failed connections/s", after.failures_per_s, before.failures_per_s),
    ]
    if judgement.time_ratio is not None:
        parts.append(f"query times {judgement.time_ratio:.2f}x")
    elif judgement.verdict is not HarmVerdict.NO_TRAFFIC:
        parts.append("query times not compared")
    return ", ".join(parts)


def _part(name: str, after: float, before: float) -> str:
    return f"{name} {number_text(round(after, 2))} (before {number_text(round(before, 2))})"


def _clock(seconds: float) -> str:
    """Return a time as minutes and seconds: `0:42`."""
    minutes, rest = divmod(int(seconds + 0.5), 60)
    return f"{minutes}:{rest:02}"
