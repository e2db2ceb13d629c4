"""A replay as markdown, to stand behind a plan in a comment on a pull request."""

from __future__ import annotations

from proxyctl.render.replay_text import appended_text, verdict
from proxyctl.stats.replay.result import Replay

LONGEST = 12_000
"""Characters of the list."""


def replay_markdown(report: Replay, *, limit: int = LONGEST) -> str:
    """Return the verdict, and the text of the replay in a block that can be folded."""
    lines = appended_text(report).split("\n")[2:]
    kept: list[str] = []
    left = limit
    for line in lines:
        # A digest text must not be able to close the code block.
        safe = line.replace("```", "'''")
        left -= len(safe) + 1
        if left < 0:
            kept.append("... more: see `proxyctl replay`")
            break
        kept.append(safe)
    text = "\n".join(kept).rstrip("\n")
    return (
        f"**{verdict(report)}**\n\n<details><summary>Replay of the digests that the instance has"
        f" seen</summary>\n\n```text\n{text}\n```\n\n</details>\n"
    )
