from __future__ import annotations

import gzip
import io
import json
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import BadList
from lafka.papers.lists.futlis import Futli, Line
from lafka.papers.lists.listfiles import BOM, LONGEST_LINE, read
from lafka.papers.lists.rows import NO_LINE
from lafka.pids import SCHEMES

REPEC = SCHEMES["RePEc"]
PID = "RePEc:abc:wpaper:1"
URL = "http://x.example/1.pdf"


def lines_of(data: bytes, name: str = "list.tsv", tmp: Path | None = None) -> list[Line]:
    if tmp is None:
        return list(read("-", REPEC, stdin=io.BytesIO(data)))
    (tmp / name).write_bytes(data)
    return list(read(tmp / name, REPEC))


def sole(data: bytes, name: str = "list.tsv", tmp: Path | None = None) -> Line:
    (line,) = lines_of(data, name, tmp)
    return line


GOOD = {
    ".tsv": f"{PID}\t{URL}\n".encode(),
    ".txt": f"pid\tfutli\n{PID}\t{URL}".encode(),
    ".csv": f'Handle,URL\r\n{PID},"{URL}"\r\n'.encode(),
    ".jsonl": json.dumps({"pid": PID, "futli": URL}).encode() + b"\n",
    ".ndjson": json.dumps({"handle": PID, "url": URL}).encode(),
}


@pytest.mark.parametrize("ending", GOOD)
@pytest.mark.parametrize("gz", ["", ".gz"])
@pytest.mark.parametrize("case", [str.lower, str.upper])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_every_format_gives_the_same_line(tmp_path, ending, gz, case, bom) -> None:
    data = bom + GOOD[ending]
    if gz:
        data = gzip.compress(data)
    line = sole(data, "list" + case(ending + gz), tmp_path)
    assert line.futli == Futli(pid=REPEC.pid(PID), url=URL)
    assert (line.pid_text, line.url_text, line.outcome, line.problem) == (PID, URL, None, None)


@pytest.mark.parametrize("data", [GOOD[".tsv"], GOOD[".jsonl"], b"\n \n" + GOOD[".jsonl"]])
@pytest.mark.parametrize("squeeze", [bytes, gzip.compress])
def test_standard_input_is_sniffed(data, squeeze) -> None:
    stdin = io.BytesIO(squeeze(data))
    (line,) = read("-", REPEC, stdin=stdin)
    assert line.futli
    assert not stdin.closed


