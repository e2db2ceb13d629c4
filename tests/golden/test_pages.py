"""The output of commands: one page per subject, with files, commands and their output.

The pages are written and run like the documentation (`tests/support/documentation/pages.py`): on a
sandbox of their own and, unless they start one themselves, on a real ProxySQL. To add a command,
write `?` below it and run `make golden`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands.warm import Warm
from tests.support.documentation.pages import NO_SANDBOX
from tests.support.documentation.runner import check_page, rewrite, run_page
from tests.support.servers.instances import ProxySQL, needed_binary

PAGES = sorted((Path(__file__).parent / "pages").glob("*.md"))
REAL = [pytest.mark.real, pytest.mark.since("2.7.0", "the pages show what 2.7 prints")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_on_the_sandbox(
    page: Path, tmp_path: Path, warm: Warm, pytestconfig: pytest.Config
) -> None:
    ran = run_page(page, tmp_path, proxyctl=warm.command)
    is_recording = pytestconfig.getoption("--update-golden")
    if is_recording:
        rewrite(page, ran)
    check_page(page, ran, is_recording=is_recording)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=REAL, id=page.stem)
        for page in PAGES
        if NO_SANDBOX not in page.read_text(encoding="utf-8")
    ],
)
def test_on_a_real_proxysql(page: Path, tmp_path: Path, warm: Warm) -> None:
    with ProxySQL(needed_binary(), tmp_path / "proxysql") as server:
        check_page(page, run_page(page, tmp_path, server, proxyctl=warm.command))
