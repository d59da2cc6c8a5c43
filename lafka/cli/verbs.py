"""The table of Lafka's commands: what each is called, where it is, what it is for.

A command's module is imported when the command is asked for, so that it names at its top all that
it needs, and whoever reads a fut waits for no other command's imports. ``lafka.cli.commands`` shows
the same table to Scrapy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scrapy.commands import ScrapyCommand


class Verb(NamedTuple):
    """A line of the table: the module below ``lafka.cli``, and one line on what it is for."""

    module: str
    short_desc: str


VERBS = {
    "archec": Verb("archec", "Look at, check, mend and take over an obi store"),
    "bench": Verb("scrapys", "Run quick benchmark test"),
    "check-list": Verb(
        "lists", "Say what is wrong with a list and what probably is meant; nothing is asked"
    ),
    "completion": Verb("completion", "Print the completion of lafka for a shell, or its man page"),
    "crawl": Verb("crawl", "Run a spider of the current project, by name"),
    "demo": Verb(
        "demo", "Serve a small site on loopback, archive its papers, show what came of it"
    ),
    "docs": Verb("docs", "Print a page of the documentation by its name, or list the pages"),
    "fetch": Verb("scrapys", "Fetch a URL using the Scrapy downloader"),
    "fileset": Verb("datasets", "Archive one dataset, file by file; or read what is held of one"),
    "finders": Verb(
        "finders",
        "Print the candidates of a page, URL or FILE --url URL, as JSON lines, best first",
    ),
    "fut": Verb("fut", "Write the full text of a paper to stdout or a file; of many into a folder"),
    "futlis": Verb(
        "futlis", "Print the futlis of RePEc data, or of an obi store, as a list for a crawl"
    ),
    "futs": Verb(
        "tables", "List the futs of the archive, or of papers: JSON lines, CSV, Parquet, SQLite"
    ),
    "gateway": Verb(
        "serving", "Serve legacy papers, a list with files, for lafka crawl futli -a legacy=URL"
    ),
    "index": Verb(
        "index", "Bring the index up to date: what the archive holds and what came of its links"
    ),
    "merge": Verb("merge", "Take the papers, feeds and reports of other archives into this one"),
    "obi": Verb("obi", "Write a template or file of the obi store to stdout, or tell its history"),
    "outcomes": Verb("tables", "List how each line of all runs ended at last, with its futs"),
    "parse": Verb(
        "scrapys", "Fetch a page and show what a crawl would find on it, by Scrapy's parse"
    ),
    "persist": Verb(
        "datasets", "Write results of filesets into SQLite or PostgreSQL; the last of a key stays"
    ),
    "plan": Verb("plan", "Tell how long a list takes with one worker and several; nobody is asked"),
    "rebuild": Verb("mending", "Make suwafs again from their WARCs, all or those of some papers"),
    "recover": Verb("mending", "Copy into paper WARCs what killed runs left in raw/"),
    "repair": Verb(
        "mending", "Bring back what can be: one JSON line a deed, exit 1 if something is left"
    ),
    "report": Verb("reports", "Tell what the archive holds, what was lost, and whose links rot"),
    "runs": Verb(
        "reports",
        "List the runs of the archive: finished, killed, running, or why they were stopped",
    ),
    "serve": Verb("serving", "Serve pages over the archive: find a paper, read it, see its trail"),
    "settings": Verb(
        "scrapys", "Show each setting of Lafka and where it came from; --get NAME: Scrapy's too"
    ),
    "shell": Verb("scrapys", "Interactive scraping console"),
    "suwaf": Verb("fut", "Print the suwaf of a paper, and on stderr the WARC that it tells of"),
    "text": Verb(
        "tables", "Read the texts of futs: a file each, JSON lines, CSV, Parquet, SQLite to search"
    ),
    "tobi": Verb("obi", "Take the templates of RePEc data into the obi store"),
    "topics": Verb(
        "datasets", "Make the Kafka topics of ingest, or tell how they differ: a line each"
    ),
    "verify": Verb(
        "checking", "Check papers and filesets: one JSON line a problem, exit 1 if any is an error"
    ),
    "wacz": Verb(
        "wacz", "Pack papers into a WACZ file, with an index and a page for each fut and splap"
    ),
    "warc": Verb("warc", "List, read, search, check, mend and convert WARC, ARC and like files"),
}
"""Lafka's commands by name. The class of ``check-list`` is ``CheckListCommand``, and so on."""


class Described:
    """A command that is described by its line of the table."""

    verb: str

    def short_desc(self) -> str:
        return VERBS[self.verb].short_desc


def made(name: str) -> ScrapyCommand:
    """Make the command called *name*; ``KeyError`` where there is none."""
    module = import_module(f"lafka.cli.{VERBS[name].module}")
    command: ScrapyCommand = getattr(module, f"{name.title().replace('-', '')}Command")()
    command.verb = name  # type: ignore[attr-defined]
    return command
