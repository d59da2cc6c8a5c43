from __future__ import annotations

import errno
import gzip
import multiprocessing
import os
import re
import shutil
import signal
import threading
import zlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lafka.capture.exchanges import TlsSession
from lafka.capture.rawlog import RawLog
from lafka.errors import ArchiveBusy, StorageTrouble
from lafka.papers.archive import recovery
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.recovery import Recovery, end_of, recover
from lafka.papers.outcomes import Outcome
from lafka.papers.walk import Capture, Trail
from lafka.warc.format import codings, dates
from lafka.warc.reading.volumes import Volume
from tests import suites
from tests.stores import (
    FUTLI,
    KINDS,
    PID,
    START,
    Store,
    answer,
    cuts,
    exchange,
    files,
    page,
    pdf,
    problems,
    redirect,
    run_named,
    warcio_faults,
)


def raw_files(store: Store) -> list[Path]:
    return sorted(store.raw.folder.glob("*.warc"))


def recovered(archive: Archive, *, keep: bool = False) -> list[Recovery]:
    return list(recover(archive, keep=keep))


# A run


def test_a_run_that_ended_well_leaves_nothing(store: Store) -> None:
    store.put(store.fut(pdf()))
    assert [path.suffix for path in raw_files(store)] == [".warc"]
    store.raw.close()
    assert list((store.root / "raw").iterdir()) == []
    assert problems(store.root) == []


def test_kept_raw_files_are_not_recovered(tmp_path: Path) -> None:
    store = Store(tmp_path / "a", keep=True)
    store.put(store.fut(pdf()))
    store.raw.close()
    assert len(raw_files(store)) == 1
    assert warcio_faults(raw_files(store)[0]) == []
    assert recovered(store.archive) == []


def test_a_trail_that_did_not_end_keeps_its_run(store: Store) -> None:
    store.put(store.fut(pdf(1)))
    store.number += 1
    store.fut(pdf(2), pid="RePEc:abc:wpaper:2")
    store.raw.close()
    assert len(raw_files(store)) == 1
    [found] = recovered(store.archive)
    assert (found.trails, found.opened, found.problems) == (2, 1, ())


def test_files_are_rotated_and_go_once_no_trail_waits_for_them(tmp_path: Path) -> None:
    store = Store(tmp_path / "a", config={"max_warc_size": 6_000})
    slow = store.splap(page("slow"))
    store.number += 1
    for n in range(8):
        store.put(store.fut(pdf(n, 2_000), pid=f"RePEc:abc:wpaper:{n + 10}"))
    first, _ = raw_files(store)
    assert slow.exchanges[0].warcinfo.path == str(first)
    store.number = 0  # the slow trail goes on in another file
    fut = store.found(slow, "http://x.example/1.pdf", pdf("slow"))
    assert fut.exchanges[0].warcinfo.path != str(first)
    store.put(slow, fut)
    assert raw_files(store) == [Path(fut.exchanges[0].warcinfo.path)]
    assert list(cuts(store.archive).values()) == [pdf("slow")]
    store.raw.close()
    assert problems(store.root) == []


def test_a_file_of_a_run_without_rotation_stays_until_the_end(store: Store) -> None:
    for n in range(3):
        store.put(store.fut(pdf(n), at=START + timedelta(seconds=n)))
        assert len(raw_files(store)) == 1


def test_what_was_asked_for_no_paper_has_no_warcinfo_of_a_paper(store: Store) -> None:
    robots = exchange("http://x.example/robots.txt", answer(b"User-agent: *\n"))
    assert store.raw.record(robots, None) is not None
    assert store.raw.record(exchange("http://x.example/", b"", started=None), None) is None
    data = raw_files(store)[0].read_bytes()
    assert b"Paper-Id" not in data
    store.die()
    [found] = recovered(store.archive)
    assert (found.trails, found.problems) == (0, ())
    assert list(store.archive.warcs()) == []


