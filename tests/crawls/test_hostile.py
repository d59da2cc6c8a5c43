"""One crawl over every bad behaviour of tests/sites/hostile, in a network of its own."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from warcio.archiveiterator import ArchiveIterator

from lafka import settings
from lafka.capture.leftovers import DONE
from lafka.papers.archive.archives import Archive
from lafka.papers.checking import Verifier
from tests import suites
from tests.crawls.running import Run, crawl, outcomes
from tests.sites.hostile.behaviours import MAX_PAYLOAD, STALL, Behaviour
from tests.sites.hostile.site import NETWORK, HostileSite, behaviours

SETTINGS: dict[str, Any] = {
    "EXTENSIONS": json.dumps({**settings.EXTENSIONS, "tests.sites.hostile.watch.Watch": 1}),
    "LAFKA_ALLOWED_NETWORKS": NETWORK,
    "LAFKA_CRAWL_DELAY_MAX": 1,
    "LAFKA_KEEP_RAW": 1,
    "LAFKA_LINKS_MAX": 6,
    "LAFKA_MAX_PAYLOAD": MAX_PAYLOAD,
    "LAFKA_RETRY_AFTER_MAX": 1,
    "LAFKA_STALL_TIMEOUT": STALL,
}
pytestmark = pytest.mark.draws("of each family of behaviours")
KEPT = {"fut", "splap-only", "other-type"}
UNENDED = {"pdf-without-eof", "pdf-in-half", "pdf-in-half-coded", "pdf-header-only"}
MAY_BE_KEPT = {"bot-challenge", "login"}  # where a splap led to it
_CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1


def _go_alone() -> bool:
    """Move this thread, and what it starts, to a network that has nothing but loopback."""
    try:
        if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET):
            return False
        with socket.socket() as any_socket:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
    except (AttributeError, OSError):
        return False
    return True


@dataclass(kw_only=True)
class Crawled:
    site: HostileSite
    archive: Path
    alone: bool
    run: Run
    seen: dict[str, Any]

    def lines(self) -> dict[str, list[dict[str, Any]]]:
        """The outcome lines of each behaviour, by its name."""
        by_line: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for line in outcomes(self.archive)[0]:
            by_line.setdefault((line["pid"][:100], line["futli"]), []).append(line)
        return {h.behaviour.name: by_line.get(self.site.told(h), []) for h in self.site.hosts}

    def good(self) -> dict[str, list[str]]:
        """The outcomes of the good papers, by the behaviour of their host."""
        by_pid: dict[str, list[str]] = {}
        for line in outcomes(self.archive)[0]:
            by_pid.setdefault(line["pid"], []).append(line["outcome"])
        return {h.behaviour.name: by_pid.get(h.good_pid, []) for h in self.site.hosts}


def _crawled(folder: Path) -> Crawled:
    alone = _go_alone()
    known = [(f, b) for f, b in behaviours() if alone or not b.led_off]
    kinds: dict[str, list[tuple[str, Behaviour]]] = {}
    for family, behaviour in known:
        kind = "certificates" if behaviour.certificate else family
        kinds.setdefault(kind, []).append((family, behaviour))
    chosen = [
        each
        for kind, every in kinds.items()
        for each in suites.few(kind, every, 14, 30, name=lambda each: each[1].name)
    ]
    with HostileSite(chosen, folder) as site:
        list_ = folder / "list.tsv"
        list_.write_bytes(site.list())
        report = folder / "watch.json"
        # A fork is one of a process that has the network of the other tests.
        run = crawl(folder / "archive", list_, fresh=True, WATCH_REPORT=report, **SETTINGS)
    seen = json.loads((folder / "watch.json").read_bytes())
    return Crawled(site=site, archive=folder / "archive", alone=alone, run=run, seen=seen)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    # A thread has a network of its own, so the other tests keep theirs.
    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(_crawled, tmp_path_factory.mktemp("hostile")).result()


def test_there_are_many_behaviours_each_with_a_name_of_its_own(crawled: Crawled) -> None:
    names = Counter(h.behaviour.name for h in crawled.site.hosts)
    assert names.total() > suites.amount(100, 200)
    assert [name for name, count in names.items() if count > 1] == []


def test_the_crawl_ends_by_itself(crawled: Crawled) -> None:
    assert crawled.run.code == 0, crawled.run.log[-3000:]
    assert "'finish_reason': 'finished'" in crawled.run.log


def test_each_line_has_one_outcome_the_expected_one(crawled: Crawled) -> None:
    got = {name: [line["outcome"] for line in lines] for name, lines in crawled.lines().items()}
    want = {h.behaviour.name: [h.behaviour.outcome] for h in crawled.site.hosts}
    wrong = {name: (want[name], got[name]) for name in want if want[name] != got[name]}
    assert wrong == {}
    assert len(outcomes(crawled.archive)[0]) == 2 * len(crawled.site.hosts)


def test_later_lines_of_the_same_hosts_are_served(crawled: Crawled) -> None:
    got = crawled.good()
    want = {h.behaviour.name: [h.behaviour.good] for h in crawled.site.hosts}
    assert {name: (want[name], got[name]) for name in want if want[name] != got[name]} == {}


def test_futs_are_kept_byte_by_byte_and_nothing_else_is_one(crawled: Crawled) -> None:
    lines = crawled.lines()
    for host in crawled.site.hosts:
        name, want = host.behaviour.name, host.behaviour.fut
        [line] = lines[name]
        cut = [_cut_out(crawled.archive, line["pid"], fut) for fut in line["futs"]]
        assert (want in cut) if want else (cut == []), name


def _cut_out(archive: Path, pid: str, fut: dict[str, Any]) -> bytes:
    store = Archive(archive)
    with store.warc_path(store.scheme.pid(pid)).open("rb") as file:
        file.seek(fut["s"])
        return file.read(fut["l"])


def test_what_is_no_paper_is_not_kept(crawled: Crawled) -> None:
    store = Archive(crawled.archive)
    for host in crawled.site.hosts:
        behaviour = host.behaviour
        if behaviour.line is not None or behaviour.outcome in MAY_BE_KEPT:
            continue
        kept = store.warc_path(store.scheme.pid(host.pid)).exists()
        expected = behaviour.outcome in KEPT or behaviour.name in UNENDED
        assert kept == expected, behaviour.name


def test_cut_answers_say_so_in_the_raw_warc(crawled: Crawled) -> None:
    last = dict(_answers(crawled.archive / "raw", "WARC-Truncated"))
    for host in crawled.site.hosts:
        if host.behaviour.truncated:
            assert last.get(host.address) == host.behaviour.truncated, host.behaviour.name


def test_what_a_certificate_is_worth_is_noted_in_the_raw_warc(crawled: Crawled) -> None:
    noted = dict(_answers(crawled.archive / "raw", "Lafka-Certificate"))
    want = {h.address: h.behaviour.certificate for h in crawled.site.hosts}
    worth = {host: certificate for host, certificate in want.items() if certificate}
    assert worth
    assert {host: noted[host] for host in worth} == worth


def _answers(raw: Path, field: str) -> Iterator[tuple[str, str | None]]:
    """Host and *field* of each answer, but for robots.txt and the good papers."""
    for volume in sorted(raw.rglob("*.warc")):
        with volume.open("rb") as file:
            for record in ArchiveIterator(file, no_record_parse=True):
                url = urlsplit(record.rec_headers.get_header("WARC-Target-URI") or "")
                if record.rec_type == "response" and url.path not in ("/robots.txt", "/good-paper"):
                    yield url.hostname or "", record.rec_headers.get_header(field)


def test_the_archive_is_sound(crawled: Crawled) -> None:
    found = Verifier(crawled.archive).verify_all()
    assert [p.as_json() for p in found if p.severity == "error"] == []


def test_no_address_is_asked_but_those_of_the_site(crawled: Crawled) -> None:
    assert crawled.site.trapped == []
    assert [c for c in crawled.seen["connected"] if not c.startswith("('127.77.")] == []
    assert [name for name in crawled.seen["resolved"] if not name.endswith(".invalid")] == []


def test_nothing_is_written_outside_the_archive(crawled: Crawled) -> None:
    inside = (str(crawled.archive), os.devnull)
    # The mark of a raw log is made below its folder's descriptor: the audit hears its name alone.
    written = [p for p in crawled.seen["written"] if not p.isdigit() and p != DONE]
    assert [path for path in written if not path.startswith(inside)] == []
    assert len(crawled.seen["started"]) == 1  # the children that parse


def test_the_log_is_quiet_and_drives_no_terminal(crawled: Crawled) -> None:
    log = crawled.run.log
    assert "Traceback" not in log
    assert [c for c in set(log) if not c.isprintable() and c != "\n"] == []
    known = ("neither PDF nor HTML", "Got data loss in http", "Remote certificate is not valid",
             "seconds of work")  # fmt: skip  # the largest pages, where the machine is slow
    assert crawled.run.troubles(*known) == []


def test_the_loop_goes_on_and_memory_is_bounded(crawled: Crawled) -> None:
    seen = crawled.seen
    said = f"{seen['largest_gaps'][:3]}, {seen['peak_mb']:.0f} MB"
    print(said, f"children {seen['children_peak_mb']:.0f} MB")
    assert seen["largest_gaps"][0] < 20, (said, seen["stalls"])  # 0.3 on a quiet machine
    assert seen["peak_mb"] < 500, said
