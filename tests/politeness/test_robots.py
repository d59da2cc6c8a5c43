from __future__ import annotations

import asyncio
from itertools import pairwise
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager

from lafka.politeness import RobotsMiddleware, RobotsUnreachable, robots
from lafka.politeness.robots import own_groups
from tests.sites.hosts import Answer, hosts
from tests.sites.polite_crawl import crawl

PAGE = Answer()


def by_url(report):
    return {result["asked"]: result for result in report["results"]}


def test_a_disallowed_page_is_not_asked_and_fails_as_forbidden():
    rules = Answer(body=b"User-agent: other\nDisallow: /\n\nUser-agent: lafka\nDisallow: /no\n")
    with hosts({"/robots.txt": rules, "/yes": PAGE, "/no": PAGE}) as [host]:
        results = by_url(crawl([{"url": host.url + path} for path in ("/yes", "/no")]))
    assert results[host.url + "/yes"]["status"] == 200
    assert results[host.url + "/no"]["error"] == "RobotsForbidden"
    assert results[host.url + "/no"]["unavailable"] is False
    assert host.paths() == ["/robots.txt", "/yes"]


def test_4xx_allows_and_5xx_forbids_after_its_retries():
    with hosts(
        {"/robots.txt": Answer(status=403), "/p": PAGE},
        {"/robots.txt": Answer(status=500), "/p": PAGE},
        {"/robots.txt": [Answer(status=502), Answer(status=404)], "/p": PAGE},
    ) as three:
        results = by_url(crawl([{"url": host.url + "/p"} for host in three]))
    allowed, forbidden, recovered = (results[host.url + "/p"] for host in three)
    assert allowed["status"] == recovered["status"] == 200
    assert forbidden["error"] == "RobotsForbidden"
    assert forbidden["unavailable"] is True
    assert three[1].paths() == ["/robots.txt"] * 3


def test_requests_to_a_dead_host_fail_with_its_cause_and_only_robots_is_tried():
    dead = "http://127.0.0.9:9"
    report = crawl([{"url": f"{dead}/{n}"} for n in range(5)])
    assert [result["error"] for result in report["results"]] == ["RobotsUnreachable"] * 5
    assert {result["cause"] for result in report["results"]} == {"DownloadConnectionRefusedError"}
    assert report["stats"]["downloader/request_count"] == 3  # robots.txt and its two retries
    assert report["log"].count("cannot be had") == 1


def test_concurrent_first_requests_share_one_fetch_by_the_name_that_is_set():
    rules = b"User-agent: *\nDisallow: /4\n\nUser-agent: named\nDisallow: /3\n"
    with hosts({"/robots.txt": Answer(body=rules)}) as [host]:
        report = crawl(
            [{"url": f"{host.url}/{n}"} for n in range(6)],
            CONCURRENT_REQUESTS_PER_DOMAIN=6,
            ROBOTSTXT_USER_AGENT="named/2",
        )
    assert host.paths().count("/robots.txt") == 1
    assert [r["asked"] for r in report["results"] if "error" in r] == [host.url + "/3"]


def test_robots_is_followed_through_redirects_to_another_host():
    rules = Answer(body=b"User-agent: *\nDisallow: /no\n")
    with hosts({"/rules": rules}, {"/yes": PAGE, "/no": PAGE}) as [target, host]:
        hops = {f"/{n}": Answer(status=302, headers={"Location": f"/{n + 1}"}) for n in range(1, 4)}
        last = Answer(status=301, headers={"Location": target.url + "/rules"})
        first = Answer(status=302, headers={"Location": "/1"})
        host.answers |= hops | {"/4": last, "/robots.txt": first}
        results = by_url(crawl([{"url": host.url + path} for path in ("/yes", "/no")]))
    assert results[host.url + "/yes"]["status"] == 200
    assert results[host.url + "/no"]["error"] == "RobotsForbidden"
    assert target.paths() == ["/rules"]


def test_more_than_five_redirects_count_as_no_robots():
    hops = {f"/{n}": Answer(status=302, headers={"Location": f"/{n + 1}"}) for n in range(9)}
    with hosts(hops | {"/robots.txt": hops["/0"], "/p": PAGE}) as [host]:
        results = by_url(crawl([{"url": host.url + "/p"}]))
    assert results[host.url + "/p"]["status"] == 200
    assert "/5" in host.paths()
    assert "/6" not in host.paths()


def test_crawl_delay_is_kept_between_pages_whatever_autothrottle_says():
    rules = Answer(body=b"User-agent: *\nCrawl-delay: 0.7\n")
    with hosts({"/robots.txt": rules}) as [host]:
        crawl(
            [{"url": f"{host.url}/{n}"} for n in range(4)],
            AUTOTHROTTLE_ENABLED=True,
            AUTOTHROTTLE_START_DELAY=0.01,
            CONCURRENT_REQUESTS_PER_DOMAIN=2,
        )
    times = [visit.time for visit in host.visits]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert len(gaps) == 4
    assert min(gaps) > 0.6  # asked for 0.7 between starts; arrival may jitter


