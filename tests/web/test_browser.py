"""The pages in a real browser: found, read, shut in, usable by everybody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest

from tests.services.chromiums import goto_styled
from tests.stores import pdf
from tests.web import escapes
from tests.web.escapes import Listener
from tests.web.served import HOSTILE, PID, Served, filled, serving

LONG = "RePEc:abc:journl:v:12:y:1994:i:3:p:211-240"
TITLE = f"{'Donaudampfschifffahrts' * 5} und دراسة في اقتصاد العمل"
KINDS = ("/", "/search?q=Donau", f"/papers/{quote(LONG, safe='')}", "/years", "/search?q=abc",
         f"/papers/{PID}", "/runs", "/archives/abc", "/archives/abc/wpaper", "/papers/none",
         f"/papers/{quote(HOSTILE, safe='')}")  # fmt: skip


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, listener: Listener) -> Iterator[Served]:
    """An archive whose pages try every way out, served."""
    folder = tmp_path_factory.mktemp("browser")
    store = filled(folder / "archive", escapes.page(listener.at))
    long = f'<meta name="citation_title" content="{TITLE}">'.encode()
    splap = store.splap(long, pid=LONG, futli="http://x.example/long")
    store.put(splap, store.found(splap, "http://x.example/long.pdf", pdf("long")))
    with serving(store, folder / "withheld") as served:
        yield served


@contextmanager
def opened(browser: Any, **how: Any) -> Iterator[Any]:
    page = browser.new_page(**how)
    try:
        yield page
    finally:
        page.close()


def test_a_stranger_finds_a_paper_and_reads_it(browser: Any, hostile: Served) -> None:
    with opened(browser) as page:
        page.goto(hostile.pages)
        page.get_by_label("Title, author, pid, DOI, link or host").fill(PID)
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name=PID, exact=True).click()
        assert page.get_by_role("heading", level=1).inner_text() == PID
        assert page.get_by_role("table", name="Captures").locator("tbody tr").count() == 4
        page.wait_for_function("() => document.querySelectorAll('iframe').length == 2")
        with page.expect_response(lambda answer: "/futs/" in answer.url) as answer:
            page.reload()
        assert answer.value.status == 200
        # The viewer is a frame of the browser's own inside the frame.
        for _ in range(100):
            if any(frame.url.startswith("chrome-extension://") for frame in page.frames):
                break
            page.wait_for_timeout(100)
        else:
            pytest.fail("the viewer did not open")


def test_a_hostile_page_reaches_nobody(browser: Any, hostile: Served, listener: Listener) -> None:
    with opened(browser) as page:
        page.goto(f"{hostile.pages}/papers/{quote(HOSTILE, safe='')}")
        page.locator("iframe[sandbox]").scroll_into_view_if_needed()
        page.wait_for_load_state("networkidle")
        frame = page.frame_locator("iframe[sandbox]")
        frame.get_by_text("Words that stay.").wait_for()
        frame.locator("#plain, a").first.click(force=True)
        page.wait_for_timeout(500)
        assert page.url.startswith(hostile.pages)
    assert listener.connections == 0


def test_a_hostile_page_opened_by_itself_reaches_nobody(
    browser: Any, hostile: Served, listener: Listener
) -> None:
    import httpx

    told = httpx.get(f"{hostile.pages}/api/v1/papers/{quote(HOSTILE, safe='')}").json()
    with opened(browser) as page:
        for capture in told["captures"]:
            if capture["url"].endswith("/hostile"):
                page.goto(capture["at"])
                page.wait_for_load_state("networkidle")
                page.get_by_text("Words that stay.").wait_for()
                page.get_by_text("A link").click(force=True)
                page.wait_for_timeout(500)
    assert listener.connections == 0


def test_the_listener_would_have_noticed(browser: Any, listener: Listener) -> None:
    """The same page, not shut in, does reach it: the test above can fail."""
    with opened(browser) as page:
        page.route("**/*", lambda route: route.fulfill(
            body=escapes.page(listener.at), content_type="text/html"
        ) if route.request.url == "http://127.0.0.1:9/" else route.continue_())  # fmt: skip
        page.goto("http://127.0.0.1:9/", wait_until="commit")
        for _ in range(100):
            if listener.connections:
                break
            page.wait_for_timeout(100)
    assert listener.connections > 0
    listener.connections = 0


@pytest.mark.parametrize("path", KINDS)
def test_no_page_needs_a_script_or_asks_elsewhere(browser: Any, hostile: Served, path: str) -> None:
    asked: list[str] = []
    errors: list[str] = []
    with opened(browser, java_script_enabled=False) as page:
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{hostile.pages}{path}")
        assert page.locator("main h1").count() == 1
    ours = (hostile.pages, hostile.bytes, "chrome", "data:", "about:")
    assert [url for url in asked if not url.startswith(ours)] == []
    assert errors == []


BROKEN = """() => [...document.querySelectorAll('thead th, .n, .t, time')].filter(one => {
  const range = document.createRange();
  const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    for (const word of walker.currentNode.data.matchAll(/[^ ]+/g)) {
      range.setStart(walker.currentNode, word.index);
      range.setEnd(walker.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(box => box.top)).size > 1) return true;
    }
  }
}).map(one => one.outerHTML)"""
"""Heads, numbers and dates of which a word stands on two lines."""


@pytest.mark.parametrize("path", KINDS)
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_a_page_fits_its_width(browser: Any, hostile: Served, path: str, width: int) -> None:
    with opened(browser, viewport={"width": width, "height": 800}) as page:
        goto_styled(page, f"{hostile.pages}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(BROKEN) == []


@pytest.mark.parametrize("width", [390, 1280])
def test_what_narrows_a_search_is_met_before_the_results(
    browser: Any, hostile: Served, width: int
) -> None:
    viewport = {"width": width, "height": 800}
    with opened(browser, viewport=viewport, java_script_enabled=False) as page:
        goto_styled(page, f"{hostile.pages}/search?q=RePEc")
        button, first = page.locator(".narrow > summary"), page.locator(".papers a").first
        link = page.locator("aside a").first
        if width == 390:
            assert button.bounding_box()["y"] < first.bounding_box()["y"] < 800
            assert not link.is_visible()
            button.click()
            assert link.bounding_box()["y"] < first.bounding_box()["y"]
        else:
            assert not button.is_visible()
            assert link.bounding_box()["x"] > first.bounding_box()["x"] + 400
            assert link.bounding_box()["y"] < 800
        link.click()
        page.wait_for_url("**/search?*&*")


def test_what_is_printed_has_no_form_and_no_menu(browser: Any, hostile: Served) -> None:
    with opened(browser) as page:
        page.emulate_media(media="print")
        goto_styled(page, f"{hostile.pages}/papers/{quote(LONG, safe='')}")
        assert page.get_by_role("heading", level=1).inner_text() == TITLE
        shown = page.locator("header nav, form, iframe").evaluate_all(
            "all => all.filter(one => one.checkVisibility()).length"
        )
        assert shown == 0


def test_a_paper_is_found_by_keyboard_alone(browser: Any, hostile: Served) -> None:
    with opened(browser) as page:
        page.goto(hostile.pages)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == "q":
                break
        page.keyboard.type(PID)
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?*")
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == PID:
                break
        page.keyboard.press("Enter")
        page.wait_for_url("**/papers/**")
