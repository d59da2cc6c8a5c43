from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lafka.errors import BadSuwaf, BadWarc, ShortWarc
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.recovery import recover
from lafka.papers.walk import Capture
from lafka.storage.folders import draft_of, make_folders
from lafka.storage.locks import tried, vacant
from lafka.urls import LONGEST_URL, check_url
from lafka.warc.reading.volumes import Volume
from tests import suites, waiting
from tests.faults.forks import in_child
from tests.faults.storecalls import Plan, Which
from tests.stores import (
    FUTLI,
    KINDS,
    PID,
    START,
    Store,
    answer,
    chunked,
    cuts,
    files,
    page,
    pdf,
    problems,
    warcio_faults,
)
from tests.warc.smalldisks import files_of_at_most

ROOT = Path(__file__).parents[3]
OF_A_KILL = ("torn-aside", "raw-left")


def boundaries(warc: Path) -> list[int]:
    return [0, *(record.end for record in Volume(warc))]


def sound(store: Store, *passed_over: str) -> None:
    """Nothing to complain of, and a suwaf made from the WARC alone is the same."""
    assert problems(store.root, "raw-left", *passed_over) == []
    for warc in store.archive.warcs():
        assert warcio_faults(warc) == []
        pid = store.archive.pid_at(warc)
        kept, bytes_kept = store.archive.suwaf_path(pid).read_bytes(), warc.read_bytes()
        store.archive.rebuild(pid)
        assert store.archive.suwaf_path(pid).read_bytes() == kept
        assert warc.read_bytes() == bytes_kept


