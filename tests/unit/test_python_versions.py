"""What an early Python 3.11, as Debian 12 has it, does otherwise than a later one."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
POSSESSIVE_GROUP = re.compile(r"\)(?:\*\+|\+\+|\?\+)|\)\{[0-9,]*\}\+")


def test_no_expression_of_ours_has_a_possessive_group() -> None:
    """Before 3.11.5 Python goes wrong with those: a digest was another text, without a word."""
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "proxyctl").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if POSSESSIVE_GROUP.search(line)
    ]
    assert found == []
