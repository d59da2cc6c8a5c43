"""An archive of many papers, made and not crawled: suwafs, feeds and reports, and WARCs that have
what titles are read from alone: a page of some kB or the beginning of a PDF.

Its shape, the same for any number of papers (all by a fixed seed):

- archives and series as in RePEc: sizes fall as 1/rank; one archive for 500 papers, four series
  each, so that a folder has some hundred suwafs;
- hosts: one for 400 papers, sizes fall as 1/rank; an archive's papers are on its own host or, one
  in five, on a host that all share;
- 1.1 futlis a paper; a year in half the pids; titles of 11 words, as frequent as in ReDIF;
- of ten papers seven have a fut, of 180 kB in the mean (log-normal), one in ten of these in two
  versions; half the futs are the futli itself, the others were found on a page;
- feeds: a first run that asked all; then two runs over all lines, a month apart, where what is held
  stays held (``requests: 0``) but for a tenth that is asked again each time; of these one in fifty
  begins to fail, for good; what failed at first is asked each time, and fails as before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from lafka.papers import Archive, Suwaf
from lafka.papers.archive.suwafs import Fut
from lafka.papers.origins import Origin

START = datetime(2025, 11, 1, tzinfo=UTC)
RUNS, PARTS = 3, 4
_FREQUENT = """
of 503 the 474 and 466 in 344 a 209 on 145 economic 121 to 113 for 113 from 82 analysis 71 growth 68
an 67 economy 48 evidence 47 social 44 case 44 policy 41 impact 41 economics 40 with 37
development 37 by 35 study 33 market 31 theory 30 public 29 is 27 countries 27 review 26 model 26
between 25 capital 25 financial 25 international 25 approach 24 trade 24 political 24 new 23
monetary 22 effects 22 africa 21 investment 21 crisis 21 how 20 global 20 income 19 south 19
effect 19 china 19 exchange 18 rate 17 management 17 innovation 17 african 16 as 16 governance 16
tax 16 change 16 health 16 factors 16 research 16 cost 15 role 15 its 15 empirical 15 data 15
long 15 human 15 labor 15 currency 15 perspective 14 are 14 india 14 what 14 performance 14 money 14
workers 14 security 14 risk 14 wage 14 government 14 response 14 globalization 14 does 13
inequality 13 business 13 stock 13 economies 13 demand 13 fiscal 13 foreign 13 world 13
determinants 13 nigeria 13 macroeconomic 12 states 12 production 12 education 12 technology 12
"""
FREQUENT = _FREQUENT.split()
"""The hundred most frequent words of 2,367 titles in ReDIF, and how many of a thousand have each;
names of a series' own are left out.
"""
RARE = 20_000
"""Other words, made of syllables; the one of rank r is in 1,200 / r of a thousand titles."""
PAGE = f"<body>{'<p>Of this paper an abstract of some words stands on its page.</p>' * 40}</body>"
FAILS = ("not-found",) * 4 + ("refused",) * 2 + ("splap-only",) * 6 + ("timeout", "robots",
         "server-error", "dns", "login", "bot-challenge", "gone")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MadePaper:
    """A paper: its pid, and of each futli the outcome of the first run."""

    pid: str
    futlis: dict[str, str]
    size: int
    versions: int
    found_by: str


def papers(count: int) -> Iterator[MadePaper]:
    random = Random(42)
    archives, hosts = max(1, count // 500), max(1, count // 400)
    for number in range(count):
        archive = min(archives - 1, int(archives ** random.random()) - 1)
        host = archive % hosts if random.random() < 0.8 else min(
            hosts - 1, int(hosts ** random.random()) - 1)  # fmt: skip
        series = f"s{random.randrange(4)}"
        year = f"y:{random.randrange(1990, 2026)}:" if random.random() < 0.5 else ""
        code = "".join(chr(97 + archive // 26**n % 26) for n in range(4))
        futlis = {
            f"https://www{host}.example/papers/{number}/{n}": "fut" if random.random() < 0.7 else
            random.choice(FAILS)
            for n in range(2 if random.random() < 0.1 else 1)
        }  # fmt: skip
        yield MadePaper(
            pid=f"RePEc:{code}:{series}:{year}{number}", futlis=futlis,
            size=int(random.lognormvariate(11.8, 0.8)), versions=2 if random.random() < 0.1 else 1,
            found_by="" if random.random() < 0.5 else "citation_pdf_url",
        )  # fmt: skip


def text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def make(root: Path, count: int) -> Archive:
    """An archive of *count* papers at *root*, which is not there yet."""
    archive = Archive.create(root, "RePEc")
    with ProcessPoolExecutor() as pool:
        parts = [pool.submit(_files, root, count, part) for part in range(PARTS)]
        for done in (*parts, *(pool.submit(feed, root, count, run) for run in range(RUNS))):
            done.result()
    return archive


def _files(root: Path, count: int, part: int) -> None:
    """The suwaf and the WARC of one of so many papers."""
    archive = Archive(root)
    made = set[Path]()
    for number, paper in enumerate(papers(count)):
        if number % PARTS != part:
            continue
        suwaf = suwaf_of(archive, paper)
        files = {archive.suwaf_path(suwaf.pid): suwaf.to_bytes(),
                 archive.warc_path(suwaf.pid): warc_of(paper, number)}  # fmt: skip
        for path, data in files.items():
            if path.parent not in made:
                path.parent.mkdir(parents=True, exist_ok=True)
                made.add(path.parent)
            path.write_bytes(data)


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """All words of titles, and their weights one upon another."""
    syllables = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
    made = ["".join(syllables[n // 70**place % 70] for place in range(3)) for n in range(RARE)]
    weights = [*map(float, FREQUENT[1::2]), *(1_200 / rank for rank in range(101, 101 + RARE))]
    return FREQUENT[::2] + made, [*accumulate(weights)]


def title_of(number: int) -> str:
    """The title of the paper with this *number*: 5 to 17 words, as frequent as in real ones."""
    random = Random(number)
    words, weights = _vocabulary()
    return " ".join(random.choices(words, cum_weights=weights, k=random.randint(5, 17)))


def warc_of(paper: MadePaper, number: int) -> bytes:
    """A WARC with a title of *paper*: on a page, or in the XMP of a PDF that no page led to."""
    url, outcome = next(iter(paper.futlis.items()))
    title = title_of(number)
    if outcome == "fut" and not paper.found_by:
        xmp = f"<dc:title><rdf:Alt><rdf:li>{title}</rdf:li></rdf:Alt></dc:title>"
        kind, body = "application/pdf", f"%PDF-1.4\n{xmp}\n%%EOF\n"
    else:
        kind = "text/html; charset=utf-8"
        body = (
            f'<!DOCTYPE html><title>{title}</title><meta name="citation_title" content="{title}">'
            f'<meta name="citation_author" content="Writer, {number % 9973}">' + PAGE
        )
    answer = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    return (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: {text(START)}\r\n"
        f"WARC-Record-ID: <urn:uuid:{UUID(int=number)}>\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(answer)}\r\n\r\n{answer}\r\n\r\n"
    ).encode()


@contextmanager
def kept(count: int, keep: Path | None) -> Iterator[Path]:
    """The root of an archive of *count* papers; below *keep* it stays for the next time."""
    if keep is not None:
        root = keep / f"papers-{count}"
        if not root.exists():
            make(root, count)
        yield root
        return
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        make(Path(name) / "archive", count)
        yield Path(name) / "archive"


def suwaf_of(archive: Archive, paper: MadePaper) -> Suwaf:
    futlis, place = {}, 2000
    for url, outcome in paper.futlis.items():
        times = {}
        for version in range(paper.versions if outcome == "fut" else 0):
            digest = hashlib.sha256(f"{url}{version}".encode()).hexdigest()
            origin = Origin(found_by=paper.found_by)
            times[text(START + timedelta(days=90 * version))] = Fut(
                s=place, l=paper.size, url=f"{url}.pdf", digest=f"sha256:{digest}", origin=origin
            )
            place += paper.size + 2000
        if times:
            futlis[url] = times
    return Suwaf(pid=archive.pid(paper.pid), futlis=futlis, end=place)


def feed(root: Path, count: int, run: int) -> None:
    begin = START + timedelta(days=30 * run)
    name = f"{begin:%Y%m%dT%H%M%S}000000Z-host-1"
    lines = 0
    with (root / "runs" / f"{name}.jsonl").open("w") as out:
        for number, paper in enumerate(papers(count)):
            for url, first in paper.futlis.items():
                time = text(begin + timedelta(seconds=number * 0.2))
                out.write(json.dumps(line(paper, url, first, number, run, time)) + "\n")
                lines += 1
    report = {"format": 1, "run": name, "done": True, "reason": "finished", "started": text(begin),
              "finished": text(begin + timedelta(days=1)), "lines": lines, "seconds": 86400.0,
              "list": {"path": "list.tsv", "lines": lines}, "arguments": {}}  # fmt: skip
    (root / "runs" / f"{name}.json").write_text(json.dumps(report))


def line(
    paper: MadePaper, url: str, first: str, number: int, run: int, time: str
) -> dict[str, Any]:
    asked = first != "fut" or run == 0 or number % 10 == 0
    outcome = "not-found" if first == "fut" and number % 500 == 0 and run else first
    held = outcome == "fut" and not asked
    digest = hashlib.sha256(f"{url}0".encode()).hexdigest()
    fut = {"url": f"{url}.pdf", "digest": f"sha256:{digest}", "length": paper.size, "s": 2000,
           "l": paper.size, "new": run == 0}  # fmt: skip
    found = [{"url": fut["url"], "found_by": paper.found_by, "score": 9, "place": 1,
              "outcome": "fut"}]  # fmt: skip
    page = not held and (bool(paper.found_by) or outcome == "splap-only")
    return {
        "pid": paper.pid, "futli": url, "outcome": outcome, "time": time,
        "futs": [fut] if outcome == "fut" and not held else [], "splap": url if page else None,
        "candidates": found if paper.found_by and outcome == "fut" and not held else [],
        "capped": False, "requests": 0 if held else 1 + page,
        "error": None if outcome in ("fut", "splap-only") else f"HTTP: {outcome}",
    }  # fmt: skip


def touch(archive: Archive, count: int, changed: int) -> None:
    """Replace *changed* suwafs of the *count* papers, as a crawl does."""
    step = max(1, count // changed)
    for number, paper in enumerate(papers(count)):
        if number % step == 0:
            path = archive.suwaf_path(archive.pid(paper.pid))
            draft = path.with_name(f".draft-{path.name}")
            draft.write_bytes(path.read_bytes().replace(b'"end": ', b'"end": 1'))
            draft.replace(path)
