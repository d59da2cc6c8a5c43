"""ReplayWeb.page as the operator unpacked it, at an origin of its own."""

from __future__ import annotations

import html
import io
import json
import re
import socket
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import pytest

from lafka.errors import NotHeld
from lafka.web.site import LIFETIME, Tokens
from tests import starts
from tests.services import npms
from tests.services.chromiums import browsing
from tests.stores import Store
from tests.waiting import LIMIT
from tests.web.escapes import Listener
from tests.web.served import BIG, FUTLI, HOSTILE, PID, UGLY, WITHHELD, answering, filled

SCRIPTED = """<!DOCTYPE html><title>x</title><p>Words.</p><p id=ran></p><script>
document.getElementById('ran').textContent = 'script ' + 'ran';
fetch('{at}/out').catch(() => 0); new Image().src = '{at}/image';
</script><img src="{at}/picture">"""


def folder_of(place: Path, scripts: dict[str, bytes]) -> Path:
    place.mkdir()
    for name, data in scripts.items():
        (place / name).write_bytes(data)
    return place


def store_of(tmp: Path, at: str = "http://x.example") -> tuple[Store, Path]:
    withheld = tmp / "withheld"
    withheld.write_text("RePEc:wit:*\n", "utf-8")
    return filled(tmp / "archive", SCRIPTED.replace("{at}", at).encode()), withheld


def given(store: Store, withheld: Path, folder: Path) -> list[str]:
    settings = {"LAFKA_ARCHIVE": store.root, "LAFKA_WEB_WITHHELD": withheld,
                "LAFKA_WEB_REPLAYWEB": folder}  # fmt: skip
    ports = ["--port", "0", "--replay-port", "0", "--replayweb-port", "0"]
    return ports + [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]


@pytest.fixture(scope="module")
def origins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """Where pages, bytes and a stand-in for ReplayWeb.page are."""
    tmp = tmp_path_factory.mktemp("replayweb")
    folder = folder_of(tmp / "replayweb", {"ui.js": b"// ui", "sw.js": b"// sw", "x.js": b"no"})
    with answering(*given(*store_of(tmp), folder), lines=3) as (*found, _):
        yield found[0], found[1], found[2]


def start_of(origins: Sequence[str], pid: str, url: str = "http://x.example/") -> str:
    """The address that the page of a replay gives its frame."""
    page = httpx.get(f"{origins[0]}/papers/{quote(pid, safe='')}/replay", params={"url": url})
    found = re.search(r'<iframe [^>]*src="([^"]+)"', page.text)
    assert found, page.text
    return html.unescape(found[1])


def wacz_of(origins: Sequence[str], pid: str) -> str:
    address = start_of(origins, pid).partition("?")[0]
    return address.replace("/papers/", "/wacz/") + ".wacz"


def test_scripts_are_sent_as_they_were_unpacked(origins: tuple[str, str, str]) -> None:
    with httpx.Client(base_url=origins[2]) as client:
        for path, data in {
            "/ui.js": "ui",
            "/replay/ui.js": "ui",
            "/replay/program.js": "sw",
        }.items():
            answer = client.get(path)
            assert answer.text == f"// {data}"
            assert answer.headers["content-type"].startswith("text/javascript")
            # As a service worker it would answer without the headers of this origin.
            assert client.get(path, headers={"Service-Worker": "script"}).status_code == 404
        for path in ("/x.js", "/replay/x.js", "/replay/../archive/lafka.json", "/", "/replay/x"):
            assert client.get(path).status_code == 404


def test_the_service_worker_gives_each_answer_the_headers(origins: tuple[str, str, str]) -> None:
    answer = httpx.get(f"{origins[2]}/replay/sw.js", headers={"Service-Worker": "script"})
    told = re.search(r"const HEADERS = ({.*});", answer.text)
    assert told
    for name, value in json.loads(told[1]).items():
        assert answer.headers[name] == value
    assert answer.text.rstrip().endswith('importScripts("/replay/program.js");')


