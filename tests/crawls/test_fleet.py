"""A fleet on a real Kafka: workers with archives of their own that share the lines of a list."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from lafka.jobs.kafka.topics import Topic, create
from lafka.papers import Archive
from lafka.papers.crawling.fleets import Fleet
from tests import starts
from tests.crawls.running import ROOT, Crawl, check, crawl
from tests.crawls.test_shards import HOSTS, report, written
from tests.services.kafkas import Kafka, started, take_the_name
from tests.sites.server import Server
from tests.starts import Shell
from tests.test_shell_lines import blocks
from tests.waiting import LIMIT, until

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


def put_for_two(folder: Path, url: str, site: Server) -> list[Path]:
    """Put a list whose crawl pauses in its middle; the archives of two workers."""
    put(written(folder / "list.tsv", site), url)
    site.pause_after(12)
    return [folder / "a", folder / "b"]


def status(url: str) -> dict[str, Any]:
    done = fleet("status", url, "--json")
    assert done.returncode == 0, done.stderr
    values: dict[str, Any] = json.loads(done.stdout)
    return values


def listed(url: str) -> list[dict[str, Any]]:
    done = fleet("list", url)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def worker(archive: Path, url: str, **settings: Any) -> Crawl:
    given = {"LAFKA_WORKER": archive.name, **settings}
    return Crawl(archive, "-a", f"input={url}", "-a", "until=done", **given)


def wait_for(url: str, done: int) -> None:
    """Until so many lines have their outcome."""
    until(lambda: status(url)["done"] >= done)


def partitions_of(url: str, name: str) -> int:
    """How many partitions the group has given to the worker *name*."""
    return sum(one["partitions"] for one in status(url)["workers"] if one["worker"] == name)


def is_whole(url: str, *archives: Path) -> None:
    """Each line has one outcome, and each fut is in the archive of the worker that told of it."""
    told = listed(url)
    assert len(told) == LINES == len({(one["pid"], one["as_written"]) for one in told})
    for archive in archives:
        check(archive)
    for one in told:
        if one["outcome"] == "fut":
            assert Archive(archives[0].with_name(one["worker"])).suwaf(one["pid"])


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
    put(list_, url, "--refresh")
    assert status(url)["done"] == 0
    with worker(tmp_path / "one", url) as going:
        assert going.ended().code == 0
    again = Counter(seen.target for seen in site.seen if seen.target != "/robots.txt")
    assert again == asked
    assert status(url)["done"] == LINES == len(listed(url))


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
    is_whole(url, *archives)


def test_a_worker_that_was_stopped_for_long_begins_nothing_when_it_wakes(
    tmp_path: Path, url: str, site: Server
) -> None:
    archives = put_for_two(tmp_path, url, site)
    with worker(archives[0], url) as stopped, worker(archives[1], url) as going:
        assert site.paused.wait(LIMIT)
        until(lambda: partitions_of(url, "a") and partitions_of(url, "b"))
        stopped.process.send_signal(signal.SIGSTOP)
        until(lambda: partitions_of(url, "b") == 6)  # its session is over
        site.resume()
        wait_for(url, LINES)
        before = len(site.seen)
        stopped.process.send_signal(signal.SIGCONT)
        runs = [stopped.ended(), going.ended()]
    assert [run.code for run in runs] == [0, 0], [run.log for run in runs]
    after = {seen.target for seen in site.seen[before:]} - {"/robots.txt"}
    assert len(after) <= len(HOSTS)  # what its trails had begun
    is_whole(url, *archives)


def test_a_worker_that_is_added_has_a_part_of_what_goes_on(
    tmp_path: Path, url: str, site: Server
) -> None:
    archives = put_for_two(tmp_path, url, site)
    with worker(archives[0], url) as first:
        assert site.paused.wait(LIMIT)
        assert partitions_of(url, "a") == 6
        with worker(archives[1], url) as second:
            until(lambda: partitions_of(url, "b") == 3)
            site.resume()
            runs = [first.ended(), second.ended()]
    assert [run.code for run in runs] == [0, 0], [run.log for run in runs]
    asked = Counter(seen.target for seen in site.seen if seen.target != "/robots.txt")
    assert sum(asked.values()) - len(asked) <= len(HOSTS)
    is_whole(url, *archives)


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
    for words in (["check-list", url], ["fleet", "put", url, url], ["plan", url]):
        done = subprocess.run(
            [sys.executable, "-m", "lafka", *words],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "a fleet is no list: name a file" in done.stderr
    put(list_, f"{url}y")
    put_again = fleet("put", str(list_), f"{url}y", "--partitions", "7")
    assert put_again.returncode == 2
    assert f"{name}y has 6 partitions, which stay as they are" in put_again.stderr
    for option in ("--partitions", "--copies"):
        none = fleet("put", str(list_), f"{url}z", option, "0")
        assert (none.returncode, none.stderr.count("\n")) == (2, 1)
        assert "--partitions and --copies are numbers above nothing" in none.stderr
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


def test_a_broker_that_is_killed_ends_a_crawl_after_a_while_or_comes_back(
    tmp_path: Path, kafka: Kafka, url: str, site: Server
) -> None:
    put(written(tmp_path / "list.tsv", site), url)
    archive = tmp_path / "archive"
    site.pause_after(12)
    with worker(archive, url, DOWNLOAD_DELAY=1, LAFKA_FLEET_PATIENCE=4) as going:
        assert site.paused.wait(LIMIT)
        kafka.kill()
        site.resume()
        try:
            run = going.ended()
        finally:
            kafka.start()
    assert run.code == 1, run.log
    assert "no broker has answered for 4 seconds" in run.log
    assert report(archive)["reason"] == "kafka-lost"
    before = status(url)["done"]
    assert before < LINES
    with worker(archive, url, DOWNLOAD_DELAY=1) as going:
        wait_for(url, before + 1)
        kafka.kill()
        kafka.start()
        run = going.ended()
    assert run.code == 0, run.log
    told = listed(url)
    assert len(told) == LINES == len({(one["pid"], one["as_written"]) for one in told})
    assert status(url)["outcomes"] == {"fut": 28, "bad-url": 1, "bad-pid": 1}
    check(archive)


def test_a_worker_that_is_fenced_joins_again_and_each_line_has_one_outcome(
    tmp_path: Path, kafka: Kafka, url: str, site: Server
) -> None:
    (archive, _) = put_for_two(tmp_path, url, site)
    shared = Fleet.load(url, Settings())
    with worker(archive, url) as going:
        assert site.paused.wait(LIMIT)
        take_the_name(kafka, shared.lines, shared.group, archive.name)
        site.resume()
        run = going.ended()
    assert run.code == 0, run.log
    assert "joins again" in run.log
    is_whole(url, archive)


@pytest.mark.long("it is waited for as long as a broker may take")
def test_a_kafka_that_does_not_answer_is_told_in_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as closed:  # bound, and never listened at
        closed.bind(("127.0.0.1", 0))
        url = f"kafka://127.0.0.1:{closed.getsockname()[1]}/crawl"
        run = crawl(tmp_path / "archive", url)
    assert run.code == 2
    assert "does not answer within 20 seconds" in run.log
    assert not (tmp_path / "archive").exists()


def test_a_line_whose_callback_raises_ends_no_fleet_and_is_asked_at_the_next_start(
    tmp_path: Path, url: str, site: Server
) -> None:
    put(written(tmp_path / "list.tsv", site), url)
    archive = tmp_path / "archive"
    with worker(archive, url, SPIDER_MODULES="tests.crawls.raising") as going:
        run = going.ended()
    assert "a bug" in run.log
    assert not report(archive)["done"]
    assert status(url)["done"] == LINES - 1
    with worker(archive, url) as going:
        assert going.ended().code == 0
    assert status(url)["done"] == LINES
    assert [seen.target for seen in site.seen].count("/3.pdf") == 2


def test_the_lines_of_the_how_to_are_run(tmp_path: Path, kafka: Kafka, site: Server) -> None:
    page = [
        block.replace("localhost:9092", kafka.servers)
        for block in blocks("docs/how-to/run-a-fleet.md", "sh")
    ]
    made, crawls, restarted, merged, lost = page
    environment = Shell(tmp_path, (Path(sys.executable).parent,)).environment
    written(tmp_path / "list.tsv", site)

    def run(block: str) -> str:
        how = ["sh", "-ec", block]
        done = subprocess.run(
            how, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert f"{LINES + 1} lines put into 64 partitions" in run(made.partition("\n")[2])
    url = f"kafka://{kafka.servers}/crawl"
    with subprocess.Popen(
        ["sh", "-ec", crawls], cwd=tmp_path, env=environment, start_new_session=True
    ) as shell:
        try:
            assert shell.wait() == 0
            wait_for(url, 3)
            assert f"{LINES} of {LINES} lines have their outcome" in run(restarted)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
    assert "28 papers" in run(merged)
    busy = max(status(url)["workers"], key=lambda one: one["outcomes"])["worker"]
    said = run(lost.replace(" one ", f" {busy} "))
    assert re.search(r"[012] lines of", said)  # bad ones: all futs are in the merged archive