def test_a_pipe_of_single_bytes_is_read_as_they_come() -> None:
    class Drip(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            return super().read1(min(1, size or 1))

    (line,) = read("-", REPEC, stdin=Drip(gzip.compress(GOOD[".tsv"])))
    assert line.futli


def test_lines_are_known_by_number_and_bad_ones_stop_nothing() -> None:
    data = (
        b"\xef\xbb\xbfpid\tfutli\r\n"
        b"# a comment\n"
        b"\r\n"
        b" \t \n"
        b"RePEc:abc:wpaper:1\thttp://x.example/1\r\n"
        b"RePEc:abc:wpaper\thttp://x.example/2\n"
        b"RePEc:abc:wpaper:3\n"
        b"RePEc:abc:wpaper:4\tx.example/4\n"
        b"RePEc:abc:wpaper:\xff5\thttp://x.example/5\n"
        b"RePEc:abc:wpaper:6\thttp://x.example/\xff\n"
        b"RePEc:abc:wpaper:7\thttp://x.example/\xe2\x80\xa8\n"
        b"pid\tfutli\n"
        b"\thttp://x.example/9\n"
        b"RePEc:abc:wpaper:10\thttp://x.example/10\tmore\tcolumns"
    )
    found = [(line.number, line.outcome) for line in lines_of(data)]
    assert found == [
        (5, None),
        (6, "bad-pid"),
        (7, "bad-url"),
        (8, "bad-url"),
        (9, "bad-pid"),
        (10, "bad-url"),
        (11, "bad-url"),
        (13, "bad-pid"),
        (14, None),
    ]
    bad = {line.number: line for line in lines_of(data)}
    assert bad[9].pid_text == r"RePEc:abc:wpaper:\xff5"
    assert bad[9].problem == "not UTF-8"
    assert bad[10].url_text == r"http://x.example/\xff"
    assert bad[7].problem == "no URL"
    assert all(line.futli is None for line in bad.values() if line.outcome)


def test_a_header_says_which_column_is_which() -> None:
    line = sole(f"url\ttitle\tpid\n{URL}\tA title\t{PID}\n".encode())
    assert line.futli == Futli(pid=REPEC.pid(PID), url=URL)


@pytest.mark.parametrize(
    ("data", "outcome", "problem"),
    [
        (f"pid\tfutli\trestriction\n{PID}\t{URL}\tcampus only\n", "restricted", "campus only"),
        (f"pid\tfutli\trestriction\n{PID}\t{URL}\t \n", None, None),
        (f"pid\tfutli\trestriction\n{PID}\t{URL}\n", None, None),
        (f"{PID}\t{URL}\tcampus only\n", None, None),
        (json.dumps({"pid": PID, "futli": URL, "restriction": "x"}), "restricted", "x"),
        (json.dumps({"pid": PID, "futli": URL, "Restriction": True}), "restricted", "yes"),
        (json.dumps({"pid": PID, "futli": URL, "restriction": None}), None, None),
    ],
)
def test_a_restricted_line_keeps_its_futli(data: str, outcome, problem) -> None:
    line = sole(data.encode())
    assert (line.outcome, line.problem) == (outcome, problem)
    assert line.futli


@pytest.mark.parametrize(
    ("text", "outcome", "url"),
    [
        (f'"{PID}","http://x.example/a,b"', None, "http://x.example/a,b"),
        (f'"{PID}" , "http://x.example/""q"""', None, 'http://x.example/"q"'),
        (f'{PID},http://x.example/a"b', None, 'http://x.example/a"b'),
        (f"{PID}, http://x.example/1 ,", None, "http://x.example/1"),
        (f"{PID},http://x.example/a,b", "bad-url", "http://x.example/a"),
        (f'{PID},"http://x.example/1', "bad-url", '"http://x.example/1'),
        (f'"{PID},http://x.example/1', "bad-pid", ""),
        (f'{PID},"http://x.example/1"2', "bad-url", '"http://x.example/1"2'),
        (PID, "bad-url", ""),
        (",x", "bad-pid", "x"),
        ('"', "bad-pid", ""),
    ],
)
def test_csv_line_by_line(tmp_path, text: str, outcome, url) -> None:
    first, then = lines_of(f"{text}\n{PID},{URL}\n".encode(), "list.csv", tmp_path)
    assert (first.outcome, first.url_text) == (outcome, url)
    assert then.futli


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("{", "bad-pid"),
        ("[]", "bad-pid"),
        ('"x"', "bad-pid"),
        ("[" * 100_000, "bad-pid"),
        ('{"pid": ' + "9" * 5000 + "}", "bad-pid"),
        ('{"futli": "http://x.example/"}', "bad-pid"),
        ('{"pid": 5, "futli": "http://x.example/"}', "bad-pid"),
        (f'{{"pid": "{PID}"}}', "bad-url"),
        (f'{{"pid": "{PID}", "futli": ["http://x.example/"]}}', "bad-url"),
        (f'{{"pid": "{PID}", "futli": "http://x.example/\\ud800"}}', "bad-url"),
        (f'{{"pid": "{PID}\\udc80", "futli": "http://x.example/"}}', "bad-pid"),
        (f'{{"pid": "{PID}", "futli": "http://x.example/a\\nb"}}', "bad-url"),
        (f'{{"pid": "{PID}", "futli": "http://x.example/", "title": {{"a": [1]}}}}', None),
    ],
)
def test_jsonl_line_by_line(tmp_path, text: str, outcome) -> None:
    data = text.encode() + b"\n" + GOOD[".jsonl"]
    first, then = lines_of(data, "list.jsonl", tmp_path)
    assert first.outcome == outcome
    assert then.futli
    for line in (first, then):
        json.dumps([line.pid_text, line.url_text, line.problem]).encode()


@pytest.mark.parametrize("extra", [0, 1, 3 * LONGEST_LINE])
def test_a_long_line_is_one_verdict(extra: int) -> None:
    start = f"{PID}\t{URL}?".encode()
    data = start + b"x" * (LONGEST_LINE - len(start) + extra) + b"\n" + GOOD[".tsv"]
    first, then = lines_of(data)
    assert then.number == 2
    assert then.futli
    assert first.outcome == ("bad-pid" if extra else "bad-url")
    if extra:
        assert first.pid_text.startswith(PID)
        assert len(first.pid_text) == 200


def test_what_no_line_of_a_warc_could_hold_has_a_verdict() -> None:
    assert sole(f"{PID}{'1' * 8_000}\t{URL}?{'x' * 60_000}".encode()).futli
    assert sole(f"{PID}\t{URL}?{'x' * 100_000}".encode()).outcome == "bad-url"
    assert sole(f"{PID}{'1' * 100_000}\t{URL}".encode()).outcome == "bad-pid"


def test_memory_is_bounded_whatever_a_gzip_expands_to(tmp_path) -> None:
    path = tmp_path / "list.tsv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(24):
            file.write(b"x" * LONGEST_LINE)
        file.write(b"\n" + GOOD[".tsv"])
    tracemalloc.start()
    first, then = read(path, REPEC)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (first.outcome, then.outcome) == ("bad-pid", None)
    assert peak < 8 * LONGEST_LINE


MANY = b"".join(
    f"RePEc:abc:wpaper:{n}\thttp://x{n}.example/{n**5}\n".encode() for n in range(20_000)
)


def test_a_gzip_that_is_cut_gives_its_whole_lines_and_says_where_it_ends(tmp_path) -> None:
    path = tmp_path / "list.tsv.gz"
    path.write_bytes(gzip.compress(MANY)[:-5000])
    lines = read(path, REPEC)
    seen = []
    with pytest.raises(BadList) as error:
        seen.extend(line for line in lines)
    assert len(seen) > 16_000
    assert all(line.futli for line in seen)
    assert str(error.value) == f"{path}: gzip that is cut short after line {seen[-1].number}"


