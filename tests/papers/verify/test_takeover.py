"""docs/how-to/take-over-a-first-lafka-archive.md, word by word, on WARCs as its wget wrote them."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sites.loopback import QuietHandler, serving
from tests.stores import chunked, pdf, problems

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/how-to/take-over-a-first-lafka-archive.md"
PID = "RePEc:aaa:bbbbbb:{}"
NAME = "warc/RePEc/aaa/bbbbbb/{}.warc"
DATE = "2014-05-06T07:08:{:02}Z"


class Site(QuietHandler):
    """``/pdf/1`` is the same PDF as in 2014; ``/chunked/2`` one that is sent in chunks."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        head, body = answer_for(self.path)
        self.wfile.write(head + body)


def answer_for(path: str) -> tuple[bytes, bytes]:
    kind, _, name = path.strip("/").partition("/")
    if kind == "pdf":
        body = pdf(name)
        length = f"Content-Type: application/pdf\r\nContent-Length: {len(body)}"
    elif kind == "splap":
        body = b"<html><meta name='citation_pdf_url' content='/pdf/%b'></html>" % name.encode()
        length = f"Content-Type: text/html\r\nContent-Length: {len(body)}"
    elif kind == "chunked":
        body, length = chunked(pdf(name)), "Transfer-Encoding: chunked"
    else:
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", b""
    return f"HTTP/1.1 200 OK\r\n{length}\r\n\r\n".encode(), body


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serving(Site) as address:
        yield address


def record(kind: str, block: bytes, second: int, **fields: str) -> tuple[str, bytes]:
    """A record of WARC/1.0 in wget's spelling; its id."""
    record_id = f"<urn:uuid:{uuid.uuid4()}>"
    lines = {"WARC-Type": kind, "WARC-Record-ID": record_id, "WARC-Date": DATE.format(second)}
    lines |= {name.replace("_", "-"): value for name, value in fields.items()}
    lines |= {"WARC-Block-Digest": sha1(block), "Content-Length": str(len(block))}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return record_id, f"WARC/1.0\r\n{head}\r\n".encode() + block + b"\r\n\r\n"


