"""``-a legacy=URL``: paper WARCs are filled from a gateway, every version at its own time."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lafka.papers.archive.archives import Archive
from lafka.papers.checking import Verifier
from lafka.warc.reading.volumes import WarcVolume
from tests import starts
from tests.archec.fobis import gather
from tests.archec.stores import DAY, START, Home
from tests.crawls.running import Crawl, Run, check, crawl, outcomes
from tests.sites.gateways import ROOT, dying, odd, serving
from tests.stores import pdf

TIMES = [START + day * DAY for day in range(4)]
DATES = [
    "2012-11-09T17:13:50Z",
    "2012-11-10T17:13:50Z",
    "2012-11-11T17:13:50Z",
    "2012-11-12T17:13:50Z",
]


def splap(link: str) -> bytes:
    head = "<!doctype html><title>x</title><h2>Abstract</h2>"
    return f"{head}<a href='{link}'>Download PDF</a><p>{link}".encode()


@dataclass
class Pulled:
    """A store, its gateway, a site that nobody may ask, and an archive that was filled twice."""

    home: Home
    site: str
    gateway: str
    archive: Path
    listed: Path
    first: Run
    again: Run
    before: dict[str, bytes]


@contextmanager
def listener() -> Iterator[tuple[str, list[object]]]:
    """A port that the futlis name, and who connects to it."""
    asked: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            try:
                while True:
                    connection, peer = listening.accept()
                    asked.append(peer)
                    connection.close()
            except OSError:
                return

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", asked
        listening.shutdown(socket.SHUT_RDWR)


def filled(home: Home, site: str) -> None:
    """A PDF that changes back, a page whose link moves, redirects, a page alone, another type."""
    a, b, old, new, only = (pdf(name) for name in ("a", "b", "old", "new", "moved"))
    gather(
        home,
        TIMES[0],
        {
            f"{site}/1.pdf": a,
            f"{site}/abs": splap("/old.pdf"),
            f"{site}/old.pdf": old,
            f"{site}/bar.pdf": only,
            f"{site}/alone": splap("/not-kept.pdf"),
            f"{site}/data": b"\x00\x01 neither",
            f"{site}/junk.pdf": b"\r\njunk " + b,
            f"{site}/refresh": b"<html><meta http-equiv=refresh content='0; url=/bar.pdf'>x",
        },
        ways=((f"{site}/foo", f"{site}/a", f"{site}/bar.pdf"),),
    )
    gather(
        home,
        TIMES[1],
        {f"{site}/1.pdf": b, f"{site}/abs": splap("/new.pdf"), f"{site}/new.pdf": new},
    )
    gather(home, TIMES[2], {f"{site}/1.pdf": a, f"{site}/abs": splap("/old.pdf")})
    gather(home, TIMES[3], {}, lost=(f"{site}/1.pdf",))


def tree(root: Path) -> dict[str, bytes]:
    """What readers of an archive see."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for folder in ("warc", "suwaf")
        for path in (root / folder).rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def pulled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pulled]:
    folder = tmp_path_factory.mktemp("legacy")
    home, archive, listed = Home(folder / "archec"), folder / "archive", folder / "list.tsv"
    with listener() as (site, asked):
        filled(home, site)
        names = ("1.pdf", "abs", "foo", "alone", "data", "junk.pdf", "never", "refresh")
        listed.write_text(
            "".join(f"RePEc:abc:w:{n}\t{site}/{name}\n" for n, name in enumerate(names, 1)), "utf-8"
        )
        store = f"LAFKA_OBJECT_STORE={home.archive}"
        with serving("archec", "serve", "--port", "0", "-s", store, folder=folder) as gateway:
            first = crawl(archive, listed, "-a", f"legacy={gateway}")
            before = tree(archive)
            again = crawl(archive, listed, "-a", f"legacy={gateway}")
            yield Pulled(home, site, gateway, archive, listed, first, again, before)
        assert asked == []


def times(pulled: Pulled, number: int) -> dict[str, dict[str, object]]:
    archive = Archive(pulled.archive)
    pid = f"RePEc:abc:w:{number}"
    futlis = json.loads(archive.suwaf_path(archive.pid(pid)).read_bytes())[pid]
    return next(iter(futlis.values()), {})


def records(pulled: Pulled, number: int) -> list[tuple[str, str, str]]:
    archive = Archive(pulled.archive)
    with WarcVolume(archive.warc_path(archive.pid(f"RePEc:abc:w:{number}")), strict=True) as warc:
        return [
            (one.type, one.url.removeprefix(pulled.site), one.fields.first("WARC-Date")[:19] + "Z")
            for one in warc.records()
        ]


def test_both_runs_end_well(pulled: Pulled) -> None:
    for run in (pulled.first, pulled.again):
        assert run.code == 0, run.log
        assert run.troubles("neither PDF nor HTML") == []


