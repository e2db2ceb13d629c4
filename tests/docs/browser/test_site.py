"""The documentation site in a real Chromium: its first page, and a search.

Needs Debian's package chromium, and the Python packages of the extras `docs` and `browser`.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.docs.browser.browsing import chromium, launched
from tests.support.paths import ROOT

for package in ("playwright.sync_api", "sphinx"):
    pytest.importorskip(package, reason=f"BROWSER TESTS NOT RUN: the package {package} is missing")
if chromium() is None:
    pytest.skip(
        "BROWSER TESTS NOT RUN: no chromium on PATH (apt-get install chromium)",
        allow_module_level=True,
    )


class Quiet(SimpleHTTPRequestHandler):
    """A web server that logs no requests."""

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build the site as `make docs` does, and serve it; yield its address."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--builder", "html"),
            *("--conf-dir", str(ROOT / "docs"), str(ROOT), str(folder)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(Path(folder)))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_search_finds_how_to_drain_a_node(site: str) -> None:
    with launched() as browser:
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(site)
        assert "proxyctl" in page.title()
        page.fill("input[name=q]", "drain")
        page.press("input[name=q]", "Enter")
        page.get_by_role("link", name="Nodes: list, drain").last.click()
        assert page.locator("h1").inner_text().startswith("Nodes: list, drain")
        assert all(url.startswith(site) for url in asked), "a page asks another host"


def test_every_picture_is_shown(site: str) -> None:
    with launched() as browser:
        page = browser.new_page()
        for name in ("", "docs/how-to/top.html", "docs/how-to/digest-top.html"):
            page.goto(f"{site}/{name}")
            widths = page.eval_on_selector_all("img", "all => all.map(one => one.naturalWidth)")
            assert widths, name
            assert all(widths), name
