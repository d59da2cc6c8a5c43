"""``scrapy archec pull``: futs of an archive of papers come into the obi store."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lafka.archec.checking import check_store
from lafka.archec.records import Kind
from lafka.archec.store.folders import ObiStore
from tests import starts
from tests.archec.fobis import gather
from tests.archec.stores import DAY, START, Home, template
from tests.stores import Store, answer, pdf, redirect

PID, URL = "RePEc:abc:wpaper:1", "http://x.example/abc/1.pdf"
LATER = datetime(2014, 3, 12, 10, 11, 12, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path / "archec")
    found.put({"abc/wpaper/1.rdf": template(1) + template(2) + template(3)})
    found.tobi()
    return found


def pull(home: Home, archive: Path) -> subprocess.CompletedProcess[str]:
    store = f"LAFKA_OBJECT_STORE={home.archive}"
    return starts.verb("lafka", "archec", "pull", archive, "-s", store, folder=home.root)


def pulled(home: Home, archive: Path, code: int = 0) -> dict[str, object]:
    done = pull(home, archive)
    assert done.returncode == code, done.stderr
    counts: dict[str, object] = json.loads(done.stdout)
    return counts | {"told": done.stderr}


def captured(store: Store, number: int, *responses: bytes, year: int = 2014, **more: str) -> None:
    futli = f"http://x.example/abc/{number}.pdf"
    ask = store.ask(
        f"RePEc:abc:wpaper:{number}", futli, **{k: v for k, v in more.items() if k != "url"}
    )
    capture = store.capture(ask, *responses, at=LATER.replace(year=year), url=more.get("url", ""))
    store.put(capture)


def sound(home: Home) -> None:
    assert [one.sentence for one in check_store(home.archive)] == []


def test_each_version_at_its_own_time_in_a_gathering_of_its_own(home: Home, tmp_path: Path) -> None:
    store = Store(tmp_path / "papers")
    captured(store, 1, answer(pdf("a")))
    captured(store, 1, answer(pdf("b")), year=2015)
    captured(store, 2, answer(pdf("two"), "gzip chunked"))
    counts = pulled(home, store.root)
    first, second = counts["gatherings"]
    assert (counts["offered"], counts["appearance"], counts["change"]) == (3, 2, 1)
    obis = ObiStore(home.archive)
    assert [obis.read(tist, URL) for tist in (first, second)] == [pdf("a"), pdf("b")]
    assert obis.path(first, URL).stat().st_mtime == LATER.timestamp()
    lines = [line for line in home.journal(first) if line.get("id") == URL]
    assert [(one["time"], one["way"], one["kind"]) for one in lines] == [
        ("2014-03-12T10:11:12Z", [URL], "pdf")
    ]
    assert home.journal(first)[0]["source"] == {"archive": str((tmp_path / "papers").resolve())}
    sound(home)
    with home.records() as records:
        obi = records.history(URL)
        assert obi is not None
        assert (obi.kind, len(obi.versions), str(obi.state)) == (Kind.FOBI, 2, "live")


def test_again_there_is_nothing_to_do(home: Home, tmp_path: Path) -> None:
    store = Store(tmp_path / "papers")
    captured(store, 1, answer(pdf("a")))
    pulled(home, store.root)
    before = home.objects(), home.journals()
    counts = pulled(home, store.root)
    assert (counts["gatherings"], counts["older"]) == ([], 1)
    assert (home.objects(), home.journals()) == before


def test_what_the_store_has_already_is_a_visit_or_held(home: Home, tmp_path: Path) -> None:
    gather(home, START + DAY, {URL: pdf("a")})
    store = Store(tmp_path / "papers")
    captured(store, 1, answer(pdf("a")))
    captured(store, 2, answer(pdf("a")))
    counts = pulled(home, store.root)
    [tist] = counts["gatherings"]
    assert (counts["visit"], counts["appearance"]) == (1, 1)
    place = ObiStore(home.archive).path(tist, "http://x.example/abc/2.pdf")
    assert place.is_symlink()
    assert place.read_bytes() == pdf("a")
    sound(home)


def test_a_redirect_is_a_link_to_what_answered(home: Home, tmp_path: Path) -> None:
    store = Store(tmp_path / "papers")
    ask = store.ask(PID, URL)
    bar = "http://x.example/bar.pdf"
    capture = store.capture(ask, redirect(bar), answer(pdf("a")), at=LATER, url=bar)
    store.put(capture)
    [tist] = pulled(home, store.root)["gatherings"]
    obis = ObiStore(home.archive)
    assert obis.path(tist, URL).readlink() == Path(obis.names.file_name(bar))
    assert obis.read(tist, bar) == pdf("a")
    sound(home)


def test_what_no_template_points_at_and_what_a_page_led_to_stay_out(
    home: Home, tmp_path: Path
) -> None:
    store = Store(tmp_path / "papers")
    captured(store, 9, answer(pdf("a")))
    page = "http://x.example/abc/1.pdf"
    captured(
        store,
        1,
        answer(pdf("b")),
        url="http://x.example/real.pdf",
        html_url=page,
        html_date="2014-03-12T10:11:12Z",
        found_by="link",
    )
    counts = pulled(home, store.root)
    assert (counts["offered"], counts["unknown"], counts["gatherings"]) == (1, 1, [])


def test_a_damaged_fut_is_told_and_the_others_are_taken(home: Home, tmp_path: Path) -> None:
    store = Store(tmp_path / "papers")
    captured(store, 1, answer(pdf("a")))
    captured(store, 2, answer(pdf("b")))
    fut = store.archive.fut(PID)
    data = bytearray(fut.warc.read_bytes())
    data[fut.start + 40] ^= 1
    fut.warc.write_bytes(data)
    counts = pulled(home, store.root, code=1)
    assert "the fut is not what its digest says" in str(counts["told"])
    assert counts["appearance"] == 1
    sound(home)


def test_what_is_no_archive_is_told(home: Home, tmp_path: Path) -> None:
    done = pull(home, tmp_path / "none")
    assert (done.returncode, "no archive is here" in done.stderr) == (2, True)
