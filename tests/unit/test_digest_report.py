"""The report on digests: its sums, its lists, and a page that runs no text from a server."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from proxyctl.config.starters import templates_folder
from proxyctl.render.charts import charts_over_time, lines_of
from proxyctl.render.report import report_html
from proxyctl.stats.model import DigestTable, Load, SeenDigest
from proxyctl.stats.report import DigestReport, Interval, LoadShare, make_report
from tests.support.digests.shop import HOSTILE


def moment(taken_at: int, rows: Sequence[SeenDigest], uptime: int | None = None) -> DigestTable:
    return DigestTable("px1", "px1:6032", "2.7.1", taken_at, rows, uptime=uptime)


def row(digest: str = "0x1", calls: int = 1, time: int = 1, **other: object) -> SeenDigest:
    cells = {
        **{"hostgroup": 10, "schemaname": "shop", "username": "app", "client_address": ""},
        **{"digest": digest, "digest_text": f"SELECT {digest}", "count_star": calls},
        **{"first_seen": 100, "last_seen": 200, "sum_time": time, "min_time": 1, "max_time": time},
        **other,
    }
    return SeenDigest(**cells)  # type: ignore[arg-type]


def html(report: DigestReport, names: Mapping[int, str] | None = None) -> str:
    return report_html(report, names or {}, templates_folder() / "report")


def parts(found: Sequence[LoadShare]) -> list[tuple[str, int, int]]:
    return [(share.name, share.load.count_star, share.load.sum_time) for share in found]


def test_one_moment_counts_since_the_statistics_began() -> None:
    rows = [
        row("0x1", 10, 1000, sum_rows_sent=20),
        row("0x1", 30, 9000, hostgroup=20, username="batch", first_seen=50),
        row("0x2", 5, 2000, schemaname="stock", max_time=1500),
    ]
    report = make_report([moment(1000, rows)])
    assert (report.start, report.end) == (50, 1000)
    assert (report.total.count_star, report.total.sum_time) == (45, 12000)
    first, second = report.digests
    assert (first.digest, first.load.rows, first.load.average) == ("0x1", 20, 250)
    assert parts(first.hostgroups) == [("20", 30, 9000), ("10", 10, 1000)]
    assert parts(first.users) == [("batch", 30, 9000), ("app", 10, 1000)]
    assert (second.text, second.load.max_time) == ("SELECT 0x2", 1500)
    assert parts(report.hostgroups) == [("20", 30, 9000), ("10", 15, 3000)]
    assert parts(report.schemas) == [("shop", 40, 10000), ("stock", 5, 2000)]
    assert report.intervals == []


def test_several_moments_in_any_order_show_what_was_counted_between_them() -> None:
    before = moment(1000, [row("0x1", 10, 1000), row("0x2", 5, 500)])
    between = moment(1060, [row("0x1", 10, 1000), row("0x2", 8, 900)])
    after = moment(1120, [row("0x1", 11, 1100), row("0x2", 8, 900), row("0x3", 2, 70)])
    report = make_report([after, before, between])
    assert {d.digest: (d.load.count_star, d.load.sum_time) for d in report.digests} == {
        "0x1": (1, 100),
        "0x2": (3, 400),
        "0x3": (2, 70),
    }
    one, other = report.intervals
    assert (one.start, one.end, one.load.sum_time, one.is_cleared) == (1000, 1060, 400, False)
    assert (other.start, other.end, other.load.sum_time, other.is_cleared) == (
        1060,
        1120,
        170,
        False,
    )


def test_a_reset_is_marked_and_what_came_after_it_counts() -> None:
    moments = [moment(1000, [row(calls=10, time=1000)]), moment(1060, [row("0x2", 4, 400)])]
    report = make_report(moments)
    assert ([interval.is_cleared for interval in report.intervals], report.total.count_star) == (
        [True],
        4,
    )
    assert "were reset, or ProxySQL was restarted" in html(report)


def test_what_is_left_out_is_counted() -> None:
    rows = [row(f"0x{n}", n + 1, 10 * (n + 1)) for n in range(50)]
    report = make_report([moment(1000, rows)], limit=5)
    assert [digest.digest for digest in report.digests] == ["0x49", "0x48", "0x47", "0x46", "0x45"]
    assert "<p>5 of 50 digests: the digests with the most time." in html(report)
    assert "24 others" in html(make_report([moment(1000, [row(hostgroup=n) for n in range(30)])]))


def test_long_texts_are_cut_so_that_the_page_stays_small() -> None:
    rows = [row(f"0x{n:03}", n + 1, n + 1, digest_text="'" * 60_000) for n in range(100)]
    text = html(make_report([moment(1000, rows)], limit=100))
    assert len(text.encode()) < 1_500_000
    assert "more characters are not in this page" in text


@pytest.mark.parametrize(("length", "is_cut"), [("11", True), ("12", False)])
def test_a_text_that_proxysql_cut_is_marked(length: str, is_cut: bool) -> None:
    options = {"mysql-query_digests_max_digest_length": length}
    table = replace(moment(1000, [row(digest_text="SELECT 1234")]), variables=options)
    cut = "cut by ProxySQL at mysql-query_digests_max_digest_length"
    assert (cut in html(make_report([table]))) == is_cut


def test_a_history_has_charts_by_part_and_a_line_for_each_digest() -> None:
    rows = [row("0x1", 30, 300), row("0x2", 1, 10, schemaname="stock")]
    steps = [
        Interval(0, 60, Load(0, 10, 100), {10: 100}, False, {"px1": 100}, {"shop": 100}),
        Interval(60, 120, Load(), {}, False),
        Interval(120, 180, Load(0, 21, 210), {10: 210}, False, {"px2": 210}, {"stock": 210}),
    ]
    report = make_report([moment(180, rows)])
    loads = [Load(0, 10, 100), Load(), Load(0, 20, 400)]
    digests = [report.digests[0]._replace(over_time=loads), *report.digests[1:]]
    instances = [LoadShare("px1", Load(0, 10, 100)), LoadShare("px2", Load(0, 21, 210))]
    report = replace(report, intervals=steps, digests=digests, instances=instances)
    assert [chart.by for chart in charts_over_time(report, {})] == [
        "hostgroup",
        "instance",
        "schema",
    ]
    average, rate = lines_of(report.digests[0], report)
    assert average == ("Average, up to 20 µs", "M0.0 30.0H333.3M666.7 0.0H1000.0")
    assert rate.title == "Queries a second, up to 0.33"
    assert html(report).count("Over time</summary>") == 1
    assert [chart.by for chart in charts_over_time(make_report([moment(9, rows)]), {})] == []


class _Page(HTMLParser):
    """The page as an HTML parser reads it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def test_nothing_of_a_server_is_more_than_text() -> None:
    names = {"schemaname": "<b>x", "username": "</title><script>1</script>"}
    rows = [
        row("0x<img src=//x>", 10, 1000, digest_text=HOSTILE, **names),
        row("0x2", 10, 1000, digest_text="\x1b[2J\x9b1m \ud800 \ufffe\uffff \x00", **names),
    ]
    moments = [moment(1000, []), DigestTable("<i>px", '"><script>', "<u>2", 1060, rows)]
    report = replace(make_report(moments), notes=["<s>\x1b[1m"])
    text = html(report)
    page = _Page(text)
    assert page.tags.count("script") == 1
    assert not {"img", "b", "i", "u", "s", "iframe", "object", "a"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not [value for name, value in page.attributes if name == "src"]
    assert [value for name, value in page.attributes if name == "href"] == ["data:,"]
    assert not [name for name, _ in page.attributes if name == "style"]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e\ud800-\udfff]", text)


