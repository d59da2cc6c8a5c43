"""The shell lines of the README and of how-tos do what they say, beside a small archive."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.sites.papers import MAIN, SmallSite, as_pdf
from tests.stores import pdf

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md", "docs/how-to/mine-texts.md", "docs/how-to/replay-with-pywb.md",
    "docs/how-to/read-the-outcomes.md", "docs/how-to/when-the-list-is-wrong.md",
    "docs/how-to/first-crawl.md",
]  # fmt: skip
ELSEWHERE = re.compile(r"pip install|make |lafka warc (search --url|arc2warc)|lafka serve$")
"""Lines that other tests run, or that need files which are somebody's."""
MAY_FAIL = {"lafka check-list list.tsv": 1}
"""The list has a line that is wrong."""


def blocks(page: str, kind: str) -> list[str]:
    text = (ROOT / page).read_text("utf-8")
    return re.findall(rf"(?ms)^ *```{kind}\n(.*?)^ *```", text)


def lines(page: str) -> list[str]:
    found = [line.strip() for block in blocks(page, "sh") for line in block.splitlines()]
    return [line for line in found if line and not ELSEWHERE.match(line)]


def shims(folder: Path) -> None:
    """``lafka`` and ``scrapy`` in *folder*, for :func:`sh`."""
    bin_ = folder / "bin"
    bin_.mkdir()
    for name in ("lafka", "scrapy"):
        (bin_ / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lafka "$@"\n')
        (bin_ / name).chmod(0o755)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the list of the README, the hosts of which are ours, and programs."""
    folder = tmp_path_factory.mktemp("librarian")
    shims(folder)
    with SmallSite((MAIN,), 0) as site:
        for number in (1, 2):
            site.routes[f"/papers/{number}.pdf"] = as_pdf(pdf(number))
        listed = "".join(
            f"RePEc:abc:wpaper:{number}\t{site.at(MAIN)}/papers/{number}.pdf\n" for number in (1, 2)
        )
        (folder / "list.tsv").write_text(f"{listed}RePEc:abc:wpaper:3\tno URL\n")
        done = sh("lafka crawl futli -a input=list.tsv", folder)
        assert done.returncode == 0, done.stderr
        yield folder


def sh(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "LAFKA_ALLOWED_NETWORKS": "127.0.0.0/8",
        "LAFKA_CONTACT": "you@example.org",
    }


@pytest.mark.parametrize(("page", "line"), [(page, line) for page in PAGES for line in lines(page)])
def test_a_shell_line_does_what_it_says(page: str, line: str, folder: Path) -> None:
    done = sh(line, folder)
    assert done.returncode == MAY_FAIL.get(line, 0), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/mine-texts.md"])
def test_the_python_lines_do_what_they_say(page: str, folder: Path) -> None:
    for code in blocks(page, "python"):
        done = sh(f"{sys.executable} -c '{code}'", folder)
        assert done.returncode == 0, done.stderr
        assert "RePEc:abc:wpaper:1" in done.stdout or "fut" not in code


def test_the_pages_are_served_until_they_are_stopped(folder: Path) -> None:
    """As the README has it; another program may have its port, which is told."""
    assert "lafka serve\n" in (ROOT / "README.md").read_text("utf-8")
    serving = subprocess.Popen(
        ["sh", "-c", "exec lafka serve"], cwd=folder, env=environment(folder),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with serving:
        assert serving.stdout is not None
        address = serving.stdout.readline().strip()
        if address:
            with urlopen(f"{address}/search?q=wpaper", timeout=60) as answer:
                assert b"RePEc:abc:wpaper:1" in answer.read()
            serving.send_signal(signal.SIGINT)
        _, told = serving.communicate(timeout=60)
    assert "Traceback" not in told
    assert address or "port 8000 cannot be had" in told or "port 8001 cannot be had" in told


def test_a_held_lock_is_told_from_a_full_disk(folder: Path) -> None:
    (line,) = re.findall(
        r"flock [^|]*?lafka-list", (ROOT / "docs/how-to/nightly-list.md").read_text()
    )
    lock = line.replace("/var/lock/lafka-list", "lock")
    assert sh(f"{lock} {lock} true", folder).returncode == 75
    assert sh(f"{lock} sh -c 'exit 1'", folder).returncode == 1
