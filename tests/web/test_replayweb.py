"""ReplayWeb.page as the operator unpacked it, at an origin of its own."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests import starts
from tests.services import npms
from tests.services.chromiums import browsing
from tests.stores import Store
from tests.web.escapes import Listener
from tests.web.served import BIG, FUTLI, HOSTILE, PID, ROOT, UGLY, WITHHELD, answering, filled

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


def test_scripts_are_sent_as_they_were_unpacked(origins: tuple[str, str, str]) -> None:
    with httpx.Client(base_url=origins[2]) as client:
        for path, data in {"/ui.js": "ui", "/replay/ui.js": "ui", "/replay/sw.js": "sw"}.items():
            answer = client.get(path)
            assert answer.text == f"// {data}"
            assert answer.headers["content-type"].startswith("text/javascript")
        for path in ("/x.js", "/replay/x.js", "/replay/../archive/lafka.json", "/", "/replay/x"):
            assert client.get(path).status_code == 404


def test_only_it_has_scripts(origins: tuple[str, str, str]) -> None:
    for origin in origins[:2]:
        for path in ("/ui.js", "/replay/sw.js"):
            assert httpx.get(origin + path).status_code == 404
    policy = httpx.get(f"{origins[2]}/papers/{PID}").headers["content-security-policy"]
    assert "connect-src 'self'" in policy
    assert "http" not in policy


def test_a_wacz_is_had_by_range(origins: tuple[str, str, str]) -> None:
    """Whole, and in parts that are the same bytes however many papers were asked for between."""
    with httpx.Client(base_url=origins[2]) as client:
        at = f"/wacz/{quote(PID, safe='')}.wacz"
        whole = client.get(at)
        others = [BIG, HOSTILE, UGLY, "RePEc:abc:wpaper:none"]
        asked = [client.get(f"/wacz/{quote(pid, safe='')}.wacz") for pid in others]
        assert [answer.status_code for answer in asked] == [200, 200, 200, 404]
        assert zipfile.ZipFile(io.BytesIO(whole.content)).testzip() is None
        part = client.get(at, headers={"Range": "bytes=-22", "If-Range": whole.headers["etag"]})
        assert (part.status_code, part.content) == (206, whole.content[-22:])


def test_what_is_withheld_is_not_replayed(origins: tuple[str, str, str]) -> None:
    for path in (f"/papers/{WITHHELD}", f"/wacz/{quote(WITHHELD, safe='')}.wacz"):
        assert httpx.get(origins[2] + path).status_code == 451


def test_an_address_is_escaped_or_refused(origins: tuple[str, str, str]) -> None:
    with httpx.Client(base_url=origins[2]) as client:
        text = client.get(f"/papers/{PID}", params={"url": 'http://x/"><script>'}).text
        assert '"><script>' not in text
        assert client.get(f"/papers/{PID}", params={"url": "javascript:1"}).status_code == 400
        assert client.get("/papers/RePEc:abc:wpaper:none").status_code == 404


def test_a_folder_without_it_is_told(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "empty", {"ui.js": b"x"})
    done = starts.run(
        [sys.executable, "-m", "scrapy", "serve", *given(*store_of(tmp_path), folder)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
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
        pages, _, replayweb = origins
        context = browser.new_context(viewport={"width": 1000, "height": 800})
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.goto(f"{pages}/papers/{PID}")
        follow(page, f"{replayweb}/papers/**")
        until_replayed(page, FUTLI, "second")
        page.goto(f"{pages}/papers/{HOSTILE}")
        follow(page, f"{replayweb}/papers/**")
        until_replayed(page, "/hostile", "script ran")
    # What an archived page asks for, the program's worker answers: it leaves no trace but here.
    assert f"{listener.at}/picture" in asked
    ours = (*origins, listener.at, "blob:", "data:", "chrome")
    assert [url for url in asked if not url.startswith(ours)] == []
    assert listener.connections == 0


def follow(page: object, url: str) -> None:
    """Follow the link by its key: below a pointer it moves, while the PDF's viewer comes up."""
    page.get_by_role("link", name="Replay it with ReplayWeb.page").press("Enter")  # type: ignore[attr-defined]
    page.wait_for_url(url)  # type: ignore[attr-defined]


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
