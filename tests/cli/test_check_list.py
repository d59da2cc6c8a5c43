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
    fault, text = done.stdout.splitlines()[3:]
    assert fault.startswith("line 2 and 1 more: ")
    assert "blanks where a tab should be" in fault
    assert text.strip() == BAD.strip()
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
