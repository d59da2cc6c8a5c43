"""``lafka check-list``: a list looked at without asking anybody, as a crawl does at its start."""

from __future__ import annotations

import csv
import io
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping

from scrapy.settings import BaseSettings
from scrapy.spiderloader import get_spider_loader

from lafka.cli.base import ArchiveCommand, settle, tell_archive
from lafka.errors import BadArgument, printable
from lafka.papers.crawling.arguments import HELPS, FutliArguments, scheme_of
from lafka.papers.lists.faults import FaultKind, ListAccount, sentence
from lafka.papers.lists.futlis import Line
from lafka.papers.lists.rows import FORMATS, bare
from lafka.runs.sources import meant
from lafka.runs.terminals import program
from lafka.runs.validation import metrics_address, misspelt, seconds
from lafka.storage.outputs import STDOUT, counted, ending_of, write_output

LIST_OPTIONS = ("delimiter", "encoding", "pid", "url")


class CheckListCommand(ArchiveCommand):
    most_args = 1
    usage = "FILE [--collection NAME] [--fix -o GOOD.tsv]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--collection", metavar="NAME", default="", help="of RePEc if not set")
        for name in LIST_OPTIONS:
            parser.add_argument(f"--{name}", metavar=name.upper(), default="", help=HELPS[name])
        parser.add_argument("--fix", action="store_true", help="write the mended list to -o FILE")
        parser.add_argument(
            "-o", "--output", metavar="FILE", help="of --fix: .csv, .jsonl, else tsv"
        )

    def act(self, args: list[str], opts: Namespace) -> None:
        if not args:
            raise BadArgument("say which list: its file is missing, - is standard input")
        if opts.fix != bool(opts.output):
            raise BadArgument("--fix goes with -o FILE, where the mended list is written")
        named = {name: getattr(opts, name) for name in LIST_OPTIONS}
        given = {"input": args[0], "collection": opts.collection, **named}
        self.exitcode = check_list(self.settings, given, opts.output)


MOST_HOSTS = 5


def check_crawl(settings: BaseSettings | None, args: list[str], given: dict[str, str]) -> None:
    """A LafkaError where a crawl cannot begin; with ``check=1`` ``SystemExit`` with its code."""
    settle(settings, "crawl")
    if not args or settings is None:
        return  # Scrapy shows its usage
    for told in misspelt(settings):
        print(f"{program()} crawl: warning: {told}", file=sys.stderr)
    loader = get_spider_loader(settings)
    try:
        spider = loader.load(args[0])
    except KeyError:
        there = loader.list()
        guess = meant(args[0], there)
        raise BadArgument(
            f"no spider is called {args[0]!r}{guess}; there is {', '.join(there)}"
        ) from None
    if _is_yes(given.pop("check", "0")):
        if not hasattr(spider, "check_lines"):
            raise SystemExit(check_list(settings, given))
        print(*spider.check_lines(settings, given), sep="\n", flush=True)
        raise SystemExit(0)
    if hasattr(spider, "check"):
        if settings.get("LAFKA_METRICS"):
            _check_metrics(settings)
        if url := settings.get("LAFKA_GATE"):
            from lafka.capture.gating import check_gate  # noqa: PLC0415

            check_gate(str(url), seconds(settings, "LAFKA_GATE_PATIENCE"))
        spider.check(settings, given)
        tell_archive(settings, getattr(spider, "store_setting", "LAFKA_ARCHIVE"))


def _check_metrics(settings: BaseSettings) -> None:
    address = metrics_address(settings)
    try:
        from lafka.runs.metrics import check_port  # noqa: PLC0415
    except ImportError:
        sentence = "LAFKA_METRICS needs prometheus-client: pip install 'lafka[metrics]'"
        raise BadArgument(sentence) from None
    check_port(*address)


