"""The verbs of ``scrapy warc``: what they print, exit codes, one sentence on standard error."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path

import pytest
from scrapy.settings import Settings

from lafka.cli.verbs import made
from lafka.cli.warc import VERBS
from lafka.warc.format.records import Record
from lafka.warc.writing.builders import Builder
from tests import starts
from tests.warc.arcs import DNS, FILEDESC, FILEDESC_BODY, PAGE

ROOT = Path(__file__).parents[1]
DATE = "2020-01-02T03:04:05Z"
PDF = b"%PDF-1.4 body"
CHUNKED = b"5\r\n%PDF-\r\n8\r\n1.4 body\r\n0\r\n\r\n"
Said = tuple[int, bytes, str]


@pytest.fixture
def warc(capfdbinary) -> Callable[..., Said]:
    """Run a verb; its exit code, what it wrote, what it said on standard error."""

    def run(*args: str | Path) -> Said:
        command, parser = made("warc"), ArgumentParser(prog="scrapy warc")
        command.settings = Settings()
        command.add_options(parser)
        try:
            opts, rest = parser.parse_known_args([str(arg) for arg in args])
            command.run(rest, opts)
            code = command.exitcode
        except SystemExit as error:
            code = error.code
        out, err = capfdbinary.readouterr()
        return code, out, err.decode()

    return run


def refused(said: Said) -> str:
    code, out, err = said
    assert (code, out) == (2, b"")
    assert err.count("\n") == 1
    return err.strip()


def lines(said: Said) -> list[dict]:
    return [json.loads(line) for line in said[1].splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.warc"
    with Builder(path) as builder:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n"
        builder.append(Record.response("http://a/1.pdf", head + b"\r\n" + PDF, date=DATE))
        coded = head + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED
        builder.append(Record.response("http://a/2.pdf", coded, date=DATE))
        builder.append(Record.request("http://a/1.pdf", b"GET / HTTP/1.1\r\n\r\n", date=DATE))
    return path


def test_ls_gives_a_line_a_record(warc, path):
    code, out, err = warc("ls", path)
    assert (code, err) == (0, "")
    first, second, third = lines((code, out, err))
    payload = path.read_bytes().index(PDF)
    assert first == {
        "path": str(path),
        "offset": 0,
        "length": second["offset"],
        "type": "response",
        "url": "http://a/1.pdf",
        "date": DATE,
        "id": first["id"],
        "status": 200,
        "mime": "application/pdf",
        "payload_offset": payload,
        "payload_length": len(PDF),
        "digest": first["digest"],
    }
    assert "payload_offset" not in second
    assert lines(warc("ls", "--type", "request", path)) == [third]


def test_ls_reads_all_that_is_like_a_warc(warc, tmp_path):
    arc = tmp_path / "a.arc.gz"
    arc.write_bytes(gzip.compress(FILEDESC + PAGE + DNS))
    said = warc("ls", arc)
    assert [line["type"] for line in lines(said)] == ["warcinfo", "response", "response"]
    inner = lines(said)[1]["inner"]
    code, out, _ = warc("get", arc, 0, "--inner", inner, "--payload")
    assert (code, out) == (0, b"hello")


def test_damage_is_exit_code_1(warc, path):
    path.write_bytes(path.read_bytes() + b"WARC/1.1\r\nWA")
    code, out, err = warc("ls", path)
    assert (code, out.count(b"\n"), err) == (1, 3, "1 error: lafka warc check says what\n")
    code, out, err = warc("ls", "--problems", path)
    assert (code, json.loads(out.splitlines()[3])["code"], err) == (1, "torn-tail", "")
    said = warc("check", path)
    assert said[0] == 1
    assert [line["code"] for line in lines(said)] == ["torn-tail"]
    assert said[2] == f"{path}: 3 records, 1 errors, 0 warnings\n"
    assert warc("cdxj", path)[0] == 1


def test_check_reads_digests_unless_it_is_to_be_quick(warc, path):
    path.write_bytes(path.read_bytes().replace(PDF, PDF.upper()))
    said = warc("check", path)
    assert said[0] == 1
    assert {line["code"] for line in lines(said)} == {"block-digest", "payload-digest"}
    assert warc("check", "--quick", path)[0] == 0


def test_get_gives_bytes(warc, path):
    second = lines(warc("ls", path))[1]
    whole = path.read_bytes()[second["offset"] : second["offset"] + second["length"]]
    at = ("get", path, second["offset"])
    assert warc(*at)[1] == warc(*at, "--raw")[1] == whole
    assert warc(*at, "--block")[1].endswith(CHUNKED)
    assert warc(*at, "--payload")[1] == warc(*at, "--decoded")[1] == PDF
    assert warc("get", path, 1)[0] == 1


def test_indexes_are_lines(warc, path):
    cdx = warc("cdx", "--folder", path.parent, path)
    assert cdx[0] == 0
    assert [line.split()[-1] for line in cdx[1].splitlines()[1:]] == [b"a.warc"] * 2
    assert len(warc("cdx", "--nine", path)[1].splitlines()[1].split()) == 9
    entries = warc("cdxj", path)[1].splitlines()
    assert [json.loads(line.split(b" ", 2)[2])["url"] for line in entries] == [
        "http://a/1.pdf",
        "http://a/2.pdf",
    ]


def test_search_finds_the_best_first(warc, path):
    urls = [line["url"] for line in lines(warc("search", path, "--prefix", "http://a/"))]
    assert sorted(urls) == ["http://a/1.pdf", "http://a/2.pdf"]
    (found,) = lines(warc("search", path.parent, "--url", "http://a/2.pdf", "--time", "2019"))
    assert found == lines(warc("ls", path))[1]
    assert lines(warc("search", path, "--id", found["id"])) == [found]
    assert len(lines(warc("search", path, "--digest", found["digest"]))) == 2
    index = path.with_name("index.cdxj")
    index.write_bytes(warc("cdxj", "--folder", path.parent, path)[1])
    assert lines(warc("search", index, "--url", "http://a/2.pdf")) == [found]
    assert refused(warc("search", path)).startswith("scrapy warc search: say what for")
    path.unlink()
    code, out, err = warc("search", index, "--url", "http://a/2.pdf")
    assert (code, out) == (1, b"")
    assert err == "1 error: lafka warc check says what\n"


def test_repair_and_recompress_make_new_files(warc, path):
    damaged = path.read_bytes()
    path.write_bytes(damaged + b"WARC/1.1\r\nWA")
    code, out, _ = warc("recompress", path, path.with_name("b.warc.gz"))
    assert (code, out) == (1, b"")
    said = warc("repair", path, path.with_name("c.warc"))
    (told,) = lines(said)
    assert (said[0], told["records"], [aside["length"] for aside in told["asides"]]) == (1, 3, [12])
    assert path.with_name("c.warc").read_bytes() == damaged
    said = warc("recompress", path.with_name("c.warc"), path.with_name("d.warc.gz"))
    assert (said[0], lines(said)[0]["records"]) == (0, 3)
    assert gzip.decompress(path.with_name("d.warc.gz").read_bytes()) == damaged
    path.write_bytes(b"MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n\n--b--")
    assert "not made of records" in refused(warc("recompress", path, path.with_name("e.warc")))
    assert sorted(p.name for p in path.parent.iterdir() if p.name[0] in "be") == []


def test_conversions_say_what_came_of_it(warc, tmp_path):
    arc = tmp_path / "a.arc"
    arc.write_bytes(FILEDESC + PAGE + DNS)
    code, out, err = warc("arc2warc", arc)
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "path": str(tmp_path / "a.warc"),
        "kept": {"warcinfo": 1, "response": 2},
        "left_out": {},
        "problems": 0,
    }
    back = warc("warc2arc", tmp_path / "a.warc", tmp_path / "b.arc.gz")
    assert lines(back)[0]["left_out"] == {}
    assert gzip.decompress((tmp_path / "b.arc.gz").read_bytes()) == arc.read_bytes()
    assert FILEDESC_BODY in arc.read_bytes()
    assert "not an ARC" in refused(warc("arc2warc", tmp_path / "a.warc", tmp_path / "x.warc"))
    assert "not a WARC" in refused(warc("warc2arc", arc, tmp_path / "x.arc"))
    arc.write_bytes(FILEDESC + PAGE[:-3])
    code, out, _ = warc("arc2warc", "--problems", arc, tmp_path / "c.warc")
    assert code == 1
    assert json.loads(out.splitlines()[1])["code"] == "torn-tail"
    assert "File exists" in refused(warc("warc2arc", tmp_path / "a.warc", arc))


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ((), f"scrapy warc: say a verb: {', '.join(VERBS)}"),
        (("ls",), "scrapy warc ls: the following arguments are required: FILE"),
        (("ls", "/none/such"), "scrapy warc ls: /none/such: no such file"),
        (("ls", "/"), "scrapy warc ls: /: not a file"),
        (("check", "x", "--slow"), "scrapy warc check: unknown option --slow"),
        (("get", "x", "-1"), "scrapy warc get: argument OFFSET: invalid place value: '-1'"),
        (("get", "x", "9" * 30), "scrapy warc get: argument OFFSET: invalid place value"),
        (("nope",), "scrapy warc: argument VERB: invalid choice: 'nope'"),
    ],
)
def test_wrong_input_is_one_sentence(warc, args, sentence):
    assert refused(warc(*args)).startswith(sentence)


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example(warc, verb):
    code, out, _ = warc(verb, "-h")
    assert code == 0
    assert f"Examples:\n  lafka warc {verb} ".encode() in out


def test_foreign_text_cannot_drive_a_terminal(warc, tmp_path):
    path = tmp_path / "a.arc"
    path.write_bytes(b"http://a/\x1b[2J\xc2\x9b\xff 1.2.3.4 20140216050221 \x1bx 1\nx\n")
    code, out, err = warc("ls", "--problems", path)
    assert code in (0, 1)
    assert (out + err.encode()).replace(b"\n", b"").decode("ascii").isprintable()


def scrapy(*args: str | Path, **kw: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "scrapy", "warc", *map(str, args)]
    return starts.Popen(command, cwd=ROOT, stdout=-1, stderr=-1, stdin=-3, **kw)


def test_scrapy_runs_the_verbs_and_a_reader_may_go_away(path):
    data = path.read_bytes()
    with path.open("wb") as file:
        for _ in range(500):
            file.write(data)
    with scrapy("ls", path) as done:
        assert json.loads(done.stdout.readline())["offset"] == 0
        done.stdout.close()
        assert (done.wait(), done.stderr.read()) == (1, b"")
    with scrapy("ls", "/none/such") as done:
        out, err = done.communicate()
        assert (done.returncode, out) == (2, b"")
        assert err == b"scrapy warc ls: /none/such: no such file\n"


@pytest.fixture
def folder(path, tmp_path) -> Path:
    """A folder with two volumes of the same base name, and a file that is none."""
    folder = tmp_path / "warcs"
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
        (folder / name / "1.warc").write_bytes(path.read_bytes())
    (folder / "a" / "notes.txt").write_text("none")
    return folder


def test_indexes_and_check_take_folders_and_lists(warc, folder, tmp_path):
    names = [str(folder / "a/1.warc"), str(folder / "b/1.warc")]
    by_name = warc("cdxj", "--folder", folder, *names)
    assert by_name[0] == 0
    assert by_name[1].count(b'"filename": "a/1.warc"') == 2
    (tmp_path / "list").write_text("\n".join(names) + "\n\n")
    assert warc("cdxj", "--folder", folder, folder)[1] == by_name[1]
    assert warc("cdxj", "--folder", folder, "--list", tmp_path / "list")[1] == by_name[1]
    assert warc("cdx", folder)[1].count(b"1.warc") == 4
    assert warc("check", folder)[2].count("records") == 2


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ((), "say which files: none is named"),
        (("--list", "/none/such"), "/none/such: no such file"),
        (("/none/such",), "/none/such: no such file"),
    ],
)
def test_files_that_are_not_there_are_one_sentence(warc, args, sentence):
    assert refused(warc("check", *args)) == f"scrapy warc check: {sentence}"


def test_a_folder_without_a_volume_is_one_sentence(warc, tmp_path):
    said = refused(warc("check", tmp_path))
    assert said == f"scrapy warc check: {tmp_path}: no WARC or like file is below it"


def test_links_have_names_of_their_own_in_one_folder(warc, folder, tmp_path):
    flat = tmp_path / "flat"
    for told in ("2 links made, 0 there already\n", "0 links made, 2 there already\n"):
        assert warc("link", folder, flat) == (0, b"", told)
    assert sorted(link.name for link in flat.iterdir()) == ["a,1.warc", "b,1.warc"]
    assert (flat / "b,1.warc").read_bytes() == (folder / "b/1.warc").read_bytes()
    assert not (flat / "b,1.warc").readlink().is_absolute()


def test_a_link_goes_over_no_file(warc, folder, tmp_path):
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat/b,1.warc").write_text("mine")
    assert "b,1.warc: there already, and no link" in refused(
        warc("link", folder, tmp_path / "flat")
    )
    assert (tmp_path / "flat/b,1.warc").read_text() == "mine"