def open_files() -> list[int]:
    return sorted(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208


def long_trail(store: Store) -> list[Capture]:
    """A changed splap, a chunked fut and a literal one behind a redirect."""
    at = START + timedelta(days=1)
    splap = store.splap(page("changed"), at=at)
    first = store.found(splap, "http://x.example/a.pdf", pdf("a"), "chunked trailers")
    second = store.capture(
        replace(first.ask, url="http://x.example/b"),
        b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
        answer(pdf("b")),
        at=at + timedelta(seconds=2),
    )
    again = store.found(splap, "http://x.example/c.pdf", pdf("a"), "gzip")
    return [splap, first, second, again]


# Every kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_fut_of_every_kind_is_cut_out_by_its_suwaf(store: Store, kind: str) -> None:
    [added] = store.put(store.fut(pdf(kind), kind, hops=2))
    assert added.new
    assert list(cuts(store.archive).values()) == [pdf(kind)]
    again, other = START + timedelta(days=3), "http://y.example/é?q=1"
    [visit] = store.put(store.fut(pdf(kind), kind, at=again))
    [elsewhere] = store.put(store.fut(pdf(kind), "literal", futli=other))
    assert not visit.new
    assert (visit.fut.s, visit.fut.l) == (added.fut.s, added.fut.l)
    assert (elsewhere.fut.s, elsewhere.fut.l) == (added.fut.s, added.fut.l)
    assert len(cuts(store.archive)) == 3
    assert store.warc().read_bytes().count(pdf(kind)) == 1
    sound(store)


def test_a_coding_that_was_not_applied_needs_no_conversion(store: Store) -> None:
    store.put(store.fut(pdf(), "said to be gzip"))
    store.put(store.fut(pdf(), "gzip", futli="http://y.example/"))
    assert list(cuts(store.archive).values()) == [pdf()] * 2
    assert store.warc().read_bytes().count(pdf()) == 1
    kept = store.suwaf().read_bytes()
    store.archive.rebuild(store.archive.pid(PID))
    assert store.suwaf().read_bytes() == kept


@pytest.mark.parametrize("size", [16_000, 40_000, LONGEST_URL])
def test_a_long_url_is_read_back(store: Store, size: int) -> None:
    futli = "http://x.example/".ljust(size, "l")
    check_url(futli)
    for number in range(2):
        store.put(store.fut(pdf(number), futli=futli, at=START + timedelta(days=number)))
    store.end([store.fut(pdf(2), futli=futli, at=START + timedelta(days=2))])
    dead, store.raw = store.raw, Store(store.root, run="2").raw
    dead._files.close()
    os.close(dead._lock)
    [found] = recover(store.archive)
    assert (found.trails, found.problems) == (3, ())
    assert list(cuts(store.archive).values()) == [pdf(0), pdf(1), pdf(2)]
    sound(store)


def test_three_futs_of_one_second_have_keys_of_their_own(store: Store) -> None:
    for name in "abc":
        store.put(store.fut(pdf(name)))
    store.put(store.fut(pdf("a")))
    keys = [time for _, time in cuts(store.archive)]
    assert keys == [
        "2026-11-20T10:11:12Z",
        "2026-11-20T10:11:12.250Z",
        "2026-11-20T10:11:12.250000Z",
        "2026-11-20T10:11:12.250001Z",
    ]
    sound(store)


def test_a_page_that_is_held_adds_nothing_and_a_changed_one_is_stored(store: Store) -> None:
    store.put(store.splap(page(1)))
    before = files(store.root / "warc"), files(store.root / "suwaf")
    store.put(store.splap(page(1), at=START + timedelta(days=1)))
    assert (files(store.root / "warc"), files(store.root / "suwaf")) == before
    store.put(store.splap(page(2), at=START + timedelta(days=2)))
    assert cuts(store.archive) == {}
    assert store.warc().read_bytes().count(b"WARC-Type: response") == 2
    sound(store)


def test_two_equal_futs_in_one_trail_are_stored_once(store: Store) -> None:
    for kind in KINDS:
        splap = store.splap(page(kind))
        urls = ("http://x.example/1.pdf", "http://x.example/2.pdf")
        futs = [store.found(splap, url, pdf(kind), kind) for url in urls]
        assert [added.new for added in store.put(splap, *futs)] == [True, False]
        assert store.warc().read_bytes().count(pdf(kind)) == 1
    sound(store)


def test_appending_again_adds_nothing(store: Store) -> None:
    trail = long_trail(store)
    first = store.append(trail)
    before = files(store.root / "warc"), files(store.root / "suwaf")
    second = store.append(trail)
    assert (files(store.root / "warc"), files(store.root / "suwaf")) == before
    assert [added.new for added in first] == [True, True, False]
    assert [replace(added, new=False) for added in first] == second


def test_an_open_futli_stays_open_until_its_trail_ends(store: Store) -> None:
    fut = store.fut(pdf())
    store.append([fut], opened=True)
    assert store.archive.suwaf(PID).open == (FUTLI,)
    assert not store.archive.has_fut(fut.ask.futli)
    store.archive.rebuild(fut.ask.futli.pid)
    assert store.archive.suwaf(PID).open == (FUTLI,)
    store.append([store.fut(pdf(), at=START + timedelta(days=1))])
    assert store.archive.has_fut(fut.ask.futli)


def test_an_open_futli_is_closed_by_a_trail_that_stores_nothing(store: Store) -> None:
    futs = [store.fut(pdf(n), futli=f"http://x.example/{n}") for n in range(2)]
    for fut in futs:
        store.append([fut], opened=True)
    before = store.warc().read_bytes()
    store.archive.close(futs[0].ask.futli)
    assert store.archive.suwaf(PID).open == ("http://x.example/1",)
    assert [store.archive.has_fut(fut.ask.futli) for fut in futs] == [True, False]
    store.archive.close(futs[1].ask.futli)
    assert store.archive.suwaf(PID).open == ()
    assert store.warc().read_bytes() == before
    sound(store)
    kept = store.suwaf().stat().st_mtime_ns
    store.archive.close(futs[1].ask.futli)
    store.archive.close(store.ask(pid="RePEc:abc:wpaper:77").futli)
    assert store.suwaf().stat().st_mtime_ns == kept
    assert [path.name for path in store.warc().parent.iterdir()] == ["1.warc"]


# Any sequence of trails

ONE_TRAIL = st.tuples(
    st.sampled_from((*KINDS, "splap", "two", "other")),
    st.integers(0, 3),  # which bytes
    st.integers(0, 2),  # which futli
    st.integers(0, 4),  # which second; the same one often
    st.integers(0, 2),  # redirect hops
)


def one_trail(store: Store, what: tuple[str, int, int, int, int]) -> list[Capture]:
    kind, body, futli, second, hops = what
    at = START + timedelta(seconds=second // 2, milliseconds=second)
    where: dict[str, Any] = {"futli": f"http://x.example/{futli}é?a=b&c=%20", "at": at}
    if kind in KINDS:
        return [store.fut(pdf(body), kind, hops=hops, **where)]
    if kind == "other":
        return [store.splap(b"PK\x03\x04" + bytes([body]), **where)]
    splap = store.splap(page(body), **where)
    if kind == "splap":
        return [splap]
    urls = [f"http://x.example/{n}.pdf" for n in range(2)]
    return [
        splap,
        store.found(splap, urls[0], pdf(body), KINDS[second]),
        store.found(splap, urls[1], pdf(body % 2), KINDS[-hops], label="supplement" * (hops > 1)),
    ]


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(trails=st.lists(ONE_TRAIL, min_size=1, max_size=8))
def test_the_suwaf_that_is_kept_is_the_one_that_is_rebuilt(
    tmp_path_factory: pytest.TempPathFactory, trails: list[tuple[str, int, int, int, int]]
) -> None:
    root = tmp_path_factory.mktemp("trails")
    store = Store(root / "archive")
    wanted: set[bytes] = set()
    for what in trails:
        captures = one_trail(store, what)
        added = store.put(*captures)
        futs = [capture for capture in captures if capture.is_pdf]
        assert [entry.capture for entry in added] == futs
        wanted |= {pdf(n) for n in range(4) if any(_is(c, pdf(n)) for c in futs)}
    assert set(cuts(store.archive).values()) == wanted
    for body in wanted:
        assert store.warc().read_bytes().count(body) == 1
    sound(store)
    store.raw.close()
    shutil.rmtree(root)


def _is(capture: Capture, body: bytes) -> bool:
    assert capture.payload is not None
    return capture.payload.digest == "sha256:" + hashlib.sha256(body).hexdigest()


# Cuts


@dataclass
class Torn:
    """An archive's bytes around one append."""

    store: Store
    trail: list[Capture]
    old_warc: bytes
    old_suwaf: bytes | None
    warc: bytes

    @classmethod
    def of(cls, store: Store, *, new: bool) -> Torn:
        if not new:
            store.put(store.splap(page("old")))
            store.put(store.fut(pdf("old"), "chunked"))
        suwaf = store.suwaf()
        old = store.warc().read_bytes() if not new else b""
        old_suwaf = suwaf.read_bytes() if not new else None
        trail = long_trail(store)
        store.append(trail)
        return cls(store, trail, old, old_suwaf, store.warc().read_bytes())

    def put_back(self, warc: bytes, *, draft: bool = False) -> None:
        shutil.rmtree(self.store.root / "warc")
        path = self.store.warc()
        path.parent.mkdir(parents=True)
        (path.with_name(f".draft-{path.name}") if draft else path).write_bytes(warc)
        self.store.suwaf().unlink(missing_ok=True)
        if self.old_suwaf is not None:
            self.store.suwaf().write_bytes(self.old_suwaf)

    def places(self, step: int) -> list[int]:
        """Each end of a record and of its header, one byte around them, and samples."""
        begin, marks = len(self.old_warc), set[int]()
        for record in Volume(self.store.warc()):
            for place in (record.end, record.block_start, record.end - 4, record.offset + 12):
                marks |= {place - 1, place, place + 1}
        found = marks | set(range(begin, len(self.warc), step))
        return sorted(place for place in found if begin <= place <= len(self.warc))

    def check(self) -> None:
        """After recovery and the same append again: all is there, once."""
        self.store.append(self.trail)
        held = set(cuts(self.store.archive).values())
        assert {pdf("a"), pdf("b")} <= held
        assert self.store.warc().read_bytes().startswith(self.old_warc)
        for body in held:
            assert self.store.warc().read_bytes().count(body) == 1
        assert problems(self.store.root, *OF_A_KILL) == []


@pytest.mark.draws("of the places")
@pytest.mark.parametrize("form", ["old", "new", "draft"])
def test_an_append_cut_anywhere_loses_nothing(store: Store, form: str) -> None:
    torn = Torn.of(store, new=form != "old")
    ends = boundaries(store.warc())
    step = os.environ.get("LAFKA_CUT_STEP")  # 1 tries every byte
    places = torn.places(int(step or 997))
    for place in places if step else suites.few("cuts", places, 40, most=120):
        torn.put_back(torn.warc[:place], draft=form == "draft")
        whole = max(end for end in ends if end <= place)
        with store.archive.paper(torn.trail[0].ask.futli.pid):
            pass
        now = store.warc().read_bytes() if store.warc().exists() else b""
        assert now[:whole] == torn.warc[:whole]
        # What follows whole records is at most the conversion of a response that was whole.
        assert now[whole:] == torn.warc[whole : len(now)]
        aside = store.warc().with_name(f"{store.warc().name}.torn-{whole}")
        if place > whole:
            assert aside.read_bytes() == torn.warc[whole:place]
        else:
            assert not aside.exists()
        torn.check()
        assert store.warc().read_bytes() == torn.warc  # ids are derived, not drawn


@pytest.mark.parametrize("form", ["old", "draft"])
@pytest.mark.parametrize("hole", [(0, 40), (300, 512), (2000, 3000), (4096, 8192)])
def test_pages_that_a_power_cut_lost_behind_the_end_are_set_aside(
    store: Store, form: str, hole: tuple[int, int]
) -> None:
    torn = Torn.of(store, new=form != "old")
    begin, end = (len(torn.old_warc) + place for place in hole)
    end = min(end, len(torn.warc))
    data = torn.warc[:begin] + bytes(end - begin) + torn.warc[end:]
    torn.put_back(data, draft=form == "draft")
    torn.check()
    [aside] = store.warc().parent.glob("*.torn-*")
    assert data.endswith(aside.read_bytes())


def test_a_header_that_a_power_cut_tore_makes_no_record_of_two(store: Store) -> None:
    """Zeros through the end of one header and a whole header behind them parse as one."""
    torn = Torn.of(store, new=False)
    request = torn.warc.index(b"WARC-Type: request", len(torn.old_warc))
    begin, end = request + 60, torn.warc.index(b"WARC/1.1\r\nWARC-Type: response", request)
    torn.put_back(torn.warc[:begin] + bytes(end - begin) + torn.warc[end:])
    torn.check()
    assert b"\0\0WARC/1.1" not in store.warc().read_bytes()


@pytest.mark.parametrize("tail", [b"garbage", bytes(4096), b"WARC/1.1\r\n", b"\r\n\r\nWARC/1."])
def test_garbage_behind_the_end_is_kept_aside(store: Store, tail: bytes) -> None:
    store.put(store.fut(pdf()))
    before = store.warc().read_bytes()
    store.warc().write_bytes(before + tail)
    store.put(store.fut(pdf(2)))
    aside = store.warc().with_name(f"{store.warc().name}.torn-{len(before)}")
    assert aside.read_bytes() == tail
    assert store.warc().read_bytes().startswith(before + b"WARC/1.1\r\n")
    sound(store, "torn-aside")


@pytest.mark.parametrize("form", ["end", "draft"])
def test_whole_records_of_another_paper_behind_the_end_are_kept_aside(
    store: Store, form: str
) -> None:
    """As blocks that a power cut left of another file."""
    other = "RePEc:abc:wpaper:2"
    store.put(store.fut(pdf("other"), pid=other))
    foreign = store.warc(other).read_bytes()
    fut = store.fut(pdf())
    if form == "end":
        store.put(fut)
        before = store.warc().read_bytes()
        store.warc().write_bytes(before + foreign)
    else:
        before = b""
        store.warc().with_name(".draft-1.warc").write_bytes(foreign)
    store.put(store.fut(pdf(2)))
    aside = store.warc().with_name(f"1.warc.torn-{len(before)}")
    assert aside.read_bytes() == foreign
    assert pdf("other") not in cuts(store.archive).values()
    assert store.warc().read_bytes().startswith(before + b"WARC/1.1\r\n")
    sound(store, "torn-aside")


def test_a_paper_id_in_another_spelling_is_of_the_same_paper(store: Store) -> None:
    store.put(store.fut(pdf()))
    end, suwaf = store.warc().stat().st_size, store.suwaf().read_bytes()
    store.put(store.fut(pdf(2)))
    data = store.warc().read_bytes()
    tail = data[end:].replace(b"Paper-Id: RePEc:abc", b"Paper-Id: repec:ABC")
    digest = re.search(rb"WARC-Block-Digest: (sha256:[0-9a-f]+)", tail)
    assert digest
    body = tail.partition(b"\r\n\r\n")[2].partition(b"\r\n\r\n")[0] + b"\r\n"
    tail = tail.replace(digest[1], b"sha256:" + hashlib.sha256(body).hexdigest().encode(), 1)
    store.warc().write_bytes(data[:end] + tail)
    store.suwaf().write_bytes(suwaf)
    with store.archive.paper(store.archive.pid(PID)):
        pass
    assert set(cuts(store.archive).values()) == {pdf(), pdf(2)}
    sound(store)


# What is not as it was left


def untouched(store: Store, error: type[Exception], message: str) -> None:
    """Appending raises *error*, in one sentence, and changes no byte of the paper."""
    before = files(store.root / "warc"), files(store.root / "suwaf")
    fds = len(open_files())
    with pytest.raises(error, match=message) as caught:
        store.append([store.fut(pdf("more"), at=START + timedelta(days=9))])
    assert str(store.warc()) in str(caught.value) or str(store.suwaf()) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (files(store.root / "warc"), files(store.root / "suwaf")) == before
    assert len(open_files()) == fds


def test_a_warc_shorter_than_its_suwaf_says_is_left_alone(store: Store) -> None:
    store.put(store.fut(pdf()))
    whole = store.warc().read_bytes()
    for size in (len(whole) - 1, 100, 0):
        store.warc().write_bytes(whole[:size])
        untouched(store, ShortWarc, f"{size} bytes long")
        with pytest.raises(ShortWarc):
            store.archive.rebuild(store.archive.pid(PID))
    store.warc().unlink()
    untouched(store, ShortWarc, "0 bytes long")
    assert not list(store.warc().parent.iterdir())


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"_warc": {"format": 2, "end": 0}}', "\xff", "null",
             '{"_warc": {"format": 1, "end": -1}}', '{"_warc": {"format": 1, "end": "1"}}',
             '{"_warc": {"format": 1, "end": 0}, "RePEc:abc:wpaper:2": {}}',
             '{"_warc": {"format": 1, "end": 0}, "RePEc:abc:wpaper:1": []}', "[" * 100_000],
)  # fmt: skip
def test_a_suwaf_that_is_none_is_left_alone_and_rebuilt(store: Store, text: str) -> None:
    store.put(store.fut(pdf(), "gzip"))
    good = store.suwaf().read_bytes()
    store.suwaf().write_bytes(text.encode("latin-1"))
    untouched(store, BadSuwaf, "not a suwaf")
    store.archive.rebuild(store.archive.pid(PID))
    assert store.suwaf().read_bytes() == good