def test_what_tls_says_stands_on_requests_responses_and_revisits(store: Store) -> None:
    secured = TlsSession(
        protocol="tls/1.2", cipher="TLS_RSA_WITH_AES_256_CBC_SHA", certificate=("expired", "weak")
    )
    for second in range(2):
        ask = store.ask()
        at = START + timedelta(seconds=second)
        store.put(store.capture(ask, answer(pdf("a")), at=at, secured=secured))
    lines = "WARC-Protocol: tls/1.2\r\nWARC-Cipher-Suite: TLS_RSA_WITH_AES_256_CBC_SHA\r\n"
    lines += "Lafka-Certificate: expired, weak\r\n"
    heads = {record.type: record.header for record in Volume(store.warc())}
    assert {kind for kind, head in heads.items() if lines.encode() in head} == {
        "request",
        "response",
        "revisit",
    }
    assert problems(store.root, "raw-left") == []


def test_a_second_run_of_one_name_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lafka.capture.leftovers._TRIES", 3)
    with pytest.raises(ArchiveBusy, match=run_named(1)):
        RawLog(store.root / "raw", run_named(1), config={})


def test_a_raw_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    archive = Archive.create(tmp_path / "a")
    (archive.root / "raw").rmdir()
    (archive.root / "raw").write_text("")
    with pytest.raises(StorageTrouble, match="raw"):
        RawLog(archive.root / "raw", run_named(1), config={})


# Recovery


def some_trails(store: Store) -> list[list[Capture]]:
    """Trails whose records lie between each other's, with hops, candidates in vain, retries."""
    splap = store.splap(page(1))
    store.number = 1
    other = store.splap(page(2), pid="RePEc:abc:wpaper:2")
    store.number = 0
    in_vain = store.capture(
        store.ask(
            url="http://x.example/no", html_url=splap.url, html_date=dates.to_seconds(splap.time)
        ),
        answer(b"nothing", status="404 Not Found"),
    )
    first = store.found(splap, "http://x.example/1.pdf", pdf(1), "gzip chunked")
    store.number = 1
    second = store.found(other, "http://x.example/2.pdf", pdf(2), "chunked trailers")
    store.number = 2
    retried = store.capture(store.ask(pid="RePEc:abc:wpaper:3"), answer(b"", status="503 Busy"))
    direct = store.capture(
        store.ask(pid="RePEc:abc:wpaper:3"), redirect(FUTLI), answer(pdf(3)),
    )  # fmt: skip
    assert not in_vain.outcome.is_stored
    assert not retried.outcome.is_stored
    return [[splap, first], [other, second], [direct]]


def papers(root: Path) -> dict[str, bytes]:
    return files(root / "warc") | files(root / "suwaf")


def as_copied(root: Path) -> dict[str, bytes]:
    """The papers of *root* with record ids by order of appearance, for each run draws its own."""
    found: dict[str, bytes] = {}
    for name, data in papers(root).items():
        ids: dict[bytes, bytes] = {}
        plain = re.sub(
            rb"urn:uuid:[0-9a-f-]{36}",
            lambda match: ids.setdefault(match[0], b"urn:uuid:%036d" % len(ids)),  # noqa: B023
            data,
        )
        found[name] = re.sub(rb'"chain": "sha256:[0-9a-f]+"', b'"chain": ""', plain)
    return {name: re.sub(rb"sha256:[0-9a-f]+", b"", data) for name, data in found.items()}


@pytest.mark.parametrize("copied", range(4))
def test_a_dead_run_is_copied_as_the_pipeline_would_have(tmp_path: Path, copied: int) -> None:
    whole, dead = Store(tmp_path / "whole"), Store(tmp_path / "dead")
    for store, count in ((whole, 3), (dead, copied)):
        trails = some_trails(store)
        for number, trail in enumerate(trails):
            store.number = number
            ended = store.end(trail)
            if number < count:
                store.append(ended.captures)
                store.raw.release(number)
    dead.die()
    [found] = recovered(dead.archive)
    assert (found.trails, found.opened, found.problems) == (3, 0, ())
    assert as_copied(dead.root) == as_copied(whole.root)
    assert list((dead.root / "raw").iterdir()) == []
    assert problems(dead.root) == []
    before = papers(dead.root)
    assert recovered(dead.archive) == []
    assert papers(dead.root) == before
    whole.raw.close()


