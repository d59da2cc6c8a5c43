"""The commands as a user gives them: results, exit codes, one sentence on standard error."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from lafka.cli.demo.site import list_of, pdf, serving
from lafka.papers.archive.archives import Archive
from tests import starts
from tests.stores import PID as STORED
from tests.stores import Store, page
from tests.stores import pdf as stored_pdf
from tests.web.served import answering

ROOT = Path(__file__).parents[1]
PID = "RePEc:dem:wpaper:tagged"
LOOPBACK = ("-s", "LAFKA_ALLOWED_NETWORKS=127.0.0.0/8", "-s", "AUTOTHROTTLE_ENABLED=False")


def scrapy(*args: str | Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    return starts.run(
        [sys.executable, "-m", "scrapy", *map(str, args)],
        cwd=ROOT,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def on(archive: Path, verb: str, *args: str | Path) -> subprocess.CompletedProcess[bytes]:
    return scrapy(verb, *args, "-s", f"LAFKA_ARCHIVE={archive}")


def crawled(archive: Path, base: str, *args: str) -> subprocess.CompletedProcess[bytes]:
    listed = archive.with_suffix(".tsv")
    listed.write_text(list_of(base), "utf-8")
    contact = ("-s", "LAFKA_CONTACT=operator@example.org")
    return on(archive, "crawl", "futli", "-a", f"input={listed}", *LOOPBACK, *contact, *args)


def refusal(done: subprocess.CompletedProcess[bytes]) -> str:
    """The one sentence with which a command refused, exit code 2; Scrapy's log aside."""
    lines = done.stderr.decode().splitlines()
    told = [line for line in lines if line.startswith("scrapy ")]
    assert done.returncode == 2, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert len(told) == 1, lines
    assert done.stdout == b""
    return told[0]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The archive that the demo made, and what it said."""
    folder = tmp_path_factory.mktemp("demo")
    done = scrapy("demo", TMPDIR=str(folder))
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    (archive,) = folder.glob("lafka-demo-*/archive")
    return archive, done.stdout.decode()


@pytest.fixture
def archive(demo: tuple[Path, str], tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(demo[0], tmp_path / "archive"))


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serving() as base:
        yield base


def test_the_demo_shows_outcomes_tree_suwaf_and_how_to_read(demo):
    archive, said = demo
    ended = re.findall(r"(?m)^  ([a-z-]+) +RePEc:dem:wpaper:([a-z]+) ", said)
    assert {name: word for word, name in ended} == {
        "straight": "fut",
        "chunked": "fut",
        "moved": "fut",
        "tagged": "fut",
        "linked": "fut",
        "abstract": "splap-only",
        "archive": "other-type",
        "forbidden": "robots",
        "gone": "not-found",
    }
    assert "warc/RePEc/dem/wpaper/tagged.warc" in said
    assert (archive / "suwaf/RePEc/dem/wpaper/tagged.json").read_text("utf-8") in said
    code = re.search(
        r"(?m)^  with open\(('[^']+'), 'rb'\).*\n +warc.seek\((\d+)\)\n.*\((\d+)\)", said
    )
    assert code
    with Path(code[1].strip("'")).open("rb") as warc:
        warc.seek(int(code[2]))
        assert warc.read(int(code[3])) == pdf("A paper with a meta tag")


def test_the_demo_ends_with_how_to_look_at_it_and_that_works(demo, tmp_path):
    """The addresses that it names answer, and the report that it names is made."""
    archive, said = demo
    serve, report = re.findall(r"(?m)^  scrapy ((?:serve|report) .*)$", said)
    assert said.rstrip().endswith(report)
    assert serve == f"serve -s LAFKA_ARCHIVE={archive}"
    page = tmp_path / "report.html"
    done = scrapy(*report.replace("report.html", str(page)).split(" "))
    assert done.returncode == 0, done.stderr
    assert "<caption>" in page.read_text("utf-8")
    ports = "--port", "0", "--replay-port", "0"
    with answering(*serve.split(" ")[1:], *ports) as (pages, _, _):
        assert f'href="/papers/{quote(PID, safe="")}"' in httpx.get(f"{pages}/search?q={PID}").text


def test_the_demo_takes_no_argument():
    assert refusal(scrapy("demo", "x")) == "scrapy demo: unexpected argument 'x'"


def test_fut_gives_the_pdf_as_it_was_sent(demo):
    done = on(demo[0], "fut", PID)
    assert (done.returncode, done.stdout, done.stderr) == (0, pdf("A paper with a meta tag"), b"")


def test_fut_writes_a_file_and_says_what_it_is(demo, tmp_path):
    target = tmp_path / "paper.pdf"
    done = on(demo[0], "fut", "RePEc:dem:wpaper:chunked", "-o", target)
    assert (done.returncode, done.stdout) == (0, b"")
    assert target.read_bytes() == pdf("A paper sent in chunks")
    assert hashlib.sha256(target.read_bytes()).hexdigest() in done.stderr.decode()


def test_fut_that_is_not_what_its_digest_says_gets_another_name(archive, tmp_path):
    fut = Archive(archive).fut(PID)
    with fut.warc.open("r+b") as file:
        file.seek(fut.start + fut.length // 2)
        file.write(b"?")
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / "paper.pdf"
    target.write_bytes(b"had before")
    for name in (folder / "paper.pdf.damaged", folder / "paper.pdf.damaged-1"):
        done = on(archive, "fut", PID, "-o", target)
        assert (done.returncode, done.stdout) == (1, b"")
        assert "the fut is not what its digest says; it is in" in done.stderr.decode()
        assert name.stat().st_size == fut.length
    assert target.read_bytes() == b"had before"
    assert len(list(folder.iterdir())) == 3
    done = on(archive, "fut", PID)
    assert (done.returncode, len(done.stdout)) == (1, fut.length)
    assert "the fut is not what its digest says" in done.stderr.decode()


def test_fut_gives_a_labelled_pdf_on_request_alone(tmp_path):
    store = Store(tmp_path / "a")
    splap = store.splap(page())
    extra = store.found(splap, "http://x.example/s.pdf", pdf("s"), label="other")
    store.put(splap, extra)
    store.raw.close()
    done = on(tmp_path / "a", "fut", STORED)
    assert done.returncode != 0
    assert "no fut is held, but PDFs are: 1 labelled 'other'" in done.stderr.decode()
    for label in ("other", "any"):
        assert on(tmp_path / "a", "fut", STORED, "--label", label).stdout == pdf("s")


def test_fut_takes_a_futli_and_a_time(demo):
    (futli,) = Archive(demo[0]).suwaf(PID).futlis
    assert on(demo[0], "fut", PID, "--futli", futli, "--time", "9999").returncode == 0
    assert "no fut" in refusal(on(demo[0], "fut", PID, "--time", "1999-12-31T23:59:59Z"))


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ([], "its pid is missing"),
        ([PID, "more"], "say where to: --into FOLDER is missing"),
        ([PID, "--bogus"], "unknown option --bogus"),
        (["RePEc:dem:wpaper:nobody"], "not in the archive"),
        (["RePEc:dem:wpaper:abstract"], "no fut is held"),
        (["RePEc:dem"], "fewer than four parts"),
        ([PID, "--futli", "http://other.example/"], "no fut of http://other.example/"),
        ([PID, "--time", "yesterday"], "--time 'yesterday' is not like"),
        ([PID, "-o", "/dev/null/x"], "/dev/null/x: Not a directory"),
    ],
)
def test_fut_refuses_in_one_sentence(demo, args, sentence):
    assert sentence in refusal(on(demo[0], "fut", *args))


def test_fut_ends_quietly_where_nobody_reads_on(demo):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = starts.run(
            [sys.executable, "-m", "scrapy", "fut", PID, "-s", f"LAFKA_ARCHIVE={demo[0]}"],
            cwd=ROOT,
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"")


def test_fut_tells_of_a_short_warc_and_exits_with_1(archive):
    warc = archive / "warc/RePEc/dem/wpaper/tagged.warc"
    os.truncate(warc, 1000)
    done = on(archive, "fut", PID)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"scrapy fut: {warc}")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("verb", ["fut", "suwaf", "rebuild", "recover", "verify"])
def test_a_folder_without_an_archive_is_refused(verb, tmp_path):
    assert str(tmp_path / "none") in refusal(
        on(tmp_path / "none", verb, *([PID] * (verb in "fut suwaf")))
    )


def test_suwaf_prints_the_file_as_it_stands(demo):
    done = on(demo[0], "suwaf", "repec:DEM:wpaper:tagged")
    path = demo[0] / "suwaf/RePEc/dem/wpaper/tagged.json"
    assert (done.returncode, done.stdout) == (0, path.read_bytes())
    assert done.stderr.decode() == f"{demo[0]}/warc/RePEc/dem/wpaper/tagged.warc\n"


def test_suwaf_tells_of_one_that_is_no_json(archive):
    path = archive / "suwaf/RePEc/dem/wpaper/tagged.json"
    path.write_text("{", "utf-8")
    done = on(archive, "suwaf", PID)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"scrapy suwaf: {path}: not a suwaf")


def test_verify_finds_nothing_wrong_with_what_the_demo_made(demo):
    done = on(demo[0], "verify")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode().startswith("7 papers, ")


def test_verify_prints_one_json_line_a_problem_and_exits_with_1(archive):
    warc = archive / "warc/RePEc/dem/wpaper/tagged.warc"
    data = bytearray(warc.read_bytes())
    data[-20] ^= 1
    warc.write_bytes(data)
    done = on(archive, "verify", PID)
    problems = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert {"block-digest", "fut-digest"} <= {problem["code"] for problem in problems}
    assert {problem["path"] for problem in problems} <= {
        str(warc),
        str(archive / "suwaf/RePEc/dem/wpaper/tagged.json"),
    }
    assert on(archive, "verify", "--quick", "RePEc:dem:wpaper:moved").returncode == 0


def test_rebuild_makes_each_suwaf_as_it_was(archive):
    before = {path: path.read_bytes() for path in (archive / "suwaf").rglob("*.json")}
    for path in before:
        path.unlink()
    done = on(archive, "rebuild")
    told = f"archive: {archive} (LAFKA_ARCHIVE: -s)\n7 suwafs made\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (0, b"", told)
    assert {path: path.read_bytes() for path in (archive / "suwaf").rglob("*.json")} == before


def test_rebuild_goes_on_after_a_paper_that_is_not_held(archive):
    done = on(archive, "rebuild", "RePEc:dem:wpaper:nobody", PID)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1] == "1 suwaf made"
    assert b"Traceback" not in done.stderr


def test_rebuild_adopts_a_warc_by_its_paper_id(archive):
    warc = archive / "warc/RePEc/dem/wpaper/tagged.warc"
    stray = warc.rename(warc.with_name("TAGGED.warc"))
    (archive / "suwaf/RePEc/dem/wpaper/tagged.json").unlink()
    without = on(archive, "rebuild")
    assert without.returncode == 1
    assert f"{stray}" in without.stderr.decode()
    assert "--adopt" in without.stderr.decode()
    assert on(archive, "rebuild", "--adopt").returncode == 0
    assert on(archive, "fut", PID).stdout == pdf("A paper with a meta tag")


def test_recover_copies_what_a_killed_run_left(site, tmp_path):
    archive = tmp_path / "archive"
    done = crawled(archive, site, "-s", "LAFKA_KEEP_RAW=True")
    assert done.returncode == 0, done.stderr.decode()
    (run,) = (archive / "raw").iterdir()
    (run / "copied").unlink()  # as if the run had been killed before it copied
    for folder in ("warc", "suwaf"):
        shutil.rmtree(archive / folder)
        (archive / folder).mkdir()
    done = on(archive, "recover")
    assert done.returncode == 0
    assert done.stderr.splitlines()[1:] == [b"1 run recovered"]
    assert done.stdout.decode().startswith(f"{run.name}: ")
    assert on(archive, "fut", PID).stdout == pdf("A paper with a meta tag")
    assert not list((archive / "raw").iterdir())


def test_recover_counts_a_run_that_stays_apart(site, tmp_path):
    archive = tmp_path / "archive"
    assert crawled(archive, site, "-s", "LAFKA_KEEP_RAW=True").returncode == 0
    (run,) = (archive / "raw").iterdir()
    (run / "copied").unlink()
    (run / "notes.txt").write_bytes(b"mine")
    done = on(archive, "recover")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        b"0 runs recovered, 1 in part: what is left stays in raw/"
    )
    assert [path.name for path in run.iterdir()] == ["notes.txt"]


def test_recover_says_that_there_is_nothing_to_do(demo):
    done = on(demo[0], "recover")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.splitlines()[1:] == [b"0 runs recovered"]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["nobody"], "no spider is called 'nobody'"),
        (["futli"], "no list is given"),
        (["futli", "more"], "unexpected argument 'more'"),
        (["futli", "-a", "inputs=x"], "unknown argument 'inputs'"),
        (["futli", "-a", "input=none.tsv"], "none.tsv: no such file"),
        (["futli", "-a", "input=-", "-a", "links=some"], "links='some' is none of"),
        (["futli", "-a", "input=-", "-a", "refresh=often"], "refresh='often' is neither"),
        (["futli", "-a", "input=-", "-a", "collection=x"], "unknown collection 'x'"),
        (["futli", "-a", "input=-", "-s", "LAFKA_LINKS_MAX=0"], "LAFKA_LINKS_MAX='0'"),
    ],
)
def test_crawl_refuses_in_one_sentence_and_writes_nothing(args, sentence, tmp_path):
    assert sentence in refusal(on(tmp_path / "archive", "crawl", *args))
    assert not (tmp_path / "archive").exists()


def test_papers_are_packed_into_a_wacz_by_pid_list_archive_and_time(tmp_path: Path) -> None:
    store = Store(tmp_path / "a")
    for number, series in enumerate(("abc", "abc", "xyz")):
        pid = f"RePEc:{series}:wpaper:{number}"
        store.put(store.fut(stored_pdf(pid), pid=pid, futli=f"http://x.example/{number}.pdf"))
    (tmp_path / "list.tsv").write_text("# mine\nRePEc:abc:wpaper:0\thttp://x.example/\n", "utf-8")

    def packed(*args: str) -> list[str]:
        done = on(tmp_path / "a", "wacz", *args, "-o", "-")
        assert done.returncode == 0, done.stderr.decode()
        names = zipfile.ZipFile(io.BytesIO(done.stdout)).namelist()
        return [name[-6] for name in names if name.startswith("archive/")]

    assert packed("RePEc:abc:wpaper:1", "RePEc:xyz:wpaper:2") == ["1", "2"]
    assert packed("--list", str(tmp_path / "list.tsv")) == ["0"]
    assert packed("--archive", "abc") == ["0", "1"]
    assert packed("--since", "2026-11") == ["0", "1", "2"]
    assert "no such papers" in refusal(on(tmp_path / "a", "wacz", "--since", "2027", "-o", "-"))
    assert "which papers" in refusal(on(tmp_path / "a", "wacz", "-o", "-"))
    assert "-o FILE.wacz" in refusal(on(tmp_path / "a", "wacz", "RePEc:abc:wpaper:1"))
