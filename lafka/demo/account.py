"""What came of the example, told in lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from lafka.cli import program
from lafka.papers.archive.archives import Archive


def account(archive: Archive, listed: Path, pid: str) -> Iterator[str]:
    """How each line of the list *listed* ended, the tree, and how the fut of *pid* is read."""
    yield f"The list, {listed}, and how each line ended:\n"
    yield from _outcomes(archive.root)
    yield f"\nThe archive, {archive.root}:\n"
    yield from _tree(archive.root)
    yield f"\nThe suwaf of {pid}:\n"
    yield archive.suwaf_path(archive.pid(pid)).read_text("utf-8")
    yield from _reading(archive, pid)


def _outcomes(root: Path) -> Iterator[str]:
    for feed in sorted((root / "runs").glob("*.jsonl")):
        for line in feed.read_text("utf-8").splitlines():
            item = json.loads(line)
            yield f"  {item['outcome']:<12} {item['pid']:<28} {item['futli']}"


def _tree(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*")):
        if path.is_file():
            yield f"  {path.stat().st_size:>7}  {path.relative_to(root)}"


def _reading(archive: Archive, pid: str) -> Iterator[str]:
    fut = archive.fut(pid)
    yield "A fut is read by one seek and one read, in any language:\n"
    yield f"  with open({str(fut.warc)!r}, 'rb') as warc:"
    yield f"      warc.seek({fut.start})"
    yield f"      pdf = warc.read({fut.length})\n"
    yield f"which gives {fut.read()[:8]!r} and {fut.length - 8} bytes more; or by"
    yield f"\n  {program()} fut {pid} -s LAFKA_ARCHIVE={archive.root} -o paper.pdf"
