"""``lafka docs``: the pages of the documentation, which come with Lafka."""

from __future__ import annotations

import sys
import sysconfig
from argparse import Namespace
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from lafka.cli.base import ArchiveCommand
from lafka.errors import BadArgument
from lafka.runs.sources import meant

WEB = "https://github.com/lafka-archive/lafka/tree/main/docs"


class DocsCommand(ArchiveCommand):
    most_args = 1
    usage = "[TOPIC]"

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        found = pages()
        if not found:
            raise BadArgument(f"no pages came with this Lafka; they are at {WEB}")
        if not args:
            for topic, page in found.items():
                print(f"{topic:<36} {title_of(page)}")
            return
        topic = args[0].removesuffix(".md").rpartition("/")[2]
        if topic not in found:
            guess = meant(topic, found, most=3)
            raise BadArgument(f"no page is called {topic!r}{guess}; lafka docs lists them")
        sys.stdout.write(found[topic].read_text("utf-8"))


def pages() -> dict[str, Path]:
    """Return the pages by name: those of the checkout, else those that were installed."""
    for folder in _folders():
        listed = chain(sorted(folder.glob("*.md")), sorted(folder.glob("how-to/*.md")))
        if found := {page.stem: page for page in listed if page.stem != "README"}:
            return found
    return {}


def _folders() -> Iterator[Path]:
    yield Path(__file__).parents[2] / "docs"
    for scheme in (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")):
        yield Path(sysconfig.get_path("data", scheme), "share/doc/lafka")


def title_of(page: Path) -> str:
    """Return the first line of *page* without its mark."""
    with page.open(encoding="utf-8") as lines:
        return next(lines, "").strip("# \n")
