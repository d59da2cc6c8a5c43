"""Writes the pictures of docs/web.md: pages of a demo archive in a real Chromium.

    python docs/gallery/pages.py

The archive is crawled from the demo's site, twice, so that a paper has versions over time; nothing
leaves loopback. Needs Chromium, Playwright, and the extras ``web`` and ``report``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from lafka.cli.demo.site import list_of, serving  # noqa: E402  after the path
from tests.services.chromiums import browsing  # noqa: E402

PAPER = "/papers/RePEc%3Adem%3Awpaper%3Atagged"
SIZES = {"": {"width": 1280, "height": 900}, "-phone": {"width": 390, "height": 844}}
PATHS = {"home": "/", "search": "/search?q=dem", "paper": PAPER}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lafka-gallery-") as made:
        folder = Path(made)
        with serving() as site:
            (folder / "list.tsv").write_text(list_of(site), "utf-8")
            for _ in range(2):
                _lafka(folder, "crawl", "futli", "-a", "input=list.tsv", "-a", "refresh=0d")
        _lafka(folder, "report", "-o", "report.html")
        with _pages(folder) as address, browsing() as browser:
            for suffix, size in SIZES.items():
                page = browser.new_page(viewport=size)
                for name, path in PATHS.items():
                    page.goto(address + path)
                    page.wait_for_timeout(2000)  # until the viewer of PDFs has drawn
                    page.screenshot(path=HERE / f"{name}{suffix}.png")
                page.close()
            page = browser.new_page(viewport=SIZES[""])
            page.goto(f"{(folder / 'report.html').as_uri()}#outcomes")
            page.screenshot(path=HERE / "report.png")


def _lafka(folder: Path, *args: str) -> None:
    subprocess.run(  # noqa: S603
        [sys.executable, "-m", "lafka", *args], cwd=folder, env=_env(), check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _env() -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": str(ROOT),
        "LAFKA_ALLOWED_NETWORKS": "127.0.0.0/8",
        "LAFKA_CONTACT": "you@example.org",
    }


@contextmanager
def _pages(folder: Path) -> Iterator[str]:
    """The address of our pages."""
    server = subprocess.Popen(
        [sys.executable, "-m", "lafka", "serve", "--port", "0", "--replay-port", "0"],
        cwd=folder, env=_env(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.communicate()


if __name__ == "__main__":
    main()
