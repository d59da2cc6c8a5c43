"""``check-list``, ``-a check=1``, and crawls of lists that are wrong from their first line."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
from pathlib import Path

import pytest

from lafka.cli import lists
from lafka.papers.lists.faults import ListAccount
from lafka.papers.lists.listfiles import read
from lafka.pids import SCHEMES
from tests import starts
from tests.papers.lists.test_written import editors, excel, managers, other_sheets

GOOD = "RePEc:abc:wpaper:1\thttps://example.org/1.pdf\n"
BAD = "RePEc:abc:wpaper:2 https://example.org/2.pdf\n"
WORDS = "RePEc:abc:wpaper:2 On money https://example.org/2.pdf\n" + BAD


def called(*args: str | Path, folder: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return starts.verb("lafka", *args, folder=folder, stdin=stdin, HOME=str(folder))


def test_faults_are_told_and_the_exit_code_is_1(tmp_path):
    (tmp_path / "list.tsv").write_text(GOOD + BAD + BAD + GOOD)
    done = called("check-list", "list.tsv", folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[:3] == [
        "4 lines, 2 can be asked for, 2 cannot",
        "0 restricted, 1 said before",
        "1 host: example.org 2",
    ]
    fault, first, second, *twice = done.stdout.splitlines()[3:]
    assert fault.startswith("line 2 and 1 more: ")
    assert "blanks where a tab should be" in fault
    assert (first.strip(), second.strip()) == (f"2: {BAD.strip()}", f"3: {BAD.strip()}")
    sound = GOOD.replace("\t", " ").strip()
    assert [line.strip() for line in twice] == ["line 4: said before", f"4: {sound}  as line 1"]
    crawl = called("crawl", "futli", "-a", "input=list.tsv", "-a", "check=1", folder=tmp_path)
    assert (crawl.returncode, crawl.stdout, crawl.stderr) == (1, done.stdout, "")
    assert [path.name for path in tmp_path.iterdir()] == ["list.tsv"]


def test_a_sound_list_exits_with_0_from_standard_input_too(tmp_path):
    (tmp_path / "list.tsv").write_text(GOOD)
    done = called("check-list", "list.tsv", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    piped = called("check-list", "-", folder=tmp_path, stdin=GOOD)
    assert (piped.returncode, piped.stdout) == (0, done.stdout)


def test_the_collection_decides_what_a_pid_is(tmp_path):
    (tmp_path / "list.tsv").write_text("RePEc:abc\thttps://example.org/\n")
    assert called("check-list", "list.tsv", folder=tmp_path).returncode == 1
    done = called("check-list", "list.tsv", "--collection", "Socionet", folder=tmp_path)
    assert done.returncode == 1
    assert called("check-list", "list.tsv", "--collection", "x", folder=tmp_path).returncode == 2


def test_the_mended_list_is_written_and_the_difference_shown(tmp_path):
    worse = "RePEc:abc\thttps://example.org/4.pdf\n"
    (tmp_path / "list.tsv").write_text(GOOD + BAD + GOOD + worse)
    done = called("check-list", "list.tsv", "--fix", "-o", "good.tsv", folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    mended = BAD.strip().replace("2 ", "2\t")
    good = (tmp_path / "good.tsv").read_text().splitlines()
    assert [line.strip() for line in good] == [
        "pid\tfutli\ttitle\trestriction",
        GOOD.strip(),
        mended,
    ]
    assert done.stdout.splitlines()[-3:] == [
        f"- 2: {BAD.strip()}",
        f"+ 2: {BAD.strip()}",
        "1 mended, 1 left out",
    ]
    again = called("check-list", "good.tsv", "--fix", "-o", "-", folder=tmp_path)
    assert (again.returncode, again.stdout.splitlines()) == (0, good)
    assert again.stderr.splitlines()[-1] == "0 mended, 0 left out"
    assert called("check-list", "list.tsv", "--fix", folder=tmp_path).returncode == 2


def test_a_mended_list_keeps_columns_that_are_not_known(tmp_path):
    (tmp_path / "list.csv").write_text(
        "Nr;Thema;pid;url;Link;Nr\n"
        "1;Über, alles;RePEc:abc:wpaper:1;ttps://example.org/1.pdf;https://x.example/;a\n"
        "2;Zwei;RePEc:abc:wpaper:2;https://example.org/2.pdf;;b\n"
    )
    header = ["pid", "futli", "title", "restriction", "Nr", "Thema", "Link_5", "Nr_6"]
    pids = [f"RePEc:abc:wpaper:{number}" for number in (1, 2)]
    urls = [f"https://example.org/{number}.pdf" for number in (1, 2)]
    one = [pids[0], urls[0], "", "", "1", "Über, alles", "https://x.example/", "a"]
    two = [pids[1], urls[1], "", "", "2", "Zwei", "", "b"]
    for name in ("good.csv", "good.tsv"):
        done = called("check-list", "list.csv", "--fix", "-o", name, folder=tmp_path)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "1 mended, 0 left out")
        with (tmp_path / name).open(newline="") as file:
            assert [*csv.reader(file, delimiter="\t" if "tsv" in name else ",")] == [
                header, one, two
            ]  # fmt: skip
    called("check-list", "good.csv", "--fix", "-o", "good.jsonl", folder=tmp_path)
    lines = map(json.loads, (tmp_path / "good.jsonl").read_text().splitlines())
    rows = [{k: v for k, v in zip(header, row, strict=True) if v} for row in (one, two)]
    assert list(lines) == rows
    again = called("check-list", "good.jsonl", "--fix", "-o", "-", folder=tmp_path)
    assert again.stdout.splitlines()[1:] == ["\t".join(one), "\t".join(two)]


def test_a_mended_line_keeps_its_title_and_its_restriction(tmp_path):
    title = "long " * 200 + "title"
    line = f"RePEc:abc:wpaper:1,ttps://example.org/1.pdf,{title},subscribers only\n"
    (tmp_path / "list.csv").write_text(f"pid,url,title,restricted\n{line}")
    done = called("check-list", "list.csv", "--fix", "-o", "-", folder=tmp_path)
    mended = f"RePEc:abc:wpaper:1\thttps://example.org/1.pdf\t{title}\tsubscribers only"
    assert done.stdout.splitlines()[1:] == [mended]


def test_comments_of_a_mended_list_stay_where_they_stood(tmp_path):
    one, two = "RePEc:abc:wpaper:1", "RePEc:abc:wpaper:2"
    (tmp_path / "list.csv").write_text(
        "# of 2001\npid,url\n# the first, all of it\n"
        f"{one},ttps://example.org/1.pdf\nno pid,x\n\n # then\n"
        f"{two},https://example.org/2.pdf\n# end"
    )
    called("check-list", "list.csv", "--fix", "-o", "good.csv", folder=tmp_path)
    assert (tmp_path / "good.csv").read_text().splitlines() == [
        "# of 2001",
        "pid,futli,title,restriction",
        "# the first, all of it",
        f"{one},https://example.org/1.pdf,,",
        " # then",
        f"{two},https://example.org/2.pdf,,",
        "# end",
    ]
    called("check-list", "good.csv", "--fix", "-o", "good.jsonl.gz", folder=tmp_path)
    lines = gzip.decompress((tmp_path / "good.jsonl.gz").read_bytes()).splitlines()
    assert [json.loads(line)["pid"] for line in lines] == [one, two]


def test_what_has_no_column_in_a_mended_list_is_told(tmp_path):
    lines = [f"RePEc:abc:wpaper:{number}\thttps://example.org/{number}\n" for number in range(60)]
    lines[57:] = [line.replace("\n", "\tA title\n") for line in lines[57:]]
    (tmp_path / "list.tsv").write_text("".join(lines))
    done = called("check-list", "list.tsv", "--fix", "-o", "good.tsv", folder=tmp_path)
    assert done.stdout.splitlines()[-2:] == [
        "line 58 and 2 more: 'column_3' is left out: the first line has no such column",
        "0 mended, 0 left out",
    ]


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".jsonl"])
def test_nothing_that_a_hundred_lists_say_is_lost_where_they_are_mended(tmp_path, ending):
    good = tmp_path / f"good{ending}"
    for given in [*excel(), *other_sheets(), *managers(), *editors()]:
        path, scheme = tmp_path / given.name, SCHEMES[given.scheme]
        path.write_bytes(given.data)
        lines = [line for line in read(path, scheme) if line.futli]
        account = ListAccount(scheme=scheme)
        good.write_bytes(b"".join(lists.Mending(account, good.name).pieces(iter(lines))))
        again = list(read(good, scheme))
        assert [line.futli for line in again] == [line.futli for line in lines], given.program
        said = [sorted(" ".join(v.split()) for v in line.others.values() if v) for line in lines]
        kept = [sorted(" ".join(v.split()) for v in line.others.values() if v) for line in again]
        assert kept == said, given.program


def test_what_is_not_found_can_be_said(tmp_path):
    rows = "nr^key^adresse\n1^RePEc:abc:wpaper:ж^https://example.org/1.pdf\n"
    (tmp_path / "list.txt").write_bytes(rows.encode("cp1251"))
    said = ["--delimiter", "^", "--encoding", "cp1251", "--pid", "key", "--url", "3"]
    done = called("check-list", "list.txt", *said, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 line, 1 can be asked for, 0 cannot\n")
    crawl = [
        word
        for name, value in zip(said[::2], said[1::2], strict=True)
        for word in ("-a", f"{name[2:]}={value}")
    ]
    args = ["-a", "input=list.txt", *crawl, "-a", "check=1"]
    assert called("crawl", "futli", *args, folder=tmp_path).stdout == done.stdout


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("--pid=none", "list.tsv: no column 'none'; the first line has repec:abc:wpaper:1, https:"),
        ("--encoding=klingon", "encoding='klingon' is not known to Python"),
        ("--delimiter=ab", "delimiter='ab' is neither one character nor one of tab, comma"),
    ],
)
def test_options_of_a_list_that_cannot_be_are_refused(tmp_path, option, sentence):
    (tmp_path / "list.tsv").write_text(GOOD)
    done = called("check-list", "list.tsv", option, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    name, _, value = option[2:].partition("=")
    crawl = called(
        "crawl", "futli", "-a", "input=list.tsv", "-a", f"{name}={value}", folder=tmp_path
    )
    assert crawl.returncode == 2
    assert sentence in crawl.stderr


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["check-list"], "lafka check-list: say which list"),
        (["check-list", "none.tsv"], "lafka check-list: none.tsv: no such file"),
        (["crawl", "futli", "-a", "input=-", "-a", "check=x"], "lafka crawl: check='x' is neither"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(tmp_path, args, sentence):
    done = called(*args, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(sentence)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            WORDS + BAD * 150 + GOOD,
            "none of its first 100 lines can be asked for: line 1 and 99 more: ",
        ),
        (WORDS, "blanks where a tab should be"),
        ("", "an empty list"),
    ],
)
def test_a_crawl_of_a_list_that_is_all_wrong_does_not_begin(tmp_path, text, words):
    (tmp_path / "list.tsv").write_text(text)
    done = called("crawl", "futli", "-a", "input=list.tsv", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("lafka crawl: list.tsv: ")
    assert words in sentence
    assert [path.name for path in tmp_path.iterdir()] == ["list.tsv"]
