"""``scrapy gateway LIST --root FOLDER``: what is served of a list, and what is refused."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from lafka.errors import BadArgument, BadList, KeeperError
from lafka.papers.archive.archives import Archive
from lafka.web.listed import ListHoldings
from tests import starts
from tests.crawls.running import check, crawl, outcomes
from tests.gateway.linkformat import by_rel
from tests.sites.gateways import get, serving
from tests.stores import pdf

URL = "http://127.0.0.1:9/p/1.pdf"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    (folder / "abc").mkdir(parents=True)
    for name in ("1a", "1b", "2"):
        (folder / "abc" / f"{name}.pdf").write_bytes(pdf(name, 2000))
    (folder / "empty.pdf").touch()
    (tmp_path / "secret").write_text("secret")
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "in").symlink_to("abc/2.pdf")
    (folder / "loop").symlink_to("loop")
    return folder


def listed(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "legacy.tsv"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def line(
    path: str = "abc/1a.pdf", time: str = "1998-03-01", url: str = URL, pid: str = "p:1"
) -> str:
    return "\t".join((pid, url, time, path))


def test_versions_are_those_of_a_url_in_order(tmp_path: Path, root: Path) -> None:
    path = listed(
        tmp_path,
        "pid\turl\ttime\tpath",
        line("abc/1b.pdf", "2004-11-17T08:00:00Z"),
        "",
        line("abc/1a.pdf", "888710400"),
        line("in", url="http://x.example/2"),
        line("abc/1a.pdf", "1998-03-01", pid="p:2"),
    )
    holdings = ListHoldings(path, root)
    assert holdings.refused == []
    history = holdings.history(holdings.the_id(URL))
    assert history is not None
    assert [one.tist for one in history.versions] == [888710400, 1100678400]
    assert list(holdings.listed()) == [f"p:1\t{URL}", "p:1\thttp://x.example/2", f"p:2\t{URL}"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (line("abc/9.pdf"), "'abc/9.pdf': No such file or directory"),
        (line("../secret"), "'../secret' lies outside"),
        (line("out"), "'out' lies outside"),
        (line("/etc/passwd"), "'/etc/passwd' lies outside"),
        (line("loop"), "'loop': "),
        (line("abc"), "'abc' is no file"),
        (line("empty.pdf"), "'empty.pdf' has no bytes"),
        (line("a\0b"), "a path with a zero byte"),
        (line("x" * 5000), "File name too long"),
        (line(time="1990-12-31"), "'1990-12-31' is not from 1991 on"),
        (line(time="1601-01-01"), "is not from 1991 on"),
        (line(time="yesterday"), "'yesterday' is no time such as 1998-03-01"),
        (line(time="99999-01-01"), "is no time"),
        (line(time="999999999999"), "is not from 1991 on"),
        (line(url="x.example/1"), "no scheme"),
        (line(url="ftp://x.example/1"), "ftp is neither http nor https"),
        (line(pid=""), "4 columns, not pid, URL, time, path"),
        ("p:1\tone", "2 columns, not pid"),
        (line("abc/1b.pdf"), "another file for the URL and the time of line 1"),
        ("\udcff", "not UTF-8"),
    ],
)
def test_what_cannot_be_served_is_told_with_its_line(
    tmp_path: Path, root: Path, text: str, sentence: str
) -> None:
    path = tmp_path / "legacy.tsv"
    path.write_bytes(
        f"{line()}\n{text}\n{line('abc/2.pdf', '2001-01-01')}\n".encode("utf-8", "surrogateescape")
    )
    holdings = ListHoldings(path, root)
    [refused] = holdings.refused
    assert refused.startswith(f"{path}:2: ")
    assert sentence in refused
    history = holdings.history(URL)
    assert history is not None
    assert len(history.versions) == 2


def test_a_file_that_became_a_link_is_not_served(tmp_path: Path, root: Path) -> None:
    holdings = ListHoldings(listed(tmp_path, line()), root)
    (root / "abc" / "1a.pdf").unlink()
    (root / "abc" / "1a.pdf").symlink_to(tmp_path / "secret")
    with pytest.raises(KeeperError, match="is a link by now"):
        holdings.held(URL, 888710400)


def test_no_list_and_no_folder_are_told(tmp_path: Path, root: Path) -> None:
    with pytest.raises(BadList, match="No such file"):
        ListHoldings(tmp_path / "none.tsv", root)
    with pytest.raises(BadArgument, match="no folder is there"):
        ListHoldings(listed(tmp_path, line()), tmp_path / "none")


def test_a_list_with_files_fills_paper_warcs(tmp_path: Path, root: Path) -> None:
    url = "http://127.0.0.1:9/p/%C3%A9 1.pdf?a=b%2Fc#top"
    path = listed(
        tmp_path,
        line("abc/1a.pdf", "1998-03-01", url, "RePEc:abc:w:1"),
        line("abc/1b.pdf", "2004-11-17", url, "RePEc:abc:w:1"),
        line("empty.pdf"),
        line("abc/2.pdf", "2004-11-17", pid="RePEc:abc:w:2"),
    )
    with serving("gateway", str(path), "--root", str(root), "--port", "0", folder=tmp_path) as at:
        assert httpx.get(f"{at}/").json()["refused"] == 1
        status, fields, text = get(at, "/list")
        assert (status, fields["content-type"]) == (200, "text/tab-separated-values; charset=utf-8")
        todo = tmp_path / "todo.tsv"
        todo.write_bytes(text)
        for _ in range(2):
            run = crawl(tmp_path / "archive", todo, "-a", f"legacy={at}")
            assert run.code == 0, run.log
        timemap = httpx.get(f"{at}/timemap/link/{url}".partition("#")[0])
        assert len(by_rel(timemap.text)["memento"]) == 2
        assert httpx.get(f"{at}/refipos/{URL}").status_code == 404
        assert get(at, "/obi/RePEc%3Aabc")[0] == 400
    told = (tmp_path / "gateway.log").read_text()
    assert f"lafka gateway: {path}:3: 'empty.pdf' has no bytes" in told
    archive = Archive(tmp_path / "archive")
    assert archive.fut("RePEc:abc:w:1", time="1998-03-01").read() == pdf("1a", 2000)
    assert archive.fut("RePEc:abc:w:1").read() == pdf("1b", 2000)
    first, again = outcomes(tmp_path / "archive")
    assert {one["outcome"] for one in [*first, *again]} == {"fut"}
    assert [fut["new"] for one in again for fut in one["futs"]] == [False] * 3
    check(tmp_path / "archive")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ([], "say which list"),
        (["legacy.tsv"], "--root FOLDER"),
        (["legacy.tsv", "--root", "none"], "no folder is there"),
        (["legacy.tsv", "--root", "papers", "--port", "70000"], "no number from 0 to 65535"),
        (["legacy.tsv", "--root", "papers", "--bind", "everywhere"], "is no IP address"),
        (["legacy.tsv", "--root", "papers", "--bind", "192.0.2.1"], "cannot be had"),
        (["legacy.tsv", "--root", "papers", "--name", "a/b"], "is no name of a host"),
        (["empty.tsv", "--root", "papers"], "no line of it can be served"),
    ],
)
def test_wrong_options_are_one_sentence(
    tmp_path: Path, root: Path, args: list[str], sentence: str
) -> None:
    listed(tmp_path, line())
    (tmp_path / "empty.tsv").touch()
    done = starts.verb("lafka", "gateway", *args, folder=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
