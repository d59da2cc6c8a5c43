"""``lafka demo --archec``: RePEc data through three runs, served, and pulled."""

from __future__ import annotations

import csv
import re
import subprocess
import tempfile
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import pytest

from lafka.archec.checking import check_store
from lafka.cli import running
from lafka.cli.demo import repec
from lafka.papers.archive.archives import Archive
from lafka.papers.checking import Verifier
from tests import starts


def test_the_example_goes_its_whole_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forks = {**vars(subprocess), "Popen": starts.Popen, "run": starts.run}
    monkeypatch.setattr(repec, "subprocess", SimpleNamespace(**forks))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    command = running.command("demo")
    command.run([], Namespace(archec=True, filesets=False))
    said, wrong = capsys.readouterr()
    assert (command.exitcode, wrong) == (0, "")
    assert [said.count(f"\nRun {n}. ") for n in (1, 2, 3)] == [1, 1, 1]
    assert said.count('"e": "appearance"') == said.count('"e": "change"') == 2
    lost = re.findall(r'"e": "deletion", "id": "([^"]*)"', said)
    assert "RePEc:dem:wpaper:2" in lost
    assert all(name.endswith((":2", "/papers/2.pdf")) for name in lost)
    [folder] = tmp_path.glob("lafka-demo-*")
    assert list(check_store(folder / "archive")) == []
    assert list(Verifier(folder / "pulled").verify_all()) == []
    _assert_report_ends_it(said)
    # Both versions, each at the time at which the store noted it, and what is gone by now.
    papers = Archive(folder / "pulled")
    texts = [fut.read() for n in (1, 2, 3) for fut, _ in papers.futs_of(f"RePEc:dem:wpaper:{n}")]
    told = [re.search(rb"\((.*)\) Tj", text)[1].decode() for text in texts]  # type: ignore[index]
    assert told == ["Costs, first version", "Costs, second version", "Benefits",
                    "Both, behind a redirect"]  # fmt: skip


def _assert_report_ends_it(said: str) -> None:
    """The row of the series as it is after the third run, and the letter about its archive."""
    _, _, told = said.partition(" archec report --by series --format csv\n")
    table, _, letter = told.partition(" archec report --mail dem\n")
    head, row, *_ = (line.strip() for line in table.splitlines())
    [series] = csv.DictReader([head, row])
    names = ("series", "tobis", "tobis_lost", "changed", "refipos", "fobis", "versions")
    assert [series[name] for name in names] == ["wpaper", "3", "1", "1", "2", "3", "4"]
    assert "About the RePEc archive dem" in letter
    assert letter.rstrip().endswith("Every link that was asked for leads to its file.")
