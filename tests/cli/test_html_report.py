"""The HTML report: structure, escaping, self-containment, reproducibility, and a browser."""

from __future__ import annotations

import base64
import re
import sys
from datetime import UTC, datetime

import numpy as np
import pytest

from helpers.page import Page
from mdt_fast import __version__
from mdt_fast._cli.html_report import HtmlReport
from mdt_fast._support.text import printable

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.image import imread  # noqa: E402

WHEN = datetime(2025, 12, 1, 10, 30, tzinfo=UTC)
MARKUP = "<script>alert('x')</script> & \"quotes\" -->"


def light_figure(title="curve"):
    """Clip paths, hatches, markers, an image and text: all that a drawing refers to by id or URL."""
    figure = Figure(figsize=(4, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([0, 1, 4], marker="o")
    left.bar([0, 1], [1, 2], hatch="//")
    left.set_title(title)
    right.imshow(np.arange(6.0).reshape(2, 3))
    return figure


def heavy_figure():
    figure = Figure(figsize=(4, 3))
    figure.subplots().scatter(*np.random.default_rng(0).normal(size=(2, 10_000)))
    return figure


def full_report(text="some text", figures=(light_figure, light_figure, heavy_figure)):
    """A report of all kinds of parts, with `text` in each."""
    report = HtmlReport(text, subtitle=text, when=WHEN)
    report.text(text)
    report.section(text)
    report.parameters({text: text, "views": [text], "t": None})
    report.table([text, "AMI"], [[text, 0.5], ["other", 0.25]], caption=text, best={"AMI": "max"})
    report.section("Second")
    for make in figures:
        report.figure(make(), text, alt=text)
    report.warnings([text, "another"])
    report.warnings([])
    report.code(text)
    return report


def table_cells(rows, **options):
    report = HtmlReport("t", when=WHEN)
    report.table(["name", "value"], rows, **options)
    body = report.html().split("<tbody>")[1]
    return re.findall(r"<td[^>]*>(.*?)</td>", body), Page(report.html())


def test_structure():
    page = Page(full_report().html())
    assert page.find("html", lang="en")
    assert page.find("meta", name="viewport")
    assert page.texts("title") == page.texts("h1") == ["some text"]
    assert page.texts("h2") == ["some text", "Second"]
    links = [e["attrs"]["href"] for e in page.find("a")]
    assert links == ["#" + e["attrs"]["id"] for e in page.find("section")]
    assert page.texts("a") == page.texts("h2")
    assert page.texts("footer") == [f"mdt_fast {__version__} · 2025-12-01 10:30 UTC"]
    assert page.find("time")[0]["attrs"]["datetime"] == "2025-12-01T10:30:00+00:00"
    assert [c.split(".")[0] for c in page.texts("figcaption")] == ["Table 1", "Figure 1", "Figure 2", "Figure 3"]
    assert all("scope" in e["attrs"] for e in page.find("th"))


def test_without_sections_there_are_no_contents():
    report = HtmlReport("t")
    report.text("alone")
    page = Page(report.html())
    assert not page.find("nav")
    assert not page.find("section")
    assert page.texts("p") == ["alone"]


def test_time_stamp_defaults_to_now():
    before = datetime.now(UTC)
    shown = datetime.fromisoformat(Page(HtmlReport("t").html()).find("time")[0]["attrs"]["datetime"])
    assert before <= shown <= datetime.now(UTC)


def test_text_is_escaped_in_every_slot():
    def named_figure():
        figure = light_figure(MARKUP)
        figure.axes[0].lines[0].set_gid(MARKUP)
        figure.axes[0].lines[0].set_url(MARKUP)
        return figure

    page = Page(full_report(MARKUP, (named_figure, heavy_figure)).html())
    assert not page.find("script")
    assert (
        page.texts("title") == page.texts("h1") == page.texts("code") == page.texts("p", class_="subtitle") == [MARKUP]
    )
    assert page.texts("h2")[0] == page.texts("a")[0] == page.texts("li")[2] == MARKUP
    assert page.texts("th", scope="row")[:4] == [MARKUP, "views", "t", MARKUP]
    assert page.texts("td")[0] == MARKUP
    assert page.texts("th", scope="col")[0] == MARKUP
    assert page.find("svg")[0]["attrs"]["aria-label"] == page.find("img")[0]["attrs"]["alt"] == MARKUP
    assert sum(MARKUP in text for text in page.texts("figcaption")) == 3


UNPRINTABLE = "bell\x07 null\x00 \ufffe\uffff \udce9 \u202e"


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
def test_characters_that_a_page_cannot_contain():
    def named_figure():
        return light_figure(UNPRINTABLE.replace("\x00", "").replace("\udce9", ""))

    html = full_report(UNPRINTABLE, (named_figure,)).html()
    page = Page(html)
    shown = r"bell\x07 null\x00 \ufffe\uffff \udce9 \u202e"
    assert page.texts("h1") == page.texts("title") == page.texts("code") == [shown]
    assert page.texts("td")[0] == shown
    html.encode()
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]", html)


def test_page_is_self_contained():
    def linked_figure():
        figure = light_figure()
        figure.axes[0].lines[0].set_url("https://example.org")
        return figure

    html = full_report(figures=(linked_figure, heavy_figure)).html()
    page = Page(html)
    addresses = [e["attrs"][name] for e in page.elements for name in ("src", "href") if name in e["attrs"]]
    addresses += re.findall(r"url\((.*?)\)", html)
    assert any(address.startswith("data:image/png") for address in addresses)
    assert all(address.startswith(("#", "data:image/")) for address in addresses)
    assert not page.find("link")
    for leftover in ("<?xml", "<!DOCTYPE svg", "<metadata", "<!--", "example.org"):
        assert leftover not in html


def test_ids_of_figures_are_unique():
    html = full_report().html()
    ids = [e["attrs"]["id"] for e in Page(html).elements if "id" in e["attrs"]]
    references = re.findall(r'href="#(.*?)"|url\(#(.*?)\)', html)
    assert len(ids) == len(set(ids))
    assert {a or b for a, b in references} <= set(ids)
    assert re.search(r"fill: url\(#figure-2-", html)
    styles = [e["text"] for e in Page(html).find("style", type="text/css")]
    assert [style.split()[0] for style in styles] == ["#figure-1", "#figure-2"]


@pytest.mark.parametrize("settings", [{}, {"svg.hashsalt": "other", "svg.fonttype": "none", "savefig.bbox": None}])
def test_same_parts_give_the_same_bytes(settings):
    with matplotlib.rc_context(settings):
        html = full_report().html()
    assert html == full_report().html()


def test_drawing_leaves_the_settings_unchanged():
    def state(figure):
        bounds = [ax.get_position().bounds for ax in figure.axes]
        return dict(matplotlib.rcParams), figure.dpi, tuple(figure.get_size_inches()), type(figure.canvas), bounds

    for figure in (light_figure(), heavy_figure()):
        figure.set_layout_engine("none")
        before = state(figure)
        HtmlReport("t").figure(figure, "c")
        assert state(figure) == before


def test_small_figures_are_svg_and_large_ones_png():
    report = HtmlReport("t")
    report.figure(light_figure(), "light")
    report.figure(heavy_figure(), "heavy", alt="many points")
    page = Page(report.html())
    assert [e["attrs"]["aria-label"] for e in page.find("svg")] == ["light"]
    (image,) = (e["attrs"] for e in page.find("img"))
    assert image["alt"] == "many points"
    content = base64.b64decode(image["src"].removeprefix("data:image/png;base64,"))
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20]) // 2 == int(image["width"])
    # Four inches at 96 dots, less the margin that a tight box leaves out.
    assert 300 < int(image["width"]) <= 4 * 96


