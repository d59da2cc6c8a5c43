"""Requests from a real broker's topic, and results to its topics, by real crawls."""

from __future__ import annotations

import base64
import json
import sqlite3
import threading
import uuid
from pathlib import Path

from tests.filesets.crawls.running import FilesetCrawl, crawl, held, requests_file, results
from tests.filesets.crawls.test_command import schema
from tests.sites.platforms import file_target, played
from tests.sites.server import Reply, Seen, reply
from tests.waiting import LIMIT

FILES = (("a.csv", b"a,b\n1,2\n"), ("sub/b.txt", b"text\n" * 50))


def member(folder: Path, name: str) -> dict[str, Path]:
    """Settings of a worker that keeps its place in the group when it is started again."""
    path = folder / f"{name}.properties"
    path.write_text(f"group.instance.id={name}\n", "utf-8")
    return {"LAFKA_KAFKA": path}


def attempts(archive: Path) -> list[tuple[str, int]]:
    """Messages, place and URL, that were begun and neither ended nor got on, and how often."""
    with sqlite3.connect(archive / "fileset" / "index.sqlite") as index:
        return list(index.execute("SELECT message, begins FROM attempts ORDER BY begins"))


class Killer:
    """A page at which the worker dies that asks for it; what is beside it waits for its end."""

    def __init__(self, page: Reply) -> None:
        self.page = page
        self.worker: FilesetCrawl | None = None
        self.kills = 0
        self.beside = threading.Event()
        self.spares = threading.Event()

    def asked(self, _: Seen) -> Reply:
        if self.kills < 2:
            self.beside.wait(LIMIT)
        assert self.worker is not None
        self.worker.process.kill()
        self.kills += 1
        if self.kills == 2:
            self.spares.set()
        return reply(b"", "", length=10, then="hold")

    def innocent(self, _: Seen) -> Reply:
        self.beside.set()
        if not self.spares.wait(0 if self.kills else LIMIT):
            return reply(b"", "", length=10, then="hold")
        return self.page


def test_requests_come_from_a_topic_and_results_go_to_theirs(ingest):
    site = ingest.site
    urls = [site.play(name, played(*FILES, number=n)) for n, name in
            enumerate(("zenodo", "dataverse", "archiveorg"), 1)]  # fmt: skip
    one = site.play("figshare", played(FILES[0], number=9))
    ingest.ask(*urls, one, {"ingest_type": "pdf", "base_url": urls[0]})
    run = ingest.worked(5)
    assert (run.code, run.troubles()) == (3, []), run.log
    assert (run.stats["lafka/kafka/read"], run.stats["lafka/kafka/passed"]) == (5, 1)
    assert run.stats["lafka/kafka/published"] == 5
    told = dict(ingest.told(ingest.filesets))
    assert told.keys() == {f"dataset\t{url}" for url in (*urls, one)}
    assert {result["status"] for result in told.values()} == {"success", "success-file"}
    for result in told.values():
        schema("ingest-fileset-result").validate(result)
        assert result["lafka"]["message"].startswith(f"{ingest.requests}/")
    [(key, file)] = ingest.told(ingest.files)
    assert key == f"dataset-file\t{one}"
    schema("ingest-file-result").validate(file)
    assert len(held(ingest.archive)) == 7
    [feed] = results(ingest.archive)
    assert sorted(map(str, feed)) == sorted(map(str, [*told.values(), file]))

    ingest.ask(*urls, one)
    site.forget()
    again = ingest.worked(9)
    assert (again.code, site.targets()) == (3, []), again.log
    assert again.stats["lafka/kafka/read"] == 4
    assert len(ingest.told(ingest.files)) == 1  # it was told
    news = [result for _, result in ingest.told(ingest.filesets)][-8:]
    assert sum(result["status"] == "success-existing" for result in news) == 4


def test_a_killed_worker_loses_no_result_and_fetches_no_file_twice(ingest):
    site = ingest.site
    sets = [played((f"{n}.txt", b"%d\n" % n), ("b.txt", b"b"), number=n) for n in range(1, 7)]
    urls = [site.play("zenodo", one) for one in sets]
    held_up = file_target("zenodo", sets[4], 1)
    answer = site.routes[held_up]
    site.routes[held_up] = reply(b"", "", length=900, then="hold")
    ingest.ask(*urls)
    over = threading.Event()
    with ingest.going() as worker:
        for _ in range(int(LIMIT) * 10):
            if held_up in site.targets():
                break
            over.wait(0.1)
        worker.kill()
    fetched = {path for *_, path in held(ingest.archive)}
    assert fetched
    # What has kept its first file is not counted as a begin that came to nothing.
    assert not [message for message, _ in attempts(ingest.archive) if message.endswith(urls[4])]
    site.routes[held_up] = answer
    site.forget()
    run = ingest.worked(6)
    assert run.code == 3, run.log
    assert {key for key, _ in ingest.told(ingest.filesets)} == {f"dataset\t{u}" for u in urls}
    assert all(result["hit"] for _, result in ingest.told(ingest.filesets))
    assert len(held(ingest.archive)) == 12
    once = {path.removesuffix(".txt") for path in fetched} - {"b"}
    assert not [t for t in site.file_requests() if t.split("/")[-2].removesuffix(".txt") in once]


