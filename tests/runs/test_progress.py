from __future__ import annotations

from types import SimpleNamespace

import pytest
from scrapy import Spider
from scrapy.utils.test import get_crawler

from lafka.items import ResultItem, TrailItem
from lafka.runs.progress import (
    ENDED_ASIDE,
    Progress,
    TrailStats,
    ended_as,
    is_counted_alone,
    names_a_contact,
    progress_line,
)
from tests.sites.hosts import Answer, hosts
from tests.sites.polite_crawl import crawl

EXTENSIONS = {
    "lafka.runs.progress.TrailStats": 0,
    "lafka.runs.progress.Progress": 0,
    "lafka.runs.progress.ContactCheck": 0,
}


def line(name: str = "futs", **feeder) -> str:
    return progress_line(
        done=1204,
        futs=800,
        name=name,
        rate=3.21,
        feeder=SimpleNamespace(**feeder) if feeder else None,
        waiting_hosts=12,
    )


def test_the_line_says_of_how_many_where_that_is_known():
    rest = "lines done, 800 futs, 3.2 lines/s, 12 hosts waiting"
    assert line(loaded=True, total=10_000) == f"1,204 of 10,000 {rest}"
    assert line(loaded=False, total=10_000) == f"1,204 of 10,000+ {rest}"
    assert line(loaded=False, total=None) == f"1,204 {rest}"
    assert line() == f"1,204 {rest}"
    assert line("datasets") == f"1,204 {rest}".replace("futs", "datasets")


def test_a_filesets_result_ends_a_line_by_its_status_and_that_of_its_file_ends_none():
    result, file = ResultItem(status="success-file"), ResultItem(status="success")
    file.beside = True
    assert (ended_as(result), ended_as(file), ended_as(object())) == ("success-file", None, None)
    trail = TrailItem(pid="RePEc:a:b:1", futli="https://x.example/", outcome="fut", time="")
    assert ended_as(trail) == "fut"


@pytest.mark.parametrize(
    ("user_agent", "named"),
    [
        ("Scrapy/2.19.0 (+https://scrapy.org)", False),
        ("Lafka/1.0 (+https://github.com/lafka-archive/lafka)", False),
        ("Lafka/1.0", False),
        ("Lafka/1.0 (+mailto:me@example.org)", True),
        ("Lafka/1.0 (+https://github.com/lafka-archive/lafka; +https://me.example)", True),
    ],
)
def test_names_a_contact(user_agent, named):
    assert names_a_contact(user_agent) is named


@pytest.mark.parametrize(
    ("settings", "alone"),
    [
        ({}, True),
        ({"FEEDS": {"a": {}, "b": {}}}, False),
        ({"ITEM_PIPELINES": {"lafka.pipelines.PaperWarcPipeline": 1}}, True),
        ({"ITEM_PIPELINES": {"other.Pipeline": 1}}, False),
        ({"ITEM_PIPELINES": {Spider: 1}}, False),
        ({"SPIDER_MIDDLEWARES": {"other.Middleware": None}}, True),
        ({"SPIDER_MIDDLEWARES": {"other.Middleware": 1}}, False),
    ],
)
def test_who_else_takes_items(settings, alone):
    crawler = get_crawler(settings_dict=settings)
    _ours = TrailStats.from_crawler(crawler)
    assert is_counted_alone(crawler) is alone
    assert not is_counted_alone(get_crawler(settings_dict={**settings, "CLOSESPIDER_ITEMCOUNT": 5}))


def test_lines_that_ended_aside_are_counted():
    crawler = get_crawler()
    _stats = TrailStats.from_crawler(crawler)
    progress = Progress.from_crawler(crawler)
    for count in (2, 3):
        crawler.signals.send_catch_log(ENDED_ASIDE, outcome="fut", count=count)
    assert progress.outcomes == {"fut": 5}
    counts = {"lafka/trails/fut": 5, "lafka/futs/new": 0, "lafka/requests": 0}
    assert counts.items() <= crawler.stats.get_stats().items()


def test_a_crawl_counts_its_trails_and_tells_at_the_end():
    with hosts({"/a": Answer()}) as [host]:
        report = crawl([{"url": host.url + "/a"}] * 3, EXTENSIONS=EXTENSIONS)
    stats = report["stats"]
    assert (stats["lafka/trails/fut"], stats["lafka/futs/new"], stats["lafka/requests"]) == (
        3,
        3,
        6,
    )
    assert report["log"].count("lafka.runs.progress] INFO: 3 lines done, 3 futs, ") == 1


def test_progress_can_be_switched_off():
    with hosts({}) as [host]:
        settings = {"EXTENSIONS": EXTENSIONS, "LAFKA_PROGRESS_INTERVAL": 0}
        report = crawl([{"url": host.url + "/a"}], **settings)
    assert "lines done" not in report["log"]
    assert report["stats"]["lafka/requests"] == 2


@pytest.mark.parametrize("contact", ["", "mailto:me@example.org"])
def test_a_missing_contact_is_one_warning(contact):
    report = crawl(
        [], quiet=False, EXTENSIONS=EXTENSIONS, LAFKA_CONTACT=contact, USER_AGENT="Lafka/1.0"
    )
    warnings = [entry for entry in report["log"].splitlines() if " WARNING: " in entry]
    assert len(warnings) == (0 if contact else 1)
    assert all("Set LAFKA_CONTACT" in warning for warning in warnings)
