"""The page of `digest report` in a real Chromium: it works without errors and sends no request.

Needs Debian's package chromium and the Python package playwright.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.docs.browser.browsing import chromium, launched
from tests.support.commands.cli import Project, proxyctl
from tests.support.digests.shop import HOSTILE, shop_snapshots

pytest.importorskip(
    "playwright.sync_api", reason="BROWSER TESTS NOT RUN: the package playwright is missing"
)
if chromium() is None:
    pytest.skip(
        "BROWSER TESTS NOT RUN: no chromium on PATH (apt-get install chromium)",
        allow_module_level=True,
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@dataclass
class Opened:
    """A page, its console messages and dialogs, and the addresses that it requested."""

    page: Any
    messages: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def open_report(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    project = Project(tmp_path, monkeypatch)
    contexts = []

    def opened(*, snapshots: int = 13, hostile: bool = False, **options: Any) -> Opened:
        files = shop_snapshots(project.folder, snapshots, hostile=hostile)
        assert proxyctl("digest", "report", "-o", "report.html", *map(str, files)).code == 0
        options.setdefault("viewport", {"width": 1280, "height": 900})
        context = browser.new_context(**options)
        contexts.append(context)
        result = Opened(context.new_page())
        result.page.on("console", lambda message: result.messages.append(message.text))
        result.page.on("pageerror", lambda error: result.messages.append(str(error)))
        result.page.on("dialog", lambda dialog: result.messages.append(dialog.message))
        result.page.on("request", lambda request: result.asked.append(request.url))
        result.page.goto((project.folder / "report.html").as_uri())
        return result

    yield opened
    for context in contexts:
        context.close()


def column(page: Any, number: int) -> list[float]:
    script = (
        "(n) => [...document.querySelectorAll('tr.numbers')].map(r => +r.cells[n].dataset.number)"
    )
    values: list[float] = page.evaluate(script, number)
    return values


def test_the_page_is_silent_and_asks_for_nothing_but_itself(open_report: Any) -> None:
    opened = open_report()
    opened.page.wait_for_load_state("networkidle")
    assert opened.messages == []
    assert len(opened.asked) == 1
    assert opened.page.locator("section.chart").count() == 4
    assert opened.page.locator(".chart svg[role=img]").count() == 1


@pytest.mark.parametrize("width", [1280, 390])
def test_no_chart_is_empty_and_nothing_is_wider_than_the_window(
    open_report: Any, width: int
) -> None:
    page = open_report(viewport={"width": width, "height": 800}).page
    for chart in page.locator("svg[role=img]").all():
        box = chart.bounding_box()
        assert box["width"] > 200
        assert box["height"] > 50
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("hostile", [False, True])
def test_no_label_leaves_its_chart_or_meets_another(open_report: Any, hostile: bool) -> None:
    page = open_report(hostile=hostile).page
    problems = page.evaluate(
        """() => {
          const found = [];
          for (const chart of document.querySelectorAll("svg[role=img]")) {
            const frame = chart.getBoundingClientRect();
            const texts = [...chart.querySelectorAll("text")];
            const boxes = texts.map((t) => [t.textContent, t.getBoundingClientRect()]);
            for (const [text, box] of boxes)
              if (box.left < frame.left - 1 || box.right > frame.right + 1) found.push(text);
            for (let i = 0; i < boxes.length; i++)
              for (let j = i + 1; j < boxes.length; j++) {
                const [a, b] = [boxes[i][1], boxes[j][1]];
                if (a.left < b.right && b.left < a.right && a.top < b.bottom - 1 &&
                    b.top < a.bottom - 1)
                  found.push(boxes[i][0] + " meets " + boxes[j][0]);
              }
          }
          return found;
        }"""
    )
    assert problems == []


def test_clicks_on_a_head_sort_and_turn_round(open_report: Any) -> None:
    opened = open_report()
    page = opened.page
    assert column(page, 0) == sorted(column(page, 0))
    for number, name in ((3, "Queries"), (4, "Average"), (5, "Maximum"), (2, "Total time")):
        before = column(page, number)
        page.get_by_role("button", name=name, exact=True).click()
        assert column(page, number) == sorted(before, reverse=True)
        head = page.locator(f"th:nth-child({number + 1})")
        assert head.get_attribute("aria-sort") == "descending"
        page.get_by_role("button", name=name, exact=True).click()
        assert column(page, number) == sorted(before)
    page.get_by_role("button", name="User", exact=True).click()
    users = page.locator("tr.numbers td:nth-child(10)").all_text_contents()
    assert users == sorted(users)
    assert opened.messages == []


def test_a_text_is_found(open_report: Any) -> None:
    page = open_report().page
    page.fill("#find", "for UPDATE")
    assert page.locator("tbody:not([hidden])").count() == 1
    assert page.locator("#found").text_content() == "1 of 47"
    page.fill("#find", "")
    assert page.locator("tbody:not([hidden])").count() == 47


def test_the_button_copies_the_query(open_report: Any) -> None:
    page = open_report(permissions=["clipboard-read", "clipboard-write"]).page
    page.locator("button.copy").first.click()
    page.get_by_role("button", name="Copied").wait_for()
    text = page.locator("code").first.text_content()
    assert page.evaluate("navigator.clipboard.readText()") == text
    assert text.startswith("SELECT ")


def test_where_the_clipboard_is_closed_the_old_way_copies(open_report: Any) -> None:
    page = open_report(permissions=["clipboard-read"]).page
    page.evaluate(
        "Object.defineProperty(navigator.clipboard, 'writeText',"
        " {value: () => Promise.reject(new Error('closed'))})"
    )
    page.locator("button.copy").nth(1).click()
    page.get_by_role("button", name="Copied").wait_for()
    wanted = page.locator("code").nth(1).text_content()
    assert page.evaluate("navigator.clipboard.readText()") == wanted


def brightness(page: Any, selector: str, what: str) -> int:
    script = "([s, w]) => getComputedStyle(document.querySelector(s))[w]"
    numbers = page.evaluate(script, [selector, what]).removeprefix("rgb(").rstrip(")").split(",")
    return sum(map(int, numbers))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_scheme_and_prints_on_white(open_report: Any, scheme: str) -> None:
    page = open_report(color_scheme=scheme).page
    is_dark = scheme == "dark"
    for selector, style in (("html", "backgroundColor"), (".chart", "backgroundColor")):
        assert (brightness(page, selector, style) < 300) is is_dark
    for selector, style in (("body", "color"), ("svg text", "fill"), ("code", "color")):
        assert (brightness(page, selector, style) > 380) is is_dark
    page.emulate_media(media="print")
    assert brightness(page, "html", "backgroundColor") == 3 * 255
    assert brightness(page, "body", "color") == 0
    assert not page.locator("button.copy").first.is_visible()


def test_what_a_server_says_does_not_run(open_report: Any) -> None:
    opened = open_report(snapshots=3, hostile=True)
    page = opened.page
    page.get_by_role("button", name="Schema", exact=True).click()
    page.wait_for_load_state("networkidle")
    assert page.title() == "Digests of px1"
    assert opened.messages == []
    assert len(opened.asked) == 1
    assert page.locator("img, b, iframe").count() == 0
    shown = page.locator("code", has_text="document.title").text_content()
    assert shown.startswith("SELECT </script><script>document.title='run'</script><img src=x")
    assert "\\x1b[2J" in shown
    assert "\x1b" in HOSTILE
    assert "\x1b" not in shown


def test_even_injected_script_would_not_run(open_report: Any) -> None:
    opened = open_report(snapshots=1)
    opened.page.evaluate(
        "() => { const s = document.createElement('div');"
        " s.innerHTML = `<img src=http://203.0.113.1/x onerror=\"document.title='run'\">`;"
        " document.body.append(s); }"
    )
    opened.page.wait_for_function("document.querySelector('img').complete")
    assert opened.page.title() == "Digests of px1"
    assert any("Content Security Policy" in text for text in opened.messages)