def test_poison_stops_no_worker(ingest):
    url = ingest.site.play("zenodo", played(*FILES))
    bad = {"ingest_type": "dataset", "base_url": "ftp://x.example/"}
    long = {"ingest_type": "dataset", "base_url": "https://x.example/", "edit_extra": {"a": "x"}}
    long["edit_extra"] = {"a": "x" * (1 << 20)}
    ingest.ask(b"poison \xff", b"[1]", b'{"ingest_type": "dataset"}', bad, b"", url)
    run = ingest.worked(6)
    assert run.code == 3, run.log
    assert run.stats["lafka/kafka/dead"] == 5
    told = dict(ingest.told(ingest.filesets))
    assert {key: result["status"] for key, result in told.items()} == {
        f"dataset\t{url}": "success", "dataset\tftp://x.example/": "bad-request",
    }  # fmt: skip
    schema("ingest-fileset-result").validate(told["dataset\tftp://x.example/"])
    [path] = (ingest.archive / "runs").glob("*.dead.jsonl")
    dead = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert {tuple(one) for one in dead} == {("topic", "partition", "offset", "base64", "reason")}
    assert {one["topic"] for one in dead} == {ingest.requests}
    assert b"poison \xff" in {base64.b64decode(one["base64"]) for one in dead}
    assert {one["reason"] for one in dead} == {
        "the request is not JSON",
        "the request is no JSON object",
        "base_url is missing or is no text",
        told["dataset\tftp://x.example/"]["error_message"].partition(": ")[2],
    }
    assert crawl(ingest.archive, verb="verify").out == ""


def test_a_topic_that_is_missing_stops_the_crawl(ingest):
    ingest.requests = f"none-{uuid.uuid4().hex}"
    with ingest.going() as worker:
        run = worker.ended()
    assert run.code == 1
    assert "Unknown topic" in run.log


def test_results_of_a_file_of_requests_are_published_too(ingest, tmp_path):
    url = ingest.site.play("figshare", played(FILES[0]))
    listed = requests_file(tmp_path, url, "{}")
    where = f"output=kafka://{ingest.kafka.servers}"
    run = crawl(ingest.archive, "-a", f"input={listed}", "-a", where, **ingest.settings)
    assert (run.code, run.troubles()) == (0, []), run.log
    assert [key for key, _ in ingest.told(ingest.filesets)] == [f"dataset\t{url}"]
    assert [key for key, _ in ingest.told(ingest.files)] == [f"dataset-file\t{url}"]
    [feed] = results(ingest.archive)
    assert len(feed) == 3


def test_a_message_that_kills_its_worker_is_given_up_and_the_innocent_is_not(ingest, tmp_path):
    site = ingest.site
    urls = [site.play(name, played(*FILES)) for name in ("zenodo", "archiveorg")]  # two hosts
    page = site.routes["/details/played-4711"]
    assert isinstance(page, Reply)
    killer = Killer(page)
    site.routes |= {"/records/4711": killer.asked, "/details/played-4711": killer.innocent}
    ingest.ask(*urls)
    settings = member(tmp_path, "one")
    found = []
    for _ in range(3):
        killer.beside.clear()
        with ingest.going(**settings) as killer.worker:
            assert killer.worker.process.wait(LIMIT) == -9
        found.append([begins for _, begins in attempts(ingest.archive)])
    assert found[:2] == [[1, 1], [2, 2]]
    assert found[2] in ([2, 3], [3])  # alone: the innocent was spared, or had its turn before
    run = ingest.worked(2, **settings)
    assert run.code == 3, run.log
    told = dict(ingest.told(ingest.filesets))
    assert [told[f"dataset\t{url}"]["status"] for url in urls] == ["gave-up", "success"]
    schema("ingest-fileset-result").validate(told[f"dataset\t{urls[0]}"])
    assert killer.kills == 3
    assert attempts(ingest.archive) == []
    assert len(held(ingest.archive)) == len(FILES)
