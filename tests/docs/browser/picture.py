"""Draw the documentation's picture of the report: `python -m tests.docs.browser.picture`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.docs.browser.browsing import launched
from tests.support.commands.cli import proxyctl
from tests.support.digests.shop import shop_snapshots
from tests.support.paths import ROOT

PICTURE = ROOT / "docs" / "pictures" / "report.png"
_WIDTH = 1100


def main() -> None:
    """Draw the page from its head to the first rows of the table."""
    PICTURE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, launched() as browser:
        folder = Path(name)
        files = map(str, shop_snapshots(folder))
        done = proxyctl("digest", "report", "-o", str(folder / "report.html"), *files)
        assert done.code == 0, done.text
        page = browser.new_page(viewport={"width": _WIDTH, "height": 900})
        page.goto((folder / "report.html").as_uri())
        last = page.locator("tr.query").nth(1).bounding_box()
        height = last["y"] + last["height"] + 4
        clip = {"x": 0, "y": 0, "width": _WIDTH, "height": height}
        page.screenshot(path=PICTURE, clip=clip, full_page=True)


if __name__ == "__main__":
    main()