def test_a_missing_suwaf_is_made_again_by_the_next_append(store: Store) -> None:
    store.put(store.fut(pdf(1), "chunked"))
    store.suwaf().unlink()
    store.put(store.fut(pdf(2)))
    assert list(cuts(store.archive).values()) == [pdf(1), pdf(2)]
    sound(store)


def test_a_warc_of_another_paper_is_left_alone(store: Store) -> None:
    store.put(store.fut(pdf("other"), pid="RePEc:abc:wpaper:2"))
    store.warc().write_bytes(store.warc("RePEc:abc:wpaper:2").read_bytes())
    untouched(store, BadWarc, "a capture of RePEc:abc:wpaper:2")
    with pytest.raises(BadWarc):
        store.archive.rebuild(store.archive.pid(PID))


def test_damage_in_the_middle_is_never_cut_off(store: Store) -> None:
    for name in range(3):
        store.put(store.fut(pdf(name), at=START + timedelta(seconds=name)))
    good, suwaf = store.warc().read_bytes(), store.suwaf().read_bytes()
    second = good.index(pdf(1))
    header = good.rindex(b"Content-Length: ", 0, good.rindex(b"HTTP/1.1 200", 0, second))
    block_in_doubt = (second + 50, b"\0")  # told by its digest alone
    length_wrong = (header + len(b"Content-Length: "), b"9")
    version_gone = (good.rindex(b"WARC/1.1\r\nWARC-Type: response", 0, second), b"X")
    for place, byte in (length_wrong, version_gone, block_in_doubt):
        damaged = good[:place] + byte + good[place + 1 :]
        store.warc().write_bytes(damaged)
        store.suwaf().unlink(missing_ok=True)
        untouched(store, BadWarc, "byte")
        with pytest.raises(BadWarc):
            store.archive.rebuild(store.archive.pid(PID))
        store.suwaf().write_bytes(suwaf)
        if (place, byte) != block_in_doubt:  # a writer does not read acknowledged blocks again
            untouched(store, BadWarc, "byte")
        with pytest.raises((BadWarc, ShortWarc)):
            store.archive.rebuild(store.archive.pid(PID))
        assert store.warc().read_bytes() == damaged
        assert store.suwaf().read_bytes() == suwaf
        assert not list(store.warc().parent.glob("*.torn-*"))