def test_only_the_script_and_the_style_of_the_page_are_allowed() -> None:
    text = html(make_report([moment(1000, [row()])]))
    policy = re.search('Content-Security-Policy" content="([^"]+)"', text)
    assert policy
    assert re.fullmatch(
        r"default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+';"
        r" img-src data:; base-uri 'none'; form-action 'none'",
        policy[1],
    )


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([], id="none"),
        pytest.param([row(time=0, calls=1)], id="no time"),
        pytest.param([row(time=10**18, calls=10**12, first_seen=-5)], id="huge"),
        pytest.param([row(calls=0)], id="no calls"),
        pytest.param([row(str(n), hostgroup=n, username="") for n in range(30)], id="hostgroups"),
    ],
)
def test_odd_numbers_make_a_page_too(rows: list[SeenDigest]) -> None:
    text = html(make_report([moment(10**9, rows)]))
    assert text.rstrip().endswith("</html>")
    if not rows:
        assert "No queries were counted." in text
    later = html(make_report([moment(10**9, []), moment(10**9 + 86400 * 900, rows)]))
    assert later.rstrip().endswith("</html>")


def test_hostgroups_have_the_names_of_the_files_and_minus_one_is_the_query_cache() -> None:
    rows = [row("0x1", hostgroup=10), row("0x2", hostgroup=-1), row("0x3", hostgroup=30)]
    text = html(make_report([moment(2000, rows)]), {10: "writer <b>"})
    for shown in (">10 (writer &lt;b&gt;)<", ">query cache<", ">30<"):
        assert shown in text
    assert "hostgroup -1" not in text
