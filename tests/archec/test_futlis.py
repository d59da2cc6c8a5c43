from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from lafka.archec.gather.found_templates import Spool
from lafka.archec.serve.futlis import FutliChoice, FutliList, tsv
from lafka.errors import StorageTrouble
from lafka.papers.lists import listfiles
from lafka.pids import SCHEMES
from tests import starts
from tests.crawls.running import check, crawl, futs, outcomes
from tests.sites.hosts import Answer, hosts
from tests.stores import pdf

CODES = Path(__file__).parent / "redif" / "codes"


def paper(
    number: str, *urls: str, series: str = "abc:wpaper", kind: str = "Paper", **more: str
) -> str:
    lines = [f"Template-Type: ReDIF-{kind} 1.0", f"Handle: RePEc:{series}:{number}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    lines += [f"Title: Glaciers {number}"]
    lines += [f"File-URL: {url}" for url in urls]
    return "\n".join(lines) + "\n\n"


def data_folder(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = root / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root / "data"


def tarball(folder: Path, *, backwards: bool = False) -> Path:
    """The files of *folder* in a tarball, in an order that no folder would have."""
    path = folder.parent / "data.tar"
    with tarfile.open(path, "w") as tar:
        for file in sorted(folder.rglob("*.rdf"), reverse=backwards):
            tar.add(file, file.relative_to(folder))
    return path


def lines(path: Path, **choice: object) -> list[tuple[str, str, str, str]]:
    with FutliList(path, FutliChoice(**choice)) as found:
        return [tuple(line) for line in found]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_folder(
        tmp_path,
        {
            "RePEc/all/abcseri.rdf": (
                "Template-Type: ReDIF-Series 1.0\nHandle: RePEc:abc:closed\nRestriction: ask\n"
            ),
            "RePEc/abc/wpaper/1.rdf": paper("1", "http://x.example/1", "http://x.example/1b.pdf")
            + paper("2", "www.x.example/2", "http://x.example/a b.pdf", "http://x.example/a b.pdf"),
            "RePEc/abc/closed/1.rdf": paper("1", "http://x.example/c1", series="abc:closed")
            + paper("2", "http://x.example/c2", series="abc:closed", Restriction="none"),
            "RePEc/zzz/articles.rdf": paper(
                "9", "http://x.example/9", series="ZZZ:j", kind="Article"
            ),
        },
    )


EXPECTED = [
    ("RePEc:abc:closed:1", "http://x.example/c1", "ask", "Glaciers 1"),
    ("RePEc:abc:closed:2", "http://x.example/c2", "", "Glaciers 2"),
    ("RePEc:abc:wpaper:1", "http://x.example/1", "", "Glaciers 1"),
    ("RePEc:abc:wpaper:1", "http://x.example/1b.pdf", "", "Glaciers 1"),
    ("RePEc:abc:wpaper:2", "http://www.x.example/2", "", "Glaciers 2"),
    ("RePEc:abc:wpaper:2", "http://x.example/a b.pdf", "", "Glaciers 2"),
    ("RePEc:abc:wpaper:2", "http://x.example/ab.pdf", "", "Glaciers 2"),
    ("RePEc:zzz:j:9", "http://x.example/9", "", "Glaciers 9"),
]


def test_a_folder_gives_its_futlis_with_inherited_restrictions(data: Path) -> None:
    assert lines(data) == EXPECTED


@pytest.mark.parametrize("backwards", [False, True])
def test_a_tarball_gives_the_same_in_whatever_order(data: Path, backwards: bool) -> None:
    assert lines(tarball(data, backwards=backwards)) == EXPECTED


def test_a_list_is_taken_by_the_reader_of_lists(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "list.tsv"
    with FutliList(data, FutliChoice()) as found:
        path.write_bytes(b"".join(tsv(found)))
    read = list(listfiles.read(path, SCHEMES["RePEc"]))
    assert [(line.pid_text, line.url_text) for line in read] == [line[:2] for line in EXPECTED]
    assert [line.outcome for line in read] == ["restricted"] + [None] * 7
    assert [line.futli and line.futli.title for line in read] == [line[3] for line in EXPECTED]


def test_archive_series_and_type_can_be_chosen(data: Path) -> None:
    assert lines(data, archive="zzz") == EXPECTED[-1:]
    assert lines(data, archive="abc", series="closed") == EXPECTED[:2]
    assert lines(data, types=frozenset({"article"})) == EXPECTED[-1:]
    assert lines(data, types=frozenset({"software"})) == []


def test_what_cannot_be_asked_or_is_no_full_text_is_left_out_and_counted(tmp_path: Path) -> None:
    text = paper("1", "none", "ftp://x.example/1", "", "http://x.example/1") + (
        "File-Function: Appendix A\nFile-URL: http://x.example/2\nFile-Function: Full text\n"
    )
    folder = data_folder(tmp_path, {"abc/wpaper/1.rdf": text.replace("\n\n", "\n")})
    with FutliList(folder, FutliChoice()) as found:
        assert [line.futli for line in found] == ["http://x.example/2"]
    assert found.counts == {
        "templates": 1,
        "lines": 1,
        "not a URL": 1,
        "ftp": 1,
        "empty": 1,
        "other functions": 1,
        "restricted": 0,
    }
    assert len(lines(folder, all_functions=True)) == 2


def test_of_duplicate_handles_the_one_in_its_own_folder_counts_and_the_other_is_told(
    tmp_path: Path,
) -> None:
    folder = data_folder(
        tmp_path,
        {
            "aaa/copies/1.rdf": paper("1", "http://x.example/stranger"),
            "abc/wpaper/1.rdf": paper("1", "http://x.example/own"),
            "abc/wpaper/2.rdf": paper("1", "http://x.example/later"),
            "all/same.rdf": paper("1", "http://x.example/own"),
            "aaa/copies/2.rdf": paper("2", "http://x.example/only"),
        },
    )
    for source in (folder, tarball(folder), tarball(folder, backwards=True)):
        with FutliList(source, FutliChoice()) as found:
            assert [line.futli for line in found] == [
                "http://x.example/own",
                "http://x.example/only",
            ]
        assert {problem.code for problem in found.problems} == {"duplicate-handle"}
        assert found.counts["duplicates"] == 2
        assert found.whole
    told = {str(problem) for problem in found.problems}
    assert (
        "abc/wpaper/2.rdf, line 1: duplicate-handle: RePEc:abc:wpaper:1, as in abc/wpaper/1.rdf,"
        " line 1, which counts"
    ) in told


def test_the_fixture_of_duplicate_handles(tmp_path: Path) -> None:
    fixture = CODES / "duplicate-handle.rdf"
    folder = data_folder(tmp_path, {"abc/wpaper/1.rdf": fixture.read_bytes()})
    with FutliList(folder, FutliChoice()) as found:
        assert list(found) == []
    assert [(problem.line, problem.code) for problem in found.problems] == [(6, "duplicate-handle")]


def test_a_restriction_in_utf_16_or_below_its_papers_counts(tmp_path: Path) -> None:
    series = "Template-Type: ReDIF-Series 1.0\nHandle: RePEc:abc:{}\nRestriction: ask\tus\n"
    folder = data_folder(
        tmp_path,
        {
            "abc/a.rdf": paper("1", "http://x.example/1")
            + paper("1", "http://x.example/2", series="abc:b"),
            "abc/b.rdf": ("\ufeff" + series.format("wpaper")).encode("utf-16-le"),
            "zzz/c.rdf": series.format("b").upper(),
        },
    )
    assert [line[2] for line in lines(folder)] == ["ask us", "ASK US"]


def test_a_torn_source_gives_what_it_has_and_is_not_whole(data: Path) -> None:
    path = tarball(data)
    path.write_bytes(path.read_bytes()[:2600])
    with FutliList(path, FutliChoice()) as found:
        assert [line.futli for line in found] == [line[1] for line in EXPECTED[:2]]
    assert not found.whole
    assert [problem.code for problem in found.problems] == ["truncated"]


def test_a_spool_says_it_where_there_is_no_room() -> None:
    made = Spool("CREATE TABLE held (data BLOB)")
    made.close()
    with pytest.raises(StorageTrouble, match="no room to sort"):
        made.execute("SELECT data FROM held")


def test_the_command_prints_the_list_and_tells_what_it_left_out(data: Path, tmp_path: Path) -> None:
    done = starts.verb("scrapy", "futlis", data, LC_ALL="C", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    table = [tuple(line.split("\t")) for line in done.stdout.splitlines()]
    assert table == [("pid", "futli", "restriction", "title"), *EXPECTED]
    assert json.loads(done.stderr) == {"templates": 5, "lines": 8, "restricted": 1}
    output = tmp_path / "list.tsv"
    packed = tarball(data)
    done = starts.verb(
        "lafka", "futlis", "-f", packed, "--archive", "ZZZ", "--type", "article", "-o", output
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert output.read_text() == (
        "pid\tfutli\trestriction\ttitle\nRePEc:zzz:j:9\thttp://x.example/9\t\tGlaciers 9\n"
    )


def test_the_command_says_in_one_sentence_what_is_wrong(data: Path, tmp_path: Path) -> None:
    torn = tarball(data)
    torn.write_bytes(torn.read_bytes()[:2600])
    for args, code, said in [
        ((), 2, "say where RePEc data is"),
        ((str(data), "-f", str(torn)), 2, "say where RePEc data is"),
        (("none",), 2, "none: no such file or directory"),
        ((str(data), "--type", "person"), 2, "--type 'person' is none of"),
        ((str(data), "-o", str(tmp_path / "no" / "list.tsv")), 2, "no/list.tsv"),
        (("-f", str(torn)), 3, "data.tar: truncated: "),
    ]:
        done = starts.verb("lafka", "futlis", *args)
        assert (done.returncode, done.stderr.count("Traceback")) == (code, 0), done.stderr
        assert said in done.stderr


def test_futlis_of_a_folder_end_as_paper_warcs(tmp_path: Path) -> None:
    body = pdf("costs")
    with hosts({"/1.pdf": Answer(headers={"Content-Type": "application/pdf"}, body=body)}) as [
        host
    ]:
        text = paper("1", f"{host.url}/1.pdf") + paper("2", f"{host.url}/2.pdf", Restriction="ask")
        listed = starts.verb("lafka", "futlis", data_folder(tmp_path, {"abc/wpaper/1.rdf": text}))
        archive = tmp_path / "archive"
        run = crawl(archive, "-", stdin=listed.stdout)
    assert (run.code, run.troubles()) == (0, [])
    [feed] = outcomes(archive)
    assert {line["pid"]: line["outcome"] for line in feed} == {
        "RePEc:abc:wpaper:1": "fut",
        "RePEc:abc:wpaper:2": "restricted",
    }
    assert list(futs(archive)) == [("RePEc:abc:wpaper:1", f"{host.url}/1.pdf", body)]
    assert "/2.pdf" not in host.paths()
    check(archive)
