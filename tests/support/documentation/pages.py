"""The documentation as tests see it: its pages, and the blocks of a page that can be run.

    ```shell      lines of a script; only the exit code counts
    ```console    `$ ` before each command, its output below. Output is compared unless there is
                  none; a line `...` stands for any number of lines
    ```yaml       a configuration file if it has `version: 1`, which has to be valid

A comment on the line before a block sets options: `<!-- exit: 2 -->` is the exit code of its last
command, `<!-- file: NAME -->` writes the block into the page's folder, `<!-- not run: WHY -->`.
A page that has `<!-- page: no sandbox -->` starts its own. A block with `<!-- run: in containers
-->`, and every block of a page with `<!-- page: containers -->`, needs a cluster:
`tests/real/containers` runs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.paths import ROOT

NO_SANDBOX = "<!-- page: no sandbox -->"
FROM_2_7 = "<!-- page: upgrades a ProxySQL 2.7 -->"
IN_CONTAINERS = "<!-- page: containers -->"

_COMMENT = re.compile(r"<!-- (exit|file|run|not run): (.+?) -->")
_PROMPT = "$ "


def pages() -> list[Path]:
    """Return every page, the README first."""
    folders = (ROOT / "docs", ROOT / "examples", ROOT / "templates")
    found = [page for folder in folders for page in sorted(folder.rglob("*.md"))]
    return [*sorted(ROOT.glob("*.md"), key=lambda page: page.name != "README.md"), *found]


def page_id(page: Path) -> str:
    """Return the name of a page in test ids."""
    return str(page.relative_to(ROOT))


@dataclass
class Command:
    """One command of a block. `line` is where its output begins, counted from 0."""

    text: str
    line: int
    output: list[str] = field(default_factory=list)
    exit_code: int = 0


@dataclass
class Block:
    """One fenced block. Shape: `line` is its first line inside the fence, counted from 0."""

    language: str
    lines: list[str]
    line: int
    options: dict[str, str]

    @property
    def text(self) -> str:
        """The text of the block."""
        return "\n".join(self.lines) + "\n"

    @property
    def needs_containers(self) -> bool:
        """Whether the commands of the block need a cluster."""
        return "run" in self.options

    def commands(self) -> list[Command]:
        """Return the commands of the block, each with its expected exit code."""
        if "not run" in self.options or self.language not in ("shell", "console"):
            return []
        found = [Command(self.text, self.line)] if self.language == "shell" else self._prompted()
        found[-1].exit_code = int(self.options.get("exit", "0"))
        return found

    def _prompted(self) -> list[Command]:
        found: list[Command] = []
        for number, line in enumerate(self.lines, self.line):
            if found and found[-1].text.endswith("\\") and not found[-1].output:
                found[-1].text += "\n" + line
                found[-1].line = number + 1
            elif line.startswith(_PROMPT):
                found.append(Command(line.removeprefix(_PROMPT), number + 1))
            else:
                assert found, f"a console block begins with `$ `, not with: {line}"
                found[-1].output.append(line)
        return found


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = list(_blocks(text.split("\n")))
    if IN_CONTAINERS in text:
        for block in found:
            block.options["run"] = "in containers"
    return found


def blocks_to_run(page: Path, *, in_containers: bool) -> list[Block]:
    """Return the blocks of a page that run here, and the blocks that only write a file."""
    return [b for b in blocks(page) if b.needs_containers == in_containers or not b.commands()]


def has_commands(page: Path, *, in_containers: bool) -> bool:
    """Return whether a page has commands that run here."""
    return any(block.commands() for block in blocks_to_run(page, in_containers=in_containers))


def _blocks(lines: list[str]) -> Iterator[Block]:
    opened: tuple[str, str, int] | None = None
    options: dict[str, str] = {}
    for number, line in enumerate(lines):
        fence = re.fullmatch(r"(`{3,})(\S*).*", line)
        if opened is None:
            comment = _COMMENT.fullmatch(line.strip())
            if comment:
                options[comment[1]] = comment[2]
            elif fence:
                opened = (fence[1], fence[2], number + 1)
            elif line.strip():
                options = {}
        elif fence and fence[1] == opened[0] and not fence[2]:
            _, language, first = opened
            yield Block(language, lines[first:number], first, options)
            opened, options = None, {}
    assert opened is None, "a block is not closed"
