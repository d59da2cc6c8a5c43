"""A word that is nearly a known one is answered with that one, whatever kind of word it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scrapy.settings import Settings

from lafka.cli.entry import main
from lafka.runs.feed import CsvExporter
from lafka.runs.validation import misspelt


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("outcmes", "no command is called 'outcmes'; outcomes meant?"),
        ("warc lss", "; ls meant?"),
        ("archec chek", "; check meant?"),
        ("outcomes --grup x", "unknown option --grup; --group meant?"),
        ("fut --fulti=x", "unknown option --fulti=x; --futli meant?"),
        ("crawl futli --logfle=x", "unknown option --logfle=x; --logfile meant?"),
        ("outcomes --group notthere", "; not there meant?"),
        ("crawl futly", "no spider is called 'futly'; futli meant?; there is"),
        ("crawl futli -a inptu=x", "unknown argument 'inptu'; input meant?; the spider's"),
        ("crawl fobi -a deu=x", "unknown argument 'deu'; due meant?; the spider's"),
        ("crawl fileset -a inputs=x", "unknown argument 'inputs'; input meant?; the spider's"),
        ("crawl futli -s LAFKA_ARCHVE=x", "unknown setting 'LAFKA_ARCHVE'; LAFKA_ARCHIVE meant?"),
        ("settings --get LAFKA_LINK", "LAFKA_LINK is no setting; LAFKA_LINKS meant?"),
        ("report --by hots", "; host meant?"),
        ("completion bsh", "; bash meant?"),
        ("crawl futli -a input=x -a collection=repec", "unknown collection 'repec'; RePEc meant?"),
        ("crawl futli -a input=x -a links=rank", "; ranked meant?"),
        ("crawl fileset -a input=x -a platforms=zenod", "'zenod' is none; zenodo meant?"),
        ("crawl futli -a input=x -s LOG_LEVEL=WARNIN", "; WARNING meant?"),
        ("docs referense", "no page is called 'referense'; reference meant?"),
    ],
)
def test_the_word_that_is_meant_is_named(
    line: str, told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    try:
        code = main(line.split())
    except SystemExit as end:
        code = int(end.code or 0)
    assert (code, told in capsys.readouterr().err) == (2, True)


def test_a_setting_of_scrapys_is_guessed_where_it_is_near_alone() -> None:
    settings = Settings()
    for name in ("DOWNLOAD_DELAI", "LOG_LEVEL", "MY_OWN_SETTING"):
        settings.set(name, "1", priority="cmdline")
    assert [*misspelt(settings)] == ["-s DOWNLOAD_DELAI is no setting; DOWNLOAD_DELAY meant?"]


def test_a_cell_of_a_csv_feed_has_a_list_as_json(tmp_path: Path) -> None:
    with (tmp_path / "feed.csv").open("wb") as file:
        exporter = CsvExporter(file, fields_to_export=["pid", "futs", "candidates"])
        exporter.export_item({"pid": "p", "futs": [{"url": "ü"}], "candidates": []})
        exporter.finish_exporting()
    row = (tmp_path / "feed.csv").read_text("utf-8").splitlines()[1]
    assert row == 'p,"[{""url"": ""ü""}]",[]'
    assert json.loads(row.split(",")[2]) == []
