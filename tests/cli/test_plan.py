"""``lafka plan``: how long a list takes."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.test_check_list import called


@pytest.fixture
def folder(tmp_path):
    lines = [f"RePEc:abc:wpaper:{n}\thttps://h{n % 4}.example/{n}.pdf\n" for n in range(100)]
    (tmp_path / "list.tsv").write_text("".join(lines))
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def test_a_plan_is_a_table_and_two_sentences(folder):
    done = called("plan", "list.tsv", "--shards", "3", "--rate", "30/m", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "100 lines, 100 to be asked for at 4 hosts"
    assert lines[1].startswith("largest: h0.example 25, ")
    assert lines[2] == "on disk: 130.0 MB in 200 files"
    assert lines[3].startswith("fullest shard: ")
    assert lines[5].split() == ["1", "worker", "52.5", "seconds", "1.6", "minutes", "1.7",
                                "minutes", "1.7", "minutes"]  # fmt: skip
    assert " ".join(lines[-4:]) == (
        "A second worker would save nothing of 1.7 minutes: one stores 40 lines a second, and"
        " h0.example alone takes 1.7 minutes, whoever asks."
        " Four requests a second, if the twelve largest hosts allow them, would save 1.5 minutes:"
        " stay with one machine, lafka crawl futli -a input=list.tsv"
    )
    assert max(map(len, lines)) <= 100
    assert {path.name for path in folder.iterdir()} == {"list.tsv", "pipe"}


def test_a_second_worker_is_advised_where_it_helps(folder):
    done = called("plan", "list.tsv", "--per-worker", "0.01", folder=folder)
    assert "-a shard=0/2" in " ".join(done.stdout.split())


def test_a_letter_is_advised_where_it_helps(folder):
    done = called("plan", "list.tsv", "--rate", "1/h", folder=folder)
    assert "write to the largest hosts" in " ".join(done.stdout.split())


def test_what_a_list_is_read_as_is_said_once_though_it_is_read_twice(folder):
    text = (folder / "list.tsv").read_text().replace("\t", ";")
    (folder / "list.csv").write_text(text)
    done = called("plan", "list.csv", folder=folder)
    assert done.stderr == "list.csv: read as it seems to be: semicolons part its columns\n"


def test_all_numbers_come_as_json(folder):
    done = called("plan", "list.tsv", "--json", "--workers", "2,8", folder=folder)
    plan = json.loads(done.stdout)
    assert [row["workers"] for row in plan["days"]] == [2, 8]
    assert plan["lines"] == 100


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ((), "say which list"),
        (("-",), "twice: name a file, not a pipe"),
        (("pipe",), "twice: name a file, not a pipe"),
        (("none.tsv",), "none.tsv: no such file"),
        (("list.tsv", "--rate", "0/s"), "--rate '0/s' is not like"),
        (("list.tsv", "--rate", "-1/s"), "rate"),
        (("list.tsv", "--requests", "0"), "--requests '0'"),
        (("list.tsv", "--per-worker", "many"), "--per-worker 'many'"),
        (("list.tsv", "--workers", "0"), "--workers '0'"),
        (("list.tsv", "--mean-size", "1Q"), "--mean-size '1Q'"),
        (("list.tsv", "--shards", "x"), "--shards 'x'"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_a_sentence(folder, args, sentence):
    done = called("plan", *args, folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
