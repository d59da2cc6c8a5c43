"""The texts of two versions of a paper, compared: nothing is lost, nothing foreign is markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.web import comparison
from lafka.web.comparison import Comparer, Uncompared, compared, sentences
from tests.services.chromiums import goto_styled
from tests.sites.made_pdfs import Leaf, Text, made
from tests.stores import PID, START, Store, pdf
from tests.web.served import Served, serving
from tests.web.test_axe import violations
from tests.web.test_browser import BROKEN

pytest.importorskip("pypdfium2")
SCAN = "RePEc:abc:wpaper:scan"
HELD = "RePEc:wit:wpaper:1"
LONG = "Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaften"
OLD = (
    "Wages are <b>low</b>. Nobody knows why & how.",
    f"{LONG} fell by 3 percent. The end is here.",
)
NEW = (
    "Wages are <b>low</b>. Nobody knows why & how.",
    f"{LONG} fell by 4 percent. The end is here.",
)


def paper(*lines: str) -> bytes:
    return made([Leaf(lines=tuple(Text(said=line, down=12) for line in lines))])


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("compared")
    store = Store(folder / "archive")
    for pid, bodies in {
        PID: (paper(*OLD), paper(*NEW)), SCAN: (paper(*OLD), pdf("scan")),
        HELD: (paper("Held."), paper("Held still.")),
    }.items():  # fmt: skip
        for day, body in enumerate(bodies):
            at = START + timedelta(days=day)
            store.put(store.fut(body, pid=pid, futli=f"http://x.example/{pid[6:]}", at=at))
    with serving(store, folder / "withheld") as served:
        yield served


def by_form(served: Served, pid: str) -> str:
    """Where the form on the page of *pid* leads as it stands there; empty without a form."""
    text = httpx.get(f"{served.pages}/papers/{quote(pid, safe='')}").text
    found = re.search(r'<form action="([^"]+/compare)".*?</form>', text, re.DOTALL)
    if found is None:
        return ""
    old, new = re.findall(r'<select[^>]*><option value="([^"]+)">', found[0])
    return f"{served.pages}{found[1]}?old={old}&new={new}"


def test_the_form_of_a_paper_leads_to_what_changed(two: Served) -> None:
    page = httpx.get(by_form(two, PID))
    assert page.status_code == 200
    assert re.findall("<(del|ins)>(3|4)</", page.text) == [("del", "3"), ("ins", "4")]
    shown = unescape(re.sub("<[^>]+>", "", page.text))
    assert f"Nobody knows why & how. {LONG} fell by 3 4 percent. The end is here." in shown
    assert "1 sentence is the same." in shown
    assert "<b>" not in page.text
    assert "script" not in page.headers["Content-Security-Policy"]


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_a_reader_compares_on_a_screen_of(browser: Any, two: Served, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    try:
        goto_styled(page, f"{two.pages}/papers/{quote(PID, safe='')}")
        page.get_by_role("button", name="Compare").click()
        page.wait_for_url("**/compare?*")
        assert page.locator("del", has_text="3").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(BROKEN) == []
    finally:
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_wrong(browser: Any, two: Served, scheme: str) -> None:
    assert violations(browser, by_form(two, PID), scheme) == []


def test_where_there_is_no_text_a_sentence_says_so(two: Served) -> None:
    page = httpx.get(by_form(two, SCAN))
    assert page.status_code == 200
    assert "No text can be read from the newer version; it may be a scan." in page.text


def test_the_same_version_twice_has_the_same_words(two: Served) -> None:
    url = re.sub("old=(.*)&new=.*", r"old=\1&new=\1", by_form(two, PID))
    assert "The words are the same" in httpx.get(url).text


def test_versions_that_are_not_there_or_withheld_are_not_compared(two: Served) -> None:
    assert httpx.get(by_form(two, PID) + "0").status_code == 404
    assert httpx.get(by_form(two, PID).partition("?")[0]).status_code == 404
    assert by_form(two, HELD) == ""
    held = by_form(two, PID).replace(quote(PID, safe=""), quote(HELD, safe=""))
    assert httpx.get(held).status_code == 451


def test_without_pypdfium2_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "find_spec", lambda name: None)
    assert "pypdfium2" in Comparer().compare(b"", b"").problem


def test_a_pdf_that_stops_its_reader_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MODULE", "tests.sites.dying_texts")
    with pytest.raises(Uncompared, match="cannot be compared"):
        Comparer().compare(pdf(1), pdf(2))


def test_who_comes_while_all_children_work_is_told_so() -> None:
    comparer = Comparer()
    for _ in range(comparison.COUNT):
        comparer._free.acquire()
    with pytest.raises(Uncompared, match="come again"):
        comparer.compare(b"", b"")


def test_words_broken_at_other_lines_are_the_same() -> None:
    old = sentences("The eco-\nnomy grew.\fIt is\x02\nall.")
    assert compared(old, sentences("The economy\ngrew. It isall."))["changes"] == []
    assert compared(["It is -5."], ["It is 5."])["changes"] != []


def test_what_is_too_much_to_show_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "SHOWN_MAX", 5)
    old = [f"{word}{n}." for n in range(9) for word in "abc"]
    new = [one.replace("b", "x") for one in old]
    found = compared(old, [*new[:2], *old[2:20], *new[20:]])
    assert (len(found["changes"]), found["rest"]) == (1, 0)
    assert found["left_out"] > 0


words = st.sampled_from(["ab", "c", "d.", "e.", "f"])
texts = st.lists(words, min_size=1, max_size=30).map(" ".join)


@given(texts, texts)
def test_both_texts_can_be_had_from_the_changes(old: str, new: str) -> None:
    sides = {"gone": sentences(old), "new": sentences(new)}
    found = compared(sides["gone"], sides["new"])
    said: dict[str, list[str]] = {"gone": [], "new": []}
    place = 0
    for skipped, parts in found["changes"]:
        for side in said.values():
            side += sides["gone"][place : place + skipped]
        place += skipped
        for side, mine in said.items():
            mine += [text for kind, text in parts if kind in ("same", side)]
        place = _place_after(sides["gone"], said["gone"])
    for side, mine in said.items():
        mine += sides["gone"][len(sides["gone"]) - found["rest"] :] if found["rest"] else []
        assert " ".join(mine).split() == " ".join(sides[side]).split()


def _place_after(sentences: list[str], said: list[str]) -> int:
    """How many *sentences* the words of *said* are."""
    left, place = len(" ".join(said).split()), 0
    while left > 0:
        left -= len(sentences[place].split())
        place += 1
    return place
