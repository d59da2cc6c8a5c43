"""Bytes of others write no line: into WARC headers, warc-fields, feeds, suwafs, logs, terminals.

20,000 cases that hypothesis draws go through the writers of a crawl and are read back by the strict
reader, which shares no code with them: EXAMPLES batches of BATCH cases in each of two tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from unicodedata import category

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lafka import errors
from lafka.capture.exchanges import Exchange
from lafka.errors import StorageTrouble
from lafka.papers.archive.suwafs import Fut, Suwaf
from lafka.papers.lists import listfiles
from lafka.papers.lists.futlis import Futli
from lafka.papers.origins import Origin
from lafka.pids import SCHEMES, Pid
from lafka.runs.feed import SyncedLines
from lafka.runs.reports import OpenReport
from lafka.warc.format import dates
from lafka.witness.reader import StrictReader, StrictRecord
from tests import suites
from tests.stores import START, Store, answer, exchange, page, quick_folder

pytestmark = pytest.mark.draws("batches of cases")
BATCH, EXAMPLES = 100, suites.amount(10, 100)
START_OF_URL = "http://x.example/"
NAMES = ("software", "format", "Paper-Id", "Futli", "Found-By", "HTML-Url", "HTML-Date", "Label")

# What ends a line, a header or a block somewhere, looks like a field, or drives a terminal.
UGLY = ("\r\n", "\n", "\r", "\r\n\r\n", "\x00", "\t", "\x0b", "\x0c", "\x1c", "\x85", "\u2028",
        "\u2029", "\x1b[2J", "\x1b]0;x\x07", "\x9b1m", "\u202e", "\u200b", "\ufeff", "\x7f", "\x08",
        "\ud800", "\udc80", "\r\nWARC-Type: response", "\nPaper-Id: RePEc:x:y:z", "WARC/1.1\r\n",
        "Content-Length: 0\r\n\r\n", "\r\n folded", "%0D%0A", "=?utf-8?Q?=0D=0A?=", '"', "\\", "<",
        ">", "#", ": ", " ", "é", "漢", "\U0001f600", "{", "\\u000a", "//", "a", "b7")  # fmt: skip
PIECES = st.sampled_from(UGLY) | st.characters()
TEXTS = st.lists(PIECES, max_size=5).map("".join)


class Case(NamedTuple):
    pid: str
    url: str
    futli: str
    found_by: str
    html_url: str
    label: str


def case_of(a: str, b: str, c: str) -> Case:
    """Six texts of three draws: drawing is what such a test spends its time on."""
    return Case(a + b, b + c, c + a, a, b + "x" + a, c)


CASES = st.lists(st.builds(case_of, PIECES, PIECES, PIECES), min_size=BATCH, max_size=BATCH)
MANY = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


def seen(url: str) -> Exchange:
    """An exchange whose target URI is *url*, whatever that is."""
    made = exchange("http://x.example/", answer(page()))
    made.url = url
    return made


def read_back(folder: Path) -> Iterator[list[StrictRecord]]:
    """The captures in the raw WARCs of *folder*: three records each; no problem is told of."""
    for path in sorted(folder.glob("*.warc")):
        reader = StrictReader(path)
        _, *records = reader
        assert [p for p in reader.problems if p.code not in ("bad-uri", "content-type")] == []
        for place in range(0, len(records), 3):
            yield records[place : place + 3]


def body_of(record: StrictRecord, path: Path) -> list[tuple[str, str]]:
    """The lines of a warcinfo: split where WARC readers split them, at LF and the first colon."""
    data = path.read_bytes()[record.block : record.block + record.length]
    assert data.endswith(b"\r\n")
    lines = data.removesuffix(b"\r\n").split(b"\n")
    pairs = [line.decode().removesuffix("\r").partition(": ") for line in lines]
    return [(name, value) for name, _, value in pairs]


def test_texts_beneath_the_door_write_no_line() -> None:
    """1,000 cases, 10,000 in the long suites, as if every check of pids and URLs were gone."""
    read = 0

    @MANY
    @given(CASES)
    def written_and_read(cases: list[Case]) -> None:
        nonlocal read
        with quick_folder() as root:
            store = Store(root / "archive")
            read += beneath(store, cases)
            store.raw.close()

    written_and_read()
    assert read >= EXAMPLES * BATCH


def beneath(store: Store, cases: list[Case]) -> int:
    """Write captures with the texts of *cases*, and read them back: how many there were."""
    for case in cases:
        futli = Futli(pid=Pid(text=case.pid, path="x"), url=case.futli)
        origin = Origin(found_by=case.found_by, html_url=case.html_url,
                        html_date=dates.to_seconds(START), label=case.label)  # fmt: skip
        ask = replace(store.ask(), futli=futli, origin=origin)
        assert store.raw.record(seen(START_OF_URL + case.url), ask.provenance)
    [path] = store.raw.folder.glob("*.warc")
    found = list(read_back(store.raw.folder))
    assert len(found) == len(cases)
    for (info, request, response), case in zip(found, cases, strict=True):
        assert [r.type for r in (info, request, response)] == ["warcinfo", "request", "response"]
        texts = {"Paper-Id": case.pid, "Futli": case.futli, "Found-By": case.found_by,
                 "HTML-Url": case.html_url, "Label": case.label}  # fmt: skip
        always = ("Paper-Id", "Futli")
        body = body_of(info, path)
        assert [name for name, _ in body] == [n for n in NAMES if n in always or texts.get(n, "x")]
        assert all(value == escaped(texts[name]) for name, value in body if name in texts)
        assert request.url == response.url == escaped(START_OF_URL + case.url).strip(" \t")
    return len(found)


def escaped(text: str) -> str:
    """*text* as it may stand in a field: what is no text as the escapes of its bytes."""
    bad = {*map(chr, range(32)), "\x7f"} - {"\t"}
    return "".join(
        "".join(f"%{byte:02X}" for byte in c.encode("utf-8", "surrogatepass"))
        if c in bad or "\ud800" <= c <= "\udfff" else c for c in text
    )  # fmt: skip


PLAIN = st.sampled_from([*"abc09-_.:/?#[]@!$&'()*+,;=%~<>\"{}|\\^` é漢\U0001f600", "a/b", "x=1&y"])
MIXED = st.one_of(PLAIN, PLAIN, PLAIN, PIECES)
LINES = st.lists(
    st.tuples(MIXED, MIXED).map(lambda two: (two[0] + "1" + two[1], two[1] + "/b/" + two[0])),
    min_size=BATCH,
    max_size=BATCH,
)


def test_what_the_door_lets_in_comes_back_char_by_char() -> None:
    """1,000 lines, 10,000 in the long suites: each has its verdict; what is let in is read back."""
    read = let_in = 0

    @MANY
    @given(LINES)
    def written_and_read(lines: list[tuple[str, str]]) -> None:
        nonlocal read, let_in
        with quick_folder() as root:
            store = Store(root / "archive")
            texts = (f"RePEc:abc:def:1{a}\t{START_OF_URL}{b}".replace("\n", "\v") for a, b in lines)
            (root / "list.tsv").write_bytes("\n".join(texts).encode("utf-8", "surrogatepass"))
            told = list(listfiles.read(root / "list.tsv", SCHEMES["RePEc"]))
            assert [line.number for line in told] == list(range(1, len(lines) + 1))
            assert all(line.futli or line.problem for line in told)
            read += len(told)
            let_in += through(store, [line.futli for line in told if line.futli])
            store.raw.close()

    written_and_read()
    assert read >= EXAMPLES * BATCH
    assert let_in > read // 10


def through(store: Store, let_in: list[Futli]) -> int:
    for futli in let_in:
        ask = store.ask(pid=str(futli.pid), futli=futli.url)
        assert store.raw.record(seen(futli.url), ask.provenance)
    paths = list(store.raw.folder.glob("*.warc"))
    found = list(read_back(store.raw.folder))
    assert len(found) == len(let_in)
    for (info, request, response), futli in zip(found, let_in, strict=True):
        named = [("Paper-Id", str(futli.pid)), ("Futli", futli.url)]
        assert body_of(info, paths[0])[2:] == named
        assert request.url == response.url == futli.url
    return len(found)


@settings(MANY, max_examples=20)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=20, max_size=20))
def test_sentences_feeds_suwafs_and_reports_are_one_line_and_drive_no_terminal(
    texts: list[tuple[str, str]],
) -> None:
    items = [json.dumps({"pid": a, "error": b}, ensure_ascii=False) for a, b in texts]
    fed = [item.encode("utf-8", "replace") + b"\n" for item in items]
    with quick_folder() as root:
        with SyncedLines(root / "feed.jsonl", lambda error: pytest.fail(str(error))) as lines:
            lines.writelines(fed)
        told = (root / "feed.jsonl").read_text("utf-8").splitlines()
        assert [json.loads(line) for line in told] == [json.loads(data) for data in fed]
        assert not any(drives(line) for line in told)
        report = OpenReport(root, "run", {"list": texts})
        report.close()
        assert (root / "run.json").read_bytes().isascii()
        assert not drives((root / "run.json").read_text().replace("\n", ""))
    for text, other in texts:
        for error in (errors.BadPid(text), StorageTrouble(Path("/x"), OSError(5, text))):
            assert str(error).isprintable()
        suwaf = Suwaf(pid=Pid(text="RePEc:a:b:c", path="x"))
        suwaf.add(text, START, Fut(s=1, l=2, url=other, digest=""))
        again = json.loads(suwaf.to_bytes().decode("utf-8", "surrogatepass"))
        [(futli, times)] = again["RePEc:a:b:c"].items()
        assert (futli, [entry["url"] for entry in times.values()]) == (text, [other])


def drives(line: str) -> bool:
    """Whether *line* has a character that ends a line, or does something to a terminal."""
    bidi = {*"\u061c\u200e\u200f", *map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))}
    return any(category(c) in ("Cc", "Zl", "Zp", "Cs") or c in bidi for c in line)
