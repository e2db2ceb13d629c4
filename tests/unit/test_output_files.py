"""Files that options name get their name once they are complete."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proxyctl.cli.output import write_file
from proxyctl.errors import ProxyctlError


@pytest.mark.parametrize("is_new", [False, True])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, is_new: bool) -> None:
    path = tmp_path / "running.yaml"
    if not is_new:
        path.write_text("before")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", _no_space)
        with pytest.raises(ProxyctlError, match=r"running\.yaml: cannot be written: no space left"):
            write_file(path, "after", is_new=is_new)
    assert [file.name for file in tmp_path.iterdir()] == ([] if is_new else ["running.yaml"])
    write_file(path, "after", is_new=is_new)
    assert path.read_text() == "after"


def _no_space(*_: object) -> None:
    raise OSError(28, os.strerror(28))


def test_a_link_stays_a_link_and_a_new_file_never_overwrites(tmp_path: Path) -> None:
    target = tmp_path / "folder" / "real"
    target.parent.mkdir()
    link = tmp_path / "link"
    link.symlink_to(target)
    write_file(link, "text", mode=0o600)
    assert link.is_symlink()
    assert target.read_text() == "text"
    assert target.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ProxyctlError, match="exists"):
        write_file(target, "other", is_new=True)
    assert target.read_text() == "text"


def test_a_file_that_was_private_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("before")
    path.chmod(0o600)
    write_file(path, "after")
    assert path.stat().st_mode & 0o777 == 0o600
