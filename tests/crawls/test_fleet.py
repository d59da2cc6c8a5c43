"""A fleet on a real Kafka: workers with archives of their own that share the lines of a list."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lafka.jobs.kafka.topics import Topic, create
from lafka.papers import Archive
from tests import starts
from tests.crawls.running import ROOT, Crawl, check, crawl
from tests.crawls.test_shards import HOSTS, report, written
from tests.services.kafkas import Kafka, started
from tests.sites.server import Server

LINES = 30  # of the list of test_shards, one of which stands there twice


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    broker = started()
    yield broker
    broker.end()


@pytest.fixture
def url(kafka: Kafka) -> str:
    return f"kafka://{kafka.servers}/f{uuid.uuid4().hex}"


@pytest.fixture
def site() -> Iterator[Server]:
    with Server(HOSTS) as site:
        yield site


def fleet(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scrapy", "fleet", *words]
    return starts.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def put(list_: Path, url: str, *options: str) -> None:
    done = fleet("put", str(list_), url, "--copies", "1", "--partitions", "6", *options)
    assert done.returncode == 0, done.stderr


def status(url: str) -> dict[str, Any]:
    done = fleet("status", url, "--json")
    assert done.returncode == 0, done.stderr
    values: dict[str, Any] = json.loads(done.stdout)
    return values


def listed(url: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in fleet("list", url).stdout.splitlines()]


def worker(archive: Path, url: str, **settings: Any) -> Crawl:
    given = {"LAFKA_WORKER": archive.name, **settings}
    return Crawl(archive, "-a", f"input={url}", "-a", "until=done", **given)


def wait_for(url: str, done: int) -> None:
    """Until so many lines have their outcome."""
    over = threading.Event()
    for _ in range(300):
        if status(url)["done"] >= done:
            return
        over.wait(0.2)
    raise AssertionError(status(url))


def test_a_list_put_twice_is_done_by_one_worker_and_then_nobody_is_asked(
    tmp_path: Path, url: str, site: Server
) -> None:
    list_ = written(tmp_path / "list.tsv", site)
    put(list_, url)
    put(list_, url)
    before = status(url)
    assert (before["lines"], before["done"]) == (LINES, 0)
    with worker(tmp_path / "one", url) as going:
        run = going.ended()
    assert run.code == 0, run.log
    assert not run.troubles()
    after = status(url)
    assert (after["lines"], after["done"]) == (LINES, LINES)
    assert after["outcomes"] == {"fut": 28, "bad-url": 1, "bad-pid": 1}
    assert report(tmp_path / "one")["done"]
    check(tmp_path / "one")
    asked = Counter(seen.target for seen in site.seen if seen.target != "/robots.txt")
    assert set(asked.values()) == {1}
    site.forget()
    with worker(tmp_path / "two", url) as going:
        assert going.ended().code == 0
    assert site.seen == []


def test_two_workers_share_a_list_and_one_is_killed_and_comes_back(
    tmp_path: Path, url: str, site: Server
) -> None:
    put(written(tmp_path / "list.tsv", site), url)
    archives = [tmp_path / "a", tmp_path / "b"]
    slow = {"DOWNLOAD_DELAY": 0.5}
    with worker(archives[0], url, **slow) as first, worker(archives[1], url, **slow) as second:
        wait_for(url, 3)
        first.kill()
        with worker(archives[0], url) as again:
            runs = [again.ended(), second.ended()]
    assert [run.code for run in runs] == [0, 0], [run.log for run in runs]
    told = listed(url)
    assert len(told) == LINES == len({(one["pid"], one["as_written"]) for one in told})
    for archive in archives:
        check(archive)
    for one in told:
        if one["outcome"] == "fut":
            assert Archive(tmp_path / one["worker"]).suwaf(one["pid"])


def test_bad_input_is_told_in_a_sentence_and_nothing_is_written(
    tmp_path: Path, kafka: Kafka, url: str
) -> None:
    def refused(source: str, *arguments: str) -> str:
        run = crawl(tmp_path / "archive", source, *arguments)
        assert run.code == 2, run.log
        assert not (tmp_path / "archive").exists()
        return run.log

    list_ = tmp_path / "list.tsv"
    list_.write_text("RePEc:a:b:1\thttp://127.0.0.2/1\n")
    name = url.rpartition("/")[2]
    assert "until=done is of a fleet" in refused(str(list_), "-a", "until=done")
    assert "until='maybe' is not done" in refused(url, "-a", "until=maybe")
    assert "a fleet's partitions are its shards" in refused(url, "-a", "shard=0/2")
    assert "is not like kafka://HOST" in refused("kafka://")
    assert "secret" not in refused(f"kafka://me:secret@{kafka.servers}/crawl")
    assert f"the topic {name}.lines is missing" in refused(url)
    topics = [
        Topic(name=f"{name}.lines", partitions=2),
        Topic(name=f"{name}.outcomes", partitions=2),
    ]
    create(kafka.servers, topics, {}, replication=1)
    assert "is not compacted" in refused(url)
    name = f"{name}x"
    compact = {"cleanup.policy": "compact"}
    topics = [
        Topic(name=f"{name}.lines", partitions=2, config=compact),
        Topic(name=f"{name}.outcomes", partitions=3, config=compact),
    ]
    create(kafka.servers, topics, {}, replication=1)
    assert "has 2 partitions" in refused(f"{url}x")


def test_what_a_lost_disk_had_is_asked_again_but_for_what_another_archive_holds(
    tmp_path: Path, url: str, site: Server
) -> None:
    put(written(tmp_path / "list.tsv", site), url)
    with worker(tmp_path / "lost", url) as going:
        assert going.ended().code == 0
    shutil.copytree(tmp_path / "lost", tmp_path / "kept")
    for pid in (0, 1):
        [suwaf] = (tmp_path / "kept" / "suwaf").rglob(f"{pid}.json")
        suwaf.unlink()
    shutil.rmtree(tmp_path / "lost")
    site.forget()
    done = fleet("again", "lost", url, "--held-in", str(tmp_path / "kept"))
    assert done.returncode == 0, done.stderr
    assert "4 lines of lost are asked again" in done.stderr  # two of them are bad
    assert status(url)["done"] == LINES - 4
    with worker(tmp_path / "new", url) as going:
        run = going.ended()
    assert run.code == 0, run.log
    assert {seen.target for seen in site.seen} == {"/robots.txt", "/0.pdf", "/1.pdf"}
    assert len(list((tmp_path / "new" / "suwaf").rglob("*.json"))) == 2
    assert status(url)["done"] == LINES
    told = fleet("again", "nobody", url)
    assert told.returncode == 2
    assert "no outcome is of a worker 'nobody'" in told.stderr
    assert fleet("again", "lost", url).returncode == 0
    with worker(tmp_path / "newer", url) as going:
        assert going.ended().code == 0
    one_each = Counter((one["pid"], one["as_written"]) for one in listed(url))
    assert set(one_each.values()) == {1}
    assert {one["worker"] for one in listed(url)} == {"new", "newer"}
    check(tmp_path / "newer")