def test_only_it_has_scripts(origins: tuple[str, str, str]) -> None:
    for origin in origins[:2]:
        for path in ("/ui.js", "/replay/sw.js", "/replay/program.js"):
            assert httpx.get(origin + path).status_code == 404


def test_a_replay_is_shut_in_on_every_side(origins: tuple[str, str, str]) -> None:
    outer = httpx.get(f"{origins[0]}/papers/{PID}/replay", params={"url": FUTLI})
    assert f"frame-src {origins[2]}" in outer.headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in outer.headers["content-security-policy"]
    assert 'sandbox="allow-scripts allow-same-origin" allow=""' in outer.text
    for address in (start_of(origins, PID), f"{origins[2]}/replay/", f"{origins[2]}/none"):
        inner = httpx.get(address).headers
        policy = inner["content-security-policy"].split("; ")
        assert "sandbox allow-scripts allow-same-origin" in policy
        assert {"connect-src 'self' data: blob:", "form-action 'none'"} < set(policy)
        assert f"frame-ancestors 'self' {origins[0]}" in policy
        assert inner["connection-allowlist"].startswith("(response-origin);")
        assert "access-control-allow-origin" not in inner


def test_it_is_not_shown_without_its_frame(origins: tuple[str, str, str]) -> None:
    for address in (start_of(origins, PID), f"{origins[2]}/replay/"):
        for kind, status in {"document": 400, "iframe": 200}.items():
            assert httpx.get(address, headers={"Sec-Fetch-Dest": kind}).status_code == status


def test_a_wacz_is_had_by_range(origins: tuple[str, str, str]) -> None:
    """Whole, and in parts that are the same bytes however many papers were asked for between."""
    whole = httpx.get(wacz_of(origins, PID))
    asked = [httpx.get(wacz_of(origins, pid)) for pid in (BIG, HOSTILE, UGLY)]
    assert [answer.status_code for answer in asked] == [200, 200, 200]
    assert zipfile.ZipFile(io.BytesIO(whole.content)).testzip() is None
    tail = {"Range": "bytes=-22", "If-Range": whole.headers["etag"]}
    part = httpx.get(wacz_of(origins, PID), headers=tail)
    assert (part.status_code, part.content) == (206, whole.content[-22:])


def test_a_wacz_has_no_address_that_could_be_guessed(origins: tuple[str, str, str]) -> None:
    own, other = quote(PID, safe=""), quote(BIG, safe="")
    for address in (wacz_of(origins, PID), start_of(origins, PID)):
        assert httpx.get(address).status_code == 200
        token = address.split("/")[4]
        end, _, digest = token.partition("-")
        for path in (
            address.replace(own, other), address.replace(f"/{token}", ""),
            address.replace(token, f"{int(end) + 1}-{digest}"), address.replace(token, "0-"),
            address.replace(digest, "0" * 64),
        ):  # fmt: skip
            assert httpx.get(path).status_code == 404, path


def test_a_token_ends(tmp_path: Path) -> None:
    now = [1000.0]
    tokens, pid = Tokens(clock=lambda: now[0]), Store(tmp_path).archive.pid(PID)
    token = tokens.token(pid)
    now[0] += LIFETIME
    tokens.check(pid, token)
    now[0] += 1
    with pytest.raises(NotHeld, match="has ended"):
        tokens.check(pid, token)
    with pytest.raises(NotHeld, match="no such page"):
        Tokens(clock=lambda: 1000.0).check(pid, token)


def test_each_paper_has_its_origin_where_there_is_a_wildcard(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "replayweb", {"ui.js": b"// ui", "sw.js": b"// sw"})
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    args = [*given(*store_of(tmp_path), folder), "--replayweb-port", str(port), "-s",
            "LAFKA_WEB_REPLAYWEB_ORIGIN=https://*.replay.example"]  # fmt: skip
    with answering(*args, lines=3) as (*origins, _):
        assert origins[2] == "https://*.replay.example"
        addresses = {pid: urlsplit(start_of(origins, pid)) for pid in (PID, BIG)}
        assert len({one.netloc for one in addresses.values()}) == 2
        outer = httpx.get(f"{origins[0]}/papers/{PID}/replay")
        assert f"frame-src https://{addresses[PID].netloc}" in outer.headers[
            "content-security-policy"
        ].split("; ")
        for host, status in {
            addresses[PID].netloc: 200, addresses[BIG].netloc: 404, "replay.example": 421,
            "a.b.replay.example": 421, "127.0.0.1": 404,
        }.items():  # fmt: skip
            at = f"http://127.0.0.1:{port}{addresses[PID].path}"
            assert httpx.get(at, headers={"Host": host}).status_code == status, host


