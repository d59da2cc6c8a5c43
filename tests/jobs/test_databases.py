"""What SQLite and PostgreSQL both promise: one class of tests, run against each of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lafka.errors import BadArgument
from lafka.jobs.database import (
    TABLES,
    BadDatabase,
    Database,
    DatabaseAway,
    RowRefused,
    opened,
    postgresql,
)
from lafka.jobs.database.postgresql import shown
from tests.services.postgresqls import Postgres

KEY = {"ingest_type": "dataset", "base_url": "https://x.example/1"}
PLATFORM = {
    **KEY, "hit": True, "status": "success", "platform_name": "zenodo",
    "platform_domain": "zenodo.org", "platform_id": "1", "ingest_strategy": "web-fileset",
    "total_size": 2**40, "file_count": 3, "web_bundle_url": "https://x.example/1.zip",
    "web_bundle_dt": "20261120101112", "manifest": '[{"path": "é\\u2028"}]',
}  # fmt: skip
RESULT = {**KEY, "hit": True, "status": "success", "terminal_status_code": 200}


def fetched(place: str, query: str) -> list[dict[str, Any]]:
    """The rows of *query*, by a connection of its own."""
    if place.startswith("postgresql"):
        import psycopg
        from psycopg.rows import dict_row

        with psycopg.connect(place, row_factory=dict_row) as connection:
            return connection.execute(query).fetchall()  # type: ignore[call-overload]
    with sqlite3.connect(place) as base:
        base.row_factory = sqlite3.Row
        return [dict(row) for row in base.execute(query)]


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server("PostgreSQL"))]
)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "ingest.sqlite")
    postgres: Postgres = request.getfixturevalue("postgres")
    return postgres.url()


@pytest.fixture
def database(place: str) -> Iterator[Database]:
    with opened(place) as made:
        made.create()
        yield made


@pytest.fixture
def platform(place: str) -> Callable[[], dict[str, Any]]:
    def one() -> dict[str, Any]:
        (row,) = fetched(place, "SELECT * FROM ingest_fileset_platform")
        return row

    return one


def platforms(**more: Any) -> Mapping[str, Any]:
    return {"ingest_fileset_platform": [{**PLATFORM, **more}]}


def test_a_row_comes_back_as_it_was_written(
    database: Database, platform: Callable[[], dict[str, Any]]
) -> None:
    database.write([platforms()])
    row = platform()
    manifest = row["manifest"]
    found = json.loads(manifest) if isinstance(manifest, str) else manifest
    assert found == json.loads(str(PLATFORM["manifest"]))
    assert {name: row[name] for name in PLATFORM if name != "manifest"} == {
        name: value for name, value in PLATFORM.items() if name != "manifest"
    }
    assert row["archiveorg_item_name"] is None


def test_the_last_result_of_a_key_wins_whole_and_the_time_moves(
    database: Database, place: str, platform: Callable[[], dict[str, Any]]
) -> None:
    database.write([platforms()])
    first = platform()["updated"]
    failed = {"hit": False, "status": "mismatch-md5", "web_bundle_url": None, "manifest": None}
    database.write([platforms(**failed)])
    row = platform()
    assert {name: row[name] for name in failed} == failed
    assert row["updated"] >= first
    stored = fetched(place, "SELECT updated FROM ingest_fileset_platform")[0]["updated"]
    time = stored if isinstance(stored, datetime) else datetime.fromisoformat(stored)
    assert abs(time.astimezone(UTC) - datetime.now(UTC)) < timedelta(hours=1)


def test_of_a_key_repeated_in_a_batch_the_last_stays(
    database: Database, platform: Callable[[], dict[str, Any]]
) -> None:
    database.write([platforms(status="mismatch", hit=False), platforms(), platforms(file_count=7)])
    row = platform()
    assert (row["status"], row["file_count"]) == ("success", 7)


def test_a_key_that_is_repeated_in_a_batch_has_its_turns(database: Database, place: str) -> None:
    sha1 = "a" * 40
    database.write([
        {**platforms(), "file_meta": [{"sha1hex": sha1, "size_bytes": 5}]},
        platforms(platform_id="2", base_url="https://x.example/2"),
        {**platforms(status="success-existing", ingest_strategy=None),
         "file_meta": [{"sha1hex": sha1, "size_bytes": 6, "mimetype": "text/plain"}]},
        platforms(platform_id="3", base_url="https://x.example/2"),
    ])  # fmt: skip
    (meta,) = fetched(place, "SELECT size_bytes, mimetype FROM file_meta")
    assert meta == {"size_bytes": 5, "mimetype": "text/plain"}
    rows = fetched(place, "SELECT * FROM ingest_fileset_platform ORDER BY base_url")
    assert [(row["status"], row["ingest_strategy"], row["platform_id"]) for row in rows] == [
        ("success", "web-fileset", "1"), ("success", "web-fileset", "3")
    ]  # fmt: skip


def test_rows_of_many_bytes_are_several_statements(
    database: Database, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "_TOGETHER", 1_000)
    urls = [f"https://x.example/{number:03}" for number in range(30)]
    database.write([platforms(base_url=url, manifest=f'["{url * 9}"]') for url in urls])
    rows = fetched(place, "SELECT base_url FROM ingest_fileset_platform ORDER BY base_url")
    assert [row["base_url"] for row in rows] == urls


def test_what_exists_already_leaves_how_it_was_archived(
    database: Database, place: str, platform: Callable[[], dict[str, Any]]
) -> None:
    existing = {"status": "success-existing", "ingest_strategy": None, "web_bundle_url": None}
    database.write([{**platforms(), "ingest_file_result": [RESULT]}])
    again = {"ingest_file_result": [{**RESULT, "status": "success-existing"}]}
    database.write([{**platforms(**existing), **again}])
    row = platform()
    assert row["status"] == "success"
    assert row["ingest_strategy"] == "web-fileset"
    assert row["web_bundle_url"] == PLATFORM["web_bundle_url"]
    assert fetched(place, "SELECT status FROM ingest_file_result") == [{"status": "success"}]


def test_over_a_failure_what_exists_is_a_result_like_another(
    database: Database, platform: Callable[[], dict[str, Any]]
) -> None:
    database.write([platforms(hit=False, status="partial")])
    database.write([platforms(status="success-existing")])
    assert platform()["status"] == "success-existing"


REFUSED = {
    "a name that is missing": platforms(platform_name=None),
    "a name of no bytes": platforms(platform_id=""),
    "a time of another length": platforms(web_bundle_dt="2026"),
    "a manifest that is no JSON": platforms(manifest="["),
    "a result without a hit": {"ingest_file_result": [{**RESULT, "hit": None}]},
    "a digest of another length": {"file_meta": [{"sha1hex": "ab"}]},
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_check_refuses_a_row_and_nothing_of_its_batch_is_written(
    database: Database, place: str, why: str
) -> None:
    good = {**platforms(), "ingest_file_result": [RESULT]}
    with pytest.raises(RowRefused):
        database.write([good, REFUSED[why]])
    for table in TABLES:
        assert fetched(place, f"SELECT * FROM {table.name}") == []
    database.write([good])
    assert len(fetched(place, "SELECT * FROM ingest_fileset_platform")) == 1


def test_what_is_written_alongside_is_filled_and_never_emptied(
    database: Database, place: str
) -> None:
    sha1 = "a" * 40
    database.write([{"file_meta": [{"sha1hex": sha1, "size_bytes": 5}]}])
    database.write([{"file_meta": [{"sha1hex": sha1, "mimetype": "text/plain"}]}])
    cdx = {"url": "u", "datetime": "20261120101112", "sha1hex": sha1, "warc_path": "a.warc"}
    database.write([{"cdx": [cdx]}, {"cdx": [{**cdx, "warc_path": "b.warc"}]}])
    request = {**KEY, "link_source": "doi", "link_source_id": "10.1/x", "request": '{"a": 1}'}
    database.write([{"ingest_request": [request, {**request, "release_stage": "published"}]}])
    (meta,) = fetched(place, "SELECT size_bytes, mimetype FROM file_meta")
    assert meta == {"size_bytes": 5, "mimetype": "text/plain"}
    assert fetched(place, "SELECT warc_path FROM cdx") == [{"warc_path": "a.warc"}]
    assert fetched(place, "SELECT release_stage FROM ingest_request") == [{"release_stage": None}]


def test_tables_are_made_once_and_again_without_harm(database: Database, place: str) -> None:
    database.write([platforms()])
    database.create()
    assert len(fetched(place, "SELECT * FROM ingest_fileset_platform")) == 1


def test_both_schemas_have_the_columns_that_are_written(database: Database, place: str) -> None:
    for table in TABLES:
        assert fetched(place, f"SELECT {', '.join(table.columns)} FROM {table.name}") == []


def test_json_can_be_asked_for(postgres: Postgres) -> None:
    place = postgres.url()
    with opened(place) as database:
        database.create()
        database.write([platforms()])
    query = "SELECT platform_id FROM ingest_fileset_platform WHERE manifest @> "
    query += "'" + str(PLATFORM["manifest"]) + "'"
    assert fetched(place, query) == [{"platform_id": "1"}]


def test_manifests_are_compressed_by_the_quicker_way(postgres: Postgres) -> None:
    place = postgres.url()
    with opened(place) as database:
        database.create()
        database.write([platforms(manifest=json.dumps([{"path": f"{n}.csv"} for n in range(999)]))])
    query = "SELECT pg_column_compression(manifest) AS way FROM ingest_fileset_platform"
    assert fetched(place, query) == [{"way": "lz4"}]


def test_tables_that_are_missing_on_a_server_are_told(postgres: Postgres) -> None:
    place = postgres.url()
    with opened(place) as database:
        with pytest.raises(BadDatabase, match="lafka persist --create makes them"):
            database.write([platforms()])
        database.create()
        database.write([platforms()])


def test_tables_of_another_shape_are_told(postgres: Postgres) -> None:
    import psycopg

    place = postgres.url()
    with psycopg.connect(place) as connection:
        connection.execute("CREATE TABLE ingest_fileset_platform (ingest_type TEXT PRIMARY KEY)")
    with opened(place) as database, pytest.raises(BadDatabase, match="its tables are others"):
        database.write([platforms()])


def test_a_server_that_goes_away_comes_back(postgres: Postgres) -> None:
    place = postgres.url()
    with opened(place) as database:
        database.create()
        database.write([platforms()])
        postgres.stop()
        for _ in range(2):
            with pytest.raises(DatabaseAway):
                database.write([platforms(file_count=9)])
        postgres.start()
        database.write([platforms(file_count=9)])
    assert fetched(place, "SELECT file_count FROM ingest_fileset_platform") == [{"file_count": 9}]


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"this is no database, it is a text of some length" * 30)
    with pytest.raises(BadDatabase, match="not a database"):
        opened(tmp_path / "x")
    with pytest.raises(BadDatabase, match="unable to open"):
        opened(tmp_path / "none" / "x")


def test_another_writers_lock_is_waited_for_and_then_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lafka.jobs.database.sqlite._WAIT", 0.01)
    with opened(tmp_path / "x") as database, sqlite3.connect(tmp_path / "x") as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseAway, match="locked"):
            database.write([platforms()])
        other.rollback()
        database.write([platforms()])


def test_another_kind_of_url_is_refused() -> None:
    with pytest.raises(BadArgument, match="postgresql://"):
        opened("mysql://127.0.0.1/x")


def test_a_password_is_never_told() -> None:
    assert "secret" not in shown("postgresql://me:secret@h/db?password=secret&x=1")
    assert shown("postgresql://me@h/db") == "postgresql://me@h/db"
