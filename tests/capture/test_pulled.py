"""What a gateway's answers become, whatever it answers; and that nothing pulled is lost."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lafka.capture.exchanges import Spool
from lafka.capture.logged import LoggedHops
from lafka.capture.pulled import GatewayAway, GatewayClient, NotKept, PulledMemento, TakenDown
from lafka.errors import BadArgument, BadHttp
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.recovery import end_of, recover
from lafka.papers.checking import Verifier
from lafka.papers.crawling.captures import capture_of
from lafka.papers.walk import PastTime, Trail
from lafka.payloads import Kind, inspect_entity
from lafka.urls.addresses import escaped
from lafka.urls.memento import http_date
from lafka.warc.format.sources import MemorySource
from tests.sites.gateways import Answer, odd
from tests.stores import FUTLI, PID, Store, page, pdf

TIME = datetime(2012, 11, 9, 17, 13, 50, tzinfo=UTC)
URL = "http://x.example/a?b=1"
GATE, MEMENTO = f"/obi/{escaped(URL)}", f"/obi/1352481230/{escaped(URL)}"
TIMEMAP = f"/timemap/json/{escaped(URL)}"
FOUND = (302, {"Location": "{base}" + MEMENTO}, b"")


def kept(body: bytes, **more: str) -> Answer:
    return (
        200,
        {"Memento-Datetime": http_date(TIME), "Content-Type": "application/pdf"}
        | {name.replace("_", "-"): value for name, value in more.items()},
        body,
    )


def digest(data: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"


def test_a_memento_comes_as_it_is() -> None:
    body = pdf("a", 600_000)
    with odd({GATE: FOUND, MEMENTO: kept(body, Repr_Digest=digest(body))}) as (base, asked):
        pulled = GatewayClient(base).pull(URL, TIME)
    assert (pulled.url, pulled.time, pulled.source) == (URL, TIME, base + MEMENTO)
    assert b"".join(pulled.body.chunks()) == body
    assert not pulled.too_big
    assert asked == [GATE, MEMENTO]


def test_the_url_is_that_of_the_memento() -> None:
    """Of a redirect that is what it led to."""
    other = f"/obi/1352481230/{escaped('http://y.example/bar')}"
    answers = {GATE: FOUND, MEMENTO: (302, {"Location": "{base}" + other}, b""), other: kept(b"x")}
    with odd(answers) as (base, _):
        assert GatewayClient(base).pull(URL, TIME).url == "http://y.example/bar"


@pytest.mark.parametrize(
    ("answers", "error", "sentence"),
    [
        ({}, NotKept, "not in the ArchEc store"),
        ({GATE: (400, {}, b"")}, NotKept, "not in the ArchEc store"),
        ({GATE: FOUND, MEMENTO: (451, {}, b"")}, TakenDown, "taken down"),
        ({GATE: FOUND, MEMENTO: (503, {}, b"")}, GatewayAway, "HTTP status 503"),
        ({GATE: FOUND, MEMENTO: (206, {}, b"")}, GatewayAway, "HTTP status 206"),
        ({GATE: (200, {}, b"hello")}, GatewayAway, "is no memento"),
        ({GATE: kept(b"x")}, GatewayAway, "is no memento"),
        (
            {GATE: FOUND, MEMENTO: (200, {"Memento-Datetime": "now"}, b"")},
            GatewayAway,
            "no memento",
        ),
        ({GATE: (302, {"Location": "http://192.0.2.1/"}, b"")}, GatewayAway, "leads away, to http"),
        ({GATE: (302, {"Location": "{base}.example.org/"}, b"")}, GatewayAway, "leads away"),
        ({GATE: (302, {}, b"")}, GatewayAway, "leads away"),
        ({GATE: (302, {"Location": "{base}" + GATE}, b"")}, GatewayAway, "more than 10 redirects"),
        (
            {GATE: FOUND, MEMENTO: kept(b"x" * 9, Content_Length="99")},
            GatewayAway,
            "ends 90 bytes early",
        ),
        (
            {GATE: FOUND, MEMENTO: kept(b"x", Repr_Digest=digest(b"y"))},
            BadHttp,
            "not what its digest",
        ),
        (
            {GATE: FOUND, MEMENTO: kept(b"x", Repr_Digest="sha-256=:?")},
            BadHttp,
            "not what its digest",
        ),
    ],
)
def test_what_else_a_gateway_answers(
    answers: dict[str, Answer], error: type[Exception], sentence: str
) -> None:
    with odd(answers) as (base, _), pytest.raises(error, match=sentence):
        GatewayClient(base).pull(URL, TIME)


def test_what_is_too_big_is_not_read_to_its_end() -> None:
    with odd({GATE: FOUND, MEMENTO: kept(pdf("a", 900_000))}) as (base, _):
        pulled = GatewayClient(base, most=300_000).pull(URL, TIME)
    assert (pulled.too_big, pulled.body.size) == (True, 300_000)


def timemap(*times: str, **pages: str) -> Answer:
    values = {"mementos": {"list": [{"datetime": time} for time in times]}, "pages": pages}
    return 200, {}, json.dumps(values).encode()


def test_the_times_of_all_pages() -> None:
    second = f"/timemap/json/2/{escaped(URL)}"
    answers: dict[str, Answer] = {second: timemap("2012-11-10T00:00:00Z")}
    with odd(answers) as (base, _):
        answers[TIMEMAP] = timemap("2012-11-09T17:13:50Z", next=base + second)
        found = GatewayClient(base).times(URL)
    assert found == [TIME, datetime(2012, 11, 10, tzinfo=UTC)]


def test_what_is_not_kept_has_no_times() -> None:
    with odd({}) as (base, _):
        assert GatewayClient(base).times(URL) == []


@pytest.mark.parametrize(
    "answer",
    [
        (200, {}, b"no json"),
        (200, {}, b"[]"),
        (200, {}, b"{}"),
        (500, {}, b""),
        timemap("soon"),
        timemap("2012-11-09T17:13:50"),
        timemap(next="http://192.0.2.1/"),
        (302, {}, b""),
    ],
)
def test_a_timemap_that_is_none(answer: Answer) -> None:
    with odd({TIMEMAP: answer}) as (base, _), pytest.raises(GatewayAway):
        GatewayClient(base).times(URL)


def test_many_threads_ask_by_connections_of_their_own() -> None:
    body, found = pdf("a", 50_000), []
    with odd({GATE: FOUND, MEMENTO: kept(body, Repr_Digest=digest(body))}) as (base, _):
        client = GatewayClient(base)

        def pull() -> None:
            found.extend(client.pull(URL, TIME).body.size for _ in range(5))

        threads = [threading.Thread(target=pull) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [len(body)] * 30


def test_what_is_no_gateway_is_told() -> None:
    with (
        odd({"/health": (200, {}, b'{"status": "fine"}')}) as (base, _),
        pytest.raises(BadArgument, match="what answers there is no gateway"),
    ):
        GatewayClient(base).check()
    with pytest.raises(BadArgument, match="refused"):
        GatewayClient(base).check()


def test_facts_of_an_entity() -> None:
    junk = b"\r\njunk " + pdf("a")
    facts = inspect_entity(MemorySource(junk))
    assert (facts.kind, facts.start, facts.length) == (Kind.PDF, 7, len(junk) - 7)
    assert facts.digest == f"sha256:{hashlib.sha256(pdf('a')).hexdigest()}"
    assert facts.payload_digest == f"sha256:{hashlib.sha256(junk).hexdigest()}"
    assert inspect_entity(MemorySource(b"")).kind is Kind.EMPTY
    assert inspect_entity(MemorySource(b"hello"), "text/html").kind is Kind.HTML


# In the raw log, and out of it after a kill ------------------------------------------------


def trail(store: Store, *bodies: tuple[str, bytes], at: datetime = TIME) -> Trail:
    """A trail that ended, in the raw log: what was pulled of a page and a PDF."""
    past = PastTime(time=at, source="http://127.0.0.1:8732")
    begun = Trail.begin(store.ask().futli, 1, past=(past,))
    for url, body in bodies:
        begun, ask = begun.next_ask()
        assert ask is not None
        spool = Spool()
        spool.append(body)
        pulled = PulledMemento(
            url=url,
            time=at,
            source=f"http://127.0.0.1:8732/obi/1/{url}",
            day=datetime(2026, 11, 22, tzinfo=UTC),
            media_type="",
            body=spool,
        )
        logged = store.raw.pulled(pulled, ask.provenance)
        begun = begun.answered(capture_of(ask, LoggedHops(exchanges=(logged,), requests=1)))
    return begun


def stored(root: Path) -> dict[str, bytes]:
    return {
        p.name: p.read_bytes()
        for p in root.rglob("*1.*")
        if p.suffix in (".warc", ".json") and "raw" not in p.parts
    }


@pytest.mark.parametrize("body", [pdf("a"), page("a"), b"\r\njunk " + pdf("a")])
def test_what_a_killed_run_pulled_is_copied_once(tmp_path: Path, body: bytes) -> None:
    done = Store(tmp_path / "done")
    with done.archive.paper(done.archive.pid(PID)) as paper:
        paper.append(trail(done, (FUTLI, body)).captures)
    killed = Store(tmp_path / "killed")
    ended = trail(killed, (FUTLI, body))
    killed.raw.note(1, FUTLI, end_of(ended))
    killed.die()
    found = list(recover(killed.archive))
    assert [(one.trails, one.problems) for one in found] == [(1, ())]
    assert stored(tmp_path / "killed") == stored(tmp_path / "done") != {}
    again = Store(tmp_path / "killed", run="2")
    with again.archive.paper(again.archive.pid(PID)) as paper:
        paper.append(trail(again, (FUTLI, body)).captures)
    assert stored(tmp_path / "killed") == stored(tmp_path / "done")
    assert [p for p in Verifier(tmp_path / "killed").verify_all() if p.code != "raw-left"] == []


def test_one_that_had_not_ended_is_to_be_asked_again(tmp_path: Path) -> None:
    killed = Store(tmp_path)
    trail(killed, (FUTLI, pdf("a")))
    killed.die()
    assert [(one.trails, one.opened) for one in recover(killed.archive)] == [(1, 1)]
    assert Archive(tmp_path).fut(PID).read() == pdf("a")


def test_the_same_at_two_times_is_stored_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    later = datetime(2013, 1, 1, tzinfo=UTC)
    for time in (TIME, later):
        with store.archive.paper(store.archive.pid(PID)) as paper:
            paper.append(trail(store, (FUTLI, pdf("a")), at=time).captures)
    data = store.warc().read_bytes()
    assert data.count(b"WARC-Type: resource") == data.count(b"WARC-Type: revisit") == 1
    assert data.count(b"%PDF-1.4") == 1
    times = json.loads(store.archive.suwaf_path(store.archive.pid(PID)).read_bytes())[PID][FUTLI]
    assert list(times) == ["2012-11-09T17:13:50Z", "2013-01-01T00:00:00Z"]
    assert len({one["s"] for one in times.values()}) == 1