def test_raw_bytes_that_changed_are_not_copied(store: Store) -> None:
    store.put(store.fut(pdf("old")))
    for kind in ("literal", "gzip"):
        fut = store.fut(pdf(kind), kind, at=START + timedelta(days=1))
        span = fut.exchanges[-1].response
        assert span is not None
        with Path(span.path).open("r+b") as file:
            file.truncate(span.offset + span.length - 10)
        before = store.warc().read_bytes()
        with pytest.raises(BadWarc):
            store.append([fut])
        assert store.warc().read_bytes() == before
        store.raw.close()
        store.raw = Store(store.root, run=kind).raw
    sound(store)


# Names


def test_a_new_paper_has_its_name_from_its_first_commit_on(store: Store) -> None:
    fut = store.fut(pdf())
    with store.archive.paper(fut.ask.futli.pid) as paper:
        assert not store.warc().exists()
        paper.append([])
        assert not store.warc().exists()
        paper.append([fut])
        assert store.warc().exists()
    assert [path.name for path in store.warc().parent.iterdir()] == ["1.warc"]
    with store.archive.paper(store.archive.pid("RePEc:abc:wpaper:2")):
        pass
    assert [path.name for path in store.warc().parent.iterdir()] == ["1.warc"]


def test_files_are_made_by_the_umask(store: Store) -> None:
    old = os.umask(0o002)
    try:
        store.put(store.fut(pdf()))
    finally:
        os.umask(old)
    for path in (store.warc(), store.suwaf()):
        assert path.stat().st_mode & 0o777 == 0o664


