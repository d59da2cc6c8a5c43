"""``check-list``, ``-a check=1``, and crawls of lists that are wrong from their first line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import starts

ROOT = Path(__file__).parents[2]
GOOD = "RePEc:abc:wpaper:1\thttps://example.org/1.pdf\n"
BAD = "RePEc:abc:wpaper:2 https://example.org/2.pdf\n"


def called(*args: str | Path, folder: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return starts.run(
        [sys.executable, "-m", "lafka", *map(str, args)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(folder)},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


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
        (BAD * 150 + GOOD, "none of its first 100 lines can be asked for: line 1 and 99 more: "),
        (BAD, "blanks where a tab should be"),
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