def test_recovering_the_same_run_again_adds_nothing(store: Store, tmp_path: Path) -> None:
    for number, trail in enumerate(some_trails(store)):
        store.number = number
        store.end(trail)
    store.die()
    shutil.copytree(store.raw.folder, tmp_path / "again")
    recovered(store.archive)
    before = papers(store.root)
    shutil.copytree(tmp_path / "again", store.raw.folder)
    [found] = recovered(store.archive)
    assert found.problems == ()
    assert papers(store.root) == before


def test_open_trails_are_copied_and_marked_open(store: Store) -> None:
    some_trails(store)
    store.die()
    [found] = recovered(store.archive)
    assert (found.trails, found.opened) == (3, 3)
    for number in (1, 2, 3):
        pid = f"RePEc:abc:wpaper:{number}"
        assert store.archive.suwaf(pid).open == (FUTLI,)
        assert list(cuts(store.archive, pid).values()) == [pdf(number)]
        data = store.warc(pid).read_bytes()
        assert b"404 Not Found" not in data
        assert b"503 Busy" not in data
    assert problems(store.root) == []


def test_of_an_open_trail_the_splap_is_copied_and_no_page_that_its_links_led_to(
    store: Store,
) -> None:
    splap = store.splap(page("the splap"))
    store.found(splap, "http://x.example/other.html", page("another page"))
    store.die()
    [found] = recovered(store.archive)
    assert (found.trails, found.opened) == (1, 1)
    data = store.warc().read_bytes()
    assert b"the splap" in data
    assert b"another page" not in data


@pytest.mark.parametrize(
    ("outcome", "stays"), [(Outcome.NOT_FOUND, ()), (Outcome.TIMEOUT, (FUTLI,)), (None, (FUTLI,))]
)
def test_a_dead_run_closes_what_its_trails_did(
    store: Store, outcome: Outcome | None, stays: tuple[str, ...]
) -> None:
    """Killed between the end of a trail that stored nothing and its note in the suwaf."""
    fut = store.fut(pdf())
    store.append([fut], opened=True)
    store.die()
    recovered(store.archive)
    again = Store(store.root, run="2")
    assert store.archive.suwaf(PID).open == (FUTLI,)
    again.note_end(Trail(futli=fut.ask.futli, number=7, outcome=outcome))
    again.die()
    [found] = recovered(store.archive)
    assert (found.trails, found.problems) == (0, ())
    assert store.archive.suwaf(PID).open == stays
    assert problems(store.root) == []


def test_retries_of_a_hop_s_target_are_not_copied(store: Store) -> None:
    ask = store.ask()
    busy = answer(b"busy", status="503 Busy")
    first = store.raw.record(exchange(FUTLI + "?hop", redirect(FUTLI)), ask.provenance)
    assert first is not None
    for response in (busy, answer(pdf())[:-9], answer(pdf())):
        cut = {"truncated": "disconnect"} if len(response) < 100 else {}
        assert store.raw.record(exchange(FUTLI, response, **cut), ask.provenance, first)
    store.die()
    recovered(store.archive)
    assert list(cuts(store.archive).values()) == [pdf()]
    data = store.warc().read_bytes()
    assert data.count(b"WARC-Type: response") == 2
    assert b"503 Busy" not in data
    assert problems(store.root) == []


def test_a_run_that_lives_is_left_alone(store: Store) -> None:
    store.end([store.fut(pdf())])
    assert recovered(store.archive) == []
    assert len(raw_files(store)) == 1
    assert list(store.archive.warcs()) == []


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    archive = Archive.create(root)
    child = os.fork()
    if child == 0:
        try:
            store = Store(root)
            store.end([store.fut(pdf())])
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    [found] = recovered(archive)
    assert (found.trails, found.opened) == (1, 0)
    assert list(cuts(archive).values()) == [pdf()]