def test_axes_are_accepted_as_figures():
    figure = Figure()
    axes = figure.subfigures(1, 2)[0].subplots()
    whole, part = (HtmlReport("t", when=WHEN) for _ in range(2))
    whole.figure(figure, "c")
    part.figure(axes, "c")
    assert whole.html() == part.html()


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.81234, 0.5], ["0.8123", "0.5000"]),
        ([np.float32(12.345), 0.5], ["12.35", "0.50"]),
        ([1234.56, 0.00123], ["1235", "0.00123"]),
        ([1e9, 0.5], ["1e+09", "0.5"]),
        ([0.5, 1e-8, 0.0], ["0.5000", "1e-08", "0.0000"]),
        ([0.0, float("inf")], ["0", "inf"]),
        ([7, np.int64(20251201)], ["7", "20251201"]),
        ([0.5, None, float("nan"), "failed"], ["0.5000", "\N{EN DASH}", "nan", "failed"]),
    ],
)
def test_numbers_in_tables(values, shown):
    cells, page = table_cells([["row", value] for value in values])
    assert cells == shown
    assert [e["attrs"].get("class") for e in page.find("th", scope="col")] == [None, "number"]
    assert len(page.find("td", class_="number")) == len(values)


@pytest.mark.parametrize(
    ("direction", "values", "shown"),
    [
        ("max", [0.1, 0.3, 0.2], ["0.1000", "<strong>0.3000</strong>", "<u>0.2000</u>"]),
        ("min", [0.1, 0.3, 0.2], ["<strong>0.1000</strong>", "0.3000", "<u>0.2000</u>"]),
        ("max", [0.30001, 0.30002, 0.1], ["<strong>0.3000</strong>", "<strong>0.3000</strong>", "<u>0.1000</u>"]),
        ("max", [float("nan"), None, 2, 10], ["nan", "\N{EN DASH}", "<u>2</u>", "<strong>10</strong>"]),
        ("min", [None, "failed"], ["\N{EN DASH}", "failed"]),
    ],
)
def test_best_and_second_best(direction, values, shown):
    assert table_cells([["row", value] for value in values], best={"value": direction})[0] == shown


