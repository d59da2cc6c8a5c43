"""What a crawl is asked to do, and what it cannot be asked to do."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from scrapy.settings import Settings

from lafka.errors import BadArchive, BadArgument, BadList, LafkaError
from lafka.papers.archive.archives import Archive
from lafka.papers.checking import Verifier
from lafka.papers.crawling.arguments import FutliArguments
from lafka.papers.walk import Links
from lafka.pids import SCHEMES, Pid, Scheme
from lafka.spiders.futli import FutliSpider


def settings(root: Path, **changed: object) -> Settings:
    made = Settings()
    made.setmodule("lafka.settings", priority="project")
    made.set("LAFKA_ARCHIVE", str(root))
    for name, value in changed.items():
        made.set(name, value, priority="cmdline")
    return made


@pytest.fixture
def list_(tmp_path: Path) -> str:
    path = tmp_path / "list.tsv"
    path.write_text("RePEc:a:b:1\thttp://127.0.0.1/\n")
    return str(path)


def test_what_is_not_said_is_a_default(tmp_path: Path, list_: str) -> None:
    arguments = FutliArguments.parse(
        settings(tmp_path / "a"), {"input": list_, "_job": "scrapyd's"}
    )
    assert arguments.root == tmp_path / "a"
    assert (arguments.collection, arguments.since, arguments.excludes) == (None, None, None)
    assert arguments.policy.links is Links.RANKED
    assert arguments.policy.links_max == 50
    assert [line.number for line in arguments.lines(arguments.archive().scheme)] == [1]


def test_a_new_scheme_is_one_row(
    tmp_path: Path, list_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(text: str) -> Pid:
        return Pid(text=text.lower(), path=text.lower().replace(":", "/"))

    monkeypatch.setitem(SCHEMES, "wpno", Scheme(name="wpno", parse=parse))
    Path(list_).write_text("WP:Bank:2026:1\thttp://127.0.0.1/\n")
    given = {"input": list_, "collection": "wpno"}
    arguments = FutliArguments.parse(settings(tmp_path / "a"), given)
    archive = arguments.archive()
    [line] = arguments.lines(archive.scheme)
    assert line.futli is not None
    assert str(line.futli.pid) == "wp:bank:2026:1"
    warc = archive.warc_path(line.futli.pid)
    assert Archive(tmp_path / "a").pid_at(warc) == line.futli.pid
    assert not list(Verifier(tmp_path / "a").verify_all())


@pytest.mark.parametrize(
    ("text", "age"),
    [("30d", timedelta(days=30)), ("12h", timedelta(hours=12)), ("4w", timedelta(weeks=4)),
     ("90m", timedelta(minutes=90)), ("1s", timedelta(seconds=1))],
)  # fmt: skip
def test_an_age_counts_from_now(tmp_path: Path, list_: str, text: str, age: timedelta) -> None:
    before = datetime.now(UTC)
    since = FutliArguments.parse(settings(tmp_path), {"input": list_, "refresh": text}).since
    assert since is not None
    assert before - age <= since <= datetime.now(UTC) - age


def test_all_is_later_than_any_fut(tmp_path: Path, list_: str) -> None:
    since = FutliArguments.parse(settings(tmp_path), {"input": list_, "refresh": "all"}).since
    assert since is not None
    assert since > datetime.now(UTC) + timedelta(days=365)


@pytest.mark.parametrize(
    ("given", "changed", "word"),
    [
        ({"inptu": "x"}, {}, "inptu"),
        ({"input": ""}, {}, "input"),
        ({"refresh": "soon"}, {}, "refresh"),
        ({"refresh": "-3d"}, {}, "refresh"),
        ({"refresh": "999999w"}, {}, "refresh"),
        ({"links": "some"}, {}, "links"),
        ({"shard": ""}, {}, "shard=''"),
        ({"collection": "Elsewhere"}, {}, "Elsewhere"),
        ({"exclude": "/no/such/file"}, {}, "/no/such/file"),
        ({}, {"LAFKA_EXCLUDE": "/no/such/file"}, "/no/such/file"),
        ({}, {"LAFKA_COLLECTION": "Elsewhere"}, "Elsewhere"),
        ({}, {"LAFKA_LINKS": "some"}, "links"),
        ({}, {"LAFKA_TRAILS_MAX": "0"}, "LAFKA_TRAILS_MAX"),
        ({}, {"LAFKA_LINKS_MAX": "many"}, "LAFKA_LINKS_MAX"),
        ({}, {"LAFKA_WRITERS": -1}, "LAFKA_WRITERS"),
        ({}, {"LAFKA_RAW_SIZE": None}, "LAFKA_RAW_SIZE"),
        ({}, {"LAFKA_MAX_PAYLOAD": "4 GB"}, "LAFKA_MAX_PAYLOAD"),
        ({}, {"LAFKA_HOST_FAILURES_MAX": "-1"}, "LAFKA_HOST_FAILURES_MAX"),
        ({}, {"LAFKA_STALL_TIMEOUT": "long"}, "LAFKA_STALL_TIMEOUT"),
        ({}, {"LAFKA_RETRY_AFTER_MAX": "inf"}, "LAFKA_RETRY_AFTER_MAX"),
        ({}, {"LAFKA_CRAWL_DELAY_MAX": "nan"}, "LAFKA_CRAWL_DELAY_MAX"),
        ({}, {"LAFKA_PROGRESS_INTERVAL": "-1"}, "LAFKA_PROGRESS_INTERVAL"),
        ({}, {"LAFKA_KEEP_RAW": "perhaps"}, "LAFKA_KEEP_RAW"),
        ({}, {"LAFKA_ALLOWED_NETWORKS": "127.0.0.0/99"}, "LAFKA_ALLOWED_NETWORKS"),
        ({}, {"LAFKA_WARC_SETTINGS": "/no/such.yml"}, "/no/such.yml"),
        ({}, {"LAFKA_SPOOL_DIR": "/no/such/folder"}, "LAFKA_SPOOL_DIR"),
        ({}, {"LAFKA_ACHIVE": "elsewhere"}, "LAFKA_ACHIVE"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_writes_nothing(
    tmp_path: Path, list_: str, given: dict[str, str], changed: dict[str, object], word: str
) -> None:
    with pytest.raises(LafkaError, match=word) as caught:
        FutliSpider.check(settings(tmp_path / "a", **changed), {"input": list_} | given)
    assert isinstance(caught.value, BadArgument | BadList)
    assert len(str(caught.value).splitlines()) == 1
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("name", ["missing.tsv", "folder", "paper.pdf"])
def test_a_list_that_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7 \0")
    with pytest.raises(BadList, match=name):
        FutliSpider.check(settings(tmp_path / "a"), {"input": str(tmp_path / name)})
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "marker",
    [{"format": 2, "collection": "RePEc"}, {"format": 1, "collection": "Socionet"},
     {"format": 1, "collection": "Nowhere"}, []],
)  # fmt: skip
def test_an_archive_of_another_kind_is_refused(tmp_path: Path, list_: str, marker: object) -> None:
    path = tmp_path / "a" / "lafka.json"
    path.parent.mkdir()
    path.write_text(json.dumps(marker))
    with pytest.raises(BadArchive):
        FutliSpider.check(settings(tmp_path / "a"), {"input": list_, "collection": "RePEc"})
    assert [p.name for p in path.parent.iterdir()] == ["lafka.json"]
    assert json.loads(path.read_text()) == marker


@pytest.mark.parametrize("root", ["/proc/archive", "list.tsv", "list.tsv/archive"])
def test_an_archive_that_cannot_be_written_is_refused(
    tmp_path: Path, list_: str, root: str
) -> None:
    with pytest.raises(BadArchive, match=Path(root).name):
        FutliSpider.check(settings(tmp_path / root), {"input": list_})
    assert Path(list_).read_text().startswith("RePEc:a:b:1")


@pytest.mark.parametrize(
    ("text", "gateway"),
    [
        ("http://127.0.0.1:8732", "http://127.0.0.1:8732"),
        ("http://localhost:8732/", "http://localhost:8732"),
        ("http://[::1]:8732", "http://[::1]:8732"),
        ("http://127.1.2.3", "http://127.1.2.3:80"),
        ("http://10.0.0.7:1", "http://10.0.0.7:1"),
    ],
)
def test_a_gateway_is_on_loopback_or_in_a_network_that_is_allowed(
    tmp_path: Path, list_: str, text: str, gateway: str
) -> None:
    given = {"input": list_, "legacy": text}
    made = settings(tmp_path / "a", LAFKA_ALLOWED_NETWORKS="10.0.0.0/8")
    assert FutliArguments.parse(made, given).legacy == gateway


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("http://192.0.2.1:8732", "is not on loopback, nor in LAFKA_ALLOWED_NETWORKS"),
        ("http://archive.example:8732", "is not on loopback"),
        ("https://127.0.0.1:8732", "is not like http://127.0.0.1:8732"),
        ("http://127.0.0.1:8732/obi/", "is not like"),
        ("http://127.0.0.1:8732?a=b", "is not like"),
        ("http://me:secret@127.0.0.1:1", "is not like"),
        ("8732", "is not like"),
        ("http://127.0.0.1:99999", "is not like"),
        ("http://[::1", "is not like"),
        ("http://", "is not like"),
    ],
)
def test_what_cannot_be_a_gateway(tmp_path: Path, list_: str, text: str, sentence: str) -> None:
    with pytest.raises(BadArgument, match=sentence):
        FutliArguments.parse(settings(tmp_path / "a"), {"input": list_, "legacy": text})