def test_a_raw_file_torn_anywhere_gives_what_was_whole(store: Store, tmp_path: Path) -> None:
    trails = some_trails(store)
    for number, trail in enumerate(trails):
        store.number = number
        store.end(trail)
    store.die()
    [raw] = raw_files(store)
    data = raw.read_bytes()
    marks = {record.end for record in Volume(raw)}
    places = marks | {mark - 2 for mark in marks} | set(range(0, len(data), 2_003))
    for place in sorted(places):
        root = tmp_path / f"cut-{place}"
        archive = Archive.create(root)
        shutil.copytree(store.raw.folder, root / "raw" / run_named(1))
        (root / "raw" / run_named(1) / raw.name).write_bytes(data[:place])
        [found] = recovered(archive)
        assert found.problems == ()
        assert problems(root) == []
        for warc in archive.warcs():
            pid = archive.pid_at(warc)
            number = int(str(pid)[-1])
            assert set(cuts(archive, str(pid)).values()) <= {pdf(number)}
        shutil.rmtree(root)


@pytest.mark.parametrize("kind", ["literal", "gzip"])
def test_a_block_that_its_digest_denies_is_not_copied(store: Store, kind: str) -> None:
    good = store.fut(pdf(1), pid="RePEc:abc:wpaper:2")
    store.number = 1
    bad = store.fut(pdf(2, 5_000), kind)
    for number, trail in enumerate(([good], [bad])):
        store.number = number
        store.end(trail)
    store.die()
    [raw] = raw_files(store)
    span = bad.exchanges[-1].response
    assert span is not None
    with raw.open("r+b") as file:
        file.seek(span.offset + span.length - 30)
        file.write(b"\0")
    [found] = recovered(store.archive)
    assert (found.trails, found.problems) == (1, ())
    assert [store.archive.pid_at(path).text for path in store.archive.warcs()] == [
        "RePEc:abc:wpaper:2"
    ]


@pytest.mark.parametrize("mark", [b"Futli: http://", b"GET http://", b"WARC-IP-Address: "])
def test_a_capture_that_a_power_cut_tore_is_not_copied(store: Store, mark: bytes) -> None:
    """Zeros in its warcinfo, its request, or a header."""
    store.end([store.fut(pdf(1), pid="RePEc:abc:wpaper:2")])
    bad = store.fut(pdf(2))
    store.die()
    [raw] = raw_files(store)
    place = raw.read_bytes().index(mark, bad.exchanges[0].warcinfo.offset) + 6
    with raw.open("r+b") as file:
        file.seek(place)
        file.write(bytes(4))
    [found] = recovered(store.archive)
    assert found.trails == 1
    assert problems(store.root, "raw-left") == []
    assert [store.archive.pid_at(path).text for path in store.archive.warcs()] == [
        "RePEc:abc:wpaper:2"
    ]


def test_damage_in_the_middle_of_a_raw_file_is_told_and_kept(store: Store) -> None:
    first = store.fut(pdf(1))
    store.end([first])
    store.number = 1
    second = store.fut(pdf(2), pid="RePEc:abc:wpaper:2")
    store.end([second])
    store.die()
    [raw] = raw_files(store)
    data = raw.read_bytes()
    place = second.exchanges[0].warcinfo.offset
    raw.write_bytes(data[:place] + b"XXXX" + data[place + 4 :])
    for _ in range(2):
        [found] = recovered(store.archive)
        assert len(found.problems) == 1
        assert f"byte {place}" in found.problems[0]
        assert raw.exists()
        assert list(cuts(store.archive).values()) == [pdf(1)]
    raw.write_bytes(data[:place] + bytes(len(data) - place))  # what a power cut leaves
    [found] = recovered(store.archive)
    assert found.problems == ()
    assert not raw.exists()


def test_bytes_of_a_site_never_pass_for_records(store: Store) -> None:
    other = Store(store.root / "elsewhere", run="forged")
    other.end([other.fut(pdf("forged"), pid="RePEc:abc:wpaper:666")])
    forged = raw_files(other)[0].read_bytes()
    other.die()
    shutil.rmtree(other.root)
    fut = store.fut(pdf() + b"\r\n\r\n" + forged)
    span = fut.exchanges[-1].response
    assert span is not None
    store.die()
    with raw_files(store)[0].open("r+b") as file:
        file.truncate(span.offset + span.length - 7)
    [found] = recovered(store.archive)
    assert (found.trails, found.problems) == (0, ())
    assert list(store.archive.warcs()) == []


