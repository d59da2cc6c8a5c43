from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import uuid
import zlib
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scrapy.settings import Settings

from lafka.cli.base import json_line
from lafka.cli.verbs import made
from lafka.errors import BadPid, NotHeld
from lafka.papers.checking import Verifier
from lafka.papers.checking.paper import _spelled
from lafka.witness.problems import FILESET_CODES, PAPER_CODES, FileProblem
from tests import suites
from tests.damages import damages, same_values
from tests.waiting import LIMIT

ROOT = Path(__file__).parents[3]
PID = "RePEc:abc:wpaper:1"
NAME = "RePEc/abc/wpaper/1"
PDF = b"%PDF-1.4\n" + bytes(range(256)) * 3 + b"\n%%EOF\n"
PAGE = b"<!DOCTYPE html>\n<html><body><a href='/1.pdf'>paper</a></body></html>\n"
START = datetime(2026, 11, 20, 10, 11, 12, 250_000, tzinfo=UTC)


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


@dataclass
class Writer:
    """A paper WARC and its suwaf, written by the formats and by nothing of Lafka's."""

    pid: str = PID
    warc: bytes = b""
    futlis: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    chain: bytes = bytes(32)
    with_chain: bool = True
    held: dict[str, tuple[str, str, str, int, int]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    random: random.Random = field(default_factory=lambda: random.Random(7))
    past: list[tuple[bytes, bytes]] = field(default_factory=list)

    def new_id(self) -> str:
        return f"<urn:uuid:{uuid.UUID(int=self.random.getrandbits(128), version=4)}>"

    def record(self, kind: str, fields: dict[str, str], block: bytes) -> tuple[str, int]:
        """Append a record; its id, and where its block begins."""
        record_id = self.new_id()
        lines = {"WARC-Type": kind, "WARC-Record-ID": record_id} | fields
        lines |= {"WARC-Block-Digest": sha256(block), "Content-Length": str(len(block))}
        head = "WARC/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        header = head.encode() + b"\r\n"
        self.chain = hashlib.sha256(self.chain + header).digest()
        place = len(self.warc) + len(header)
        self.warc += header + block + b"\r\n\r\n"
        return record_id, place

    def begin(self, futli: str, date: str, extra: dict[str, str]) -> str:
        lines = {"software": "Lafka", "format": "WARC File Format 1.1"}
        lines |= {"Paper-Id": self.pid, "Futli": futli} | extra
        body = "".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode()
        fields = {"WARC-Date": date, "Content-Type": "application/warc-fields"}
        return self.record("warcinfo", fields, body)[0]

    def answer(
        self, info: str, url: str, date: str, head: str, body: bytes, entity: bytes, media: str
    ) -> tuple[str, int]:
        about = {
            "WARC-Date": date,
            "WARC-Target-URI": url,
            "WARC-Warcinfo-ID": info,
            "WARC-IP-Address": "127.0.0.1",
        }
        kind = {"Content-Type": "application/http; msgtype=request"}
        asked, _ = self.record("request", about | kind, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        about["WARC-Concurrent-To"] = asked
        kind = {"Content-Type": "application/http; msgtype=response"}
        mark = entity.find(b"%PDF-")
        digest = sha256(entity[mark:] if mark >= 0 else body)
        front = head.encode() + b"\r\n"
        if digest in self.held and " 200 " in head:
            held, held_url, held_date, _, _ = self.held[digest]
            revisit = {
                "WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
                "WARC-Refers-To": held,
                "WARC-Refers-To-Target-URI": held_url,
                "WARC-Refers-To-Date": held_date,
                "WARC-Payload-Digest": digest,
            }
            self.record("revisit", about | revisit | kind, front)
            return digest, -1
        if "chunked" not in head:
            kind["WARC-Payload-Digest"] = sha256(body)
        kind["WARC-Identified-Payload-Type"] = media
        answer, place = self.record("response", about | kind, front + body)
        if mark < 0 or body == entity:
            place += len(front) + max(0, mark)
            self.held[digest] = (answer, url, date, place, len(entity) - max(0, mark))
            return digest, place
        later = {"WARC-Date": stamp(START + timedelta(days=1)), "WARC-Target-URI": url}
        later |= {"WARC-Warcinfo-ID": info, "WARC-Refers-To": answer}
        later |= {"Content-Type": "application/pdf"}
        converted, place = self.record("conversion", later, entity[mark:])
        self.held[digest] = (converted, url, date, place, len(entity) - mark)
        return digest, place

    def capture(
        self,
        futli: str,
        url: str,
        time: datetime,
        body: bytes = PDF,
        *,
        coding: str = "",
        hops: int = 0,
        extra: dict[str, str] | None = None,
    ) -> None:
        extra = extra or {}
        date = stamp(time)
        info = self.begin(futli, date, extra)
        for hop in range(hops):
            head = f"HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 4\r\n"
            self.answer(info, f"{futli}?{hop}", date, head, b"gone", b"gone", "text/plain")
        sent, head = encoded(body, coding)
        is_pdf = b"%PDF-" in body[:1024]
        media = "application/pdf" if is_pdf else "text/html"
        digest, _ = self.answer(info, url, date, head, sent, body, media)
        if is_pdf:
            _, _, _, place, length = self.held[digest]
            entry = {"s": place, "l": length, "url": url, "digest": digest}
            for key in ("Found-By", "HTML-Url", "HTML-Date", "Label"):
                if key in extra:
                    entry[key.lower().replace("-", "_")] = extra[key]
            times = self.futlis.setdefault(futli, {})
            times[next(key for key in keys(time) if key not in times)] = entry
        self.past.append((self.warc, self.suwaf()))

    def suwaf(self) -> bytes:
        writer: dict[str, Any] = {"format": 1, "end": len(self.warc)}
        if self.with_chain:
            writer["chain"] = "sha256:" + self.chain.hex()
        if self.open:
            writer["open"] = self.open
        values = {self.pid: self.futlis, "_warc": writer}
        return json.dumps(values, ensure_ascii=False, indent=1).encode() + b"\n"

    def save(self, root: Path, name: str = NAME) -> None:
        put(root / "lafka.json", b'{"format": 1, "collection": "RePEc"}\n')
        put(root / "warc" / f"{name}.warc", self.warc)
        put(root / "suwaf" / f"{name}.json", self.suwaf())


def keys(time: datetime) -> Iterator[str]:
    for later in range(1000):
        date = stamp(time + timedelta(microseconds=later))
        yield from (date[:19] + "Z", date[:23] + "Z", date)


def stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def encoded(body: bytes, coding: str) -> tuple[bytes, str]:
    """What the wire carries of *body*, and the head before it."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n"
    name = coding.replace(" chunked", "").rpartition(" ")[2]
    if coding == "two members":
        body, name = gzip.compress(body[:99], mtime=0) + gzip.compress(body[99:], mtime=0), "gzip"
    elif coding == "raw deflate":
        body = zlib.compress(body, wbits=-15)
    elif coding == "deflate":
        body = zlib.compress(body)
    elif "gzip" in coding and "said to be" not in coding:
        body = gzip.compress(body, mtime=0) + bytes("padded" in coding)
    if name not in ("", "chunked", "trailer"):
        head += f"Content-Encoding: {name}\r\n"
    if "chunked" not in coding:
        return body, head + f"Content-Length: {len(body)}\r\n"
    trailer = b"X-Sum: 1\r\n" if "trailer" in coding else b""
    half = len(body) // 2
    chunks = [part for part in (body[:half], body[half:]) if part]
    sent = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in chunks)
    return sent + b"0\r\n" + trailer + b"\r\n", head + "Transfer-Encoding: chunked\r\n"


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def every_kind(writer: Writer | None = None) -> Writer:
    """A paper with a fut of every kind, revisits of them, hops and splaps."""
    paper = writer or Writer()
    found = {
        "Found-By": "citation_pdf_url",
        "HTML-Url": "http://x.example/abs/é",
        "HTML-Date": "2026-11-20T10:11:12Z",
    }
    literal, chunked, coded, junk = (PDF + bytes([n]) * 40 for n in range(4))
    paper.capture("http://x.example/abs/é", "http://x.example/abs/%C3%A9", START, PAGE)
    paper.capture("http://x.example/abs/é", "http://x.example/1.pdf", START, literal, extra=found)
    paper.capture("http://y.example/2", "http://y.example/2.pdf", START, chunked,
                  coding="chunked trailer", hops=2)  # fmt: skip
    paper.capture("http://y.example/2", "http://y.example/3.pdf", START, coded, coding="gzip",
                  extra={"Found-By": "a", "Label": "supplement"})  # fmt: skip
    later = START + timedelta(seconds=30)
    paper.capture("http://z.example/4", "http://z.example/4.pdf", later, b"\r\njunk\n" + junk)
    paper.capture("http://y.example/2", "http://y.example/2.pdf", later, chunked, coding="chunked",
                  hops=1)  # fmt: skip
    paper.capture("http://x.example/5", "http://z.example/4.pdf", later, b"other junk\n" + junk)
    paper.capture("http://x.example/abs/é", "http://x.example/abs/%C3%A9", later, PAGE)
    paper.capture("http://x.example/6", "http://x.example/6.pdf", later, literal)
    return paper


def problems(root: Path, **how: bool) -> list[FileProblem]:
    return list(Verifier(root).verify_all(**how))


def codes(root: Path, **how: bool) -> set[str]:
    return {problem.code for problem in problems(root, **how)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    every_kind().save(tmp_path)
    return tmp_path


@pytest.mark.parametrize("quick", [True, False])
def test_nothing_is_raised_on_a_sound_archive(root: Path, quick: bool) -> None:
    assert problems(root, quick=quick) == []


def test_counts_and_progress(root: Path) -> None:
    seen: list[int] = []
    verifier = Verifier(root, progress=seen.append)
    assert list(verifier.verify_all()) == []
    assert verifier.papers_read == 1
    assert verifier.bytes_read == seen[-1] == (root / "warc" / f"{NAME}.warc").stat().st_size
    assert seen == sorted(seen)


def test_papers_are_those_with_a_warc_or_a_suwaf(root: Path) -> None:
    (root / "warc/RePEc/abc/wpaper/2.warc").write_bytes(b"")
    (root / "suwaf/RePEc/abc/wpaper/3.json").write_bytes(b"{}")
    (root / "suwaf/RePEc/abc/wpaper/.draft-7-3.json").write_bytes(b"{}")
    assert list(Verifier(root).papers()) == [f"RePEc/abc/wpaper/{n}" for n in (1, 2, 3)]


def test_a_paper_by_pid_or_path(root: Path) -> None:
    edit(root / "warc" / f"{NAME}.warc", b"%%EOF", b"%%EOE")
    verifier = Verifier(root)
    for paper in (
        PID,
        "repec:ABC:wpaper:1",
        root / f"warc/{NAME}.warc",
        root / f"suwaf/{NAME}.json",
    ):
        assert "block-digest" in {problem.code for problem in verifier.verify_paper(paper)}
    with pytest.raises(NotHeld):
        verifier.verify_paper("RePEc:abc:wpaper:2")
    with pytest.raises(NotHeld):
        verifier.verify_paper(root / "lafka.json")
    with pytest.raises(BadPid):
        verifier.verify_paper("RePEc:abc")


def test_of_many_papers_more_are_handed_out_at_a_time(tmp_path: Path) -> None:
    for number in range(1_500):
        path = tmp_path / "suwaf" / f"RePEc/abc/wpaper/{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    sizes = [len(names) for names, _ in Verifier(tmp_path)._batches()]
    assert sum(sizes) == 1_500
    assert sizes[:16] == [4] * 16
    assert sizes[:-1] == sorted(sizes[:-1])
    assert max(sizes) == 16


def test_many_papers_are_shared_out(tmp_path: Path) -> None:
    for number in range(40):
        writer = Writer(pid=f"RePEc:abc:wpaper:{number}")
        writer.capture("http://x.example/", "http://x.example/", START)
        writer.save(tmp_path, f"RePEc/abc/wpaper/{number}")
    edit(tmp_path / "warc/RePEc/abc/wpaper/33.warc", b"%%EOF", b"%%EOE")
    one, two = Verifier(tmp_path), Verifier(tmp_path, workers=2, alone=0)
    found = list(two.verify_all())
    assert {problem.code for problem in found} == {"block-digest", "payload-digest", "fut-digest"}
    assert found == list(one.verify_all())
    assert (one.papers_read, one.bytes_read) == (two.papers_read, two.bytes_read)
    assert two.papers_read == 40


SHARED_OUT = """
import json, sys, threading
from lafka.papers.checking import Verifier
held = threading.Event()
if sys.argv[2] == "threads":
    threading.Thread(target=held.wait, daemon=True).start()
if __name__ == "__main__":
    for problem in Verifier(sys.argv[1], workers=2, alone=0).verify_all():
        print(json.dumps(problem.as_json()))
"""


@pytest.mark.parametrize("how", ["alone", "threads"])
def test_papers_are_shared_out_to_forks_and_with_threads_to_programs(
    root: Path, tmp_path: Path, how: str
) -> None:
    program = tmp_path / "shared_out.py"
    program.write_text(SHARED_OUT)
    edit(root / "warc" / f"{NAME}.warc", b"%%EOF", b"%%EOE")
    told = subprocess.run(
        [sys.executable, program, root, how], cwd=ROOT, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=LIMIT,
    )  # fmt: skip
    found = [p.as_json() for p in Verifier(root).verify_all()]
    assert [json.loads(line) for line in told.stdout.splitlines()] == found
    assert told.stderr == ""


def test_the_command(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*args: str) -> tuple[int, list[Any], str]:
        command = made("verify")
        command.settings = Settings({"LAFKA_ARCHIVE": str(root)})
        parser = ArgumentParser()
        parser.add_argument("args", nargs="*")
        parser.add_argument("--quick", action="store_true")
        options = parser.parse_args(args)
        command.run(options.args, options)
        captured = capsys.readouterr()
        return command.exitcode, [*map(json.loads, captured.out.splitlines())], captured.err

    exitcode, found, summary = run()
    assert (exitcode, found) == (0, [])
    assert re.fullmatch(r"1 paper, 0\.0 MB, \d+ MB/s, 0 problems\n", summary)
    put(root / f"warc/{NAME}.warc.torn-7", b"x")
    exitcode, found, _ = run()
    assert exitcode == 0
    assert [problem["code"] for problem in found] == ["torn-aside"]
    edit(root / f"warc/{NAME}.warc", b"%%EOF", b"%%EOE")
    exitcode, found, _ = run(PID)
    assert exitcode == 1
    assert "block-digest" in {problem["code"] for problem in found}
    assert run("--quick")[0] == 0
    for bad in ("RePEc:abc:wpaper:2", "nonsense"):
        exitcode, found, sentence = run(bad)
        assert (exitcode, found, sentence.count("\n")) == (2, [], 1)
        assert bad in sentence


def test_a_problem_is_one_line_of_json(root: Path) -> None:
    edit(root / f"suwaf/{NAME}.json", b"http://z.example/4", "http://z.example/\u202e".encode())
    found = problems(root)
    assert found
    for problem in found:
        line = json_line(problem.as_json())
        assert "\n" not in line
        assert "\u202e" not in line
        assert set(json.loads(line)) == {"path", "offset", "code", "severity", "sentence"}


def test_every_code_is_documented_with_its_severity() -> None:
    text = (ROOT / "docs" / "problems.md").read_text()
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (error|warning) \|", text, re.MULTILINE)
    assert dict(rows) == {**PAPER_CODES, **FILESET_CODES}
    assert len(rows) == len(PAPER_CODES) + len(FILESET_CODES)


# One damage for each code


def run_of(
    root: Path,
    count: int = 5,
    *,
    reason: str | None = "finished",
    line: int = 0,
    old: bytes = b"",
    new: bytes = b"",
) -> Path:
    """The feed of a run with *count* lines, its report beside it; *old* is *new* in one *line*."""
    path = root / "runs/run.jsonl"
    path.parent.mkdir(exist_ok=True)
    chain, lines = bytes(32), []
    for number in range(count):
        item = {"pid": f"RePEc:abc:wpaper:{number}", "outcome": "gone", "futs": [], "error": None}
        bare = json.dumps(item).encode()
        chain = hashlib.sha256(chain + bare).digest()
        lines.append(bare[:-1] + b', "chain": "sha256:%b"}\n' % chain.hex().encode())
    lines[line] = lines[line].replace(old, new)
    path.write_bytes(b"".join(lines))
    report = {"format": 1, "done": reason == "finished", "reason": reason}
    if reason not in (None, "killed"):
        report |= {"lines": count, "chain": f"sha256:{chain.hex()}"}
    put(path.with_suffix(".json"), json.dumps(report).encode())
    return path


def edit(path: Path, old: bytes, new: bytes, count: int = 1) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, count))


def in_warc(old: bytes, new: bytes) -> Callable[[Path], None]:
    return lambda root: edit(root / f"warc/{NAME}.warc", old, new)


def in_suwaf(old: bytes, new: bytes) -> Callable[[Path], None]:
    return lambda root: edit(root / f"suwaf/{NAME}.json", old, new)


def with_suwaf(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def damage(root: Path) -> None:
        path = root / f"suwaf/{NAME}.json"
        values = json.loads(path.read_bytes())
        change(values)
        path.write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n")

    return damage


def without(name: str) -> Callable[[Path], None]:
    return lambda root: (root / name).unlink()


def beside(name: str, data: bytes = b"x") -> Callable[[Path], None]:
    return lambda root: put(root / name, data)


def grown(change: Callable[[Writer], object]) -> Callable[[Path], None]:
    """The archive of a writer that does something wrong after everything else."""

    def damage(root: Path) -> None:
        writer = every_kind()
        change(writer)
        writer.save(root)

    return damage


def lonely(root: Path) -> None:
    shutil.rmtree(root / "suwaf")
    put(root / f"warc/{NAME}.warc", b"")


def shorter(root: Path) -> None:
    path = root / f"warc/{NAME}.warc"
    path.write_bytes(every_kind().past[-2][0])


def store_again(writer: Writer) -> None:
    writer.held.clear()
    writer.capture("http://x.example/9", "http://x.example/9.pdf", START, PDF + bytes(40))


def first_entry(values: dict[str, Any]) -> dict[str, Any]:
    return values[PID]["http://z.example/4"]["2026-11-20T10:11:42Z"]  # type: ignore[no-any-return]


def shift(values: dict[str, Any]) -> None:
    entry = first_entry(values)
    entry["s"] += 1
    entry["l"] -= 1


def info_without(name: str) -> Callable[[Writer], None]:
    def change(writer: Writer) -> None:
        body = b"software: x\r\nPaper-Id: RePEc:abc:wpaper:1\r\nFutli: http://x.example/9\r\n"
        body = body.replace(name.encode(), b"X")
        fields = {"WARC-Date": stamp(START), "Content-Type": "application/warc-fields"}
        writer.record("warcinfo", fields, body)

    return change


def chunked_with_digest(writer: Writer) -> None:
    info = writer.begin("http://x.example/9", stamp(START), {})
    body, head = encoded(PAGE * 2, "chunked")
    fields = {
        "WARC-Date": stamp(START),
        "WARC-Target-URI": "http://x.example/9",
        "WARC-Warcinfo-ID": info,
        "Content-Type": "application/http; msgtype=response",
        "WARC-Payload-Digest": sha256(PAGE * 2),
    }
    writer.record("response", fields, head.encode() + b"\r\n" + body)


def convert(writer: Writer, sent: bytes, stored: bytes, coding: str = "chunked") -> None:
    """A fut that was *sent* in a coding and whose conversion is *stored*."""
    futli, date = "http://x.example/9", stamp(START)
    info = writer.begin(futli, date, {})
    body, head = encoded(sent, coding)
    about = {"WARC-Date": date, "WARC-Target-URI": futli, "WARC-Warcinfo-ID": info}
    kind = {"Content-Type": "application/http; msgtype=response"}
    answer, _ = writer.record("response", about | kind, head.encode() + b"\r\n" + body)
    kind = {"WARC-Refers-To": answer, "Content-Type": "application/pdf"}
    _, place = writer.record("conversion", about | kind, stored)
    entry = {"s": place, "l": len(stored), "url": futli, "digest": sha256(stored)}
    writer.futlis[futli] = {f"{date[:19]}Z": entry}


TYPE = b"WARC-Type: request\r\n"
DATE = b"WARC-Date: 2026-11-20T10:11:12.250000Z\r\n"
IP = b"WARC-IP-Address: 127.0.0.1\r\n"

DAMAGES: dict[str, Callable[[Path], None]] = {
    "bad-version": in_warc(b"\r\n\r\nWARC/1.1", b"\r\n\r\nWARC/1.7"),
    "stray-bytes": in_warc(b"\r\n\r\nWARC/1.1", b"\r\n\r\nxWARC/1.1"),
    "line-end": in_warc(TYPE, TYPE.replace(b"\r\n", b"\n")),
    "bad-header": in_warc(TYPE, b"WARC-Type request\r\n"),
    "missing-field": in_warc(DATE, b""),
    "repeated-field": in_warc(DATE, DATE + DATE),
    "unknown-field": in_warc(DATE, DATE + b"X-Date: 1\r\n"),
    "unknown-type": in_warc(TYPE, b"WARC-Type: request\xc3\xa9\r\n"),
    "bad-record-id": in_warc(b"WARC-Record-ID: <urn:uuid:", b"WARC-Record-ID: <urn:uuid:g"),
    "bad-date": in_warc(b"2026-11-20T10:11:12.250000Z", b"2026-11-31T10:11:12.250000Z"),
    "bad-length": in_warc(b"Content-Length: ", b"Content-Length: x"),
    "bad-uri": in_warc(b"WARC-Target-URI: http:", b"WARC-Target-URI: ht tp:"),
    "bad-value": in_warc(IP, b"WARC-IP-Address: 127.0.0.256\r\n"),
    "content-type": in_warc(b"Content-Type: application/warc-fields", b"Content-Type: text/plain"),
    "bad-digest": in_warc(b"Block-Digest: sha256:", b"Block-Digest: sha256:g"),
    "unknown-digest": in_warc(b"Block-Digest: sha256:", b"Block-Digest: sha3:"),
    "no-block-digest": in_warc(b"WARC-Block-Digest", b"WARC-Clock-Digest"),
    "block-digest": in_warc(b"Host: x", b"Host: y"),
    "payload-digest": in_warc(b"\n%%EOF\n", b"\n%%EOE\n"),
    "payload-digest-unsure": grown(chunked_with_digest),
    "bad-trailer": in_warc(b"Host: x\r\n", b"Host: xx\r\n"),
    "torn-tail": lambda root: os.truncate(root / f"warc/{NAME}.warc", 5000),
    "bad-marker": beside("lafka.json", b'{"format": 2}'),
    "no-suwaf": without(f"suwaf/{NAME}.json"),
    "no-warc": without(f"warc/{NAME}.warc"),
    "unreadable": lambda root: (without(f"warc/{NAME}.warc")(root),
                                (root / f"warc/{NAME}.warc").mkdir())[1],
    "bad-suwaf": in_suwaf(b"{", b"["),
    "suwaf-spelling": in_suwaf(b"{", b"{ "),
    "unknown-key": in_suwaf(b'"end"', b'"more": 1,\n  "end"'),
    "no-end": with_suwaf(lambda values: values.pop("_warc")),
    "wrong-path": in_suwaf(b"wpaper:1", b"wpaper:3"),
    "wrong-pid": grown(lambda writer: (setattr(writer, "pid", PID + "1"),
                                       writer.begin("http://x.example/9", stamp(START), {}),
                                       setattr(writer, "pid", PID))),
    "short-warc": shorter,
    "end-inside-record": with_suwaf(lambda v: v["_warc"].update(end=v["_warc"]["end"] - 1)),
    "uncommitted-tail": lambda root: put(root / f"suwaf/{NAME}.json", every_kind().past[-2][1]),
    "headers-changed": in_warc(b"WARC-IP-Address: 127.0.0.1", b"WARC-IP-Address: 127.0.0.3"),
    "not-a-fut": with_suwaf(shift),
    "fut-digest": with_suwaf(lambda values: first_entry(values).update(digest=sha256(b""))),
    "unknown-futli": in_suwaf(b"http://z.example/4", b"http://z.example/5"),
    "suwaf-differs": in_suwaf(b"http://x.example/6.pdf", b"http://x.example/7.pdf"),
    "fut-not-in-suwaf": with_suwaf(lambda values: values[PID].pop("http://z.example/4")),
    "stored-twice": grown(store_again),
    "digest-twice": grown(store_again),
    "repeated-id": grown(lambda writer: (setattr(writer, "random", random.Random(7)),
                                         writer.begin("http://x.example/9", stamp(START), {}))),
    "dangling-reference": in_warc(b"Warcinfo-ID: <urn:uuid:", b"Warcinfo-ID: <urn:xuid:"),
    "revisit-differs": in_warc(b"Refers-To-Date: 2026", b"Refers-To-Date: 2025"),
    "conversion-differs": grown(lambda writer: convert(writer, PDF, PDF.replace(b"4", b"5"))),
    "pair-differs": in_warc(b"URI: http://x.example/1.pdf", b"URI: http://x.example/2.pdf"),
    "bad-warcinfo": grown(info_without("Futli")),
    "payload-type": in_warc(b"Payload-Type: application/pdf", b"Payload-Type: application/pdg"),
    "empty-warc": lonely,
    "draft": beside("suwaf/RePEc/abc/wpaper/.draft-12-1.json"),
    "torn-aside": beside(f"warc/{NAME}.warc.torn-77"),
    "stray-file": beside("warc/RePEc/README"),
    "raw-left": beside("raw/run/LAFKA-1.warc"),
    "broken-link": lambda root: (root / "warc/RePEc/away").symlink_to(root / "nowhere"),
    "link-loop": lambda root: (root / "warc/RePEc/abc/up").symlink_to(root / "warc"),
    "papers-missed": lambda root: (root / "suwaf/RePEc/abc/wpaper/9.json").symlink_to("gone"),
    "feed-changed": lambda root: run_of(root, 3, line=1, old=b"wpaper", new=b"wqaper"),
    "bad-report": beside("runs/1.json", b"{"),
    "acknowledged-lost": beside("runs/1.jsonl", b'{"pid": "RePEc:abc:wpaper:1", "futs": '
                                b'[{"digest": "sha256:0", "s": 1, "l": 2}]}\n'),
    "bad-feed": beside("runs/1.jsonl", b'{"pid": "RePEc:abc'),
}  # fmt: skip


def test_every_code_has_a_damage() -> None:
    assert set(DAMAGES) == set(PAPER_CODES)


@pytest.mark.parametrize("code", DAMAGES)
def test_a_damage_raises_its_code(root: Path, code: str) -> None:
    DAMAGES[code](root)
    found = problems(root)
    assert code in {problem.code for problem in found}
    assert any(p.code == code and p.severity == PAPER_CODES[code] for p in found)


def test_quick_sees_sizes_and_tails(root: Path) -> None:
    for code, damage in (
        ("short-warc", shorter),
        ("uncommitted-tail", DAMAGES["uncommitted-tail"]),
        ("end-inside-record", DAMAGES["end-inside-record"]),
        ("not-a-fut", with_suwaf(shift)),
        ("bad-suwaf", DAMAGES["bad-suwaf"]),
    ):
        every_kind().save(root)
        damage(root)
        assert code in codes(root, quick=True)


def test_what_lies_beyond_the_end_is_only_a_warning(root: Path) -> None:
    with (root / f"warc/{NAME}.warc").open("ab") as file:
        file.write(b"WARC/1.1\r\nWARC-Type: resp")
    found = problems(root)
    assert {problem.code for problem in found} == {"uncommitted-tail", "torn-tail"}
    assert {problem.severity for problem in found} == {"warning"}


def test_what_the_feeds_acknowledge_is_there(root: Path) -> None:
    futs = [
        {key: entry[key] for key in ("digest", "s", "l")}
        for times in every_kind().futlis.values()
        for entry in times.values()
    ]
    lines = [{"pid": PID, "outcome": "fut", "futs": futs}, {"pid": "?", "futs": []}]
    put(root / "runs/1.jsonl", b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    assert problems(root) == []
    moved = [{**fut, "s": fut["s"] + 4} for fut in futs]  # of another archive
    put(root / "runs/2.jsonl", json.dumps({"pid": PID, "futs": moved}).encode() + b"\n")
    assert problems(root) == []
    (root / "runs/2.jsonl").unlink()
    (root / f"suwaf/{NAME}.json").unlink()
    (root / f"warc/{NAME}.warc").unlink()
    assert [p.code for p in problems(root)] == ["acknowledged-lost"] * 4


REASONS = ["finished", "shutdown", "killed", None]


@pytest.mark.parametrize("reason", REASONS)
def test_a_feed_that_is_as_it_was_written_is_sound(root: Path, reason: str | None) -> None:
    feed = run_of(root, reason=reason)
    assert problems(root) == []
    if reason in ("killed", None):
        for size in (len(feed.read_bytes()) - 1, 300, 1, 0):
            os.truncate(feed, size)
            assert problems(root) == []
    feed.with_suffix(".json").unlink()  # as runs were before they had one
    assert problems(root) == []


def test_a_feed_that_the_disk_refused_may_be_torn_behind_its_last_line(root: Path) -> None:
    feed = run_of(root, 3)
    data = feed.read_bytes()
    with feed.open("ab") as file:
        file.write(data.splitlines()[0][:40])
    assert codes(root) == {"feed-changed"}
    edit(feed.with_suffix(".json"), b"{", b'{"troubles": ["No space left on device"], ')
    assert problems(root) == []
    feed.write_bytes(data[:-1])
    assert codes(root) == {"feed-changed"}  # a line that its report counts


def test_an_older_feed_without_chain_is_taken_as_it_is(root: Path) -> None:
    feed = run_of(root)
    bare = re.sub(rb', "chain": "sha256:[0-9a-f]+"', b"", feed.read_bytes())
    feed.write_bytes(bare)
    report = feed.with_suffix(".json")
    assert codes(root) == {"feed-changed"}  # its report has a chain
    edit(report, b'"chain"', b'"chains"')
    assert problems(root) == []
    feed.write_bytes(bare + b"no outcome\n")
    assert codes(root) == {"bad-feed"}


@pytest.mark.draws("of the bytes")
@pytest.mark.parametrize("reason", ["finished", "killed"])
def test_a_byte_that_is_gone_from_a_feed_is_noticed_anywhere(
    root: Path, reason: str | None
) -> None:
    feed = run_of(root, 3, reason=reason)
    data = feed.read_bytes()
    last = len(data) - 1 if reason == "killed" else len(data)  # else torn as by the kill
    for place in suites.few("bytes of a feed", range(last), 100, most=400):
        feed.write_bytes(data[:place] + data[place + 1 :])
        found = problems(root)
        assert "feed-changed" in {problem.code for problem in found}, place
        assert {problem.path for problem in found} == {str(feed)}
    feed.write_bytes(data)
    assert problems(root) == []


def test_where_a_feed_was_changed_is_told(root: Path) -> None:
    feed = run_of(root)
    lines = feed.read_bytes().splitlines(keepends=True)

    def told(*kept: bytes) -> list[tuple[int | None, str]]:
        feed.write_bytes(b"".join(kept))
        found = problems(root)
        assert {(p.code, p.path) for p in found} == {("feed-changed", str(feed))}
        return [(problem.offset, problem.sentence) for problem in found]

    gone = "line 3 is not as it was written, or one before it is gone"
    assert told(*lines[:2], *lines[3:]) == [(len(b"".join(lines[:2])), gone)]
    assert len(told(lines[1], lines[0], *lines[2:])) == 3
    bare = re.sub(rb', "chain": "sha256:[0-9a-f]+"', b"", lines[2])
    assert told(*lines[:2], bare, *lines[3:])[0] == (len(b"".join(lines[:2])), gone)
    size = len(b"".join(lines[:3]))
    cut = "not as it ended: its report counts 5 lines, here are 3"
    assert told(*lines[:3]) == [(size, cut)]
    feed.unlink()
    [missing] = problems(root)
    assert missing.sentence == "missing, and its report counts 5 lines"


def test_zeros_that_a_power_cut_left_in_a_feed_are_no_damage(root: Path) -> None:
    feed = run_of(root, 6, reason="killed")
    lines = feed.read_bytes().splitlines(keepends=True)
    feed.write_bytes(b"".join([*lines[:2], bytes(400), lines[4][30:], lines[5]]))
    assert {(p.code, p.severity) for p in problems(root)} == {("bad-feed", "warning")}
    run_of(root, 6)
    feed.write_bytes(b"".join([*lines[:2], bytes(400), lines[4][30:], lines[5]]))
    assert "feed-changed" in codes(root)


@pytest.mark.parametrize("name", ["runs/1.jsonl", "runs/1.json"])
def test_a_folder_named_like_a_feed_is_a_problem_and_not_the_end(root: Path, name: str) -> None:
    (root / name).mkdir(parents=True)
    put(root / "runs/2.jsonl", b"no outcome\n")
    found = problems(root)
    assert {(p.code, p.path) for p in found} == {
        ("unreadable", str(root / name)),
        ("bad-feed", str(root / "runs/2.jsonl")),
    }


# Links


def moved(root: Path, name: str, *, to: str = "other disk") -> Path:
    """Put the folder *name* somewhere else and a link in its place."""
    target = root.parent / to / name
    target.parent.mkdir(parents=True, exist_ok=True)
    (root / name).rename(target)
    (root / name).symlink_to(target)
    return target


@pytest.fixture
def linked(root: Path) -> Path:
    """An archive below a folder of its own, whose collections lie on another disk."""
    inner = root / "archive"
    inner.mkdir()
    for path in [path for path in root.iterdir() if path != inner]:
        path.rename(inner / path.name)
    moved(inner, "warc/RePEc")
    moved(inner, "suwaf/RePEc/abc/wpaper")
    return inner


def test_folders_that_are_links_are_looked_into(linked: Path) -> None:
    verifier = Verifier(linked)
    assert list(verifier.verify_all()) == []
    assert verifier.papers_read == 1
    assert list(verifier.papers()) == [NAME]
    edit(linked / f"warc/{NAME}.warc", b"%%EOF", b"%%EOE")
    assert "block-digest" in codes(linked)


def test_files_that_are_links_are_papers(root: Path) -> None:
    for name in (f"warc/{NAME}.warc", f"suwaf/{NAME}.json"):
        moved(root, name)
    assert problems(root) == []


def test_a_disk_that_is_not_mounted_is_no_all_clear(linked: Path) -> None:
    shutil.rmtree(linked.parent / "other disk")
    found = problems(linked)
    assert {(p.code, p.severity) for p in found} == {("broken-link", "error")}
    assert {p.path for p in found} == {
        str(linked / "warc/RePEc"),
        str(linked / "suwaf/RePEc/abc/wpaper"),
    }
    shutil.rmtree(linked / "warc")
    (linked / "warc").symlink_to("nowhere")
    assert str(linked / "warc") in {problem.path for problem in problems(linked)}


def test_links_in_a_circle_end(linked: Path) -> None:
    (linked / "warc/RePEc/abc/up").symlink_to(linked)
    (linked / "warc/RePEc/back").symlink_to(linked / "warc/RePEc")
    (linked / "suwaf/RePEc/abc/wpaper/back").symlink_to(linked / "suwaf")
    (linked / "warc/self").symlink_to("self")
    verifier = Verifier(linked)
    found = {(p.code, p.path) for p in verifier.verify_all()}
    assert found == {
        ("link-loop", str(linked / "warc/RePEc/abc/up")),
        ("link-loop", str(linked / "warc/RePEc/back")),
        ("link-loop", str(linked / "suwaf/RePEc/abc/wpaper/back")),
        ("broken-link", str(linked / "warc/self")),
    }
    assert verifier.papers_read == 1


def test_no_link_is_followed_among_raw_files(root: Path) -> None:
    put(root.parent / "elsewhere/precious", b"x")
    (root / "raw").mkdir()
    (root / "raw/link").symlink_to(root.parent / "elsewhere")
    assert [(p.code, p.path) for p in problems(root)] == [("stray-file", str(root / "raw/link"))]


def test_a_lock_among_raw_files_is_called_no_warc(root: Path) -> None:
    beside("raw/run/LAFKA-1.warc.gz")(root)
    beside("raw/run/lock")(root)
    told = [problem.sentence for problem in problems(root) if problem.code == "raw-left"]
    assert told == ["a raw WARC that is still there", "a file of a run, still there"]


def test_fewer_papers_than_suwafs_are_told(root: Path) -> None:
    every_kind(Writer(pid=PID[:-1] + "2")).save(root, NAME[:-1] + "2")
    found = Verifier(root).verify_all()
    put(root / "lafka.json", b"{}")
    assert next(found).code == "bad-marker"
    for path in root.rglob(f"{NAME}.*"):  # of another's, while it is at work
        path.unlink()
    [missed] = found
    assert (missed.code, missed.severity) == ("papers-missed", "error")
    assert missed.sentence == "2 suwafs, and only 1 papers were verified"


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        (PDF, ""),
        (PDF[:-1], "another byte"),
        (PDF + b"x", "1 bytes fewer"),
        (PDF[:400] + b"?" + PDF[401:], "another byte"),
    ],
)
@pytest.mark.parametrize("coding", ["chunked", "gzip", "deflate", "raw deflate", "gzip chunked",
                                    "two members", "padded gzip", "said to be gzip"])  # fmt: skip
def test_a_conversion_is_its_answer_decoded(
    tmp_path: Path, stored: bytes, said: str, coding: str
) -> None:
    writer = Writer()
    convert(writer, PDF, stored, coding)
    writer.save(tmp_path)
    found = [p.sentence for p in problems(tmp_path) if p.code == "conversion-differs"]
    assert len(found) == bool(said)
    assert all(said in sentence for sentence in found)


@pytest.mark.parametrize("body", [PDF[:200], b"junk" + PDF, b"nothing", b""])
def test_an_answer_that_cannot_be_decoded_has_no_conversion(tmp_path: Path, body: bytes) -> None:
    for coding in ("gzip", "chunked"):
        writer = Writer()
        convert(writer, body, PDF, coding)
        if b"junk" not in body:
            writer.warc = writer.warc.replace(b"\r\n0\r\n\r\n", b"\r\n!\r\n\r\n")
        writer.save(tmp_path)
        assert ("conversion-differs" in codes(tmp_path)) == (b"junk" not in body)


def test_what_a_server_only_says_to_have_coded_stands_literally(tmp_path: Path) -> None:
    for coding in ("gzip", "deflate", "br", "x-unknown"):
        for junk in (b"", b"junk\n"):
            if junk and coding in ("deflate", "br"):
                continue  # these have no signature by which they could be told from junk
            writer = Writer()
            writer.capture("http://x.example/9", "http://x.example/9.pdf", START, junk + PDF,
                           coding=f"said to be {coding}")  # fmt: skip
            writer.save(tmp_path)
            assert problems(tmp_path) == []


def test_a_page_that_leads_on_is_stored_at_each_visit(tmp_path: Path) -> None:
    """Whether the last answer is a fut, a revisit of one, or another page."""
    writer, futli = Writer(), "http://x.example/abs/1"
    for number, body in enumerate((PDF, PDF, PDF + b"new", PAGE)):
        date = stamp(START + timedelta(hours=number))
        info = writer.begin(futli, date, {})
        head = "HTTP/1.1 200 OK\r\nRefresh: 0; url=/1.pdf\r\n"
        writer.held.pop(sha256(b"<html>"), None)
        writer.answer(info, futli, date, head, b"<html>", b"<html>", "text/html")
        sent, head = encoded(body, "")
        media = "text/html" if body == PAGE else "application/pdf"
        digest, _ = writer.answer(info, f"{futli}.pdf", date, head, sent, body, media)
        if body != PAGE:
            _, _, _, place, length = writer.held[digest]
            entry = {"s": place, "l": length, "url": f"{futli}.pdf", "digest": digest}
            writer.futlis.setdefault(futli, {})[f"{date[:19]}Z"] = entry
    writer.save(tmp_path)
    assert problems(tmp_path) == []
    writer.held.clear()
    writer.capture(futli, futli, START + timedelta(days=1), PAGE)
    writer.save(tmp_path)
    assert codes(tmp_path) == {"stored-twice"}


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


@given(JSON)
def test_a_suwaf_is_spelled_as_json_has_it(values: Any) -> None:
    text = json.dumps(values, ensure_ascii=False, indent=1)
    assert _spelled(values) == text.encode() + b"\n"


def test_one_bad_record_hides_no_other(root: Path) -> None:
    data = (root / f"warc/{NAME}.warc").read_bytes()
    starts = [match.start() for match in re.finditer(rb"WARC/1\.1\r\n", data)]
    changed = bytearray(data)
    for start in (starts[2], starts[7]):
        changed[start] ^= 1
    changed[data.index(b"Host: x", starts[9])] ^= 1
    (root / f"warc/{NAME}.warc").write_bytes(changed)
    found = [(p.code, p.offset) for p in problems(root)]
    assert ("stray-bytes", starts[2]) in found
    assert ("stray-bytes", starts[7]) in found
    assert "block-digest" in {code for code, _ in found}


def missed(root: Path, count: int, seed: int, *, with_chain: bool = True) -> tuple[list[str], int]:
    """Which of *count* random damages to two papers go unseen, and how many were done."""
    rng = random.Random(seed)
    files: dict[Path, bytes] = {}
    older: dict[Path, list[bytes]] = {}
    for number in (1, 2):
        writer = every_kind(Writer(pid=PID[:-1] + str(number), random=random.Random(number)))
        writer.with_chain = with_chain
        name = NAME[:-1] + str(number)
        writer.save(root, name)
        for index, path in enumerate((root / f"warc/{name}.warc", root / f"suwaf/{name}.json")):
            files[path] = path.read_bytes()
            older[path] = [state[index] for state in writer.past[:-1]]
    assert problems(root) == []
    verifier, unseen, done = Verifier(root), [], 0
    for damage in damages(files, older, rng):
        if done == count:
            break
        if not with_chain and same_values(damage.data, files[damage.file]):
            continue
        done += 1
        damage.file.write_bytes(damage.data)
        if next(verifier.verify_paper(damage.file), None) is None:
            unseen.append(f"{damage.file.name}: {damage.what}")
        damage.file.write_bytes(files[damage.file])
    return unseen, done


def test_random_damages_are_all_found(tmp_path: Path) -> None:
    unseen, done = missed(tmp_path, 300, seed=4)
    assert unseen == []
    assert done == 300


# Sound archives of every shape

BODIES = st.binary(max_size=3000).map(lambda data: b"%PDF-" + data + b"\n%%EOF\n")
CAPTURES = st.lists(
    st.tuples(
        st.sampled_from(["http://a.example/é?x=1&y", "ftp://b.example/;c", "http://[::1]/\"'<>"]),
        st.integers(0, 2_000_000),
        st.one_of(
            BODIES,
            st.sampled_from([PDF, PDF + b"x", PAGE, b"", b"PK\x03\x04"]),
            st.binary(max_size=80).map(lambda junk: junk.replace(b"<", b"") + PDF),
        ),
        st.sampled_from(["", "chunked", "chunked trailer", "gzip", "gzip chunked"]),
        st.integers(0, 2),
    ),
    max_size=6,
)


@settings(suppress_health_check=list(HealthCheck))
@given(CAPTURES)
def test_nothing_is_raised_on_any_sound_archive(tmp_path: Path, captures: list[Any]) -> None:
    writer = Writer()
    for futli, microseconds, body, coding, hops in captures:
        if not body:
            coding = ""
        if coding and b"%PDF-" not in body:
            coding = "gzip" if "gzip" in coding else ""
        if body in (PAGE, b"PK\x03\x04") and sha256(encoded(body, coding)[0]) in writer.held:
            continue
        time = START + timedelta(microseconds=microseconds)
        writer.capture(futli, "http://c.example/x", time, body, coding=coding, hops=hops)
    writer.save(tmp_path)
    assert problems(tmp_path) == []


# Archives of the first Lafka


def test_one_futli_stored_twice_in_a_second_by_wget(tmp_path: Path) -> None:
    writer, futli = Writer(with_chain=False), "http://x.example/1.pdf"
    for _ in range(2):
        writer.held.clear()
        writer.capture(futli, futli, START.replace(microsecond=0))
    warc = writer.warc.replace(b"WARC/1.1", b"WARC/1.0").replace(b".000000Z", b"Z")
    entry = {"s": warc.index(b"%PDF-"), "l": len(PDF), "url": futli, "digest": sha256(PDF)}
    writer.warc = warc
    for times in (("12Z", "12.000Z"), ("12Z", "12.000000Z"), ("12Z",)):
        writer.futlis = {futli: {f"2026-11-20T10:11:{time}": entry for time in times}}
        writer.save(tmp_path)
        missing = {"fut-not-in-suwaf"} if len(times) == 1 else set()
        assert codes(tmp_path) == {"stored-twice"} | missing


def test_base32_sha1_digests_are_read(tmp_path: Path) -> None:
    writer = every_kind()
    block = re.search(rb"GET / HTTP/1.1\r\nHost: x\r\n\r\n", writer.warc)
    assert block
    digest = base64.b32encode(hashlib.sha1(block[0]).digest())
    writer.warc = writer.warc.replace(sha256(block[0]).encode(), b"sha1:" + digest)
    writer.with_chain = False
    writer.save(tmp_path)
    found = codes(tmp_path)
    assert "block-digest" not in found
    assert "bad-digest" not in found


if __name__ == "__main__":
    how_many, from_seed, chained = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "chain"
    unseen, done = missed(Path(sys.argv[1]), how_many, from_seed, with_chain=chained)
    print(*unseen, f"{done - len(unseen)} of {done} found", sep="\n")
