"""The table of Lafka's commands: what each is called, where it is, what it is for.

A command's module is imported when the command is asked for, so that it names at its top all that
it needs, and whoever reads a fut waits for no other command's imports. ``lafka.cli.commands`` shows
the same table to Scrapy.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scrapy.commands import ScrapyCommand


class Verb(NamedTuple):
    """A line of the table: the module below ``lafka.cli``, one line on what it is for, examples."""

    module: str
    short_desc: str
    examples: tuple[str, str]
    """Lines for a shell, of which the first is the simplest."""


VERBS = {
    "archec": Verb(
        "archec",
        "Look at, check, mend and take over an obi store",
        ("lafka archec report", "lafka archec check --quick"),
    ),
    "bench": Verb(
        "scrapys", "Run quick benchmark test", ("lafka bench", "lafka bench -s LOG_LEVEL=WARNING")
    ),
    "check-list": Verb(
        "lists",
        "Say what is wrong with a list and what probably is meant; nothing is asked",
        ("lafka check-list list.tsv", "lafka check-list list.tsv --fix -o good.tsv"),
    ),
    "completion": Verb(
        "completion",
        "Print the completion of lafka for a shell, or its man page",
        ("lafka completion zsh > _lafka", "lafka completion man > lafka.1"),
    ),
    "crawl": Verb(
        "crawl",
        "Run a spider of the current project, by name",
        (
            "lafka crawl futli -a input=list.tsv",
            "lafka crawl futli -a input=list.tsv -a refresh=180d -s LAFKA_LINKS=first",
        ),
    ),
    "demo": Verb(
        "demo",
        "Serve a small site on loopback, archive its papers, show what came of it",
        ("lafka demo", "lafka demo --filesets"),
    ),
    "docs": Verb(
        "docs",
        "Print a page of the documentation by its name, or list the pages",
        ("lafka docs", "lafka docs reference"),
    ),
    "fetch": Verb(
        "scrapys",
        "Fetch a URL using the Scrapy downloader",
        (
            "lafka fetch --nolog https://example.org/paper.html",
            "lafka fetch --nolog --headers https://example.org/paper.html",
        ),
    ),
    "fileset": Verb(
        "datasets",
        "Archive one dataset, file by file; or read what is held of one",
        ("lafka fileset https://doi.org/10.5281/zenodo.3463499 --dry-run", "lafka fileset --list"),
    ),
    "finders": Verb(
        "scrapys",
        "Print the candidates of a page, URL or FILE --url URL, as JSON lines, best first",
        (
            "lafka finders page.html --url https://example.org/paper",
            "lafka finders --from-archive --by host",
        ),
    ),
    "fleet": Verb(
        "fleet",
        "Put a list on Kafka for a fleet of crawls, and tell how far they are",
        (
            "lafka fleet status kafka://localhost/crawl",
            "lafka fleet put list.tsv kafka://localhost/crawl --copies 1",
        ),
    ),
    "fut": Verb(
        "fut",
        "Write the full text of a paper to stdout or a file; of many into a folder",
        ("lafka fut RePEc:abc:wpaper:1 -o paper.pdf", "lafka fut --all --into papers"),
    ),
    "futlis": Verb(
        "obi",
        "Print the futlis of RePEc data, or of an obi store, as a list for a crawl",
        ("lafka futlis RePEc -o list.tsv", "lafka futlis --from-store --archive nbr -o nbr.tsv"),
    ),
    "futs": Verb(
        "tables",
        "List the futs of the archive, or of papers: JSON lines, CSV, Parquet, SQLite",
        ("lafka futs RePEc:abc:wpaper:1", "lafka futs --archive abc --csv -o futs.csv"),
    ),
    "gateway": Verb(
        "serving",
        "Serve legacy papers, a list with files, for lafka crawl futli -a legacy=URL",
        (
            "lafka gateway legacy.tsv --root srv/papers",
            "lafka gateway legacy.tsv --root srv/papers --port 8800",
        ),
    ),
    "index": Verb(
        "index",
        "Bring the index up to date: what the archive holds and what came of its links",
        ("lafka index", "lafka index --check"),
    ),
    "merge": Verb(
        "merge",
        "Take the papers, feeds and reports of other archives into this one",
        ("lafka merge part-1 --dry-run", "lafka merge part-1 part-2 --jobs 2"),
    ),
    "obi": Verb(
        "obi",
        "Write a template or file of the obi store to stdout, or tell its history",
        ("lafka obi RePEc:nbr:nberwo:0001", "lafka obi RePEc:nbr:nberwo:0001 --versions"),
    ),
    "outcomes": Verb(
        "tables",
        "List how each line of all runs ended at last, with its futs",
        (
            "lafka outcomes --group 'not there' --csv -o lost.csv",
            "lafka outcomes --outcome login",
        ),
    ),
    "parse": Verb(
        "scrapys",
        "Fetch a page and show what a crawl would find on it, by Scrapy's parse",
        (
            "lafka parse https://example.org/paper.html",
            "lafka parse --nolog --noitems https://example.org/paper.html",
        ),
    ),
    "persist": Verb(
        "datasets",
        "Write results of filesets into SQLite or PostgreSQL; the last of a key stays",
        (
            "lafka persist results.jsonl --db results.sqlite --create",
            "lafka persist --db results.sqlite --create",
        ),
    ),
    "plan": Verb(
        "plan",
        "Tell how long a list takes with one worker and several; nobody is asked",
        ("lafka plan list.tsv", "lafka plan list.tsv --rate 1/s --workers 1,4,16"),
    ),
    "rebuild": Verb(
        "mending",
        "Make suwafs again from their WARCs, all or those of some papers",
        ("lafka rebuild RePEc:abc:wpaper:1", "lafka rebuild"),
    ),
    "recover": Verb(
        "mending",
        "Copy into paper WARCs what killed runs left in raw/",
        ("lafka recover", "lafka recover -s LAFKA_ARCHIVE=archive"),
    ),
    "repair": Verb(
        "mending",
        "Bring back what can be: one JSON line a deed, exit 1 if something is left",
        ("lafka repair --dry-run", "lafka repair RePEc:abc:wpaper:1"),
    ),
    "report": Verb(
        "reports",
        "Tell what the archive holds, what was lost, and whose links rot",
        ("lafka report -o report.html", "lafka report --by host"),
    ),
    "runs": Verb(
        "reports",
        "List the runs of the archive: finished, killed, running, or why they were stopped",
        ("lafka runs", "lafka runs --json > runs.jsonl"),
    ),
    "serve": Verb(
        "serving",
        "Serve pages over the archive: find a paper, read it, see its trail",
        ("lafka serve", "lafka serve --port 8000 --no-index"),
    ),
    "settings": Verb(
        "scrapys",
        "Show each setting of Lafka and where it came from; --get NAME: Scrapy's too",
        ("lafka settings", "lafka settings --get LAFKA_ARCHIVE"),
    ),
    "shell": Verb(
        "scrapys",
        "Interactive scraping console",
        (
            "lafka shell https://example.org/paper.html",
            "lafka shell --nolog -c 'settings[\"USER_AGENT\"]'",
        ),
    ),
    "suwaf": Verb(
        "fut",
        "Print the suwaf of a paper, and on stderr the WARC that it tells of",
        ("lafka suwaf RePEc:abc:wpaper:1", "lafka suwaf RePEc:abc:wpaper:1 > suwaf.json"),
    ),
    "text": Verb(
        "tables",
        "Read the texts of futs: a file each, JSON lines, CSV, Parquet, SQLite to search",
        ("lafka text --all --into texts", "lafka text RePEc:abc:wpaper:1 --jsonl"),
    ),
    "tobi": Verb(
        "tobi",
        "Take the templates of RePEc data into the obi store",
        ("lafka tobi -f 2012-11-07.tar.gz --at name", "lafka tobi RePEc --dry-run"),
    ),
    "topics": Verb(
        "datasets",
        "Make the Kafka topics of ingest, or tell how they differ: a line each",
        (
            "lafka topics kafka://localhost --check",
            "lafka topics kafka://localhost --create --copies 3",
        ),
    ),
    "verify": Verb(
        "checking",
        "Check papers and filesets: one JSON line a problem, exit 1 if any is an error",
        ("lafka verify", "lafka verify RePEc:abc:wpaper:1 --quick"),
    ),
    "wacz": Verb(
        "merge",
        "Pack papers into a WACZ file, with an index and a page for each fut and splap",
        ("lafka wacz RePEc:abc:wpaper:1 -o paper.wacz", "lafka wacz --archive abc -o abc.wacz"),
    ),
    "warc": Verb(
        "warc",
        "List, read, search, check, mend and convert WARC, ARC and like files",
        ("lafka warc ls archive/warc/RePEc/abc/wpaper/1.warc", "lafka warc check archive/warc"),
    ),
}
"""Lafka's commands by name. The class of ``check-list`` is ``CheckListCommand``, and so on."""


EXAMPLES = "Examples:"
"""What stands above the examples of a help."""


def told(examples: Iterable[str]) -> str:
    """Return the end of a help, *examples* below a heading."""
    return "\n".join((EXAMPLES, *(f"  {line}" for line in examples)))


class DescribedCommand:
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
