"""``lafka demo``: the whole road on an example, offline, and the account of what came of it."""

from __future__ import annotations

import json
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scrapy.commands import ScrapyCommand

from lafka.cli.base import attempt, check_args, settle
from lafka.cli.demo.platforms import serving_platforms
from lafka.cli.demo.repec import Example, ExampleFailed
from lafka.cli.demo.site import list_of, serving
from lafka.cli.verbs import DescribedCommand
from lafka.errors import BadArgument
from lafka.filesets.archive.filesets import Filesets
from lafka.papers.archive.archives import Archive
from lafka.runs.terminals import program

PID = "RePEc:dem:wpaper:tagged"
SETTINGS = {
    "LAFKA_ALLOWED_NETWORKS": ["127.0.0.0/8"],
    "LAFKA_CONTACT": "demo@example.org",
    "AUTOTHROTTLE_ENABLED": False,
}


class DemoCommand(DescribedCommand, ScrapyCommand):
    requires_project = True

    def syntax(self) -> str:
        return "[--archec|--filesets]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--archec", action="store_true", help="RePEc data through three runs, and their store")
        add("--filesets", action="store_true", help="datasets of each platform")

    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if opts.loglevel is None:  # what is shown in the end matters here, not Scrapy's log
            self.settings.set("LOG_LEVEL", "ERROR", priority="cmdline")

    def run(self, args: list[str], opts: Namespace) -> None:
        act = self._archec if opts.archec else self._filesets if opts.filesets else self._papers
        self.exitcode = attempt("demo", lambda: act(args))

    def _papers(self, args: list[str]) -> None:
        folder = self._new_folder(args)
        listed, root = folder / "list.tsv", folder / "archive"
        with serving() as base:
            listed.write_text(list_of(base), "utf-8")
            self._crawl("futli", listed, {"LAFKA_ARCHIVE": str(root)})
        print(*account(Archive(root), listed, PID), sep="\n")

    def _archec(self, args: list[str]) -> None:
        try:
            for line in Example(folder=self._new_folder(args)).steps():
                print(line, flush=True)
        except ExampleFailed as error:
            raise BadArgument(str(error)) from None

    def _filesets(self, args: list[str]) -> None:
        folder = self._new_folder(args)
        listed, root = folder / "requests.jsonl", folder / "archive"
        with serving_platforms() as (urls, bases):
            listed.write_text("".join(f"{url}\n" for url in urls), "utf-8")
            more = {"LAFKA_ARCHIVE": str(root), "LAFKA_PLATFORM_BASES": bases}
            self._crawl("fileset", listed, more)
        print(*account_of_filesets(Filesets(root), listed), sep="\n")

    def _new_folder(self, args: list[str]) -> Path:
        """Return a new folder for the example."""
        check_args(args, 0)
        settle(self.settings, "demo")
        return Path(tempfile.mkdtemp(prefix="lafka-demo-"))

    def _crawl(self, spider: str, listed: Path, settings: Mapping[str, Any]) -> None:
        assert self.crawler_process is not None
        self.crawler_process.settings.setdict({**SETTINGS, **settings}, priority="cmdline")
        self.crawler_process.crawl(spider, input=str(listed))
        self.crawler_process.start()


def account(archive: Archive, listed: Path, pid: str) -> Iterator[str]:
    """Yield how each line of the list *listed* ended, the tree, how the fut of *pid* is read, and
    how to look at all of it in a browser.
    """
    yield f"The list, {listed}, and how each line ended:\n"
    yield from _outcomes(archive.root)
    yield f"\nThe archive, {archive.root}:\n"
    yield from _tree(archive.root)
    yield f"\nThe suwaf of {pid}:\n"
    yield archive.suwaf_path(archive.pid(pid)).read_text("utf-8")
    yield from _reading(archive, pid)
    yield from _looking(archive.root)


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


def _looking(root: Path) -> Iterator[str]:
    yield "\nIts web pages, http://127.0.0.1:8000, where papers are found and read:\n"
    yield f"  {program()} serve -s LAFKA_ARCHIVE={root}"
    yield "\nand what it holds, what was lost and whose links rot, as a page that prints:\n"
    yield f"  {program()} report -s LAFKA_ARCHIVE={root} -o report.html"


def account_of_filesets(filesets: Filesets, listed: Path) -> Iterator[str]:
    """Yield what came of each request of *listed*, the tree, and how a file is read."""
    yield f"The requests, {listed}, and what came of each:\n"
    results = [
        json.loads(line)
        for feed in sorted((filesets.root / "runs").glob("*.jsonl"))
        for line in feed.read_text("utf-8").splitlines()
    ]
    for result in results:
        told = f"{result['status']:<16} {result.get('ingest_strategy', ''):<18}"
        yield f"  {told} {result['request']['base_url']}"
    yield f"\nThe archive, {filesets.root}:\n"
    yield from _tree(filesets.root)
    zenodo = next(r for r in results if r.get("platform_name") == "zenodo")
    yield from _reading_file(filesets, zenodo["lafka"]["fileset"], "data/table.csv")


def _reading_file(filesets: Filesets, fileset: str, path: str) -> Iterator[str]:
    stored = filesets.file(fileset, path)
    entry = stored.entry
    yield f"\n{path} of {fileset} is read by one seek and one read, in any language:\n"
    yield f"  with open({str(stored.place)!r}, 'rb') as warc:"
    yield f"      warc.seek({entry.s})"
    yield f"      table = warc.read({entry.l})\n"
    first = b"".join(stored.pieces())[:10]
    yield f"which gives {first!r} and {entry.l - 10} bytes more; or by"
    yield f"\n  {program()} fileset --get {fileset} {path} -s LAFKA_ARCHIVE={filesets.root}"