def test_a_vacant_place_is_kept_free_of_writers(store: Store) -> None:
    fut = store.fut(pdf())
    writer = threading.Thread(target=store.append, args=([fut],))
    other = store.root / "other.warc"
    other.write_bytes(b"")
    with vacant(store.warc()):
        writer.start()
        assert tried(store.warc()) is None
        assert draft_of(store.warc()).read_bytes() == b""
        # From here on there is a WARC, which a writer that looks just now may lock and write to.
        os.link(other, store.warc())
    writer.join()
    assert store.warc().samefile(other)
    assert list(cuts(store.archive).values()) == [pdf()]
    with pytest.raises(BadWarc), vacant(store.warc()):
        pass


def test_a_trail_of_many_captures_holds_few_files_open(store: Store) -> None:
    splap = store.splap(page())
    urls = (f"http://x.example/{n}.pdf" for n in range(60))
    futs = [store.found(splap, url, pdf(url), "chunked") for url in urls]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(open_files()) + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 6, hard))
    try:
        store.put(splap, *futs)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(cuts(store.archive)) == 60


@pytest.mark.long("a fut of 100 MB")
def test_a_large_conversion_takes_little_memory(tmp_path: Path) -> None:
    program = """
import sys
from tests.memory import peak
from tests.stores import *
store = Store(Path(sys.argv[1]))
made = exchange(FUTLI, b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
piece = b"%PDF-" + bytes((1 << 20) - 10) + b"%%EOF"
for _ in range(100):
    made.response.append(b"100000\\r\\n" + piece + b"\\r\\n")
made.response.append(b"0\\r\\n\\r\\n")
del piece
before = peak()
logged = store.raw.record(made, store.ask().provenance)
capture = Capture(ask=store.ask(), url=FUTLI, time=START,
    outcome=Outcome.from_verdict(judge(logged.payload)),
    payload=logged.payload, exchanges=(logged,))
[added] = store.append([capture])
assert added.fut.l == 100 << 20
store.archive.rebuild(store.archive.pid(PID))
print(peak() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "a"],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout) < 30 << 20  # for 100 MiB


# Kills and refusals at each call that the store makes


def read_by_a_reader(store: Store, old: bytes) -> None:
    """Invariants that hold at every moment, before any recovery."""
    import hashlib

    data = store.warc().read_bytes() if store.warc().exists() else b""
    assert data.startswith(old)
    if store.suwaf().exists():
        for times in json.loads(store.suwaf().read_bytes())[PID].values():
            for fut in times.values():
                found = data[fut["s"] : fut["s"] + fut["l"]]
                assert "sha256:" + hashlib.sha256(found).hexdigest() == fut["digest"]


@pytest.mark.forms(count=2)
@pytest.mark.parametrize(
    ("how", "new"), [("before", False), ("before", True), ("half", False), ("after", True)]
)
def test_a_kill_at_any_call_loses_nothing(
    store: Store, tmp_path: Path, how: str, new: bool
) -> None:
    torn = Torn.of(store, new=new)
    for when in range(1, 200):
        torn.put_back(torn.old_warc)
        if new:
            store.warc().unlink()
        plan = Plan(root=str(store.root), kill=Which(nth=when), how=how)
        code = in_child(lambda: store.append(torn.trail), tmp_path / "log", plan).code
        read_by_a_reader(store, torn.old_warc)
        torn.check()
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert 10 < when < 200
    sound(store, *OF_A_KILL)


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_refusal_at_any_call_rolls_back_and_goes_on_afterwards(
    store: Store, tmp_path: Path, number: int
) -> None:
    new = number == errno.ENOSPC
    torn = Torn.of(store, new=new)
    for when in range(1, 200):
        torn.put_back(torn.old_warc)
        if new:
            store.warc().unlink()

        def work() -> None:
            fds = open_files()
            try:
                store.append(torn.trail)
            finally:
                assert open_files() == fds

        plan = Plan(root=str(store.root), refuse=Which(nth=when), number=number)
        code = in_child(work, tmp_path / "log", plan).code
        read_by_a_reader(store, torn.old_warc)
        now = store.warc().read_bytes() if store.warc().exists() else b""
        # Back at the known end, or wholly there and synced, with a suwaf that is a step behind.
        assert now in (torn.old_warc, torn.warc)
        torn.check()
        if code == 0:
            break
        assert code == 2
        assert not list(store.warc().parent.glob("*.torn-*"))
    assert 10 < when < 200
    sound(store)


def test_a_full_disk_is_told_and_rolled_back(store: Store, tmp_path: Path) -> None:
    store.put(store.fut(pdf("old")))
    old = store.warc().read_bytes()
    trails = [store.fut(pdf(kind, 100_000), kind) for kind in ("literal", "chunked")]
    for fut in trails:
        for room in (0, 1, 3_000, 60_000):

            def work() -> None:
                with files_of_at_most(len(old) + room):  # noqa: B023
                    store.append([fut])  # noqa: B023

            assert in_child(work, tmp_path / "log", None).code == 2
            assert store.warc().read_bytes() == old
    for fut in trails:
        store.append([fut])
    assert len(cuts(store.archive)) == 3
    sound(store)


def test_random_kills_of_a_busy_writer(tmp_path: Path) -> None:
    root, acknowledged = tmp_path / "archive", tmp_path / "acknowledged"
    Archive.create(root)
    acknowledged.touch()
    rng = random.Random(7)
    for round_ in range(12):

        def work() -> None:
            store = Store(root, run=f"{round_:02}")  # noqa: B023
            out = os.open(acknowledged, os.O_WRONLY | os.O_APPEND)
            for n in range(10_000):
                pid, name = f"RePEc:abc:wpaper:{n % 3}", f"{round_}-{n}"  # noqa: B023
                at = START + timedelta(seconds=round_ * 1000 + n // 2)  # noqa: B023
                store.put(store.fut(pdf(name), KINDS[n % len(KINDS)], pid=pid, at=at))
                os.write(out, f"{pid} {name}\n".encode())

        child = os.fork()
        if child == 0:
            try:
                work()
            finally:
                os._exit(1)
        size = acknowledged.stat().st_size + rng.randrange(200)  # the kill's moment varies
        waiting.until(lambda: acknowledged.stat().st_size > size, child)  # noqa: B023
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        archive = Archive(root)
        assert [found.problems for found in recover(archive) if found.problems] == []
        for line in acknowledged.read_text().splitlines():
            pid, name = line.split()
            assert pdf(name) in cuts(archive, pid).values()
        assert problems(root, "torn-aside") == []
    assert acknowledged.stat().st_size


# Syncs


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each call that makes or moves bytes for good, with the name of the file it is about."""
    seen: list[str] = []

    def told(name: str) -> None:
        call = getattr(os, name)

        def tell(first: Any, *rest: Any, **more: Any) -> Any:
            path = Path(f"/proc/self/fd/{first}").readlink() if isinstance(first, int) else first
            to = f" {Path(rest[0]).name}" if name in ("rename", "replace") else ""
            seen.append(f"{name} {Path(path).name}{to}")
            return call(first, *rest, **more)

        monkeypatch.setattr(os, name, tell)

    for name in ("write", "sendfile", "fdatasync", "fsync", "ftruncate", "rename", "replace"):
        told(name)
    return seen


