"""Hooks of the site (mkdocs.yml): the order of the pages, and links that lead out of docs/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
SOURCE = "https://github.com/lafka-archive/lafka/blob/main/"
LOOK_UP = (
    "reference", "formats", "index-tables", "archec", "archec-damage", "filesets", "warc", "web",
    "problems", "redif", "glossary",
)  # fmt: skip
UNDERSTAND = (
    "architecture", "reliability", "many-machines", "security", "finding", "benchmarks",
    "warc-compared",
)  # fmt: skip


def on_config(config: Any) -> Any:
    """Give the pages their order: what is new in how-to/ and adr/ is found."""
    config.nav = [
        {"Lafka": "README.md"},
        {"Tutorial": "tutorial.md"},
        {"How to": _pages("how-to")},
        {"Look up": [f"{name}.md" for name in LOOK_UP]},
        {"Python": "site/api.md"},
        {"Understand": [*(f"{name}.md" for name in UNDERSTAND), "gallery/README.md"]},
        {"Decisions": _pages("adr")},
    ]
    return config


def _pages(folder: str) -> list[str]:
    return [f"{folder}/{page.name}" for page in sorted((DOCS / folder).glob("*.md"))]


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to files of the project beside docs/, and to folders, to its repository."""
    folder = (DOCS / page.file.src_uri).parent

    def led(link: re.Match[str]) -> str:
        target = (folder / link[1]).resolve()
        if target.is_dir() or (target.exists() and not target.is_relative_to(DOCS)):
            return f"]({SOURCE}{target.relative_to(DOCS.parent).as_posix()}"
        return link[0]

    return re.sub(r"\]\(([^)#:\s]+)", led, markdown)