def test_what_is_withheld_is_not_replayed(origins: tuple[str, str, str]) -> None:
    named = quote(WITHHELD, safe="")
    assert httpx.get(f"{origins[0]}/papers/{named}/replay").status_code == 451
    for path in (f"/papers/x/{named}", f"/wacz/x/{named}.wacz"):
        assert httpx.get(origins[2] + path).status_code == 451


def test_an_address_is_escaped_or_refused(origins: tuple[str, str, str]) -> None:
    ugly = 'http://x/"><script>'
    assert '"><script>' not in httpx.get(start_of(origins, PID, ugly)).text
    for pid, url, status in ((PID, "javascript:1", 400), ("RePEc:abc:wpaper:none", "", 404)):
        address = f"{origins[0]}/papers/{pid}/replay"
        assert httpx.get(address, params={"url": url}).status_code == status
    start = start_of(origins, PID).partition("?")[0]
    assert httpx.get(start, params={"url": "javascript:1"}).status_code == 400


def test_a_folder_without_it_is_told(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "empty", {"ui.js": b"x"})
    done = starts.verb("scrapy", "serve", *given(*store_of(tmp_path), folder), timeout=LIMIT)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(
        f"LAFKA_WEB_REPLAYWEB: {folder}/sw.js: No such file or directory: unpack npm's"
        " replaywebpage there"
    )


@pytest.mark.server("Chromium")
def test_a_paper_is_replayed_and_its_scripts_reach_nobody(tmp_path: Path) -> None:
    scripts = {name: npms.member("replaywebpage@2.5.3", name) for name in ("ui.js", "sw.js")}
    folder = folder_of(tmp_path / "replayweb", scripts)
    listener, asked = Listener(), list[str]()
    with (
        closing(listener),
        answering(*given(*store_of(tmp_path, listener.at), folder), lines=3) as (*origins, _),
        browsing() as browser,
    ):
        pages = origins[0]
        context = browser.new_context(viewport={"width": 1000, "height": 800})
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.goto(f"{pages}/papers/{PID}")
        follow(page, f"{pages}/papers/*/replay?*")
        until_replayed(page, FUTLI, "second")
        page.goto(f"{pages}/papers/{HOSTILE}")
        follow(page, f"{pages}/papers/*/replay?*")
        until_replayed(page, "/hostile", "script ran")
    # What an archived page asks for, the program's worker answers: it leaves no trace but here.
    assert f"{listener.at}/picture" in asked
    ours = (*origins, listener.at, "blob:", "data:", "chrome")
    assert [url for url in asked if not url.startswith(ours)] == []
    assert listener.connections == 0


def follow(page: object, url: str) -> None:
    """Click on the link by its own method: the PDF's viewer moves it below a pointer, and takes
    the keys, while it comes up."""
    link = page.get_by_role("link", name="Replay it with ReplayWeb.page")  # type: ignore[attr-defined]
    link.evaluate("link => link.click()")
    page.wait_for_url(url, wait_until="commit")  # type: ignore[attr-defined]


def until_replayed(page: object, url: str, words: str) -> None:
    for _ in range(300):
        for frame in page.frames:  # type: ignore[attr-defined]
            if frame.url.endswith(url) and words in text_of(frame):
                return
        page.wait_for_timeout(100)  # type: ignore[attr-defined]
    pytest.fail(f"not replayed: {[frame.url for frame in page.frames]}")  # type: ignore[attr-defined]


def text_of(frame: object) -> str:
    try:
        return str(frame.evaluate("document.body ? document.body.innerText : ''"))  # type: ignore[attr-defined]
    except Exception:
        return ""