def short(calls: list[str]) -> list[str]:
    """*calls* without writes that follow a write to the same file."""
    calls[:] = [call.replace("sendfile", "write") for call in calls]
    found = [call for n, call in enumerate(calls) if n == 0 or call != calls[n - 1]]
    calls.clear()
    return found


SUWAF = ["write .draft-1.json", "fsync .draft-1.json", "replace .draft-1.json 1.json",
         "fsync wpaper"]  # fmt: skip


def test_what_is_named_was_synced_before(store: Store, calls: list[str]) -> None:
    first, second = store.fut(pdf(1), "gzip"), store.fut(pdf(2))
    make_folders(store.suwaf().parent)
    make_folders(store.warc().parent)
    calls.clear()
    store.append([first])
    assert short(calls) == [
        "write .draft-1.warc", "fdatasync .draft-1.warc", "rename .draft-1.warc 1.warc",
        "fsync wpaper", *SUWAF,
    ]  # fmt: skip
    suwaf = store.suwaf().read_bytes()
    store.append([second])
    assert short(calls) == ["write 1.warc", "fdatasync 1.warc", *SUWAF]
    store.suwaf().write_bytes(suwaf)  # the kill came before the suwaf
    with store.archive.paper(first.ask.futli.pid):
        pass
    assert short(calls) == ["fdatasync 1.warc", "fsync wpaper", *SUWAF]
    store.suwaf().write_bytes(suwaf)
    with store.warc().open("ab") as file:
        file.write(b"torn")
    calls.clear()
    with store.archive.paper(first.ask.futli.pid):
        pass
    aside, draft = f"1.warc.torn-{len(store.warc().read_bytes())}", ".draft-1.warc.torn"
    assert short(calls) == [
        f"write {draft}", f"fsync {draft}", f"replace {draft} {aside}", "fsync wpaper",
        "ftruncate 1.warc", "fdatasync 1.warc", "fsync wpaper", *SUWAF,
    ]  # fmt: skip


