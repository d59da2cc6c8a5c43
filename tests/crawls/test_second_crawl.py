"""Another crawl on the same road: whole responses of a list of URLs, in a WARC of their own.

It is what moves in next door (docs/architecture.md): a spider of a few lines over capture,
politeness and runs, of which it changes no file, and which know no paper.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from lafka.warc import Volume
from tests.crawls.running import ROOT, SETTINGS
from tests.sites.papers import MAIN, SmallSite
from tests.sites.server import reply
from tests.waiting import LIMIT

PROJECT = '''
import fcntl
import os
import sys
from pathlib import Path

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.settings import Settings

from lafka import settings
from lafka.capture.failures import verdict_of
from lafka.capture.logged import Provenance
from lafka.capture.middlewares import LOGGED_KEY, PROVENANCE_KEY
from lafka.capture.run import Run
from lafka.capture.verdicts import judge
from lafka.warc.writing.appending import Appender


class WholeSpider(Spider):
    """Keeps what a list of URLs answers, hops and all, copied out of the raw log."""

    name = "whole"

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        root = Path(crawler.settings["LAFKA_ARCHIVE"])
        root.mkdir()
        lock = os.open(root / "lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(lock, fcntl.LOCK_EX)
        spider.run = Run.begin(crawler, root, lock=lock)
        spider.warc = Appender.create(root / "whole.warc")
        return spider

    def report_fields(self):
        return {"urls": self.urls}

    async def start(self):
        for number, url in enumerate(self.urls):
            provenance = Provenance(owner=number, fields=(("Set", "whole"),))
            yield Request(url, meta={PROVENANCE_KEY: provenance}, dont_filter=True,
                          errback=self.failed)

    async def parse(self, response):
        logged = response.meta[LOGGED_KEY]
        owner = response.meta[PROVENANCE_KEY].owner
        await self.run.raw.in_order(self.keep, owner, logged)
        yield {"url": logged.exchanges[0].url, "hops": len(logged.exchanges),
               "bytes": logged.exchanges[-1].payload.length,
               "verdict": judge(logged.exchanges[-1].payload)}

    def failed(self, failure):
        verdict, why = verdict_of(failure.value)
        yield {"url": failure.request.url, "hops": 0, "verdict": verdict, "why": why}

    def keep(self, owner, logged):
        spans = [logged.exchanges[0].warcinfo]
        for exchange in logged.exchanges:
            spans += [exchange.request, exchange.response]
        with self.warc.group():
            for span in spans:
                with open(span.path, "rb") as file:
                    self.warc.copy(file.fileno(), span.offset, span.length)
            self.warc.sync()
        self.run.raw.log().release(owner)

    def closed(self, reason):
        self.warc.close()


chosen = Settings()
chosen.setmodule(settings)
for given in sys.argv[2:]:
    name, _, value = given.partition("=")
    chosen.set(name, value)
chosen.set("ITEM_PIPELINES", {})  # nothing of papers
chosen.set("CONCURRENT_REQUESTS", 1)
chosen.set("FEEDS", {str(Path(chosen["LAFKA_ARCHIVE"]).parent / "items.jsonl"): {
    "format": "jsonlines"}})
process = CrawlerProcess(chosen)
process.crawl(WholeSpider, urls=sys.argv[1].split())
process.start()
'''


def test_a_spider_of_a_few_lines_keeps_whole_responses_on_the_same_road(tmp_path: Path) -> None:
    with SmallSite((MAIN,), 1) as site:
        fut = site.papers[0].url
        site.routes["/moved"] = reply(b"", "", f"Location: {fut}", status="302 Found")
        dead = "http://127.0.0.1:1/"  # where nobody listens
        urls = [fut, f"{site.at(MAIN)}/moved", f"{site.at(MAIN)}/none", dead]
        given = SETTINGS | {"LAFKA_ARCHIVE": tmp_path / "store"}
        done = subprocess.run(
            [sys.executable, "-c", PROJECT, " ".join(urls),
             *(f"{name}={value}" for name, value in given.items())],
            cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr, done.stderr
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    found = {item["url"]: (item["verdict"], item["hops"]) for item in items}
    assert found == {
        urls[0]: ("pdf", 1), urls[1]: ("pdf", 2), urls[2]: ("not-found", 1), dead: ("connection", 0)
    }  # fmt: skip
    with Volume(tmp_path / "store" / "whole.warc") as volume:
        records = list(volume)
        kept = [(record.type, record.url) for record in records if record.url]
        infos = [record.block().read(0, 999) for record in records if record.type == "warcinfo"]
    assert kept == [
        (kind, url) for url in (fut, urls[1], fut, urls[2]) for kind in ("request", "response")
    ]
    assert [b"Set: whole\r\n" in info for info in infos] == [True, True, True]
    assert list((tmp_path / "store" / "raw").iterdir()) == []
    [report] = (tmp_path / "store" / "runs").glob("*.json")
    told = json.loads(report.read_text())
    assert (told["reason"], told["done"], told["urls"]) == ("finished", True, urls)
