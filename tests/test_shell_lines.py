"""The shell lines of the README and of how-tos do what they say, beside a small archive."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests import starts
from tests.sites.made_pdfs import Leaf, Text, made
from tests.sites.papers import MAIN, OTHER, SmallSite, as_pdf
from tests.starts import ROOT, Shell
from tests.waiting import LIMIT

PAGES = [
    "README.md", "docs/how-to/mine-texts.md", "docs/how-to/replay-with-pywb.md",
    "docs/how-to/read-the-outcomes.md", "docs/how-to/when-the-list-is-wrong.md",
    "docs/how-to/first-crawl.md",
]  # fmt: skip
ELSEWHERE = {
    r"pip install": "it asks a registry of packages; tests/cli/test_first_evening.py",
    r"make ": "it makes an environment and runs all tests; tests/cli/test_entry.py",
    r"lafka warc (search --url|arc2warc)": "files that are somebody's; tests/test_warc_commands.py",
    r"lafka serve$": "it serves until it is stopped; tests/test_shell_lines.py",
}
"""Lines that no test of this file runs: how they begin, and why; what else runs them."""
MAY_FAIL = {"lafka check-list list.tsv": 1, "lafka check-list list.tsv --fix -o good.tsv": 1}
"""The list has a line that is wrong."""


def blocks(page: str, kind: str) -> list[str]:
    text = (ROOT / page).read_text("utf-8")
    return re.findall(rf"(?ms)^ *```{kind}\n(.*?)^ *```", text)


def all_lines(page: str) -> list[str]:
    found = [line.strip() for block in blocks(page, "sh") for line in block.splitlines()]
    return [line for line in found if line]


def lines(page: str) -> list[str]:
    return [line for line in all_lines(page) if not any(re.match(rule, line) for rule in ELSEWHERE)]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, programs: Path) -> Iterator[Shell]:
    """In a folder with the list of the README, the hosts of which are ours, and its archive."""
    shell = Shell(tmp_path_factory.mktemp("librarian"), (programs,))
    with SmallSite((MAIN, OTHER), 0) as site:
        listed = ""
        for number, host in enumerate(site.hosts, 1):
            site.routes[f"/papers/{number}.pdf"] = as_pdf(
                made([Leaf(lines=(Text(said=f"Glaciers {number}"),))])
            )
            listed += f"RePEc:abc:wpaper:{number}\t{site.at(host)}/papers/{number}.pdf\n"
        (shell.folder / "list.tsv").write_text(f"{listed}RePEc:abc:wpaper:3\tno URL\n")
        rows = (";".join((pid, "Имя", url)) for pid, url in map(str.split, listed.splitlines()))
        text = "\n".join(("Key;Имя;Link", *rows))
        (shell.folder / "list.csv").write_text(text, "cp1251")
        done = shell("lafka crawl futli -a input=list.tsv")
        assert done.returncode == 0, done.stderr
        yield shell


@pytest.mark.parametrize("page", PAGES)
def test_the_shell_lines_do_what_they_say_one_after_the_other(page: str, shell: Shell) -> None:
    for line in lines(page):
        done = shell(line)
        assert done.returncode == MAY_FAIL.get(line, 0), f"{line}\n{done.stderr}"
        assert "Traceback" not in done.stderr, line


def test_each_exception_is_of_a_line_that_is_there() -> None:
    found = [line for page in PAGES for line in all_lines(page)]
    assert [rule for rule in ELSEWHERE if not any(re.match(rule, line) for line in found)] == []


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/mine-texts.md"])
def test_the_python_lines_do_what_they_say(page: str, shell: Shell) -> None:
    for code in blocks(page, "python"):
        done = shell(f"{starts.python()} -c '{code}'")
        assert done.returncode == 0, done.stderr
        assert "RePEc:abc:wpaper:1" in done.stdout or "fut" not in code


def test_the_pages_are_served_until_they_are_stopped(shell: Shell) -> None:
    """As the README has it; another program may have its port, which is told."""
    assert "lafka serve" in all_lines("README.md")
    serving = starts.Popen(
        [starts.python(), "-m", "lafka", "serve"], cwd=shell.folder, env=shell.environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with serving:
        assert serving.stdout is not None
        address = serving.stdout.readline().strip()
        page = b""
        if address:
            with urlopen(f"{address}/search?q=wpaper", timeout=LIMIT) as answer:
                page = answer.read()
            serving.send_signal(signal.SIGINT)
        _, told = serving.communicate(timeout=LIMIT)
    assert b"RePEc:abc:wpaper:1" in page or not address
    assert "Traceback" not in told
    assert address or "port 8000 cannot be had" in told or "port 8001 cannot be had" in told


def test_a_held_lock_is_told_from_a_full_disk(tmp_path: Path) -> None:
    shell = Shell(tmp_path, ())
    (line,) = re.findall(
        r"flock [^|]*?lafka-list", (ROOT / "docs/how-to/nightly-list.md").read_text()
    )
    lock = line.replace("/var/lock/lafka-list", "lock")
    assert shell(f"{lock} {lock} true").returncode == 75
    assert shell(f"{lock} sh -c 'exit 1'").returncode == 1