def test_a_name_that_a_killed_writer_gave_is_synced_by_the_next(
    store: Store, calls: list[str]
) -> None:
    trail = [store.fut(pdf())]
    store.append(trail)
    calls.clear()
    store.append(trail)  # killed behind the suwaf's new name
    assert calls == ["fsync wpaper"]
    store.suwaf().unlink()  # killed behind the WARC's
    calls.clear()
    with store.archive.paper(trail[0].ask.futli.pid):
        pass
    assert short(calls)[:2] == ["fdatasync 1.warc", "fsync wpaper"]


# Several writers at once


def write_some(root: Path, writer: int, pids: list[str]) -> None:
    store = Store(root, run=str(writer))
    for n in range(6):
        at = START + timedelta(seconds=n)
        fut = store.fut(pdf(f"{n}-{writer % 2}"), KINDS[n], pid=pids[n % len(pids)], at=at,
                        futli=f"http://x.example/{writer}")  # fmt: skip
        store.put(fut)
    store.raw.close()


@pytest.mark.forms(count=2)
@pytest.mark.parametrize("writers", [2, 4])
@pytest.mark.parametrize("papers", [1, 3])
def test_processes_that_write_at_once(tmp_path: Path, writers: int, papers: int) -> None:
    root = tmp_path / "archive"
    archive = Archive.create(root)
    pids = [f"RePEc:abc:wpaper:{n}" for n in range(papers)]
    children = []
    for writer in range(writers):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                write_some(root, writer, pids)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    while children:  # a reader that never stops sees futs only
        for pid in pids:
            if archive.suwaf_path(archive.pid(pid)).exists():
                assert all(cut.startswith(b"%PDF-") for cut in cuts(archive, pid).values())
        child, status = os.waitpid(children[0], os.WNOHANG)
        if child:
            assert status == 0
            children.remove(child)
    assert problems(root) == []
    assert sum(len(cuts(archive, pid)) for pid in pids) == 6 * writers
    held = [set(cuts(archive, pid).values()) for pid in pids]
    assert sum(map(len, held)) == 12