def sha1(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def capture(url: str, second: int, **info: str) -> bytes:
    """One wget of *url*: warcinfo, request, response; *info* is what its warcinfo names."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in info.items())
    body = f"software: Wget/1.21 (linux-gnu)\r\nformat: WARC File Format 1.0\r\n{lines}".encode()
    info_id, data = record("warcinfo", body, second, Content_Type="application/warc-fields")
    about = {"WARC_Target_URI": f"<{url}>", "WARC_Warcinfo_ID": info_id,
             "WARC_IP_Address": "127.0.0.1"}  # fmt: skip
    path = re.sub(r"^http://[^/]+", "", url)
    request, asked = record(
        "request", f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode(), second,
        Content_Type="application/http;msgtype=request", **about,
    )  # fmt: skip
    head, sent = answer_for(path)
    _, answered = record(
        "response", head + sent, second, Content_Type="application/http;msgtype=response",
        WARC_Concurrent_To=request, WARC_Payload_Digest=sha1(sent), **about,
    )  # fmt: skip
    return data + asked + answered


@pytest.fixture
def project(tmp_path: Path, site: str, programs: Path) -> Path:
    """A project folder with what the page supposes: ``first`` and ``list.tsv``."""
    (tmp_path / "bin").symlink_to(programs)
    papers = {
        NAME.format(1): [("/pdf/1", {}), ("/pdf/1", {})],
        NAME.format(2): [("/splap/2", {}), ("/pdf/2", {"HTML_Url": f"{site}/splap/2"})],
        NAME.format(3): [("/chunked/3", {})],
        "warc/RePEc/aaa/bbbbbb/4S.warc": [("/pdf/4S", {})],
    }
    for name, visits in papers.items():
        number = name.rpartition("/")[2].removesuffix(".warc")
        data = b"".join(
            capture(
                site + path,
                second,
                Paper_Id=PID.format(number),
                **fields,
                Futli=site + visits[0][0],
            )
            for second, (path, fields) in enumerate(visits)
        )
        put(tmp_path / "first" / name, data)
    # And a paper whose warcinfo has no Futli.
    put(tmp_path / "first" / NAME.format(5), capture(f"{site}/pdf/5", 9, Paper_Id=PID.format(5)))
    futlis = [(1, "pdf/1"), (2, "splap/2"), (3, "chunked/3"), ("4S", "pdf/4S"), (5, "pdf/5")]
    futlis.append((5, "splap/5"))  # leads to a PDF that is held
    lines = [f"{PID.format(number)}\t{site}/{path}\n" for number, path in futlis]
    (tmp_path / "list.tsv").write_text("".join(lines))
    return tmp_path


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def run(project: Path, script: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": f"{project / 'bin'}:{os.environ['PATH']}",
           "PYTHONPATH": f"{project}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1",
           "LAFKA_ALLOWED_NETWORKS": "127.0.0.0/8",
           "LAFKA_CONTACT": "operator@example.org"}  # fmt: skip
    return subprocess.run(
        ["sh", "-c", script], cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def commands() -> list[str]:
    """What the page says to type, block by block."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.S)
    return [re.sub(r"(?m)^ +", "", block) for block in blocks]


def futs(project: Path, number: object) -> dict[str, list[bytes]]:
    """The PDFs of a paper by futli, cut out by its suwaf."""
    name = f"archive/{{}}/RePEc/aaa/bbbbbb/{str(number).replace('S', '%53')}"
    suwaf = json.loads((project / f"{name.format('suwaf')}.json").read_bytes())
    data = (project / f"{name.format('warc')}.warc").read_bytes()
    return {
        futli: [data[e["s"] : e["s"] + e["l"]] for e in times.values()]
        for futli, times in suwaf[PID.format(number)].items()
    }


def test_the_page_holds_word_by_word(project: Path, site: str) -> None:
    copying, rebuilding, verifying, crawling, reporting = commands()
    for script in (copying, rebuilding):
        done = run(project, script)
        assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines()[1:] == ["5 suwafs made"]
    archive = project / "archive"
    marker = json.loads((archive / "lafka.json").read_bytes())
    assert marker == {"format": 1, "collection": "RePEc"}
    wanted = {1: [pdf(1)] * 2, 2: [pdf(2)], 3: [pdf(3)], "4S": [pdf("4S")], 5: [pdf(5)]}
    starts = {2: "splap", 3: "chunked"}
    for number, found in wanted.items():
        assert futs(project, number) == {f"{site}/{starts.get(number, 'pdf')}/{number}": found}

    def verified() -> set[tuple[str, str]]:
        done = run(project, verifying)
        assert done.returncode == 0, done.stdout
        found = map(json.loads, done.stdout.splitlines())
        return {(problem["code"], problem["severity"]) for problem in found}

    warnings = {(code, "warning") for code in ("stored-twice", "bad-warcinfo")}
    assert verified() == warnings
    again = {path: path.read_bytes() for path in archive.rglob("*") if path.is_file()}
    assert run(project, rebuilding).returncode == 0
    assert {path: path.read_bytes() for path in archive.rglob("*") if path.is_file()} == again

    done = run(project, crawling)
    assert done.returncode == 0, done.stderr
    feed = (archive / "runs").glob("*.jsonl")
    lines = [json.loads(line) for line in next(feed).read_text().splitlines()]
    assert [line["outcome"] for line in lines] == ["fut"] * 6
    assert [fut["new"] for line in lines for fut in line["futs"]] == [False] * 6
    assert futs(project, 5) == {f"{site}/pdf/5": [pdf(5)], f"{site}/splap/5": [pdf(5)]}
    data = (archive / NAME.format(5)).read_bytes()
    assert data.count(pdf(5)) == 1
    # The revisit has SHA-256, what it refers to has SHA-1.
    assert verified() == warnings
    done = run(project, reporting)
    assert done.returncode == 0, done.stderr
    told = (project / "report.html").read_text("utf-8")
    assert re.search(r"papers_with_fut</th><td class=\"n\">5<", told)
    assert verified() == warnings


def test_an_archive_that_was_never_crawled_has_a_report(project: Path) -> None:
    copying, rebuilding, _, _, reporting = commands()
    assert run(project, copying + rebuilding).returncode == 0
    assert run(project, reporting.replace("html", "json")).returncode == 0
    told = json.loads((project / "report.json").read_bytes())
    assert (told["summary"]["papers"], told["summary"]["futlis_once_had"]) == (5, 5)
    assert told["summary"]["futlis_never_asked_again"] == 5
    assert [row["held"] for row in told["rot_by_archive"]] == [5]
    assert sum(row["bytes"] for row in told["growth"]) > 1000
    assert told["runs"] == []
    (alive,) = told["survival"]
    assert (alive["days"], alive["at_risk"], alive["lost"], alive["share"]) == (0, 5, 0, 1.0)


def test_what_the_page_says_of_its_sentences(project: Path, site: str) -> None:
    copying, rebuilding, verifying, *_ = commands()
    first = project / "first"
    middle = (first / NAME.format(1)).read_bytes()
    cut = middle.index(b"Content-Length", middle.index(b"WARC-Type: request"))
    put(first / NAME.format(1), middle[:cut] + b"Content-Length: x\r\n\r\n" + middle[cut:])
    two = capture(f"{site}/pdf/8", 1, Paper_Id=PID.format(8), Futli=f"{site}/pdf/8")
    put(first / "warc/RePEc/aaa/bbbbbb/8S.warc", two + (first / NAME.format(2)).read_bytes())
    put(first / NAME.format("4%53"), capture(f"{site}/pdf/9", 2, Paper_Id=PID.format("4S"),
                                             Futli=f"{site}/pdf/9"))  # fmt: skip
    whole = (first / NAME.format(3)).read_bytes()
    more = capture(f"{site}/pdf/3", 7, Paper_Id=PID.format(3), Futli=f"{site}/pdf/3")[:-50]
    put(first / NAME.format(3), whole + more)
    assert run(project, copying).returncode == 0
    before = (project / "archive" / NAME.format(1)).read_bytes()
    done = run(project, rebuilding)
    assert done.returncode == 1
    told = done.stderr.splitlines()[1:]  # the first names the archive
    said = re.findall(r"(?m)^   \| (`.*`) \| ", PAGE.read_text())
    for line, words in zip(told[:-1], (said[0], said[2], said[1]), strict=True):
        patterns = [re.escape(each).replace(r"\.\.\.", ".*") for each in words.split("`")[1::2]]
        assert any(re.search(pattern, line) for pattern in patterns), (line, patterns)
    assert told[-1] == "4 suwafs made"
    assert (project / "archive" / NAME.format(1)).read_bytes() == before
    [torn] = (project / "archive/warc/RePEc/aaa/bbbbbb").glob("3.warc.torn-*")
    left = (whole + more).removesuffix(torn.read_bytes())
    assert len(left) == len(whole + more) - torn.stat().st_size
    assert (project / "archive" / NAME.format(3)).read_bytes().startswith(left)

    # What the page says to do.
    (project / "archive" / NAME.format(1)).write_bytes(middle)
    folder = project / "archive/warc/RePEc/aaa/bbbbbb"
    (folder / "8S.warc").rename(project / "split by hand")
    done = run(project / "archive/warc/RePEc/aaa/bbbbbb", "cat 4S.warc >> 4%53.warc")
    (folder / "4S.warc").unlink()
    (project / "archive/suwaf/RePEc/aaa/bbbbbb/4%53.json").unlink()
    done = run(project, rebuilding)
    assert (done.returncode, done.stderr.splitlines()[1:]) == (0, ["5 suwafs made"])
    assert [*futs(project, "4S").values()] == [[pdf(9)], [pdf("4S")]]
    done = run(project, verifying)
    assert done.returncode == 0, done.stdout


def test_a_paper_of_the_first_lafka_can_be_repaired(project: Path) -> None:
    copying, rebuilding, *_ = commands()
    assert run(project, copying + rebuilding).returncode == 0
    suwaf = project / "archive/suwaf/RePEc/aaa/bbbbbb/1.json"
    whole = suwaf.read_bytes()
    suwaf.write_bytes(whole.replace(b"/pdf/1", b"/pdf/7"))
    done = run(project, "lafka repair")
    assert done.returncode == 0, done.stdout
    assert suwaf.read_bytes() == whole


@pytest.mark.parametrize("algorithm", ["sha1", "md5", "sha512"])
@pytest.mark.parametrize("kind", ["splap", "pdf", "chunked"])
def test_a_revisit_is_compared_by_the_payload_where_digests_are_of_two_kinds(
    tmp_path: Path, algorithm: str, kind: str
) -> None:
    url = f"http://x.example/{kind}/1"
    info = capture(url, 1, Paper_Id=PID.format(1), Futli=url)
    [*_, answer] = re.findall(rb"WARC-Record-ID: (<[^>]*>)", info)
    [info_id] = re.findall(rb"WARC-Warcinfo-ID: (<[^>]*>)", info)[:1]
    payload = pdf(1) if kind == "chunked" else answer_for(f"/{kind}/1")[1]

    def verified(payload: bytes) -> list[str]:
        digest = hashlib.new(algorithm, payload).hexdigest()
        _, revisit = record(
            "revisit", b"HTTP/1.1 200 OK\r\n\r\n", 2, WARC_Target_URI=url,
            WARC_Warcinfo_ID=info_id.decode(), WARC_Refers_To=answer.decode(),
            Content_Type="application/http;msgtype=response",
            WARC_Payload_Digest=f"{algorithm}:{digest}",
            WARC_Profile="http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
        )  # fmt: skip
        put(tmp_path / NAME.format(1), info + revisit)
        put(tmp_path / "lafka.json", b'{"format": 1, "collection": "RePEc"}')
        return [json.loads(line)["code"] for line in problems(tmp_path, "payload-digest-unsure")]

    if (kind, algorithm) != ("chunked", "sha1"):  # the digest of the chunks is there
        assert verified(payload) == ["no-suwaf"]
    assert sorted(verified(payload + b"x")) == ["no-suwaf", "revisit-differs"]