def test_the_caption_explains_the_marks():
    report = HtmlReport("t")
    report.table(["m", "AMI", "ARI", "s"], [], caption="Scores.", best={"AMI": "max", "s": "min", "ARI": "max"})
    report.table(["m"], [["no caption"]])
    report.table(["m"], [], caption="Plain.")
    assert Page(report.html()).texts("figcaption") == [
        "Table 1. Scores. Best in bold, second best underlined (AMI, ARI: higher is better; s: lower is better).",
        "Table 2. Plain.",
    ]


def test_parameters():
    report = HtmlReport("t")
    report.parameters({"n_clusters": 10, "t": None, "strategy": "beam", "tol": 0.1})
    page = Page(report.html())
    assert page.texts("th") == ["n_clusters", "t", "strategy", "tol"]
    assert page.texts("td") == ["10", "default", "beam", "0.1"]


def test_folded_parts_are_closed():
    report = HtmlReport("t")
    with report.folded("Parameters <b>"):
        report.parameters({"t": 3})
    report.text("after")
    html = report.html()
    assert Page(html).texts("summary") == ["Parameters <b>"]
    assert "<details>\n<summary>" in html
    places = [html.index(text) for text in ("<details>", 'class="parameters"', "</details>", "<p>after")]
    assert places == sorted(places)


def test_warnings():
    report = HtmlReport("t")
    report.warnings(["a"])
    report.warnings(["b", "c"])
    report.warnings([])
    page = Page(report.html())
    assert page.texts("strong") == ["1 warning", "2 warnings"]
    assert page.texts("li") == ["a", "b", "c"]
    assert page.texts("span", class_="mark") == ["!", "!", "✓"]
    assert page.texts("div", class_="note") == ["✓Nothing to worry about"]


