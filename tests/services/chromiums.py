"""The system's Chromium, headless, driven by Playwright; without it tests skip, and say so."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.waiting import until

HOW = "apt install chromium brings one"


def install() -> None:
    """Bring Debian's, where that can be done: as root, with apt."""
    apt = shutil.which("apt-get")
    if program() is None and apt and os.getuid() == 0:
        env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for args in (
            ["update", "-q"],
            ["install", "-y", "--no-install-recommends", "chromium"],
        ):
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run([apt, *args], env=env, capture_output=True, check=False, timeout=240)


def program() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def browsing() -> Iterator[Any]:
    """A Playwright browser."""
    found = program()
    if found is None:
        told = f"no Chromium here: {HOW}"
        needed = os.environ.get("LAFKA_SERVICES") == "required"
        pytest.fail(told) if needed else pytest.skip(told)
    from playwright.sync_api import sync_playwright

    # As root it has no sandbox of its own; the old headless shell has no viewer of PDFs.
    args = ["--headless=new", *(["--no-sandbox"] if os.getuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=args)
        try:
            yield browser
        finally:
            browser.close()


def goto_styled(page: Any, url: str) -> None:
    """Go to a page of ours, until its style holds: without it widths and contrasts are others."""
    page.goto(url, wait_until="domcontentloaded")
    # Asked from here: without JavaScript no callback in the page would ask a second time.
    until(lambda: page.evaluate("() => !!document.querySelector('link[rel=stylesheet]').sheet"))