def test_a_paper_that_cannot_be_written_keeps_the_run(store: Store) -> None:
    for number in (1, 2):
        store.number = number
        store.end([store.fut(pdf(number), pid=f"RePEc:abc:wpaper:{number}")])
    store.die()
    suwaf = store.suwaf("RePEc:abc:wpaper:1")
    suwaf.parent.mkdir(parents=True, exist_ok=True)
    suwaf.write_text("not a suwaf")
    [found] = recovered(store.archive)
    assert found.trails == 1
    assert len(found.problems) == 1
    assert str(suwaf) in found.problems[0]
    assert list(cuts(store.archive, "RePEc:abc:wpaper:2").values()) == [pdf(2)]
    suwaf.unlink()
    [found] = recovered(store.archive)
    assert found.problems == ()
    assert list(cuts(store.archive).values()) == [pdf(1)]
    assert problems(store.root) == []


def test_trouble_of_the_disk_ends_it_with_none_of_its_threads(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that reads ahead reads files that are closed then; what it reads is not stored."""
    monkeypatch.setattr(recovery, "AT_ONCE", 1)
    for number in range(1, 6):
        store.number = number
        store.end([store.fut(pdf(number), pid=f"RePEc:abc:wpaper:{number}")])
    store.die()
    with pytest.MonkeyPatch.context() as full:
        full.setattr(os, "sendfile", refused)
        with pytest.raises(StorageTrouble, match="No space left"):
            recovered(store.archive)
        assert not [t for t in threading.enumerate() if t.name.startswith("lafka-recovery")]
    assert list(store.archive.warcs()) == []
    assert [found.trails for found in recovered(store.archive)] == [5]
    assert problems(store.root) == []


def refused(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_kept_run_is_marked_as_copied(store: Store) -> None:
    store.end([store.fut(pdf())])
    store.die()
    [found] = recovered(store.archive, keep=True)
    assert found.trails == 1
    assert len(raw_files(store)) == 1
    assert recovered(store.archive) == []


def test_a_folder_that_is_no_run_s_is_told_and_gives_no_trail(store: Store) -> None:
    (store.root / "raw" / "mine").mkdir(parents=True)
    (found,) = recover(store.archive)
    assert (found.run, found.trails, found.opened) == ("", 0, 0)
    assert "mine" in found.problems[0]
    assert (store.root / "raw" / "mine").is_dir()


def test_recovery_stops_between_runs(tmp_path: Path) -> None:
    for n in range(3):
        Store(tmp_path / "a", run=str(n)).die()
    archive = Archive(tmp_path / "a")
    seen: list[Recovery] = []
    for found in recover(archive, stopped=lambda: len(seen) == 2):
        seen.append(found)  # noqa: PERF402  stopped looks at it
    assert [found.run for found in seen] == [run_named(0), run_named(1)]
    assert [path.name for path in (tmp_path / "a" / "raw").iterdir()] == [run_named(2)]


def test_two_recoveries_at_once(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    for run in range(8):
        store = Store(root, run=str(run))
        for n, kind in enumerate(KINDS):
            store.number = n
            store.end([store.fut(pdf(f"{run}-{n}"), kind, at=START + timedelta(seconds=run))])
        store.die()
    archive, failed = Archive(root), list[BaseException]()

    def work() -> None:
        try:
            recovered(archive)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    recovered(archive)
    assert list((root / "raw").iterdir()) == []
    assert problems(root) == []
    assert len(cuts(archive)) == 64


@pytest.mark.draws("fewer runs")
def test_new_runs_beside_a_recovery(tmp_path: Path) -> None:
    """A recovery that takes a folder just made for a leftover does not harm the run in it."""
    root = tmp_path / "archive"
    archive, done, failed = Archive.create(root), threading.Event(), list[BaseException]()

    def keep_recovering() -> None:
        try:
            while not done.is_set():
                recovered(archive)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=keep_recovering) for _ in range(2)]
    for thread in threads:
        thread.start()
    for n in range(suites.amount(6, 20)):
        RawLog(archive.root / "raw", run_named(n), config={}).close()
    done.set()
    for thread in threads:
        thread.join()
    assert failed == []
    recovered(archive)
    assert list((root / "raw").iterdir()) == []


def test_captures_pass_between_processes(store: Store) -> None:
    fut = store.fut(pdf())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_same, (fut,)) == fut


def _same(capture: Capture) -> Capture:
    assert capture.ask.futli.pid.text == PID
    return capture


# Answers that are made to hold up whoever reads them


def bomb(codings: str, mib: int) -> bytes:
    """An answer that names *codings*, gzip each, and makes *mib* MiB of zeros."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = b"".join(packer.compress(bytes(1 << 20)) for _ in range(mib)) + packer.flush()
    for _ in codings.split(",")[1:]:
        body = gzip.compress(body, mtime=0)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {codings}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each piece has that any coding makes, from now on."""
    made: list[int] = []
    real = codings._undo

    def counted(*args: Any) -> Iterator[bytes]:
        for piece in real(*args):
            made.append(len(piece))
            yield piece

    monkeypatch.setattr(codings, "_undo", counted)
    return made


@pytest.mark.parametrize("coding", ["gzip", "gzip, gzip"])
def test_bombs_of_open_trails_cost_a_start_no_more_than_its_spare(
    store: Store, decoded: list[int], coding: str
) -> None:
    store.raw._max_entity = 1 << 20  # the crawl that is killed is quick
    answer = bomb(coding, 40)
    for n in range(6):
        store.number += 1
        store.capture(store.ask(pid=f"RePEc:abc:wpaper:{n + 10}"), answer)
    store.number += 1
    store.put(store.fut(pdf(1)))
    store.number += 1
    store.fut(pdf(2), "gzip", pid="RePEc:abc:wpaper:2")
    store.die()
    stored = sum(path.stat().st_size for path in raw_files(store))
    decoded.clear()
    [found] = recovered(store.archive)
    layers = 1 + coding.count(",")
    assert sum(decoded) < layers * ((64 << 20) + 6 * (2 << 20) + 16 * stored)
    assert found.problems == ()
    assert list((store.root / "raw").iterdir()) == []
    assert list(cuts(store.archive).values()) == [pdf(1)]
    assert list(cuts(store.archive, "RePEc:abc:wpaper:2").values()) == [pdf(2)]
    assert problems(store.root) == []


@pytest.mark.rare("five million members of gzip")
def test_codings_that_make_nothing_in_the_end_cost_no_more(
    store: Store, decoded: list[int]
) -> None:
    # Empty members of gzip, packed twice: two layers make 100 MB, and the last one nothing.
    body = gzip.compress(gzip.compress(gzip.compress(b"", mtime=0) * 5_000_000, 1))
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip, gzip\r\nContent-Length: {len(body)}"
    store.raw._max_entity = 1 << 20
    store.capture(store.ask(), f"{head}\r\n\r\n".encode() + body)
    store.die()
    decoded.clear()
    [found] = recovered(store.archive)
    assert found.problems == ()
    assert sum(decoded) < 80 << 20


@pytest.mark.parametrize("most", [10_000, 1 << 30])
def test_recovery_keeps_the_bound_of_the_crawl(store: Store, most: int) -> None:
    """What ended as a fut, and is over the bound now, is asked for again."""
    trail = Trail(futli=store.ask().futli, number=0, outcome=Outcome.FUT,
                  captures=(store.fut(pdf(1, 50_000), "gzip"),))  # fmt: skip
    store.raw.note(0, FUTLI, end_of(trail))
    store.die()
    [found] = recover(store.archive, max_entity=most)
    assert (found.trails, found.opened) == ((0, 0) if most < 50_000 else (1, 0))
    assert found.problems == ()
    assert store.archive.warc_path(store.archive.pid(PID)).exists() == (most > 50_000)
