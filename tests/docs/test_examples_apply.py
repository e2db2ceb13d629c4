"""Every example and starter: valid, planned, applied, and nothing left to do; on both servers."""

from __future__ import annotations

import gc
import json
import re
from pathlib import Path

import pytest

from proxyctl.cli.main import run
from tests.docs.pages import ROOT, page_id
from tests.support.servers import Instance

FILES = sorted(
    file
    for folder in ("examples", "templates")
    for pattern in ("*.yaml", "*.j2")
    for file in (ROOT / folder).rglob(pattern)
)
FOLDERS = sorted({file.parent for file in FILES})


@pytest.mark.parametrize("folder", FOLDERS, ids=page_id)
def test_an_example_can_be_applied(
    folder: Path,
    instance: Instance,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for file in (f for f in folder.iterdir() if f.is_file()):
        for name in re.findall(r"\{env: (\w+)\}", file.read_text(encoding="utf-8")):
            monkeypatch.setenv(name, f"secret of {name}")
    for name, value in {
        "HOST": instance.host,
        "PORT": str(instance.port),
        "USER": instance.user,
        "PASSWORD": instance.password,
        "STATE_DIR": str(tmp_path),
        "FILE": str(folder),
    }.items():
        monkeypatch.setenv(f"PROXYCTL_{name}", value)

    def proxyctl(*arguments: str) -> str:
        code = run(arguments)
        gc.enable()  # a command turns it off, since it ends soon
        assert code == 0, capsys.readouterr()
        return capsys.readouterr().out

    proxyctl("validate")
    assert not _plan(proxyctl("plan", "--format", "json"))["in_sync"]
    proxyctl("apply", "--auto-approve")
    again = _plan(proxyctl("plan", "--format", "json"))
    assert again["in_sync"], again
    assert "secret of" not in json.dumps(again)


def _plan(text: str) -> dict[str, object]:
    (plan,) = json.loads(text)["instances"]
    assert isinstance(plan, dict)
    return plan


@pytest.mark.parametrize("folder", FOLDERS, ids=page_id)
def test_the_routing_tests_of_an_example_pass(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [file.read_text("utf-8") for file in folder.iterdir() if file.is_file()]
    has_tests = any("routing_tests:" in text for text in texts)
    arguments = ["test", "-f", str(folder), "--coverage", "--format", "json"]
    variables = ["--var", "shards=3"] if folder.name == "any-number" else []
    code = run([*arguments, *variables])
    gc.enable()
    out = capsys.readouterr().out
    assert code == (0 if has_tests else 1), out
    if has_tests:
        assert json.loads(out)["unreached_rules"] == []
