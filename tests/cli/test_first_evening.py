"""A first evening: 100 lines, or 300 with an installed Lafka, five kinds of site, ten mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import suites
from tests.cli.test_entry import QUICK, bin_, called  # noqa: F401  a fixture
from tests.sites.papers import BUSY, LOCKED, MAIN, OTHER, STILL, SmallSite, as_pdf, meta, page, pdf
from tests.sites.papers import link as link_to
from tests.sites.server import redirect, reply

HOSTS = (MAIN, OTHER, BUSY, STILL, LOCKED)
"""PDFs themselves; pages with a meta tag; with a link; redirects to a PDF; nothing is there."""
MISTAKES = {
    "{pid};{url}": "separated by ';'",
    "{pid} {url}": "blanks where a tab should be",
    "{url}\t{pid}": "swapped?",
    "{pid}\twww.example.org/a.pdf": "https:// meant?",
    "{pid}\t": "column 2, the URL, is empty",
    "\t{url}": "column 1, the pid, is empty",
    "{pid}\tftp://example.org/a.pdf": "ftp is not asked",
    "{pid}\tC:\\papers\\a.pdf": "a file of one computer",
    "{pid}\tn/a": "an empty value written out",
}
GOOD = suites.amount(91, 291)


def served(site: SmallSite, number: int) -> str:
    """The URL of the paper *number*, at the host of its kind."""
    kind, path = number % len(HOSTS), f"/{number}"
    routes = site.routes
    if kind == 0:
        routes[path] = as_pdf(pdf(str(number)))
    elif kind < 4:
        ways = (reply(page("", meta(f"{path}.pdf"))), reply(page(link_to(f"{path}.pdf"))))
        routes[path] = (*ways, redirect(f"{path}.pdf"))[kind - 1]
        routes[f"{path}.pdf"] = as_pdf(pdf(str(number)))
    return site.at(HOSTS[kind]) + path


def test_a_first_evening(programs: Path, tmp_path: Path) -> None:
    evening(programs, tmp_path)


@pytest.mark.rare("a wheel and its environment, which test_entry uses, too")
def test_a_first_evening_with_a_wheel(bin_: Path, tmp_path: Path) -> None:  # noqa: F811
    evening(bin_, tmp_path)


def evening(bin_: Path, tmp_path: Path) -> None:  # noqa: F811
    with SmallSite(HOSTS, 0) as site:
        lines = [f"RePEc:abc:wpaper:{n}\t{served(site, n)}" for n in range(GOOD)]
        for n, mistake in enumerate(MISTAKES, GOOD):
            lines.insert(
                n // 2, mistake.format(pid=f"RePEc:abc:wpaper:{n}", url=f"https://x.example/{n}")
            )
        (tmp_path / "list.tsv").write_text("\n".join(lines) + "\n")
        checked = called([bin_ / "lafka", "check-list", "list.tsv"], tmp_path)
        told = checked.stdout.decode()
        assert checked.returncode == 1
        assert told.startswith(f"{len(lines)} lines, {GOOD} can be asked for, 9 cannot")
        assert [guess for guess in MISTAKES.values() if guess not in told] == []
        crawl = [bin_ / "lafka", "crawl", "futli", "-a", "input=list.tsv", *QUICK]
        done = called(crawl, tmp_path)
    log = done.stderr.decode()
    assert done.returncode == 0, log
    end = log[log.rindex("lines") - 3000 :]
    assert LOCKED in end, end  # the host with most failures, and why
    assert "not-found" in end, end
    given = called([bin_ / "lafka", "fut", "--all", "--into", "pdfs"], tmp_path)
    assert given.returncode == 0, given.stderr
    had = {path.name: path.read_bytes() for path in (tmp_path / "pdfs").iterdir()}
    wanted = {n for n in range(GOOD) if n % len(HOSTS) != 4}
    assert had == {f"RePEc_abc_wpaper_{n}.pdf": pdf(str(n)) for n in wanted}
