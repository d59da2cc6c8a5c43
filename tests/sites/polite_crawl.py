"""A real crawl of a list of requests in its own process, with the politeness components.

``crawl(requests, **settings)`` runs it; the file itself is what the process runs: a JSON job on
standard input, a JSON report on standard output, the log on standard error.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy.settings.default_settings import EXTENSIONS_BASE

from tests import starts
from tests.sites.hosts import SENT
from tests.waiting import LIMIT

SETTINGS: dict[str, Any] = {
    "AUTOTHROTTLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 8,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_HANDLERS": dict.fromkeys(("data", "file", "ftp", "s3")),
    "DOWNLOAD_TIMEOUT": LIMIT,
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
        "lafka.politeness.RobotsMiddleware": 100,
        "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
        "lafka.politeness.RetryAfterMiddleware": 550,
        "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
        "lafka.politeness.TrailRefreshMiddleware": 580,
        "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
        "lafka.politeness.TrailRedirectMiddleware": 600,
        "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": None,
        "lafka.politeness.TrailCookiesMiddleware": 700,
    },
    # Without those that take long to import, and are off.
    "EXTENSIONS_BASE": {
        name: 0 for name in EXTENSIONS_BASE if "onsole" not in name and "RemoteControl" not in name
    },
    "HTTPERROR_ALLOW_ALL": True,
    "LOG_LEVEL": "INFO",
    "METAREFRESH_MAXDELAY": 5,
    "REDIRECT_MAX_TIMES": 10,
    "RETRY_GIVE_UP_LOG_LEVEL": "INFO",
    "RETRY_PRIORITY_ADJUST": 1,
    "ROBOTSTXT_OBEY": True,
    "SCHEDULER_PRIORITY_QUEUE": "lafka.politeness.HostQueue",
    "USER_AGENT": "Lafka/0 (+mailto:operator@example.org)",
}


def crawl(requests: list[dict[str, Any]], *, quiet: bool = True, **settings: Any) -> dict[str, Any]:
    """The report: ``results`` (url, status or error, cause, order), ``stats``, ``jars``, ``log``.

    With *quiet*, a WARNING or ERROR in the log is a failure.
    """
    run = starts.run(
        [sys.executable, "-m", "tests.sites.polite_crawl"],
        input=json.dumps({"settings": SETTINGS | settings, "requests": requests}),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    report: dict[str, Any] = json.loads(run.stdout)
    report["log"] = run.stderr
    if quiet:
        bad = [
            line for line in run.stderr.splitlines() if " WARNING: " in line or " ERROR: " in line
        ]
        assert not bad, run.stderr
        assert "Traceback" not in run.stderr, run.stderr
    return report


@dataclass(frozen=True, slots=True)
class Item:
    """As much of a trail item as the components look at."""

    number: int
    outcome: str = "fut"
    requests: int = 2
    futs: tuple[dict[str, bool], ...] = ({"new": True}, {"new": False})


def main() -> None:
    import scrapy
    from scrapy.core.downloader import Downloader, Slot
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import AsyncCrawlerProcess

    from lafka.politeness import TrailCookiesMiddleware

    # The crawl would end by the heartbeat even if nothing else woke the engine.
    ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 3600.0
    download = Downloader._download

    async def stamped(
        self: Downloader, slot: Slot, request: scrapy.Request
    ) -> scrapy.http.Response:
        request.headers[SENT] = repr(slot.lastseen)
        return await download(self, slot, request)

    Downloader._download = stamped
    job = json.load(sys.stdin)
    report: dict[str, Any] = {"results": []}

    class Spider(scrapy.Spider):
        name = "polite"

        async def start(self):
            for number, request in enumerate(job["requests"]):
                meta = {"cookiejar": number} | request.pop("meta", {})
                yield scrapy.Request(
                    **request, meta=meta, dont_filter=True, callback=self.keep, errback=self.fail
                )

        def keep(self, response):
            asked = response.meta.get("redirect_urls", [response.request.url])[0]
            note = {"asked": asked, "url": response.url, "status": response.status}
            report["results"].append(note | {"slot": response.meta["download_slot"]})
            yield Item(response.meta["cookiejar"])

        def fail(self, failure):
            error = failure.value
            cause = getattr(error, "cause", None)
            report["results"].append(
                {
                    "asked": failure.request.meta.get("redirect_urls", [failure.request.url])[0],
                    "error": type(error).__name__,
                    "cause": type(cause).__name__ if cause else None,
                    "unavailable": getattr(error, "unavailable", None),
                    "text": str(error),
                }
            )
            yield Item(failure.request.meta["cookiejar"])

    process = AsyncCrawlerProcess(job["settings"])
    crawler = process.create_crawler(Spider)
    process.crawl(crawler)
    process.start()
    cookies = crawler.get_downloader_middleware(TrailCookiesMiddleware)
    report["jars"] = len(cookies.jars) if cookies else 0
    report["stats"] = {
        key: value
        for key, value in crawler.stats.get_stats().items()
        if isinstance(value, (int, float, str))
    }
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