def _is_yes(text: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if text.lower() not in known:
        raise BadArgument(f"check={text!r} is neither 1 nor 0")
    return known[text.lower()]


def check_list(settings: BaseSettings, given: Mapping[str, str], output: str | None = None) -> int:
    """Print what the list of the spider's arguments *given* holds; 0 sound, 1 it has faults.

    The mended list is written to *output*, where that is named; then 1 is for lines that are left
    out. ``BadArgument``, ``BadList`` where it cannot be read at all.
    """
    arguments = FutliArguments.parse(settings, given, looked_at=False)
    scheme = scheme_of(settings, arguments.collection)
    account = ListAccount(scheme=scheme)
    if output:
        mending = Mending(account, output)
        lines = arguments.lines(scheme, passed=mending.pass_over)
        write_output(output, mending.pieces(lines))
        left_out = mending.left_out > 0
    else:
        for line in arguments.lines(scheme):
            account.add(line)
        left_out = bool(account.kinds)
    # Where the list itself goes to standard output, what is said of it must not.
    told = sys.stderr if output == STDOUT else sys.stdout
    print(
        *_account_lines(account),
        *(mending.told() if output else ()),
        sep="\n",
        file=told,
        flush=True,
    )
    return 1 if left_out or account.all_bad else 0


class Mending:
    """A list mended line by line: what is sound, then what is mended beyond doubt, each once.

    It is JSON lines, CSV or tsv as *name* ends. A mended line has all that its line has, and
    comments stay where they stood; JSON lines have none.
    """

    def __init__(self, account: ListAccount, name: str) -> None:
        self._account = account
        self._by = FORMATS.get(ending_of(name), "\t") if name != STDOUT else "\t"
        self.left_out = 0
        self._mended: list[tuple[Line, tuple[str, str]]] = []
        self._names: tuple[str, ...] = ()
        self._lost: dict[str, FaultKind] = {}
        self._comments: list[bytes] = []
        self._header_at: int | None = None  # how many comments stand above the header

    def pass_over(self, data: bytes) -> None:
        """Take a comment or a header of the list, which come before the line that follows them."""
        if data.lstrip(b' "\t').startswith(b"#"):
            self._comments.append(data + b"\n")
        elif self._header_at is None:
            self._header_at = len(self._comments)

    def pieces(self, lines: Iterable[Line]) -> Iterator[bytes]:
        """Yield the lines of the mended list."""
        for line in lines:
            before = self._account.duplicates
            found = self._account.add(line)
            is_duplicate = self._account.duplicates > before
            if found and found.mended:
                self._mended.append((line, found.mended))
                yield self._packed(*found.mended, line)
            elif line.futli is None:
                self.left_out += 1
            elif not is_duplicate:
                yield self._packed(bare(line.pid_text), bare(line.url_text), line)
        yield (b"" if self._names else self._header({})) + self._stood()

    def _packed(self, pid: str, url: str, line: Line) -> bytes:
        fields = {"pid": pid, "futli": url, **line.others}
        if not self._by:
            told = {name: value for name, value in fields.items() if value}
            return (json.dumps(told, ensure_ascii=False) + "\n").encode()
        header = b"" if self._names else self._header(line.others)
        for name, value in fields.items():
            if name not in self._names and value.strip():
                reason = f"{name!r} is left out: the first line has no such column"
                kind = FaultKind(reason=reason, guess="", number=line.number)
                self._lost.setdefault(name, kind).add(line.number, value)
        return header + self._stood() + self._row(fields.get(name, "") for name in self._names)

    def _stood(self) -> bytes:
        """Return the comments that stand before what is written next."""
        stood = b"".join(self._comments) if self._by else b""
        self._comments.clear()
        return stood

    def _header(self, others: Mapping[str, str]) -> bytes:
        """Return the header, which has all columns of the first line that is written."""
        self._names = tuple(dict.fromkeys(("pid", "futli", "title", "restriction", *others)))
        if not self._by:
            return b""
        at = len(self._comments) if self._header_at is None else self._header_at
        above = b"".join(self._comments[:at])
        del self._comments[:at]
        return above + self._row(self._names)

    def _row(self, fields: Iterable[str]) -> bytes:
        if self._by == "\t":
            return ("\t".join(" ".join(field.split()) for field in fields) + "\n").encode()
        row = io.StringIO()
        csv.writer(row, lineterminator="\n").writerow(fields)
        return row.getvalue().encode()

    def told(self) -> Iterator[str]:
        """Yield the difference between the two lists."""
        for line, (pid, url) in self._mended:
            yield f"- {line.number}: {printable(f'{line.pid_text} {line.url_text}'.strip())}"
            yield f"+ {line.number}: {printable(f'{pid} {url}')}"
        yield from map(sentence, self._lost.values())
        yield f"{len(self._mended)} mended, {self.left_out} left out"


def _account_lines(account: ListAccount) -> Iterator[str]:
    sound = account.lines - account.bad
    yield f"{counted(account.lines, 'line')}, {sound} can be asked for, {account.bad} cannot"
    yield f"{account.restricted} restricted, {account.duplicates} said before"
    most = ", ".join(f"{host} {count}" for host, count in account.hosts.most_common(MOST_HOSTS))
    yield f"{counted(len(account.hosts), 'host')}{f': {most}' if most else ''}"
    for kind in (*account.sorted_kinds(), *account.twice.values()):
        yield sentence(kind)
        for number, text in kind.first:
            yield f"    {number}: {text}"
