"""A reader's front: papers are found by what is known of them, pages say what became of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from markupsafe import Markup

from lafka.index import search
from lafka.index.rows import STATES
from lafka.warc.errors import BadWarc
from lafka.web.pages import STATE_WORDS, when
from tests.stores import START, Store, pdf
from tests.web.inside import PAGES, ask, inside
from tests.web.served import Served, filled, serving

TITLED, JAPANESE, LATER, GONE = (f"RePEc:{name}" for name in (
    "ttl:wpaper:1", "ttl:journl:v:1:y:1994", "oth:wpaper:2", "oth:wpaper:gone"
))  # fmt: skip
LINK = "http://www.y.example:8080/papers/1.pdf"


def splap(title: str, *authors: str) -> bytes:
    metas = "".join(f'<meta name="citation_author" content="{one}">' for one in authors)
    return f'<html><head><meta name="citation_title" content="{title}">{metas}</head>'.encode()


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("front")
    store = Store(folder / "archive")
    told = {
        TITLED: splap("Wages &amp; &lt;blink&gt;work&lt;/blink&gt; in Zürich", "Ada One", "Bo Two"),
        JAPANESE: splap("日本経済の研究", "山田太郎"),
        LATER: splap("Work alone \u202e"),
    }
    for number, (pid, page) in enumerate(told.items()):
        found = store.splap(page, pid=pid, futli=f"http://x.example/{number}")
        store.put(found, store.found(found, f"http://x.example/{number}.pdf", pdf(number)))
    again = {"pid": TITLED, "futli": LINK}
    for day in range(3):
        body = pdf(f"day {day // 2}")
        store.put(store.fut(body, at=START + timedelta(days=day), **again))
    store.put(store.fut(pdf("gone"), pid=GONE, futli="http://z.example/gone.pdf"))
    with serving(store, folder / "withheld") as served:
        store.warc(GONE).rename(folder / "taken away")
        yield served


@pytest.fixture
def client(front: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=front.pages) as made:
        yield made


class Links(HTMLParser):
    """The pids of the papers that a page lists."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.papers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "a" and told.get("class") == "title":
            self.papers.append(str(told["href"]).replace("%3A", ":").removeprefix("/papers/"))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("zurich wages", [TITLED]), ("work", [LATER, TITLED]), ("Ada", [TITLED]),
        ("経済", [JAPANESE]), ("太郎", [JAPANESE]), (TITLED, [TITLED]), ("repec:TTL:", None),
        (LINK, [TITLED]), ("y.example:8080/papers/1.pdf", [TITLED]),
        ("https://y.example:8080/papers/", [TITLED]), ("y.example", [TITLED]),
        ("www.y.example", [TITLED]), ("z.example", [GONE]), ("nobody", []),
    ],
)  # fmt: skip
def test_a_paper_is_found_by(client: httpx.Client, query: str, found: list[str] | None) -> None:
    answer = client.get("/search", params={"q": query})
    assert answer.status_code == 200
    papers = Links(answer.text).papers
    assert papers == found if found is not None else sorted(papers) == [JAPANESE, TITLED]
    count = len(papers)
    assert (f"{count} paper{'' if count == 1 else 's'}, " in answer.text) is bool(papers)


def test_words_are_marked_and_nothing_foreign_is_markup(client: httpx.Client) -> None:
    text = client.get("/search", params={"q": "work zu"}).text
    assert "&lt;blink&gt;<mark>work</mark>&lt;/blink&gt;" in text
    assert "<mark>Zürich</mark>" in text
    page = client.get("/search", params={"q": "a\x00\x1b\u202eb"}).text
    assert not set(page) & set("\x00\x1b\u202e")
    assert 'value="ab"' in page


def test_what_is_found_is_narrowed_by_links(client: httpx.Client) -> None:
    text = client.get("/search?q=work").text
    shown = r'href="(/search\?q=work&amp;[^"]+)">[^<]*</a> <span class="quiet">([0-9]+)<'
    facets = dict(re.findall(shown, text))
    assert "/search?q=work&amp;archive=oth" in facets
    for url, count in facets.items():
        assert len(Links(client.get(url.replace("&amp;", "&")).text).papers) == int(count)
    narrowed = client.get("/search?q=work&archive=oth").text
    assert 'name="archive" value="oth"' in narrowed
    assert 'href="/search?q=work"' in narrowed


