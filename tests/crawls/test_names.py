"""Pids that differ by case or Unicode form only, or are as long as names may be: kept apart.

The kernel of a test machine may know no folder that folds case; ``tests/test_folding.py`` plays
one. What such a folder takes for one name is known: names equal under NFC and full case folding.
"""

from __future__ import annotations

from pathlib import Path

from tests.crawls.running import check, crawl, files, futs, outcomes
from tests.folding import folded
from tests.sites.papers import as_pdf, pdf
from tests.sites.server import Server

HOST = "127.0.32.1"
LONG = "x" * 255
NAMES = (
    *("case", "Case", "CASE", "stra\u00dfe", "STRASSE", "strasse", "%43ase", "%63ase"),
    *("caf\u00e9", "cafe\u0301", "Cafe\u0301", "\ufb01n", "fin", "\u0130", "i\u0307"),
    *("\u212a", "k", "K", "\u017f", "s", "con", "CON", "nul.x", "a.", "a"),
    *(LONG, LONG.upper(), LONG[:-1] + "\u00e9", LONG[:-1] + "e\u0301"),
)


def test_no_two_papers_are_one_where_names_fold(tmp_path: Path) -> None:
    archive, own = tmp_path / "archive", {}
    with Server((HOST,)) as site:
        for number, name in enumerate(NAMES):
            own[f"RePEc:tst:names:{name}"] = pdf(name)
            site.routes[f"/{number}.pdf"] = as_pdf(pdf(name))
        lines = (f"{pid}\t{site.at(HOST)}/{n}.pdf\n" for n, pid in enumerate(own))
        (tmp_path / "list.tsv").write_text("".join(lines))
        run = crawl(archive, tmp_path / "list.tsv", DOWNLOAD_DELAY=0)
    assert run.code == 0, run.log
    [ended] = outcomes(archive)
    assert {line["pid"] for line in ended if line["outcome"] == "fut"} == set(own)
    assert {pid: data for pid, _, data in futs(archive)} == own
    check(archive)
    names = [name for path in files(archive) for name in (path, *map(str, Path(path).parents))]
    assert len(set(map(folded, names))) == len(set(names))
    assert max(len(part.encode()) for name in names for part in name.split("/")) <= 255