def test_each_line_has_its_outcome(pulled: Pulled) -> None:
    first, _ = outcomes(pulled.archive)
    assert {line["pid"].rpartition(":")[2]: line["outcome"] for line in first} == {
        "1": "fut",
        "2": "fut",
        "3": "fut",
        "4": "splap-only",
        "5": "other-type",
        "6": "fut",
        "7": "not-found",
        "8": "fut",
    }
    [never] = [line for line in first if line["pid"].endswith(":7")]
    assert (never["error"], never["requests"]) == ("not in the ArchEc store", 0)
    [alone] = [line for line in first if line["pid"].endswith(":4")]
    assert [one["outcome"] for one in alone["candidates"]] == ["not-found"]


def test_every_version_stands_at_its_own_time(pulled: Pulled) -> None:
    archive = Archive(pulled.archive)
    found = times(pulled, 1)
    assert list(found) == DATES[:3]
    for date, name in zip(DATES, "aba", strict=False):
        fut = archive.fut("RePEc:abc:w:1", time=date)
        assert fut.read() == pdf(name)
    assert found[DATES[0]]["s"] == found[DATES[2]]["s"] != found[DATES[1]]["s"]
    assert records(pulled, 1) == [
        ("warcinfo", "", DATES[0]),
        ("resource", "/1.pdf", DATES[0]),
        ("warcinfo", "", DATES[1]),
        ("resource", "/1.pdf", DATES[1]),
        ("warcinfo", "", DATES[2]),
        ("revisit", "/1.pdf", DATES[2]),
    ]


def test_candidates_are_those_of_the_time_of_their_page(pulled: Pulled) -> None:
    found = times(pulled, 2)
    assert [(date, str(one["url"]).removeprefix(pulled.site)) for date, one in found.items()] == [
        (DATES[0], "/old.pdf"),
        (DATES[1], "/new.pdf"),
    ]
    assert found[DATES[0]]["html_date"] == DATES[0]
    # The page that came back led to what it led to before: nothing is there twice.
    assert [one[1:] for one in records(pulled, 2) if one[0] != "warcinfo"] == [
        ("/abs", DATES[0]),
        ("/old.pdf", DATES[0]),
        ("/abs", DATES[1]),
        ("/new.pdf", DATES[1]),
        ("/abs", DATES[2]),
    ]


def test_a_redirect_is_recorded_as_what_it_led_to(pulled: Pulled) -> None:
    [(_, one)] = times(pulled, 3).items()
    assert one["url"] == f"{pulled.site}/bar.pdf"
    assert [kind for kind, _, _ in records(pulled, 3)] == ["warcinfo", "resource"]


def test_a_page_that_sends_on_at_once_is_a_hop_of_one_capture(pulled: Pulled) -> None:
    [(_, one)] = times(pulled, 8).items()
    assert one["url"] == f"{pulled.site}/bar.pdf"
    assert [kind for kind, _, _ in records(pulled, 8)] == ["warcinfo", "resource", "resource"]


def test_junk_before_a_pdf_is_no_part_of_the_fut(pulled: Pulled) -> None:
    assert Archive(pulled.archive).fut("RePEc:abc:w:6").read() == pdf("b")


def test_a_record_says_where_it_was_pulled_from(pulled: Pulled) -> None:
    archive = Archive(pulled.archive)
    with WarcVolume(archive.warc_path(archive.pid("RePEc:abc:w:1")), strict=True) as warc:
        info, resource = list(warc.records())[:2]
        body = info.block().read(0, 4096).decode()
        fields = resource.fields
    assert f"Legacy-Source: {pulled.gateway}\r\n" in body
    assert "Paper-Id: RePEc:abc:w:1\r\n" in body
    assert fields.first("WARC-Target-URI") == f"{pulled.site}/1.pdf"
    assert fields.first("Content-Type") == "application/pdf"
    assert fields.first("WARC-Source-URI").startswith(f"{pulled.gateway}/obi/{TIMES[0]}/http%3A")
    assert len(fields.first("WARC-Creation-Date")) == len("2026-11-22")
    assert fields.first("WARC-Payload-Digest") == fields.first("WARC-Block-Digest")


def test_twice_stores_no_second_byte(pulled: Pulled) -> None:
    assert tree(pulled.archive) == pulled.before
    _, again = outcomes(pulled.archive)
    assert [fut["new"] for line in again for fut in line["futs"]] == [False] * 8


def test_nothing_of_the_raw_log_is_left(pulled: Pulled) -> None:
    assert list((pulled.archive / "raw").iterdir()) == []


def test_the_proof_and_a_rebuild_are_content(pulled: Pulled) -> None:
    check(pulled.archive)
    assert {problem.code for problem in Verifier(pulled.archive).verify_all()} == set()
    archive = Archive(pulled.archive)
    archive.suwaf_path(archive.pid("RePEc:abc:w:2")).unlink()
    done = lafka(pulled, "rebuild")
    assert done.returncode == 0, done.stderr
    assert tree(pulled.archive) == pulled.before
    assert lafka(pulled, "fut", "RePEc:abc:w:1", "--time", DATES[1]).stdout == pdf("b")


