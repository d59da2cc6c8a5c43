from __future__ import annotations

import errno
import socketserver
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from scrapy import Request, Spider
from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError, IgnoreRequest
from scrapy.http import Headers
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from twisted.python.failure import Failure
from twisted.web._newclient import ResponseNeverReceived

from lafka.errors import Stopped, StorageTrouble
from lafka.politeness import HostSetAside, RetryAfterMiddleware
from lafka.politeness.failures import causes, not_the_sites, without_frames
from lafka.politeness.hosts import Hosts
from lafka.politeness.retries import retry_after
from tests.sites.hosts import Answer, hosts
from tests.sites.polite_crawl import crawl

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "120"}, 120),
        ({"Retry-After": "0"}, 0),
        ({"Retry-After": "Fri, 20 Nov 2026 12:01:00 GMT"}, 60),
        ({"Retry-After": "Fri, 20 Nov 2026 11:00:00 GMT"}, 0),
        (
            {
                "Retry-After": "Fri, 20 Nov 2020 12:00:30 GMT",
                "Date": "Fri, 20 Nov 2020 12:00:00 GMT",
            },
            30,
        ),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "Fri, 99 Nov 2026 12:01:00 GMT"}, None),
        ({"Retry-After": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_reads_seconds_and_dates(headers, seconds):
    assert retry_after(Headers(headers), NOW) == seconds


def test_a_host_is_parked_until_its_time():
    now = 100.0
    known = Hosts(failures_max=0, clock=lambda: now)
    assert known.park("a", 10)
    assert not known.park("a", 5)
    assert known.parked("a") == 10
    assert known.parked("b") == 0
    now = 110.0
    assert known.parked("a") == 0


def test_a_host_is_set_aside_after_failures_in_a_row():
    known = Hosts(failures_max=3)
    causes_ = [ValueError(str(n)) for n in range(5)]
    assert [known.failed("a", cause) for cause in causes_[:2]] == [False, False]
    known.answered("a")
    assert [known.failed("a", cause) for cause in causes_[2:]] == [False, False, True]
    assert known.set_aside("a") is causes_[4]
    assert known.set_aside("b") is None


def test_the_causes_of_an_error_stand_in_order_each_once():
    """As Twisted nests them: wrappers with reasons, each of which may have a cause of its own."""
    first, second, last = ValueError("first"), ValueError("second"), ValueError("last")
    first.__cause__ = KeyError("of the first")
    wrapper = ResponseNeverReceived([Failure(first), Failure(second)])
    wrapper.__cause__ = last
    last.__cause__ = wrapper  # a loop
    error = RuntimeError("told")
    error.__cause__ = wrapper
    found = [error, wrapper, first, first.__cause__, second, last]
    assert [id(cause) for cause in causes(error)] == [id(cause) for cause in found]


def test_without_frames_keeps_the_causes():
    try:
        try:
            raise OSError(5, "inner")
        except OSError as inner:
            raise DownloadTimeoutError("outer") from inner
    except DownloadTimeoutError as error:
        kept = without_frames(error)
    assert [str(cause) for cause in causes(kept)] == ["outer", "[Errno 5] inner"]
    assert all(cause.__traceback__ is None for cause in causes(kept))


@pytest.fixture
def middleware():
    downloader = SimpleNamespace(get_slot_key=lambda request: "x.example")
    counts: dict[str, int] = {}
    crawler = SimpleNamespace(
        settings=Settings(),
        signals=SignalManager(),
        engine=SimpleNamespace(downloader=downloader),
        stats=SimpleNamespace(inc_value=lambda key: counts.update({key: counts.get(key, 0) + 1})),
        spider=Spider("s"),
    )
    crawler.spider.crawler = crawler
    return RetryAfterMiddleware.from_crawler(crawler)


def test_a_name_that_does_not_resolve_is_tried_once_more(middleware):
    request = Request("http://x.example/")
    again = middleware.process_exception(request, CannotResolveHostError("x.example"))
    assert again.meta["retry_times"] == 1
    assert middleware.process_exception(again, CannotResolveHostError("x.example")) is None


def test_what_was_refused_is_not_tried_again(middleware):
    class AddressRefused(IgnoreRequest, OSError):
        pass

    assert middleware.process_exception(Request("http://x.example/"), AddressRefused()) is None
    assert middleware.hosts.failed("x.example", ValueError()) is False


def test_retry_after_is_honoured_and_other_hosts_go_on():
    busy = Answer(status=429, headers={"Retry-After": "4"})
    with hosts({"/a": [busy, Answer()], "/b": Answer()}, {}) as [host, other]:
        report = crawl(
            [{"url": host.url + "/a"}, {"url": host.url + "/b"}]
            + [{"url": f"{other.url}/{n}"} for n in range(4)],
            CONCURRENT_REQUESTS=1,
            ROBOTSTXT_OBEY=False,
        )
    assert sorted(host.paths()) == ["/a", "/a", "/b"]
    assert len(other.visits) == 4
    assert host.visits[1].time - host.visits[0].time >= 3.99
    assert max(visit.time for visit in other.visits) < host.visits[1].time
    assert report["stats"]["lafka/hosts/parked"] == 1
    assert "127.0.0.2 answers 429 and is parked for 4 s" in report["log"]
    assert {result["status"] for result in report["results"]} == {200, 404}


def test_without_the_header_the_wait_doubles():
    with hosts({"/a": Answer(status=503)}) as [host]:
        report = crawl([{"url": host.url + "/a"}], ROBOTSTXT_OBEY=False)
    first, second, third = (visit.time for visit in host.visits)
    assert second - first >= 0.99
    assert third - second >= 1.99
    assert report["results"][0]["status"] == 503


def test_the_wait_is_capped():
    with hosts({"/a": [Answer(status=503, headers={"Retry-After": "86400"}), Answer()]}) as [host]:
        report = crawl([{"url": host.url + "/a"}], ROBOTSTXT_OBEY=False, LAFKA_RETRY_AFTER_MAX=0.2)
    assert report["results"][0]["status"] == 200


def test_a_host_that_never_answers_is_set_aside():
    report = crawl(
        [{"url": f"http://127.0.0.9:9/{n}"} for n in range(6)],
        ROBOTSTXT_OBEY=False,
        RETRY_TIMES=1,
        LAFKA_HOST_FAILURES_MAX=4,
    )
    errors = sorted(result["error"] for result in report["results"])
    assert errors == ["DownloadConnectionRefusedError"] * 2 + [HostSetAside.__name__] * 4
    assert report["stats"]["downloader/request_count"] == 4
    assert report["stats"]["lafka/hosts/set_aside"] == 1
    aside = [result for result in report["results"] if result["error"] == "HostSetAside"]
    assert {result["cause"] for result in aside} == {"DownloadConnectionRefusedError"}


@contextmanager
def raw_host(answer: bytes):
    """A port that counts its connections and says *answer* to the first bytes of each."""
    connections = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            connections.append(self.client_address)
            self.request.recv(65536)
            self.request.sendall(answer)

    with socketserver.ThreadingTCPServer(("127.0.0.2", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"127.0.0.2:{server.server_address[1]}", connections
        server.shutdown()


@pytest.mark.parametrize(
    ("scheme", "answer", "times"),
    [
        ("https", b"no TLS at all, this is plain text", 1),
        ("http", b"garbage\r\n\r\n", 1),
        ("http", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", 1),
        ("http", b"", 3),
    ],
)
def test_retries_only_where_they_can_help(scheme, answer, times):
    with raw_host(answer) as (place, connections):
        report = crawl([{"url": f"{scheme}://{place}/"}], ROBOTSTXT_OBEY=False)
    assert report["results"][0]["error"] == "DownloadFailedError"
    assert len(connections) == times


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS])
def test_trouble_of_the_disk_is_found_behind_what_wraps_it(number):
    error = RuntimeError("the download failed")
    error.__cause__ = ResponseNeverReceived([Failure(OSError(number, "no", "a.warc"))])
    trouble = not_the_sites(error)
    assert isinstance(trouble, StorageTrouble)
    assert str(trouble) == "a.warc: no"


@pytest.mark.parametrize("ours", [StorageTrouble("a.warc", OSError(28, "full")), Stopped("cut")])
def test_what_is_ours_is_handed_on_as_it_is(ours):
    error = RuntimeError("the download failed")
    error.__cause__ = ours
    assert not_the_sites(error) is ours


@pytest.mark.parametrize(
    "error", [ConnectionResetError(errno.ECONNRESET, "reset"), OSError("no number"), ValueError()]
)
def test_what_a_site_does_is_not_ours(error):
    assert not_the_sites(error) is None
