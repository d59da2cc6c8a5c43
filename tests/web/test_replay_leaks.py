"""A replayed page, run by ReplayWeb.page in a real Chromium, carries nothing out of its frame."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.services import npms
from tests.web.escapes import Listener
from tests.web.replay_ways import BY_WORKER, LAST, WAYS
from tests.web.served import FUTLI, HOSTILE, PID, answering
from tests.web.test_replayweb import folder_of, given, store_of, until_replayed

OPEN = "http://127.0.0.1:9/"
PAGE_URL = "http://x.example/hostile"


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with closing(Listener()) as made:
        yield made


@pytest.fixture(scope="module", params=["one origin", "an origin for each paper"])
def origins(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, listener: Listener
) -> Iterator[list[str]]:
    """Pages, bytes and replays of an archive with a page whose script runs."""
    tmp = tmp_path_factory.mktemp("leaks")
    scripts = {name: npms.member("replaywebpage@2.5.3", name) for name in ("ui.js", "sw.js")}
    args = given(*store_of(tmp, listener.at), folder_of(tmp / "replayweb", scripts))
    if request.param != "one origin":
        with (
            socket.create_server(("127.0.0.1", 0)) as one,
            socket.create_server(("127.0.0.1", 0)) as two,
        ):
            ports = one.getsockname()[1], two.getsockname()[1]
        args += ["--port", str(ports[0]), "--replayweb-port", str(ports[1])]
        args += ["-s", f"LAFKA_WEB_ORIGIN=http://papers.x.localhost:{ports[0]}"]
        args += ["-s", f"LAFKA_WEB_REPLAYWEB_ORIGIN=http://*.replay.x.localhost:{ports[1]}"]
    with answering(*args, lines=3) as (*made, _):
        yield made


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    yield context.new_page()
    context.close()


def replayed(page: Any, origins: list[str], pid: str = HOSTILE, url: str = PAGE_URL) -> Any:
    """The frame in which the stored page of *pid* is, its script run."""
    page.goto(f"{origins[0]}/papers/{quote(pid, safe='')}/replay?url={quote(url, safe='')}")
    until_replayed(page, url, "script ran" if pid == HOSTILE else "second")
    return next(frame for frame in page.frames if frame.url.endswith(f"mp_/{url}"))


def tried(frame: Any, way: str, at: str) -> None:
    """Run *way* in *frame*, whatever comes of it."""
    code = f"async at => {{ const w = window; {way} }}"
    bounded = f"at => Promise.race([({code})(at), new Promise(done => setTimeout(done, 300))])"
    with suppress(Exception):
        frame.evaluate(bounded, at)


def test_no_way_leads_out(page: Any, origins: list[str], listener: Listener) -> None:
    frame = replayed(page, origins)
    led_out = []
    for name, way in {**WAYS, **BY_WORKER}.items():
        for is_parent in (False, True):
            if frame.is_detached() or not frame.url.endswith(PAGE_URL):
                frame = replayed(page, origins)  # an error stands in its place
            before = listener.connections
            tried(frame.parent_frame if is_parent else frame, way, listener.at)
            page.wait_for_timeout(30)
            led_out += [name] * (listener.connections - before)
    frame = replayed(page, origins)
    for how in ({"modifiers": ["Control"]}, {"modifiers": ["Shift"]}, {"button": "middle"}, {}):
        link = "const a = w.document.createElement('a'); Object.assign(a, {id: 'go', href: at});"
        tried(frame, f"{link} a.style = 'position:fixed;inset:0'; w.document.body.append(a)",
              listener.at)  # fmt: skip
        with suppress(Exception):
            frame.locator("#go").last.click(timeout=1000, **how)
        led_out += [f"click {how}"] * listener.connections
    assert page.url.startswith(origins[0])
    for name, way in LAST.items():
        with closing(page.context.new_page()) as other:
            tried(replayed(other, origins), way, listener.at)
            page.wait_for_timeout(200)
            led_out += [name] * listener.connections
    page.wait_for_timeout(1000)
    assert (led_out, listener.connections) == ([], 0)


READS = {
    "the download": "{bytes}/wacz/{other}.wacz",
    "its newest PDF": "{bytes}/futs/{other}",
    "its WARC": "{bytes}/warc/RePEc/abc/wpaper/1.warc",
    "by its pid": "{replay}/wacz/{other}.wacz",
    "by its pid and this token": "{replay}/wacz/{token}/{other}.wacz",
    "the start of its replay": "{replay}/papers/{token}/{other}",
    "the page that gives the token": "{pages}/papers/{other}/replay",
    "its page": "{pages}/papers/{other}",
}
HAD = """async at => {
    const told = [];
    for (const mode of ['cors', 'no-cors', 'same-origin']) {
        try {
            const answer = await parent.fetch(at, {mode});
            if (answer.ok) told.push(mode + ' ' + (await answer.arrayBuffer()).byteLength);
        } catch {}
    }
    const frame = document.createElement('iframe');
    frame.src = at;
    document.body.append(frame);
    await new Promise(done => { frame.onload = done; setTimeout(done, 500) });
    try {
        const inside = frame.contentDocument;
        if (/replay-web-page|PK|WARC/.test(inside.documentElement.outerHTML)) told.push('framed');
    } catch {}
    frame.remove();
    return told;
}"""
KEPT = """async () => {
    const told = [];
    for (const {name} of await indexedDB.databases()) {
        const db = await new Promise((done, no) => {
            const asked = indexedDB.open(name);
            asked.onsuccess = () => done(asked.result);
            asked.onerror = no;
        });
        for (const store of db.objectStoreNames) {
            const asked = db.transaction(store).objectStore(store).getAll();
            await new Promise(done => { asked.onsuccess = done; asked.onerror = done });
            told.push(JSON.stringify(asked.result));
        }
        db.close();
    }
    return told.join();
}"""


def test_no_other_paper_can_be_had(page: Any, origins: list[str]) -> None:
    """Nor what was left of one that was replayed before."""
    other = quote(PID, safe="")
    before = replayed(page, origins, PID, FUTLI)
    assert other in page.evaluate("() => document.querySelector('iframe').src")
    assert FUTLI in before.evaluate(KEPT)
    frame = replayed(page, origins)
    started = urlsplit(page.evaluate("() => document.querySelector('iframe').src"))
    names = {"pages": origins[0], "bytes": origins[1], "other": other,
             "replay": f"http://{started.netloc}", "token": started.path.split("/")[2]}  # fmt: skip
    had = {name: frame.evaluate(HAD, at.format(**names)) for name, at in READS.items()}
    assert had == {key: [] for key in READS}
    own = f"{names['replay']}/wacz/{names['token']}/{quote(HOSTILE, safe='')}.wacz"
    assert len(frame.evaluate(HAD, own)) > 1  # its own it has: the test can fail
    kept = frame.evaluate(KEPT)
    assert PAGE_URL in kept
    assert FUTLI not in kept
    is_shared = "*" not in origins[2]
    assert (urlsplit(before.url).netloc == started.netloc) is is_shared


def test_the_listener_would_have_noticed(browser: Any, listener: Listener) -> None:
    """On a page that is not shut in the ways do lead out: the test above can fail."""
    reached = set()
    for name, way in {**WAYS, **LAST}.items():
        with closing(browser.new_context()) as context:
            page, before = context.new_page(), listener.connections
            page.route(OPEN, lambda route: route.fulfill(
                body="<!DOCTYPE html><body>", content_type="text/html"
            ))  # fmt: skip
            page.goto(OPEN)
            tried(page.main_frame, way, listener.at)
            for _ in range(10):
                if listener.connections > before:
                    reached.add(name)
                    break
                page.wait_for_timeout(50)
    listener.connections = 0
    assert len(reached) >= 50, sorted(set(WAYS) - reached)
