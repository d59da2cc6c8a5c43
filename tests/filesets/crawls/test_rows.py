"""The rows of a crawl without brokers: those that ``persist`` makes of its feed, and no others."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import psycopg

from lafka.jobs.database import TABLES
from tests.filesets.crawls.running import crawl, crawled, requests_file, results
from tests.filesets.test_persist import persist
from tests.sites.platforms import played
from tests.sites.server import reply

FILES = (("a.csv", b"a,b\n"), ("b.csv", b"1,2\n"))


def tables(place: Path) -> dict[str, list[Any]]:
    with sqlite3.connect(place) as base:
        return {
            table.name: sorted(
                base.execute(f"SELECT {', '.join(table.columns)} FROM {table.name}"), key=repr
            )
            for table in TABLES
        }


def test_a_crawl_writes_the_rows_that_persist_writes(tmp_path, site, archive):
    site.routes["/gone"] = reply(b"", status="404 Not Found")
    asked = requests_file(
        tmp_path,
        {"base_url": site.play("zenodo", played(*FILES, number=1)), "link_source": "doi",
         "link_source_id": "10.1/1"},
        site.play("zenodo", played(FILES[0], number=2)),
        site.play("archiveorg", played(*FILES, number=3)),
        "https://lab.example/gone",
        '{"no": "request"}',
    )  # fmt: skip
    crawled(archive, site, asked)
    before = tables(archive / "ingest.sqlite")
    site.forget()
    crawled(archive, site, asked)
    assert {len(rows) > 0 for rows in before.values()} == {True}
    assert len(before["ingest_file_result"]) == 5  # one is of the single file
    assert not (archive / "ingest.dead.jsonl").exists()
    feeds = sorted((archive / "runs").glob("*.jsonl"))
    other = tmp_path / "other.sqlite"
    persist(tmp_path, feeds[0], "--db", other)
    assert tables(other) == before
    persist(tmp_path, feeds[1], "--db", other)
    assert tables(other) == tables(archive / "ingest.sqlite")


def test_a_server_without_tables_stops_the_crawl_and_the_same_goes_on(tmp_path, postgres, site):
    archive, place = tmp_path / "archive", postgres.url()
    url = site.play("zenodo", played(*FILES))
    settings = {**site.settings, "LAFKA_DATABASE": place}
    run = crawl(archive, "-a", f"url={url}", **settings)
    assert run.code == 1, run.log
    assert run.log.count("lafka persist --create makes them. The same") == 1
    assert "Traceback" not in run.log
    assert persist(tmp_path, "--db", place, "--create").returncode == 0
    site.forget()
    again = crawl(archive, "-a", f"url={url}", **settings)
    assert (again.code, site.targets()) == (0, []), again.log
    with psycopg.connect(place) as base:
        rows = base.execute("SELECT base_url, status FROM ingest_fileset_platform").fetchall()
    assert rows == [(url, "success")]
    assert [one["status"] for feed in results(archive) for one in feed] == ["success", "success"]


def test_a_place_that_is_no_database_is_refused_at_the_start(tmp_path):
    url = "https://lab.example/1"
    run = crawl(tmp_path / "archive", "-a", f"url={url}", LAFKA_DATABASE="mysql://h/x")
    assert (run.code, run.log.count("begins with postgresql://")) == (2, 1), run.log


def test_a_file_that_is_no_database_stops_the_crawl(tmp_path, site):
    place = tmp_path / "file"
    place.write_bytes(b"no database, but somebody's text")
    url = site.play("zenodo", played(*FILES))
    run = crawl(tmp_path / "archive", "-a", f"url={url}", LAFKA_DATABASE=place,
                **site.settings)  # fmt: skip
    assert (run.code, run.log.count("file is not a database. The same")) == (1, 1), run.log
    assert "Traceback" not in run.log
    assert place.read_bytes() == b"no database, but somebody's text"