def test_threads_that_write_at_once(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    archive = Archive.create(root)
    threads = [threading.Thread(target=write_some, args=(root, n, [PID])) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems(root) == []
    assert len(cuts(archive)) == 24
    assert len(set(cuts(archive).values())) == 12


def test_the_lock_is_that_of_the_warc_itself(store: Store) -> None:
    fut = store.fut(pdf())
    store.append([fut])
    with (
        store.archive.paper(fut.ask.futli.pid),
        store.warc().open("rb") as file,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with store.warc().open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_chunked_helper_is_the_coding() -> None:
    assert chunked(b"abc", step=2) == b"2;q=1\r\nab\r\n1;q=1\r\nc\r\n0\r\n\r\n"


def test_a_changed_header_is_told_and_nothing_is_appended_over_it(store: Store) -> None:
    store.put(store.fut(pdf("a")))
    data = store.warc().read_bytes()
    changed = data.replace(b"WARC-Date: 2026", b"WARC-Date: 2025", 1)
    assert changed != data
    store.warc().write_bytes(changed)
    with pytest.raises(BadWarc, match="not as they were"):
        store.put(store.fut(pdf("b")))
    assert store.warc().read_bytes() == changed
    store.warc().write_bytes(changed + b"a torn tail")
    with pytest.raises(BadWarc, match="not as they were"):
        store.put(store.fut(pdf("b")))
    assert store.warc().read_bytes() == changed + b"a torn tail"
