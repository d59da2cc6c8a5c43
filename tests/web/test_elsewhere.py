"""What other programs make of it: the WACZ validator, pywb, ReplayWeb.page in a browser."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from lafka.papers import package, pieces
from lafka.warc import Entry
from lafka.warc.converting.packing import pack
from lafka.warc.format.dates import WarcDate
from lafka.web.captures import Captures
from lafka.web.site import Origins, Site
from tests.services import apart, npms
from tests.services.chromiums import browsing
from tests.services.ports import free_port
from tests.sites import loopback
from tests.sites.loopback import QuietHandler
from tests.stores import Store, pdf
from tests.waiting import LIMIT
from tests.web.served import AT, BIG, COLON_AT, FUTLI, PID, Served, serving


@pytest.fixture
def wacz(served: Served, tmp_path: Path) -> Path:
    path = tmp_path / "two.wacz"
    pack(pieces(served.store.archive, [PID, BIG]), path, package("Two papers"))
    return path


@pytest.mark.server("wacz, of make services")
def test_the_validator_is_content_with_a_wacz(wacz: Path, tmp_path: Path) -> None:
    done = apart.run("wacz", "validate", "-f", wacz, cwd=tmp_path)
    assert "Validation succeeded" in done.stdout + done.stderr, done.stdout + done.stderr


class Files(QuietHandler, SimpleHTTPRequestHandler):
    """What lies in a folder."""


@contextmanager
def files_of(folder: Path) -> Iterator[str]:
    """The address of *folder* on loopback."""
    with loopback.serving(functools.partial(Files, directory=str(folder))) as address:
        yield address


@pytest.mark.server("Chromium")
def test_replayweb_page_shows_a_page_of_a_wacz(wacz: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "replay").mkdir(parents=True)
    (site / "x.wacz").write_bytes(wacz.read_bytes())
    (site / "ui.js").write_bytes(npms.member("replaywebpage@2.5.3", "ui.js"))
    for name in ("sw.js", "ui.js"):
        (site / "replay" / name).write_bytes(npms.member("replaywebpage@2.5.3", name))
    # The frame asks the server where the service worker is not at work yet.
    (site / "replay" / "index.html").write_text(
        "<!DOCTYPE html><html><body><script src='./ui.js'></script>"
        "<replay-app-main></replay-app-main></body></html>",
        "utf-8",
    )
    (site / "index.html").write_text(
        "<!DOCTYPE html><html><body><script src='/ui.js'></script>"
        f"<replay-web-page source='/x.wacz' url='{FUTLI}' embed='default' replayBase='/replay/'>"
        "</replay-web-page></body></html>",
        "utf-8",
    )
    with files_of(site) as address, browsing() as browser:
        page = browser.new_page(viewport={"width": 1000, "height": 800})
        page.goto(address)
        for _ in range(300):
            if any("/w/" in frame.url and "second" in _text(frame) for frame in page.frames):
                break
            page.wait_for_timeout(100)
        else:
            pytest.fail(f"the page was not replayed: {[frame.url for frame in page.frames]}")


def _text(frame: object) -> str:
    try:
        return str(frame.evaluate("document.body ? document.body.innerText : ''"))  # type: ignore[attr-defined]
    except Exception:
        return ""


@pytest.mark.parametrize("time", ["2", "20", "202", "2026", "202611", "20261121", "20261121000000"])
def test_a_time_may_be_a_beginning_of_one(served: Served, time: str) -> None:
    query = f"url={AT}&sort=closest&limit=1&fl=timestamp&closest={time}"
    answer = httpx.get(f"{served.bytes}/web/cdx?{query}")
    assert (answer.status_code, len(answer.text.splitlines())) == (200, 1)


@pytest.mark.parametrize("time", ["x", "20261", "20263", "202613", "20260230", "9" * 14, "2" * 15])
def test_a_time_of_no_calendar_is_refused(served: Served, time: str) -> None:
    status = httpx.get(f"{served.bytes}/web/cdx?url={AT}&closest={time}").status_code
    assert status == (200 if time == "20261" else 400)


def test_the_name_of_a_warc_is_escaped_once(served: Served) -> None:
    line = httpx.get(f"{served.bytes}/web/cdx?url={COLON_AT}&fl=filename,offset&limit=1").text
    name, offset = line.split()
    assert name == "RePEc/abc/journl/v%253A1%253Ay%253A2026.warc"
    start = {"Range": f"bytes={offset}-{int(offset) + 7}"}
    assert httpx.get(f"{served.bytes}/warc/{name}", headers=start).content == b"WARC/1.1"


@pytest.mark.server("pywb")
@pytest.mark.parametrize("way", ["by our mementos", "by our WARCs"])
def test_pywb_replays_by_our_addresses(served: Served, tmp_path: Path, way: str) -> None:
    lines = ["collections:", "  lafka:", f"    index_paths: cdx+{served.bytes}/web/cdx"]
    if way == "by our WARCs":
        lines.append(f"    archive_paths: {served.bytes}/warc/")
    (tmp_path / "config.yaml").write_text("\n".join(lines) + "\n", "utf-8")
    port = free_port()
    pywb = subprocess.Popen(
        [apart.program("wayback"), "-p", str(port), "-b", "127.0.0.1"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        transport = httpx.HTTPTransport(retries=12)  # until it listens
        with httpx.Client(transport=transport, timeout=LIMIT, follow_redirects=True) as client:
            answer = client.get(f"http://127.0.0.1:{port}/lafka/id_/{AT}")
            assert answer.content == pdf("second"), answer.text[:500]
            colon = client.get(f"http://127.0.0.1:{port}/lafka/id_/{COLON_AT}")
            assert colon.content == pdf("colon"), colon.text[:500]
            page = client.get(f"http://127.0.0.1:{port}/lafka/2026mp_/{FUTLI}")
            assert "1.pdf" in page.text
            missing = client.get(f"http://127.0.0.1:{port}/lafka/id_/http://x.example/none")
            assert missing.status_code == 404
    finally:
        pywb.terminate()
        pywb.communicate()


def understood(client: str, served: Served, url: str, folder: Path) -> Any:
    """What the foreign *client* made of *url*; it can reach nothing but loopback."""
    script = Path(__file__).with_name("foreign_clients.py")
    done = apart.python("cdxt", script, client, served.bytes, url, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.server("cdx_toolkit, of make services")
def test_cdx_toolkit_finds_and_reads_captures(served: Served, tmp_path: Path) -> None:
    found = understood("cdx_toolkit", served, AT, tmp_path)
    both = [pdf(name).decode("latin-1") for name in ("first", "second")]
    assert found["bodies"] == found["records"] == both
    assert found["times"] == found["page by page"]
    assert found["since"] == found["times"][1:]
    assert (found["matching"], found["none"], found["size"]) == (2, [], 1)
    revisited = understood("cdx_toolkit", served, COLON_AT, tmp_path)["bodies"]
    assert revisited == [pdf("colon").decode("latin-1")] * 2


@pytest.mark.server("wayback, of make services")
@pytest.mark.parametrize(("url", "names"), [(AT, ["first", "second"]), (COLON_AT, ["colon"] * 2)])
def test_wayback_finds_and_reads_captures(
    served: Served, tmp_path: Path, url: str, names: list[str]
) -> None:
    found = understood("wayback", served, url, tmp_path)
    assert found["bodies"] == [pdf(name).decode("latin-1") for name in names]
    assert found["near"] in found["bodies"]
    assert found["urls"] == [url] * 2
    assert found["statuses"] == [200] * 2
    assert {"original", "timegate", "timemap"} <= set(found["links"])
    assert "never archived" in found["none"]


@pytest.mark.server("memento_client, of make services")
def test_memento_client_negotiates_by_our_timegate(served: Served, tmp_path: Path) -> None:
    found = understood("memento_client", served, AT, tmp_path)
    assert (found["original"], found["status"]) == (AT, 200)
    assert found["timegate"] == f"{served.bytes}/web/{AT}"
    assert {"closest", "first", "last"} <= set(found["mementos"])
    for name, which in {"closest": "first", "first": "first", "last": "second"}.items():
        at, time = found["mementos"][name]
        assert at == f"{served.bytes}/web/{time}id_/{AT}"
        assert httpx.get(at).content == pdf(which)


@pytest.mark.server("cdx_toolkit, of make services")
def test_foreign_clients_reach_loopback_alone(served: Served, tmp_path: Path) -> None:
    assert "192.0.2.1: loopback alone" in understood("outside", served, AT, tmp_path)


def test_heritrix_learns_by_cdx_when_a_url_was_had_last(served: Served) -> None:
    # The client of OutbackCDX in UKWA's Heritrix: column 1 of the last line; anything but 200 is
    # asked again and again; its POST of new lines is refused here.
    with httpx.Client(base_url=served.bytes) as client:
        last = client.get("/web/cdx", params={"url": AT}).text.splitlines()[-1].split(" ")
        assert (len(last), last[1][:8], last[2]) == (11, "20261121", AT)
        for output in ("cdxj", "json"):
            assert AT in client.get("/web/cdx", params={"url": AT, "output": output}).text
        nothing = client.get("/web/cdx", params={"url": f"{AT}x"})
        assert (nothing.status_code, nothing.text) == (200, "")
        assert client.post("/web/cdx", content=" ".join(last)).status_code == 405


def test_cdx_resolves_revisits_where_that_is_asked(served: Served) -> None:
    with httpx.Client(base_url=served.bytes) as client:

        def lines(**more: str) -> list[list[str]]:
            text = client.get("/web/cdx", params={"url": COLON_AT, **more}).text
            return [line.split(" ") for line in text.splitlines()]

        assert lines()[1][3] == "warc/revisit"
        first, again = lines(resolveRevisits="true")
        assert first[11:] == ["-", "-", "-"]
        assert again[3:5] == first[3:5]
        assert again[11:] == first[8:11]
        named = lines(resolveRevisits="true", fl="mimetype,length", limit="-1")
        assert named == [[first[3], again[8]]]


def test_memento_addresses_are_read_by_an_independent_reader(served: Served) -> None:
    with httpx.Client(base_url=served.bytes) as client:
        gate = client.get(
            f"/web/{AT}", headers={"Accept-Datetime": "Fri, 20 Nov 2026 12:00:00 GMT"}
        )
        assert gate.status_code == 302
        assert gate.headers["vary"] == "accept-datetime"
        assert {"original", "timemap"} <= {link["rel"] for link in gate.links.values()}
        first = httpx.get(gate.headers["location"])
        assert first.content == pdf("first")
        assert first.headers["memento-datetime"].startswith("Fri, 20 Nov 2026")
        newest = client.get(f"/web/{AT}", follow_redirects=True)
        assert newest.content == pdf("second")
        near = client.get(f"/web/2027id_/{AT}")
        assert near.status_code == 302
        assert near.headers["location"] == str(newest.url)
        told = client.get(f"/web/timemap/json/{AT}").json()["mementos"]["list"]
        assert [one["uri"] for one in told] == [gate.headers["location"], str(newest.url)]
        for quoted in (quote(AT), quote(AT, safe="")):
            assert client.get(f"/web/{quoted}").headers["location"] == str(newest.url)
        assert client.get(f"/web/{AT}x").status_code == 404
        bad = client.get(f"/web/{AT}", headers={"Accept-Datetime": "yesterday"})
        assert bad.status_code == 400


def test_a_captured_redirect_is_a_memento_that_leads_to_the_next(tmp_path: Path) -> None:
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf("moved"), hops=1, futli="http://x.example/old"))
    hop_at = "http://x.example/old?hop=0"  # as the store names it
    with (
        serving(store, tmp_path / "withheld") as served,
        httpx.Client(base_url=served.bytes) as client,
    ):
        gate = client.get(f"/web/{hop_at}")
        hop = client.get(gate.headers["location"])
        assert hop.is_redirect
        assert hop.headers["memento-datetime"]
        assert hop.links["original"]["url"] == hop_at
        last = client.get(hop.headers["location"], follow_redirects=True)
        assert last.content == pdf("moved")
        for page, status in (("", 200), ("1/", 200), ("2/", 404)):
            answer = client.get(f"/web/timemap/link/{page}{hop_at}")
            assert answer.status_code == status


def test_addresses_as_other_archives_have_them_lead_to_what_is_held(served: Served) -> None:
    bare = AT.partition("://")[2]
    with httpx.Client(base_url=served.bytes) as client:
        wanted = client.get(f"/web/{AT}").headers["location"]
        for form in ("20261122/", "20261122if_/", "20261122im_/"):
            answer = client.get(f"/web/{form}{AT}")
            assert (answer.status_code, answer.headers["location"]) == (302, wanted)
        digits = wanted.split("/web/")[1][:14]
        assert client.get(f"/web/{digits}/{AT}").headers["location"] == wanted
        gate = client.get(f"/web/{bare}")
        assert gate.links["original"]["url"] == f"http://{bare}"
        assert client.get(gate.headers["location"]).content == pdf("second")
        none = client.get(f"/web/timemap/xml/{AT}")
        assert (none.status_code, none.text) == (
            400, "xml: no TimeMap, which are link, json, cdxj\n"
        )  # fmt: skip
        assert client.get(f"/web/timemap/json/2/{AT}").text == "the TimeMap has 1 page\n"


CDX = {
    "": ["first", "second"],
    "&sort=reverse": ["second", "first"],
    "&limit=1": ["first"],
    "&from=20261121": ["second"],
    "&to=20261120": ["first"],
    "&from=2026113": [],
    "&to=2026113": ["first", "second"],
    "&closest=2026113&sort=closest&limit=1": ["second"],
    "&closest=20261121000000&sort=closest&limit=1": ["second"],
    "&filter=!status:200": [],
    "&filter=%3Dstatus:200": ["first", "second"],
    "&filter=~timestamp:20261120.*": ["first"],
    "&filter=!~timestamp:20261120.*": ["second"],
    "&limit=-1": ["second"],
    "&limit=-5": ["first", "second"],
    "&limit=0": [],
    "&collapse=timestamp:6": ["first"],
    "&collapse=timestamp:8": ["first", "second"],
    "&page=0": ["first", "second"],
    "&page=0&pageSize=2": ["first", "second"],
}


@pytest.mark.parametrize("asked", CDX)
def test_cdx_answers_what_is_asked(served: Served, asked: str) -> None:
    with httpx.Client(base_url=served.bytes) as client:
        text = client.get(f"/web/cdx?url={AT}{asked}&fl=timestamp,filename,offset").text
        found = []
        for line in text.splitlines():
            digits, name, offset = line.split(" ")
            assert name == "RePEc/abc/wpaper/1.warc"
            head = client.get(
                f"/warc/{name}", headers={"Range": f"bytes={offset}-{int(offset) + 7}"}
            )
            assert head.content == b"WARC/1.1"
            body = client.get(f"/web/{digits}id_/{AT}").content
            found.append(next(name for name in ("first", "second") if body == pdf(name)))
    assert found == CDX[asked]


@pytest.mark.parametrize(
    "query",
    ["", "url=x&output=xml", "url=x&limit=--1", "url=x&filter=~mime:(a|b)*c", "url=x&fl=secret",
     "url=x&filter=~mime:a*a*a*b", "url=x&from=yesterday", "url=x&matchType=all", "url=x&sort=up",
     "url=x&collapseTime=10", "url=x&collapse=secret", "url=x&page=-1", "url=x&page=7",
     "url=x&pageSize=0", "url=x&resumeKey=x", "url=x&showResumeKey=yes", "url=x&Limit=1",
     "url=x&url=y", "url=x&limit=1&limit=2", "url=x&from=20261399", "url=x&to=2026022931"],
)  # fmt: skip
def test_what_cdx_does_not_understand_is_told(served: Served, query: str) -> None:
    answer = httpx.get(f"{served.bytes}/web/cdx?{query}")
    assert answer.status_code == 400
    assert len(answer.text.splitlines()) == 1


def test_cdx_is_resumed_where_it_ended(served: Served) -> None:
    with httpx.Client(base_url=served.bytes) as client:
        asked = {"url": "x.example", "matchType": "host", "fields": "urlkey,timestamp,offset"}
        whole = client.get("/web/cdx", params=asked).text.splitlines()
        assert len(whole) > 3
        asked |= {"limit": "1", "showResumeKey": "true"}
        found, key = [], ""
        while True:
            text = client.get("/web/cdx", params=asked | {"resumeKey": key}).text
            lines, _, key = text.partition("\n\n")
            found += lines.splitlines()
            if not (key := key.strip()):
                break
        assert found == whole
        told = client.get("/web/cdx", params={**asked, "showNumPages": "true"}).json()
        assert told == {"pages": 1, "pageSize": 1, "blocks": 1}
        last = client.get("/web/cdx", params={**asked, "output": "json"}).text.splitlines()[-1]
        assert list(json.loads(last)) == ["resumeKey"]


@pytest.mark.parametrize(
    ("date", "digits"),
    [("2016-12-31T23:59:60Z", "20170101000000"), ("2016-12-31T23:59:58.123456Z", "20161231235958"),
     ("2016-12", "20161201000000")],
)  # fmt: skip
def test_an_address_has_a_second_of_a_clock(served: Served, date: str, digits: str) -> None:
    site = Site(archive=served.store.archive, index=served.store.root / "index",
                origins=Origins(pages="", bytes=""))  # fmt: skip
    entry = Entry(key="x", url=AT, date=WarcDate.parse(date), offset=0,
                  volume="../warc/RePEc/abc/wpaper/1.warc")  # fmt: skip
    captured = Captures(site).captured(entry, {})
    assert captured is not None
    assert captured.digits == f"{captured.time:%Y%m%d%H%M%S}" == digits
