"""The workflows of the repository and of an example, and the command lines in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from proxyctl.cli.app import build
from tests.support.documentation.pages import blocks, pages
from tests.support.paths import ROOT

WORKFLOWS = sorted(
    file
    for folder in (ROOT, ROOT / "examples" / "config-repository")
    for file in (folder / ".github" / "workflows").glob("*.yml")
)


def steps(path: Path) -> list[dict[str, Any]]:
    """Return all steps of a workflow."""
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [step for job in found["jobs"].values() for step in job["steps"]]


def command_lines() -> list[str]:
    """The command lines of the workflows, and of the blocks that are not run."""
    texts = [step.get("run", "") for path in WORKFLOWS for step in steps(path)]
    texts += [b.text for page in pages() for b in blocks(page) if "not run" in b.options]
    lines = [
        line.removeprefix("$ ").removeprefix("exec ")
        for text in texts
        for line in text.splitlines()
        if re.match(r"(\$ |exec )?proxyctl ", line)
    ]
    return list(dict.fromkeys(lines))


def parse(arguments: list[str]) -> None:
    """Let Typer read a command line without running it. Raises its errors."""
    command, words = build(), list(arguments)
    context = command.make_context("proxyctl", words, resilient_parsing=True)
    while words and words[0] in getattr(command, "commands", {}):
        name, *words = words
        command = command.commands[name]
        context = command.make_context(name, words, parent=context)
