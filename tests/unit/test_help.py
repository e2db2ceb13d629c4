"""The text of help, and the imports of a command line."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from proxyctl.cli.app import GROUPS, build, commands_of
from proxyctl.cli.help import TOPICS
from tests.support.commands.cli import proxyctl

COMMANDS = sorted(commands_of(build()))
CHOICES = {
    parameter.metavar
    for command in commands_of(build()).values()
    for parameter in command.params
    if "|" in (parameter.metavar or "")
}


@pytest.fixture(params=["80", "100"])
def _width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", request.param)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize("command", ["", *GROUPS, *COMMANDS])
def test_help_fits_a_terminal(command: str) -> None:
    lines = proxyctl(*command.split(), "--help").out.splitlines()
    assert 5 < len(lines) <= 45
    assert max(map(len, lines)) <= 80
    assert not re.search(r"[{}<>]", lines[0])
    assert lines[0].count("[") == lines[0].count("]")


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize("words", COMMANDS)
def test_help_explains_every_option_or_names_the_topic_that_does(words: str) -> None:
    short = proxyctl(*words.split(), "--help").out
    topics = re.findall(r"^  proxyctl help (\w+) ", short, re.MULTILINE)
    everything = proxyctl(*words.split(), "--help-all").out
    explained = "".join([short, *(proxyctl("help", topic).out for topic in topics)])
    for option in commands_of(build())[words].params:
        if option.param_type_name == "option":
            row = re.compile(rf"^  (-\w, )?{max(option.opts, key=len)}\b.*\n", re.MULTILINE)
            assert row.search(explained)
            assert row.search(everything)


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_explained_and_shadows_no_command(topic: str) -> None:
    done = proxyctl("help", topic)
    assert done.code == 0
    assert done.out.startswith(f"{TOPICS[topic]}:\n  -")
    assert max(map(len, done.out.splitlines())) <= 80
    assert topic not in build().commands


def test_help_is_coloured_only_if_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert "\x1b[" not in proxyctl("plan", "--help").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1mUsage:" in proxyctl("plan", "--help").out
    assert "\x1b[1mUsage:" in proxyctl("plan", "--help-all").out
    assert "\x1b[1mFiles:" in proxyctl("help", "files").out
    assert "\x1b[" not in proxyctl("plan", "--no-color", "--help").out


@pytest.mark.usefixtures("_width")
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_flags_take_no_value_and_options_one_that_has_a_name(command: str) -> None:
    done = proxyctl(*command.split(), "--help")
    assert done.code == 0
    assert not re.search(r"<bool>|BOOLEAN|<int|<float|INTEGER|FLOAT", done.out)
    for choices in re.findall(r"[a-z]+\|[a-z|]+", done.out):
        # A long list goes on in the next line, and breaks between two words.
        assert any(choices.strip("|") in known for known in CHOICES)


def test_a_command_has_at_most_twelve_options_before_the_shared_panels() -> None:
    for words, command in commands_of(build()).items():
        own = [
            parameter
            for parameter in command.params
            if getattr(parameter, "rich_help_panel", None) is None
        ]
        options = [parameter for parameter in own if parameter.param_type_name == "option"]
        assert len(options) <= 12, words


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
