"""The HTML report in a real browser: nothing is fetched, no script, readable by all, printable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lafka.reports.report import ReportOptions, answer
from tests.index.histories import History, at, line
from tests.services import npms
from tests.services.chromiums import browsing

HOSTILE = '"><script>document.title = "run"</script><img src=http://127.0.0.1:9/x onerror=alert(1)>'
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
A4 = (595, 842)
"""Points."""


@pytest.fixture(scope="module", params=["whole", "for a maintainer"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    history = History(folder / "archive", batch=100)
    for number in range(8):
        history.suwaf(number, {0: [0.0, 30.0] if number == 3 else [0.0]})
    history.feed(1, *(line(number, 0.001, new=True) for number in range(8)))
    for run, day in ((2, 10), (3, 20)):
        history.feed(run, *(line(number, day, "not-found") for number in (1, 2)))
        history.feed(run, line(5, day, "timeout"))
    ugly = line(30, 40, "gone", error=HOSTILE) | {"futli": f"http://x.example/{HOSTILE}"}
    history.feed(4, line(4, 40, splap="https://new.example/4"), ugly)
    parked = [{"host": HOSTILE, "times": 2, "longest": 3.5}]
    history.report(1, started=at(0), finished=at(1), seconds=10.0, hosts={"parked": parked})
    history.report(4, started=at(40), reason="shutdown", done=False, lines=2)
    history.index()
    asked = ReportOptions(output="x.html", archive="" if request.param == "whole" else "abc")
    path = folder / "report.html"
    with closing(history.open()) as db:
        path.write_bytes(answer(db, asked))
    assert b"&lt;script&gt;" in path.read_bytes()
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as made:
        yield made


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    made = browser.new_page()
    yield made
    made.close()


def test_it_opens_alone_and_runs_nothing(page: Any, file: Path) -> None:
    requests, told = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.goto(file.as_uri(), wait_until="networkidle")
    assert requests == [file.as_uri()]
    assert told == []
    assert "run" not in page.title()
    assert page.evaluate("document.scripts.length + document.images.length") == 0
    handlers = "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
    assert [name for name in page.evaluate(handlers) if name.startswith("on")] == []
    assert page.locator("table caption").count() > 0
    assert HOSTILE in page.evaluate("document.body.textContent")


def test_a_plot_is_drawn_and_has_its_words(page: Any, file: Path) -> None:
    page.goto(file.as_uri())
    for drawn in page.locator("figure svg, .wide svg").all():
        box = drawn.bounding_box()
        assert box["width"] > 100
        assert box["height"] > 20
        assert drawn.locator("[aria-label]").count() > 0


@pytest.mark.parametrize("width", [1280, 320])
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    page: Any, file: Path, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(file.as_uri())
    beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(beyond) == 0
    page.evaluate(npms.member("axe-core@4.10.2", "axe.min.js").decode())
    options = {"runOnly": {"type": "tag", "values": TAGS}}
    found = page.evaluate("options => axe.run(document, options)", options)
    assert found["passes"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []


def test_it_prints_on_a4_with_all_that_is_in_it(page: Any, file: Path) -> None:
    page.goto(file.as_uri())
    printed = page.pdf(prefer_css_page_size=True)
    sizes = re.findall(rb"/MediaBox \[0 0 ([0-9.]+) ([0-9.]+)\]", printed)
    assert sizes
    assert {(round(float(width)), round(float(height))) for width, height in sizes} == {A4}
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 680, "height": 980})  # A4 within its margins
    assert not page.locator("nav").is_visible()
    cut = """[...document.querySelectorAll('.wide')].filter(
        e => e.getBoundingClientRect().right > innerWidth + 1
          || getComputedStyle(e).overflowX !== 'visible').length"""
    assert page.evaluate(cut) == 0
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wider) <= 0