def test_crawl_delay_is_capped():
    rules = Answer(body=b"User-agent: *\nCrawl-delay: 86400\n")
    with hosts({"/robots.txt": rules, "/p": PAGE}) as [host]:
        report = crawl([{"url": host.url + "/p"}] * 2, LAFKA_CRAWL_DELAY_MAX=0.1)
    assert [result["status"] for result in report["results"]] == [200, 200]


def test_a_host_that_asks_to_wait_at_robots_is_parked_and_asked_again():
    rules = Answer(body=b"User-agent: *\nDisallow: /no\n")
    busy = Answer(status=503, headers={"Retry-After": "3"})
    with hosts({"/robots.txt": [busy, rules], "/yes": PAGE}, {"/p": PAGE}) as [host, other]:
        report = crawl(
            [{"url": host.url + "/yes"}, {"url": host.url + "/no"}, {"url": other.url + "/p"}],
            CONCURRENT_REQUESTS=1,
        )
    assert report["results"][0]["asked"] == other.url + "/p"
    assert sorted(r.get("error", "") for r in report["results"]) == ["", "", "RobotsForbidden"]
    first, second = (visit.time for visit in host.visits if visit.path == "/robots.txt")
    assert second - first >= 2.99
    assert report["stats"]["lafka/hosts/parked"] == 1


def test_robots_takes_no_cookies():
    cookie = {"Set-Cookie": "a=1"}
    with hosts({"/robots.txt": Answer(headers=cookie, body=b""), "/p": PAGE}) as [host]:
        crawl([{"url": host.url + "/p"}])
    assert [visit.cookie for visit in host.visits] == [None, None]


def test_own_groups_keeps_what_is_meant_for_us_and_for_all():
    text = "\n".join(
        [
            "# a comment",
            "User-agent: Other",
            "User-Agent: Lafka # us",
            "Disallow: /a",
            "",
            "Crawl-delay: 3",
            "User-agent: Other",
            "Disallow: /b",
            "useragent *",
            "Disallow: /c",
        ]
    )
    assert own_groups(text, "Lafka/1 (+mailto:x@example.org)").splitlines() == [
        "User-agent: lafka",
        "Disallow: /a",
        "Crawl-delay: 3",
        "User-agent: *",
        "Disallow: /c",
    ]


def test_own_groups_bounds_agents_times_rules():
    agents = "".join(f"User-agent: {'lafka/1.0'[:n]}\n" for n in range(1, 10)) * 1000
    kept = own_groups(agents + "Disallow: /x\n" * 10_000, "Lafka/1.0")
    assert kept.count("User-agent") == 9


@pytest.fixture
def asked():
    """The middleware and the robots.txt URLs it has asked for; hosts named dead are."""
    urls = []

    async def download_async(request):
        urls.append(request.url)
        if "dead" in request.url:
            raise OSError("no route")
        return Response(request.url, body=b"User-agent: *\nDisallow: /no")

    downloader = SimpleNamespace(slots={}, get_slot_key=lambda request: "x")
    crawler = SimpleNamespace(
        settings=Settings({"ROBOTSTXT_OBEY": True}),
        signals=SignalManager(),
        stats=SimpleNamespace(inc_value=lambda key: None),
        engine=SimpleNamespace(downloader=downloader, download_async=download_async),
        get_downloader_middleware=lambda cls: None,
        spider=None,
    )
    return RobotsMiddleware.from_crawler(crawler), urls


def test_what_is_known_is_bounded(asked, monkeypatch):
    middleware, urls = asked
    monkeypatch.setattr(robots, "KEPT_HOSTS", 2)

    async def ask():
        for host in "abacab":
            await middleware.process_request(Request(f"http://{host}.example/"))

    asyncio.run(ask())
    assert [url[7] for url in urls] == ["a", "b", "c", "b"]


def test_a_failure_is_believed_for_an_hour(asked, monkeypatch):
    middleware, urls = asked
    now = [1000.0]
    monkeypatch.setattr(robots, "monotonic", lambda: now[0])

    async def ask():
        for later in (0, 10, 3600):
            now[0] += later
            with pytest.raises(RobotsUnreachable) as caught:
                await middleware.process_request(Request("http://dead.example/p"))
            assert isinstance(caught.value.cause, OSError)

    asyncio.run(ask())
    assert len(urls) == 2


def test_scheme_and_port_have_rules_of_their_own_and_users_none(asked):
    middleware, urls = asked

    async def ask():
        for url in ("http://a/", "https://a/", "http://a:81/", "http://me:secret@a/"):
            await middleware.process_request(Request(url))

    asyncio.run(ask())
    assert urls == ["http://a/robots.txt", "https://a/robots.txt", "http://a:81/robots.txt"]


def test_one_of_500_kib_is_parsed_beside_the_reactor():
    rules = "User-agent: *\n" + "".join(f"Disallow: /{n}\n" for n in range(30_000))
    with hosts({"/robots.txt": Answer(body=rules.encode())}) as [host]:
        results = crawl([{"url": host.url + "/7"}, {"url": host.url + "/x"}])["results"]
    assert [result.get("status") for result in results] == [None, 404]