def test_what_cannot_be_a_gateway_is_told_before_anything_is_made(tmp_path: Path) -> None:
    listed = tmp_path / "list.tsv"
    listed.write_text("RePEc:abc:w:1\thttp://x.example/\n")
    run = crawl(tmp_path / "archive", listed, "-a", "legacy=http://127.0.0.1:1")
    assert run.code == 2
    assert "legacy=http://127.0.0.1:1: http://127.0.0.1:1: Connection refused" in run.log
    assert "Traceback" not in run.log
    assert not (tmp_path / "archive").exists()


def test_a_site_that_answers_is_no_gateway(tmp_path: Path) -> None:
    listed = tmp_path / "list.tsv"
    listed.write_text("RePEc:abc:w:1\thttp://x.example/\n")
    with odd({}) as (base, _):
        run = crawl(tmp_path / "archive", listed, "-a", f"legacy={base}")
    assert (run.code, "what answers there is no gateway" in run.log) == (2, True)


def test_a_gateway_that_dies_stops_the_crawl_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """It hangs up in the middle of the second paper; then the real one is there."""
    home, listed, archive = Home(tmp_path / "archec"), tmp_path / "list.tsv", tmp_path / "archive"
    site = "http://127.0.0.1:9"
    gather(home, TIMES[0], {f"{site}/{n}.pdf": pdf(n, 3000) for n in range(4)})
    listed.write_text("".join(f"RePEc:abc:w:{n}\t{site}/{n}.pdf\n" for n in range(4)))
    store = f"LAFKA_OBJECT_STORE={home.archive}"
    with serving("archec", "serve", "--port", "0", "-s", store, folder=tmp_path) as gateway:
        with dying(gateway, after=6) as base:
            run = crawl(archive, listed, "-a", f"legacy={base}")
        assert run.code == 1
        assert run.log.count("ERROR: The gateway stopped the crawl: http://127.0.0.1:") == 1
        assert "Traceback" not in run.log
        [report] = (archive / "runs").glob("*.json")
        assert json.loads(report.read_bytes())["reason"] == "gateway-away"
        [cut] = outcomes(archive)
        assert all(line["outcome"] == "fut" for line in cut)
        assert len(cut) < 4
        run = crawl(archive, listed, "-a", f"legacy={gateway}")
        assert run.code == 0, run.log
    _, whole = outcomes(archive)
    assert [line["outcome"] for line in whole] == ["fut"] * 4
    check(archive)
    assert {f"{n}": Archive(archive).fut(f"RePEc:abc:w:{n}").read() for n in range(4)} == {
        f"{n}": pdf(n, 3000) for n in range(4)
    }


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("after", [1, 5, 9])
def test_a_killed_crawl_is_as_if_it_had_not_been(
    pulled: Pulled, tmp_path: Path, after: int
) -> None:
    """Killed at its n-th question; the same command finishes, and nothing is there twice."""
    going: list[Crawl] = []

    def kill() -> None:
        going[0].process.kill()

    store = f"LAFKA_OBJECT_STORE={pulled.home.archive}"
    with serving("archec", "serve", "--port", "0", "-s", store, folder=tmp_path) as gateway:
        with dying(gateway, after=after, then=kill) as base:
            arguments = ("-a", f"input={pulled.listed}", "-a", f"legacy={base}")
            with Crawl(tmp_path / "archive", *arguments) as crawl_:
                going.append(crawl_)
                assert crawl_.ended().code == -signal.SIGKILL
        run = crawl(tmp_path / "archive", pulled.listed, "-a", f"legacy={gateway}")
        assert run.code == 0, run.log
    check(tmp_path / "archive")
    whole, found = told_futs(pulled.archive), told_futs(tmp_path / "archive")
    assert found == whole


def told_futs(archive: Path) -> dict[str, list[tuple[str, str, str]]]:
    """Of each paper: times, URLs and digests of its futs."""
    papers = Archive(archive)
    return {
        str(papers.pid_at(warc)): [
            (fut.time, fut.url, fut.digest) for fut, _ in papers.futs_of(papers.pid_at(warc))
        ]
        for warc in papers.warcs()
    }


def lafka(pulled: Pulled, *args: str) -> subprocess.CompletedProcess[bytes]:
    return starts.run(
        [sys.executable, "-m", "lafka", *args, "-s", f"LAFKA_ARCHIVE={pulled.archive}"],
        cwd=pulled.archive.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )


def test_the_report_says_what_it_pulled_from(pulled: Pulled) -> None:
    reports = [json.loads(path.read_bytes()) for path in (pulled.archive / "runs").glob("*.json")]
    assert [one["arguments"]["legacy"] for one in reports] == [pulled.gateway] * 2
    assert all(one["done"] for one in reports)
