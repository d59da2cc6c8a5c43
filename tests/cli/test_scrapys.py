"""Scrapy's own tools in Lafka's checkout, by ``scrapy`` and by ``lafka``, in their own process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lafka
from tests import starts
from tests.sites.papers import MAIN, SmallSite, link, page
from tests.sites.server import reply

ROOT = Path(__file__).parents[2]
BOTH = pytest.mark.parametrize("program", ["scrapy", "lafka"])


@pytest.fixture(scope="module")
def site() -> Iterator[SmallSite]:
    with SmallSite((MAIN,), 0) as site:
        site.routes["/page"] = reply(page(link("paper.pdf")))
        yield site


def called(program: str, *args: str, allowed: str = "127.0.0.0/8") -> list[str]:
    """What *program* prints."""
    return done(program, *args, allowed=allowed).stdout.splitlines()


def done(
    program: str, *args: str, allowed: str = "127.0.0.0/8"
) -> subprocess.CompletedProcess[str]:
    env = {name: text for name, text in os.environ.items() if not name.startswith("LAFKA_")}
    env |= {"LAFKA_ALLOWED_NETWORKS": allowed, "LAFKA_CONTACT": "you@example.org"}
    return starts.run(
        [sys.executable, "-m", program, *args], cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@BOTH
def test_fetch_asks_as_lafka_where_the_environment_allows(program: str, site: SmallSite) -> None:
    site.forget()
    found = called(program, "fetch", "--nolog", f"{site.at(MAIN)}/page")
    assert "paper.pdf" in "".join(found)
    asked = done(program, "fetch", "--nolog", "--headers", f"{site.at(MAIN)}/page").stdout
    assert f"> User-Agent: Lafka/{lafka.__version__} (+you@example.org)" in asked
    assert site.targets() == ["/page"] * 2


@BOTH
def test_fetch_asks_no_address_that_is_not_allowed(program: str, site: SmallSite) -> None:
    site.forget()
    url = f"{site.at(MAIN)}/page"
    told = done(program, "fetch", url, allowed="127.9.9.0/24")
    assert "paper.pdf" not in told.stdout
    assert site.targets() == []


@BOTH
def test_shell_has_the_response(program: str, site: SmallSite) -> None:
    code = "(response.status, response.css('a::attr(href)').get())"
    found = done(program, "shell", "--nolog", "-c", code, f"{site.at(MAIN)}/page")
    assert found.stdout.splitlines() == ["(200, 'paper.pdf')"], found.stderr


@BOTH
@pytest.mark.parametrize("spider", [(), ("--spider", "futli")], ids=["no spider", "futli"])
def test_parse_shows_what_a_crawl_would_find(
    program: str, spider: tuple[str, ...], site: SmallSite
) -> None:
    found = done(program, "parse", "--nocolour", *spider, f"{site.at(MAIN)}/page")
    assert found.returncode == 0, found.stderr
    assert f"{site.at(MAIN)}/paper.pdf" in found.stdout


@pytest.mark.parametrize("spider", ["fobi", "fileset"])
def test_parse_begins_no_spider_of_a_list(spider: str, site: SmallSite) -> None:
    found = done("lafka", "parse", "--spider", spider, f"{site.at(MAIN)}/page")
    sentence = f"lafka parse: the spider {spider} works on a list; leave --spider out"
    assert (found.returncode, found.stderr.splitlines()[-1]) == (2, sentence)


@pytest.mark.forms(count=1)
@BOTH
def test_bench_crawls_its_own_server(program: str) -> None:
    settings = ("-s", "CLOSESPIDER_PAGECOUNT=5", "-s", "CLOSESPIDER_TIMEOUT=600")
    found = done(program, "bench", *settings, allowed="")
    assert found.returncode == 0, found.stderr
    assert "'downloader/response_status_count/200'" in found.stderr


@BOTH
def test_the_user_agent_is_lafkas(program: str) -> None:
    told = f"Lafka/{lafka.__version__} (+you@example.org)"
    assert called(program, "settings", "--get", "USER_AGENT") == [told]
    own = called(program, "settings", "--get", "USER_AGENT", "-s", "USER_AGENT=mine")
    assert own == ["mine"]


def test_a_shell_reads_a_file_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "a page.html"
    path.write_text("<title>A page</title>")
    code = "response.css('title::text').get()"
    assert called("lafka", "shell", "--nolog", str(path), "-c", code) == ["A page"]


def test_a_shell_without_a_response_says_so_in_a_sentence(tmp_path: Path) -> None:
    refused = done("lafka", "shell", "--nolog", "http://127.0.0.1:9/", "-c", "response.url",
                   allowed="127.9.9.0/24")  # fmt: skip
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        "lafka shell: http://127.0.0.1:9/ gave no response; the log, without --nolog, says why\n"
    )
    missing = tmp_path / "missing.html"
    gone = done("lafka", "shell", "--nolog", str(missing), "-c", "response.url")
    assert (gone.returncode, gone.stderr.strip()) == (2, f"lafka shell: {missing} is no file")
