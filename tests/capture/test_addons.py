"""The add-on in a Scrapy project of its own: whole responses in WARCs, the project as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from scrapy.settings import Settings

from lafka.capture import Addon
from lafka.errors import BadArgument
from lafka.warc import Volume
from tests import starts
from tests.sites.papers import MAIN, SmallSite
from tests.sites.server import reply
from tests.waiting import LIMIT

BIG = b"%PDF-1.4\n" + bytes(range(256)) * 12_000 + b"\n%%EOF\n"
FILES = {
    "scrapy.cfg": "[settings]\ndefault = mine.settings\n",
    "mine/__init__.py": "",
    "mine/settings.py": """
BOT_NAME = "mine"
SPIDER_MODULES = ["mine.spiders"]
ADDONS = {"lafka.capture.Addon": 300}
LAFKA_ALLOWED_NETWORKS = ["127.0.0.0/8"]
DOWNLOADER_MIDDLEWARES = {"mine.marks.Marks": 500}
""",
    "mine/marks.py": """
class Marks:
    def process_request(self, request):
        request.headers["X-Mine"] = "yes"
""",
    "mine/spiders/__init__.py": "",
    "mine/spiders/one.py": """
import hashlib
import scrapy

class One(scrapy.Spider):
    name = "one"

    async def start(self):
        for url in self.urls.split():
            yield scrapy.Request(url)

    def parse(self, response):
        digest = hashlib.sha256(response.body).hexdigest()
        yield {"url": response.url, "size": len(response.body), "sha256": digest}
""",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_a_project_of_its_own_gets_whole_responses_and_their_warcs(project: Path) -> None:
    with SmallSite((MAIN,), 0) as site:
        site.routes["/big.pdf"] = reply(BIG, "application/pdf")
        site.routes["/moved"] = reply(b"", "", "Location: /big.pdf", status="302 Found")
        urls = f"{site.at(MAIN)}/moved {site.at(MAIN)}/none"
        done = starts.verb(
            "scrapy",
            "crawl",
            "one",
            "-a",
            f"urls={urls}",
            "-o",
            "items.jsonl",
            folder=project,
            timeout=LIMIT,
        )
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr
    (item,) = (project / "items.jsonl").read_text().splitlines()
    assert f'"size": {len(BIG)}' in item
    (path,) = (project / "archive/raw").glob("*/*.warc*")
    with Volume(path) as volume:
        found = [(r.type, r.url, b"".join(r.payload())) for r in volume if r.type == "response"]
    assert [url.endswith("/big.pdf") for _, url, body in found if body == BIG] == [True]
    assert {url.rpartition("/")[2] for _, url, _ in found} == {"moved", "big.pdf", "none"}
    assert path.read_bytes().count(b"X-Mine: yes") == len(found) == 3
    check = [sys.executable, "-m", "warcio.cli", "check", str(path)]
    assert subprocess.run(check, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_handler_of_the_projects_own_is_refused(scheme: str) -> None:
    settings = Settings({"DOWNLOAD_HANDLERS": {scheme: "mine.handlers.Own"}})
    with pytest.raises(BadArgument, match=f"{scheme} has a handler of its own"):
        Addon().update_settings(settings)