def test_code_is_shown_verbatim():
    code = "\nmdt run --n-clusters 10 -o 'a  b' \\\n\t--x=-1\n"
    report = HtmlReport("t")
    report.code(code)
    page = Page(report.html())
    assert page.texts("code") == [code]
    assert page.texts("span") == ["--n-clusters", "-o", "--x=-1"]


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda r: r.table(["a", "b"], [[1, 2], [3]]), ValueError, r"rows\[1\]: expected 2 cells.*, got 1"),
        (lambda r: r.table([], []), ValueError, "header: expected at least one column, got none"),
        (lambda r: r.table(["a"], [], best={"b": "max"}), ValueError, "best: expected one of 'a', got 'b'"),
        (lambda r: r.table(["a"], [], best={"a": "up"}), ValueError, r"best\['a'\]: expected one of 'max', 'min', got"),
        (lambda r: r.table(["a"], [], caption=1), TypeError, "caption: expected text, got 1 of type int"),
        (lambda r: r.table([0], []), TypeError, "header: expected text, got 0 of type int"),
        (lambda r: r.figure([1, 2], "c"), TypeError, "figure: expected a matplotlib Figure or Axes, got list"),
        (lambda r: r.figure(Figure().subplots(2), "c"), TypeError, "figure: expected .*, got ndarray"),
        (lambda r: r.figure(Figure(), None), TypeError, "caption: expected text, got None of type NoneType"),
        (lambda r: r.warnings("oops"), TypeError, "warnings: expected a list of texts, got the text 'oops'"),
        (lambda r: r.text(None), TypeError, "text: expected text, got None"),
        (lambda r: r.parameters({1: 2}), TypeError, "name: expected text, got 1"),
        (lambda r: HtmlReport(3), TypeError, "title: expected text, got 3"),
        (lambda r: HtmlReport("t", when="today"), TypeError, "when: expected a datetime or None, got 'today'"),
    ],
)
def test_bad_input_is_named_and_the_report_unchanged(call, error, match):
    report = HtmlReport("t", when=WHEN)
    with pytest.raises(error, match=match):
        call(report)
    assert report.html() == HtmlReport("t", when=WHEN).html()


def test_missing_matplotlib_is_named(monkeypatch):
    figure = Figure()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=re.escape("needs matplotlib: pip install 'mdt_fast[plot]'")):
        HtmlReport("t").figure(figure, "c")


def test_save_replaces_the_file(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    # A file name that is not UTF-8, as Python reads it from a folder.
    report = full_report("caf\udce9 é")
    assert report.save(str(path)) == path
    assert path.read_text(encoding="utf-8") == report.html()
    assert "caf\\udce9 é" in report.html()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["missing/report.html", "folder"])
def test_save_leaves_no_partial_file(tmp_path, place):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=place):
        full_report(figures=()).save(tmp_path / place)
    assert [p.name for p in tmp_path.rglob("*")] == ["folder"]


def test_browser_renders_the_page(browse, tmp_path):
    browse(
        full_report().save(tmp_path / "report.html"), f"--screenshot={tmp_path / 'page.png'}", "--window-size=1200,2400"
    )
    pixels = imread(tmp_path / "page.png")
    assert pixels.shape[:2] == (2400, 1200)
    # Paper, ink, warnings, the figures' own colours: a page without style or figures has far fewer.
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 200


ATTACKS = [
    "<script>document.title='run'</script>",
    "<img src=x onerror=\"document.title='run'\">",
    "\"><svg onload=document.title='run'>",
    "' onmouseover='document.title=1",
    "--></style></title><script>document.title='run'</script>",
    "javascript:document.title='run'",
    "<iframe srcdoc=\"<script>parent.document.title='run'</script>\"></iframe>",
    "<meta http-equiv=refresh content='0;url=http://example.invalid/'>",
    "{{7*7}} ${document.title='run'} \x00<script>",
]


@pytest.mark.parametrize("text", ATTACKS, ids=range(len(ATTACKS)))
def test_browser_runs_no_script(browse, tmp_path, text):
    report = full_report(text, (lambda: light_figure(text.replace("$", "").replace("\x00", "")),))
    dom, messages = browse(report.save(tmp_path / "report.html"), "--dump-dom", "--virtual-time-budget=1000")
    page = Page(dom)
    assert page.texts("title") == page.texts("h1") == [printable(text)]
    assert not [e for e in page.elements if e["tag"] in ("script", "iframe", "object", "embed", "form")]
    assert not [name for e in page.elements for name in e["attrs"] if name.startswith("on")]
    assert "CONSOLE" not in messages


def test_browser_requests_nothing(browse, tmp_path):
    report = full_report(MARKUP)
    dom, messages = browse(report.save(tmp_path / "report.html"), "--dump-dom")
    page = Page(dom)
    assert page.texts("title") == page.texts("h1") == [MARKUP]
    assert len(page.find("figure")) == 4
    assert not page.find("script")
    assert "CONSOLE" not in messages
    # The policy of the page makes the browser report any request.
    asking = tmp_path / "asking.html"
    asking.write_text(report.html().replace("</main>", '<img src="http://example.invalid/"></main>'), encoding="utf-8")
    assert "example.invalid" in browse(asking, "--dump-dom")[1]
