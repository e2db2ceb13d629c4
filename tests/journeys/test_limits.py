"""Files, folders and programs that are too large, not ours, or do not end."""

from __future__ import annotations

import gzip
import pkgutil
import sys
import time
from pathlib import Path

import pytest

from proxyctl.cli import login
from proxyctl.cli.connect import printed_instances
from proxyctl.config import child, mistakes
from proxyctl.errors import ProxyctlError
from proxyctl.instance.sockets import ANSWER_LIMIT
from proxyctl.lint import check
from proxyctl.plan import saved
from proxyctl.snapshots import snapshot
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.measure import run as measured
from tests.support.commands.story import FILES, apply, ended, plan
from tests.support.digests.seen import fill, seen_digest
from tests.support.servers.instances import Instance


@pytest.mark.parametrize(
    ("option", "limit"),
    [("--password-file", "_MOST_PASSWORD"), ("--defaults-file", "_MOST_OPTIONS")],
)
def test_a_file_for_a_login_that_is_too_large(
    sandbox_project: Project, option: str, limit: str
) -> None:
    sandbox_project.write(FILES)
    sandbox_project.write("#" * 3000, "large")
    sandbox_project.monkeypatch.setattr(login, limit, 2048)
    ended(plan(option, "large"), 1, f"{option} large: the file is larger than 2 KB")


