"""``scrapy demo``: the whole road on an example, offline."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

from lafka.archives import Archive
from lafka.demo.site import list_of, serving

if TYPE_CHECKING:
    from argparse import Namespace

PID = "RePEc:dem:wpaper:tagged"
SETTINGS = {
    "LAFKA_ALLOWED_NETWORKS": ["127.0.0.0/8"],
    "LAFKA_CONTACT": "demo@example.org",
    "AUTOTHROTTLE_ENABLED": False,
}


class Command(ScrapyCommand):
    requires_project = True

    def short_desc(self) -> str:
        return "Serve a small site on loopback, archive its papers, show what came of it"

    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if opts.loglevel is None:  # what is shown in the end matters here, not Scrapy's log
            self.settings.set("LOG_LEVEL", "ERROR", priority="cmdline")

    def run(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        assert self.crawler_process is not None
        folder = Path(tempfile.mkdtemp(prefix="lafka-demo-"))
        root = folder / "archive"
        settings = self.crawler_process.settings
        settings.setdict({**SETTINGS, "LAFKA_ARCHIVE": str(root)}, priority="cmdline")
        with serving() as base:
            (folder / "list.tsv").write_text(list_of(base), "utf-8")
            self.crawler_process.crawl("futli", input=str(folder / "list.tsv"))
            self.crawler_process.start()
        print(f"The list, {folder / 'list.tsv'}, and how each line ended:\n")
        _show_outcomes(root)
        print(f"\nThe archive, {root}:\n")
        _show_tree(root)
        _show_fut(Archive(root))


def _show_outcomes(root: Path) -> None:
    for feed in sorted((root / "runs").glob("*.jsonl")):
        for line in feed.read_text("utf-8").splitlines():
            item = json.loads(line)
            print(f"  {item['outcome']:<12} {item['pid']:<28} {item['futli']}")


def _show_tree(root: Path) -> None:
    for path in sorted(root.rglob("*")):
        if path.is_file():
            print(f"  {path.stat().st_size:>7}  {path.relative_to(root)}")


def _show_fut(archive: Archive) -> None:
    fut = archive.fut(PID)
    print(f"\nThe suwaf of {PID}:\n\n{archive.suwaf_path(archive.pid(PID)).read_text('utf-8')}")
    print("A fut is read by one seek and one read, in any language:\n")
    print(f"  with open({str(fut.warc)!r}, 'rb') as warc:")
    print(f"      warc.seek({fut.start})")
    print(f"      pdf = warc.read({fut.length})\n")
    print(f"which gives {fut.read()[:8]!r} and {fut.length - 8} bytes more; or by")
    print(f"\n  scrapy fut {PID} -s LAFKA_ARCHIVE={archive.root} -o paper.pdf")