def test_a_search_that_ended_before_its_end_says_so(
    front: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RARE", "PART"):
        monkeypatch.setattr(search, name, 1)
    at, seen = "q=repec+work", list[str]()
    with inside(front.store, tmp_path) as web:
        _, body = ask(web, PAGES, b"/api/v1/search", at.encode())
        while at:
            text = ask(web, PAGES, b"/search", at.encode())[1].decode()
            papers = Links(text).papers
            seen += papers
            assert "only a part of the index was looked through" in text
            assert ("At least 1 paper, shortest title first." in text) is bool(papers)
            found = re.search(r'href="/search\?([^"]+)" rel="next">(More papers|Look on)<', text)
            at = found[1].replace("&amp;", "&") if found else ""
    assert sorted(seen) == [LATER, TITLED]
    told = json.loads(body)
    assert (told["count"], told["is_least"], told["way"]) == (1, True, "frequent-words")
    assert told["note"].endswith("A rarer word finds more.")


def test_archives_and_series_are_found_in_any_case(client: httpx.Client) -> None:
    for upper, lower in (("TTL", "ttl"), ("ttl/WPaper", "ttl/wpaper"), ("Ttl/wpaper?year=1994",
                         "ttl/wpaper?year=1994"), ("NONE", "none")):  # fmt: skip
        answer = client.get(f"/archives/{upper}")
        assert (answer.status_code, answer.headers["Location"]) == (301, f"/archives/{lower}")
    assert client.get("/archives/TTL", follow_redirects=True).status_code == 200


def test_archives_series_years_and_the_newest_are_browsed(client: httpx.Client) -> None:
    assert 'href="/archives/ttl"' in client.get("/archives").text
    assert 'href="/archives/ttl/wpaper"' in client.get("/archives/ttl").text
    assert Links(client.get("/archives/ttl/wpaper").text).papers == [TITLED]
    assert 'href="/search?year=1994"' in client.get("/years").text
    assert Links(client.get("/search?year=1994").text).papers == [JAPANESE]
    assert Links(client.get("/search").text).papers[0] == TITLED
    for missing in ("/archives/none", "/archives/ttl/none"):
        assert client.get(missing).status_code == 404


def test_a_paper_tells_its_life(client: httpx.Client, front: Served) -> None:
    page = client.get(f"/papers/{quote(TITLED, safe='')}")
    assert page.text.count('class="k-first"') == 2
    assert page.text.count('class="k-same"') == 1
    assert page.text.count('class="k-changed"') == 1
    names = [link["rel"] for link in page.links.values()]
    assert names.count("cite-as") == names.count("describedby") == names.count("type") == 1
    for name, content in {
        "citation_title": "Wages &amp; &lt;blink&gt;work&lt;/blink&gt; in Zürich",
        "citation_author": "Ada One",
        "citation_pdf_url": f"{front.bytes}/futs/{quote(TITLED, safe='')}",
    }.items():  # fmt: skip
        assert f'<meta name="{name}" content="{content}">' in page.text
    assert 'itemtype="https://schema.org/ScholarlyArticle"' in page.text
    for rel in ("cite-as", "describedby", "item"):
        assert httpx.get(page.links[rel]["url"]).status_code == 200
    told = client.get(f"/api/v1/papers/{quote(TITLED, safe='')}").json()
    assert told["authors"] == "Ada One; Bo Two"
    assert len(told["timeline"]) == 4


def test_a_capture_shows_its_head_line_by_line(client: httpx.Client) -> None:
    paper = quote(TITLED, safe="")
    capture = client.get(f"/api/v1/papers/{paper}").json()["captures"][0]["record"]
    text = client.get(f"/papers/{paper}/captures/{capture}").text
    assert re.search(r"<pre[^>]*>HTTP/1\.1 200 OK\nContent-Type: [^\\]*</pre>", text)
    assert f"A capture of {TITLED}" in text


def test_a_paper_lives_without_its_warc(client: httpx.Client, front: Served) -> None:
    page = client.get(f"/papers/{quote(GONE, safe='')}")
    assert page.status_code == 200
    assert "Its WARC is missing or damaged here" in page.text
    assert str(front.store.root) not in page.text
    answer = httpx.get(f"{front.bytes}/futs/{quote(GONE, safe='')}")
    assert answer.status_code == 404
    assert str(front.store.root) not in answer.text


def test_no_sentence_says_where_the_archive_lies(front: Served) -> None:
    warc = front.store.warc(LATER)
    data = warc.read_bytes()
    warc.write_bytes(data[:100])
    try:
        answer = httpx.get(f"{front.bytes}/futs/{quote(LATER, safe='')}")
    finally:
        warc.write_bytes(data)
    assert answer.status_code == 503
    assert str(front.store.root) in str(BadWarc(warc, "x"))
    assert str(front.store.root) not in answer.text


def test_the_first_page_says_what_is_here(client: httpx.Client) -> None:
    text = client.get("/").text
    assert re.search(r"holds [\d,]+ full texts of 4 papers", text)
    assert "<svg" in text
    told = client.get("/api/v1/summary").json()
    assert (told["papers"], told["papers_with_title"]) == (4, 3)
    assert sum(papers for _, papers, _ in told["archives"]) == 4


def test_the_first_page_says_in_whole_words_what_became_of_links(tmp_path: Path) -> None:
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf("held"), pid="RePEc:abc:wpaper:1", futli="http://x.example/1.pdf"))
    other = {"pid": "RePEc:abc:wpaper:2", "futli": "http://x.example/2", "label": "supplement"}
    store.put(store.fut(pdf("a form"), **other))
    with serving(store, tmp_path / "withheld") as served:
        home, paper, host = (
            httpx.get(served.pages + path).text
            for path in ("/", "/papers/RePEc:abc:wpaper:2", "/hosts/x.example")
        )
    assert '<a href="/search?state=never">1 without a full text so far</a>' in home
    assert '<a href="/search?state=held">1 with a full text</a>' in home
    assert ">without a full text so far<" in paper
    assert ">without a full text so far<" in host
    assert set(STATE_WORDS) == set(STATES)