def test_a_saved_plan_that_is_too_large(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    assert plan("--out", "a.plan").code == 2
    sandbox_project.monkeypatch.setattr(saved, "_MOST_BYTES", 1024)
    ended(apply("a.plan"), 1, "a.plan: the file is larger than 1 KB")


def test_a_small_snapshot_that_becomes_a_large_one(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    path = sandbox_project.folder / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"format": 1}\n' + bytes(3 << 20)))
    assert path.stat().st_size < 10_000
    sandbox_project.monkeypatch.setattr(snapshot, "_MOST_BYTES", 1 << 20)
    ended(proxyctl("rollback", str(path)), 1, "larger than 1 MiB when uncompressed")


def test_a_state_folder_that_others_can_change(sandbox_project: Project) -> None:
    """Snapshots hold passwords, and a rollback applies them."""
    sandbox_project.write(FILES)
    state = sandbox_project.folder / "state"
    sandbox_project.monkeypatch.setenv("PROXYCTL_STATE_DIR", str(state))
    state.mkdir()
    state.chmod(0o777)
    ended(apply(), 1, "others can write to it", f"chmod go-w {state}", "nothing was changed")
    state.chmod(0o755)
    (state / "snapshots").symlink_to(sandbox_project.folder)
    ended(apply(), 1, "state/snapshots: a symbolic link", "nothing was changed")
    (state / "snapshots").unlink()
    assert apply().code == 0


def test_a_folder_of_files_that_is_a_link_out_of_the_working_folder(
    offline: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "proxyctl.yaml").write_text(FILES)
    (offline.folder / "config").symlink_to(elsewhere)
    (offline.folder / "proxyctl.yaml").symlink_to(elsewhere / "proxyctl.yaml")
    for options in (["-f", "config"], ["-f", "config/proxyctl.yaml"], []):
        assert proxyctl("validate", *options).code == 0
        found = proxyctl("validate", "--restrict-paths", *options)
        ended(found, 64, "a symbolic link leads out of the working folder")
    assert proxyctl("validate", "--restrict-paths", "-f", str(elsewhere)).code == 0
    (elsewhere / "vars.yaml").write_text("a: 1\n")
    found = proxyctl(
        "validate", "--restrict-paths", "-f", str(elsewhere), "--var-file", "config/vars.yaml"
    )
    ended(found, 64, "config/vars.yaml: a symbolic link leads out of the working folder")


def test_more_mistakes_than_anybody_reads(
    offline: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mistakes, "MOST_MISTAKES", 20)
    offline.write("version: 1\nmysql_servers: [1" + ", 1" * 50 + "]\n")
    found = proxyctl("validate")
    ended(found, 1, "proxyctl.yaml:2:77: reading ends here: there are more than 20 mistakes")
    assert found.err.endswith("21 mistakes in the files\n")


def test_more_digests_than_another_answer_may_have(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    queries = (f"SELECT a{n}, {'b' * 400} FROM t" for n in range(21_000))
    one = seen_digest(next(queries))
    rows = (one._replace(digest=f"0x{n:016X}", digest_text=text) for n, text in enumerate(queries))
    fill(sandbox_instance, rows)
    found = proxyctl("digest", "snapshot", "-o", "many.jsonl")
    assert found.code == 0, found.text
    assert (sandbox_project.folder / "many.jsonl").stat().st_size > ANSWER_LIMIT


# -- programs --------------------------------------------------------------------------------------


def test_a_program_gets_none_of_our_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PASSWORD", "PASSWORD_FILE", "BACKEND_PASSWORD"):
        monkeypatch.setenv(f"PROXYCTL_{name}", "s3cret")
    seen = child.printed_by(["env"], "env", timeout_s=60)
    assert b"PATH=" in seen
    assert b"PROXYCTL_" not in seen


def test_a_program_that_prints_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "MOST_OUTPUT", 1 << 20)
    with pytest.raises(ProxyctlError, match="yes: the command printed more than 1 MiB"):
        printed_instances("yes")


def test_nothing_of_a_program_outlives_its_time(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nsleep 600 &\necho $! > sleeper\nsleep 600\n")
    program.chmod(0o755)
    with pytest.raises(ProxyctlError, match=r"did not finish within 0\.5 s"):
        child.printed_by(["sh", "-c", f"cd {tmp_path} && ./program"], "it", timeout_s=0.5)
    sleeper = int((tmp_path / "sleeper").read_text())
    for _ in range(100):
        if not _runs(sleeper):
            return
        time.sleep(0.1)
    raise AssertionError("it still runs")


def test_a_program_is_not_waited_for_where_another_holds_its_output(tmp_path: Path) -> None:
    """Another session is not of the process group: it may run on, but holds nobody up."""
    words = ["sh", "-c", "echo px1; setsid sleep 30 & exit 0"]
    began = time.monotonic()
    with pytest.raises(ProxyctlError, match=r"did not finish within 0\.5 s"):
        child.printed_by(words, "it", timeout_s=0.5)
    assert time.monotonic() - began < 20


def _runs(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("options", [["--ignore=PX"], ["--select=PX311", "--ignore=PX311"]])
def test_lint_with_every_check_ignored_is_an_error(offline: Project, options: list[str]) -> None:
    offline.write(FILES)
    ended(proxyctl("lint", *options), 64, "no check is left to run")


def test_a_word_that_is_no_name_is_not_kept_in_parts(offline: Project) -> None:
    rules = [f"  - {{rule_id: {n}, match_digest: {'a' * 20_000}, apply: true}}" for n in (1, 2)]
    offline.write("version: 1\nmysql_query_rules:\n" + "\n".join(rules) + "\n")
    found = measured([sys.executable, "-m", "proxyctl", "lint", "--select=PX109"])
    assert found.code == 0
    assert found.megabytes < 200


def test_a_name_that_no_file_can_have(sandbox_project: Project) -> None:
    ended(proxyctl("export", "-o", "x" * 300), 1, "cannot be written: file name too long")


def test_lint_without_checks_is_an_error(monkeypatch: pytest.MonkeyPatch, offline: Project) -> None:
    """Where no file can be opened any more, Python finds a folder of modules empty."""
    offline.write(FILES)
    monkeypatch.setattr(check, "_CHECKS", {})
    monkeypatch.setattr(pkgutil, "iter_modules", lambda _path: iter(()))
    check.all_checks.cache_clear()
    try:
        ended(proxyctl("lint"), 1, "lint's checks cannot be read", "ulimit -n")
    finally:
        check.all_checks.cache_clear()
