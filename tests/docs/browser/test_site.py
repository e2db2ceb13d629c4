"""The documentation site in a real Chromium: its first page, and a search.

Needs Debian's package chromium, and the Python packages of the extras `docs` and `browser`.
"""

from __future__ import annotations

import functools
import os
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
        env=os.environ | {"GITHUB_REPOSITORY": "someone/proxyctl"},
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
        page.wait_for_url(f"{site}/docs/index.html")
        assert page.title().startswith("proxyctl")
        page.fill("input[name=q]", "drain")
        page.press("input[name=q]", "Enter")
        page.locator("#search-results a[href*='/drain-a-node.html']").first.click()
        page.wait_for_url("**/how-to/drain-a-node.html*")
        assert all(url.startswith(site) for url in asked), "a page asks another host"


def test_every_door_of_the_first_page_opens(site: str) -> None:
    with launched() as browser:
        page = browser.new_page()
        page.goto(f"{site}/docs/index.html")
        doors = page.eval_on_selector_all(".sd-card a", "all => all.map(one => one.href)")
        assert len(doors) == 4
        for door in doors:
            answer = page.goto(door)
            assert answer is not None
            assert answer.ok, door


def test_a_copied_block_has_neither_prompts_nor_output(site: str) -> None:
    with launched() as browser:
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.goto(f"{site}/docs/tutorial.html")
        block = page.locator(".highlight-console").filter(has_text="proxyctl init").first
        assert "$ proxyctl init" in block.inner_text()
        block.hover()
        block.locator("button.copybtn").click()
        page.wait_for_selector("button.copybtn.success")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("proxyctl init")
        assert "wrote " not in copied
        assert "$ " not in copied


def test_the_menu_leads_to_the_repository_that_built_the_site(site: str) -> None:
    with launched() as browser:
        page = browser.new_page()
        page.goto(f"{site}/docs/index.html")
        link = page.locator(".sidebar-tree").get_by_role("link", name="Repository", exact=True)
        assert link.get_attribute("href") == "https://github.com/someone/proxyctl"


def test_a_page_has_a_description(site: str) -> None:
    with launched() as browser:
        page = browser.new_page()
        page.goto(f"{site}/docs/how-to/rollback.html")
        described = page.locator("meta[name=description]").get_attribute("content")
        assert described
        assert described.split()[0] == page.locator("article p").first.inner_text().split()[0]


@pytest.mark.parametrize("width", [1400, 500])
def test_the_first_page_fits_the_window(site: str, width: int) -> None:
    with launched() as browser:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(f"{site}/docs/index.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    "page", ["tutorial", "how-to/sharding", "how-to/upgrade", "reference/json"]
)
def test_no_block_is_cut_off_in_a_wide_window(site: str, page: str) -> None:
    with launched() as browser:
        window = browser.new_page(viewport={"width": 1400, "height": 900})
        window.goto(f"{site}/docs/{page}.html")
        blocks = window.eval_on_selector_all(
            ".highlight pre", "all => all.map(one => one.scrollWidth - one.clientWidth)"
        )
        assert blocks
        assert max(blocks) <= 0


def test_every_picture_is_shown(site: str) -> None:
    with launched() as browser:
        page = browser.new_page()
        for name in ("docs/index.html", "docs/how-to/top.html", "docs/how-to/digest-top.html"):
            page.goto(f"{site}/{name}")
            widths = page.eval_on_selector_all("img", "all => all.map(one => one.naturalWidth)")
            assert widths, name
            assert all(widths), name