def test_pages_say_no_more_than_a_reader_needs(client: httpx.Client) -> None:
    """The way up from a series, and no state twice."""
    archive, series = (client.get(f"/archives/oth{more}").text for more in ("", "/wpaper"))
    assert '<nav class="way"' in archive
    assert ' / <a href="/archives/oth">oth</a>' in series
    assert "with a full text</span></span>" not in series
    assert re.search(r"[1-9] full texts?</span> <span>last had", series)
    assert when("2026-11-28T13:10:59Z", clock=True) == Markup(
        '<time datetime="2026-11-28T13:10:59Z" title="2026-11-28T13:10:59Z">28\xa0Nov\xa02026,'
        "\xa013:10</time>"
    )
    assert "," not in when("2026-11-28", clock=True)


def test_a_paper_without_a_title_is_cited_by_its_pid_once(client: httpx.Client) -> None:
    cited = client.get(f"/papers/{quote(GONE, safe='')}").text.partition('class="cite">')[2]
    assert cited.partition("</p>")[0].count(GONE) == 1


def test_what_is_found_tells_its_order(client: httpx.Client) -> None:
    told = {"q=x.example": "as they came", "q=RePEc:ttl": "by pid", "q=work": "best first",
            "state=held": "newest first", "year=1994": "as they came"}  # fmt: skip
    for query, order in told.items():
        assert f", {order}.</p>" in client.get(f"/search?{query}").text, query


def test_a_run_tells_its_list_and_times_and_no_path(tmp_path: Path) -> None:
    store = filled(tmp_path / "archive")
    run = {"format": 1, "run": "20261128T131122321905Z-vm-1", "done": True, "reason": "finished",
           "started": "2026-11-28T13:11:22Z", "finished": "2026-11-28T14:01:00Z", "lines": 1,
           "list": {"path": "/srv/secret/list.tsv", "lines": 1}, "arguments": {}}  # fmt: skip
    (store.root / "runs").mkdir(exist_ok=True)
    (store.root / "runs" / f"{run['run']}.json").write_text(json.dumps(run))
    with inside(store, tmp_path) as web:
        status, body = ask(web, PAGES, f"/runs/{run['run']}".encode())
        _, told = ask(web, PAGES, b"/api/v1/runs")
    assert [one["list"] for one in json.loads(told)["runs"]] == ["list.tsv"]
    text = body.decode()
    assert (status, "secret" in text, "<dd>list.tsv</dd>" in text) == (200, False, True)
    assert "28\xa0Nov\xa02026,\xa014:01" in text
    assert "<dt>state</dt><dd>finished</dd>" in text
    assert "<dt>reason</dt>" not in text
