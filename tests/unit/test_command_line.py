"""A command line imports what its command needs, and is the same as among all commands."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proxyctl.cli.app import build, commands_of

ALL = commands_of(build())


@pytest.mark.parametrize("words", sorted(ALL))
def test_a_command_by_itself_is_the_same_as_among_all(words: str) -> None:
    alone = commands_of(build(["--debug", *words.split(), "--help"]))
    assert len(alone) < len(ALL)
    assert [p.opts for p in alone[words].params] == [p.opts for p in ALL[words].params]
    assert alone[words].help == ALL[words].help


@pytest.mark.parametrize("first", ["--help", "-h", "aply", "--nonsense", ""])
def test_whatever_is_no_command_knows_all(first: str) -> None:
    assert commands_of(build([first, "plan"])).keys() == ALL.keys()


def test_a_command_does_not_import_the_others() -> None:
    program = (
        "import sys; from proxyctl.cli.app import build; build(['validate']);"
        "print([one for one in ('proxyctl.instance', 'proxyctl.plan.plan', 'pymysql', 'pydantic')"
        " if one in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert found.stdout == b"[]\n"
