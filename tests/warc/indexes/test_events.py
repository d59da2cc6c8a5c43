"""A response knows its request and its redirect chain; a record what follows it elsewhere."""

from pathlib import Path

import pytest

from lafka.warc import BadValue, Collection, attach, build
from tests.warc.captures import DATE, digest, message, record, request, response

LATER = "2026-11-20T10:00:09Z"


def redirect(url: str, to: str, *, name: str, date: str = DATE) -> bytes:
    return record(
        "response", message(b"", "302 Found", f"Location: {to}"), name=name, Target_URI=url,
        Date=date, Payload_Digest=digest(b""), Content_Type="application/http;msgtype=response",
    )  # fmt: skip


def tied(data: bytes, to: str) -> bytes:
    return data.replace(
        b"WARC-Date", b"WARC-Concurrent-To: <urn:test:%s>\r\nWARC-Date" % to.encode(), 1
    )


def named(collection: Collection, name: str):
    return next(r for r in collection if r.id == f"<urn:test:{name}>")


@pytest.mark.parametrize(
    "parts",
    [
        [response(name="r"), tied(request(name="q"), "r")],
        [tied(response(name="r"), "q"), request(name="q")],
        [request(name="q"), tied(response(name="r"), "q")],
        [request(name="q"), response(name="r")],
        [response(name="i"), tied(response(name="r"), "i"), tied(request(name="q"), "i")],
    ],
)
@pytest.mark.parametrize("kind", ["", "sqlite", "cdx"])
def test_a_response_knows_its_request(tmp_path: Path, parts: list[bytes], kind: str) -> None:
    other = [request(name="other", date=LATER), tied(request(name="no", url="http://b/"), "none")]
    (tmp_path / "a.warc").write_bytes(b"".join([*parts, *other]))
    if kind:
        build([tmp_path / "a.warc"], into=tmp_path / f"a.{kind}")
    with Collection.from_folder(tmp_path) as collection:
        asked = collection.request(named(collection, "r"))
        if kind == "cdx" and parts[-1][:200].count(b"request") == 0:
            return  # the request stands before it, and no index knows it
        assert asked is not None
        assert asked.id == "<urn:test:q>"
        assert collection.problems == []


def test_what_was_not_asked_has_no_request(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(response(name="r") + request(name="q", date=LATER))
    with Collection.from_folder(tmp_path) as collection:
        assert collection.request(named(collection, "r")) is None


def test_the_records_of_an_event_are_told_once_each(tmp_path: Path) -> None:
    parts = [response(name="r"), tied(request(name="q"), "r"), tied(request(name="m"), "r")]
    (tmp_path / "a.warc").write_bytes(b"".join(parts) + response(name="x", url="http://b/"))
    with Collection.from_folder(tmp_path) as collection:
        for name, others in (("r", "qm"), ("q", "rm"), ("x", "")):
            found = [r.id for r in collection.concurrent(named(collection, name))]
            assert sorted(found) == sorted(f"<urn:test:{other}>" for other in others)


def test_a_response_knows_where_it_led(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(
        redirect("http://x.example/", "/b#top", name="1")
        + redirect("http://x.example/b", "https://y.example/c", name="2")
    )
    (tmp_path / "b.warc").write_bytes(
        response(b"old", "https://y.example/c", "2020-01-01T00:00:00Z", name="old")
        + response(b"new", "https://y.example/c", LATER, name="3")
    )
    with Collection.from_folder(tmp_path) as collection:
        chain = [r.id for r in collection.redirects(named(collection, "1"))]
        assert chain == ["<urn:test:2>", "<urn:test:3>"]
        assert list(collection.redirects(named(collection, "3"))) == []


def test_redirects_that_go_round_end(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(
        redirect("http://x.example/", "https://x.example/", name="1")
        + redirect("https://x.example/", "http://x.example/", name="2")
        + redirect("http://x.example/gone", "http://none.example/", name="3")
    )
    with Collection.from_folder(tmp_path) as collection:
        assert [r.id for r in collection.redirects(named(collection, "1"))] == ["<urn:test:2>"]
        assert list(collection.redirects(named(collection, "3"))) == []


def test_a_location_of_other_bytes_than_utf_8_keeps_them(tmp_path: Path) -> None:
    first = redirect("http://x.example/", "/caf@", name="1").replace(b"caf@", b"caf\xe9")
    target = response(b"x", "http://x.example/caf%E9", name="2")
    (tmp_path / "a.warc").write_bytes(first + target)
    with Collection.from_folder(tmp_path) as collection:
        assert [r.id for r in collection.redirects(named(collection, "1"))] == ["<urn:test:2>"]


def test_next_goes_from_volume_to_volume(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(response(name="1") + response(name="2"))
    (tmp_path / "b.warc").write_bytes(b"")
    (tmp_path / "c.warc").write_bytes(response(name="3"))
    with Collection.from_folder(tmp_path) as collection:
        found, one = [], named(collection, "1")
        while one is not None:
            found.append(one.id)
            one = collection.next(one)
        assert found == ["<urn:test:1>", "<urn:test:2>", "<urn:test:3>"]


def test_a_cdx_says_that_it_has_no_record_ids(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(response(name="1"))
    build([tmp_path / "a.warc"], into=tmp_path / "a.cdx")
    with attach(tmp_path / "a.cdx") as index, pytest.raises(BadValue, match="no record ids"):
        index.search(record_id="<urn:test:1>")
    with Collection.from_folder(tmp_path) as collection:
        assert list(collection.search(record_id="<urn:test:1>")) == []
        assert [problem.code for problem in collection.problems] == ["no-record-ids"]
        list(collection.search(record_id="<urn:test:1>"))
        assert len(collection.problems) == 1