def test_a_damaged_gzip_says_so(tmp_path) -> None:
    path = tmp_path / "list.tsv.gz"
    data = bytearray(gzip.compress(MANY))
    data[-5] ^= 1
    path.write_bytes(data)
    seen = []
    with pytest.raises(BadList, match="damaged gzip after line ") as error:
        seen.extend(line for line in read(path, REPEC))
    # What the last call of zlib inflated, at most 64 KiB, is lost with its checksum.
    assert len(seen) > 18_000
    assert str(error.value).endswith(str(seen[-1].number))


def test_gzip_members_and_padding(tmp_path) -> None:
    path = tmp_path / "list.tsv.gz"
    path.write_bytes(gzip.compress(MANY[:30]) + gzip.compress(MANY[30:]) + b"\0" * 600)
    assert sum(1 for line in read(path, REPEC) if line.futli) == 20_000


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("list.xlsx", b"PK\x03\x04", "a workbook or another document"),
        ("list.csv", b"\xd0\xcf\x11\xe0\xa1", "a workbook or another document"),
        ("list", b"%PDF-1.4", "a workbook or another document"),
        ("list.tsv.gz", b"not gzip", "not gzip"),
        ("list.tsv.gz", b"", "not gzip"),
    ],
)
def test_a_list_that_cannot_be_one_is_refused_at_once(tmp_path, name, data, reason) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BadList, match=reason) as error:
        read(tmp_path / name, REPEC)
    assert str(tmp_path / name) in str(error.value)


def test_a_list_that_is_not_there_is_refused_at_once(tmp_path) -> None:
    (tmp_path / "folder.tsv").mkdir()
    with pytest.raises(BadList, match=r"no\.tsv: no such file"):
        read(tmp_path / "no.tsv", REPEC)
    with pytest.raises(BadList, match=r"folder\.tsv: is a directory"):
        read(tmp_path / "folder.tsv", REPEC)
    with pytest.raises(BadList, match="null byte"):
        read("a\0b.tsv", REPEC)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_list_that_may_not_be_read_is_refused_at_once(tmp_path) -> None:
    path = tmp_path / "list.tsv"
    path.touch(mode=0)
    with pytest.raises(BadList, match="permission denied"):
        read(path, REPEC)


def test_an_iterator_that_is_closed_closes_the_list(tmp_path) -> None:
    path = tmp_path / "list.tsv"
    path.write_bytes(MANY)
    before = len(list(Path("/proc/self/fd").iterdir()))
    lines = read(path, REPEC)
    next(lines)
    lines.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_an_empty_list_has_no_lines(tmp_path) -> None:
    assert lines_of(b"") == []
    assert lines_of(b"\xef\xbb\xbf") == []
    assert lines_of(b"", "list.csv", tmp_path) == []


# Not 85 and A0, which are blanks in Latin-1, and else in another encoding of the list.
@given(st.lists(st.binary(max_size=60).map(lambda b: b.translate(None, b"\n\x85\xa0")), max_size=6))
@pytest.mark.parametrize("form", ["", ".csv", ".jsonl"])
def test_every_line_has_one_verdict_whatever_it_holds(tmp_path_factory, form, raw) -> None:
    # Many zeros would make it UTF-16.
    head = {"": b"pid\tfutli", ".csv": b"pid,futli", ".jsonl": b"# none of it UTF-16" + b"." * 900}[
        form
    ]
    data = b"\n".join([head, *raw])
    lines = lines_of(data, "list" + form, tmp_path_factory.getbasetemp() if form else None)
    listed = [
        number
        for number, line in enumerate(raw, start=2)
        if not NO_LINE.fullmatch(line.removeprefix(BOM).decode("latin-1"))
    ]
    assert [line.number for line in lines] == listed
    for line in lines:
        assert (line.futli is None) == (line.outcome in ("bad-pid", "bad-url"))
        assert (line.outcome is None) == (line.problem is None)
        (line.pid_text + line.url_text).encode()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"pid\tfutli\ttitle\nRePEc:a:b:1\thttp://x.example/1\tSlow  glaciers\n", "list.tsv"),
        (b'title,url,pid\n"Slow glaciers",http://x.example/1,RePEc:a:b:1\n', "list.csv"),
        (
            b'{"pid": "RePEc:a:b:1", "futli": "http://x.example/1", "title": "Slow glaciers"}',
            "l.jsonl",
        ),
    ],
)
def test_a_list_may_give_titles(data, name, tmp_path) -> None:
    [line] = lines_of(data, name, tmp_path)
    assert line.futli is not None
    assert (line.outcome, line.futli.url) == (None, "http://x.example/1")
    assert line.futli.title == "Slow glaciers"


def test_a_title_that_is_no_text_is_none(tmp_path) -> None:
    data = b'{"pid": "RePEc:a:b:1", "futli": "http://x.example/1", "title": 7}'
    [line] = lines_of(data, "list.jsonl", tmp_path)
    assert (line.outcome, line.futli and line.futli.title) == (None, "")
