"""``lafka docs``: pages by name, and pages that sentences name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lafka.cli import docs
from lafka.cli.entry import main
from tests.sentences import sentences


def test_each_page_is_listed_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == [*docs.pages()]
    assert "mine-texts                           An archive for text mining" in listed
    for name in ("mine-texts", "mine-texts.md", "docs/how-to/mine-texts.md"):
        assert main(["docs", name]) == 0
        assert capsys.readouterr().out.startswith("# An archive for text mining\n")


def test_a_misspelt_page_has_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "mine-text"]) == 2
    told = capsys.readouterr().err.partition(" ")[2]
    assert told == "docs: no page is called 'mine-text'; mine-texts meant?; lafka docs lists them\n"


def test_where_no_page_is_there_is_their_address(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docs, "_folders", lambda: [Path("/nowhere")])
    assert main(["docs"]) == 2
    assert docs.WEB in capsys.readouterr().err


def test_sentences_name_pages_that_every_lafka_has() -> None:
    said = [sentence for sentence in sentences("docs") if re.search(r"docs/|lafka docs", sentence)]
    named = {
        page for sentence in said for page in re.findall(r"lafka docs ([a-z-]+) has", sentence)
    }
    assert "reference" in named
    assert named <= set(docs.pages())
    assert [sentence for sentence in said if re.search(r"docs/\S+\.md", sentence)] == []
