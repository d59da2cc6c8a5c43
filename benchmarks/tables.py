"""Results as Markdown, and the place where they are kept."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("Scrapy", "Twisted", "warcio")


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], *notes: str) -> str:
    """A table, the first column to the left and the others to the right, and sentences below."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join([table, *notes])


def machine() -> str:
    """What the figures were measured on, and when."""
    found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    cpu = found[1] if found else platform.machine()
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores of {cpu}, "
        f"Linux {platform.release().partition('-')[0]}, "
        f"Python {platform.python_version()}, {packages}"
    )


def write(name: str, table: str, path: Path) -> None:
    """Replace what stands between ``<!-- name -->`` and ``<!-- /name -->`` in *path*."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, _, rest = path.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{path}: no {begin} and {end}")
    path.write_text(f"{before}{begin}\n{table}\n\n{machine()}.\n{end}{after}")
