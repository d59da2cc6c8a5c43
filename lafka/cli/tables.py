"""``lafka futs`` and ``lafka outcomes``: what is held, and how each line ended, as tables."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Any

from lafka.cli import sheets
from lafka.cli.base import ArchiveCommand
from lafka.cli.fut import folder_at, named
from lafka.errors import BadArgument, BadChoice
from lafka.index.rows import Named
from lafka.index.tables import IndexFiles, open_to_read, reraising
from lafka.papers import Group, Outcome
from lafka.papers import archive as parts
from lafka.papers.archive.archives import StoredFut
from lafka.papers.archive.copy_out import put_text_into
from lafka.runs.sources import meant
from lafka.runs.terminals import Terminal
from lafka.storage.outputs import STDOUT, counted

if TYPE_CHECKING:
    from lafka.papers.archive.catalogue import LastOutcome
    from lafka.papers.archive.texts import FutText


INTERVAL = 0.5
"""Seconds between two looks at how many texts are read."""
_TITLE = "SELECT title, year FROM paper WHERE pid = ?"
PAPER_COLUMNS: dict[str, type] = {
    "archive": str, "series": str, "title": str, "year": int, "path": str
}  # fmt: skip
"""Of a fut's paper: title and year as the index has them, its WARC from the archive's folder."""
FUT_COLUMNS: dict[str, type] = {
    "pid": str, "futli": str, "time": str, "url": str, "digest": str, "label": str, "warc": str,
    "s": int, "l": int, **PAPER_COLUMNS,
}  # fmt: skip


class FutsCommand(ArchiveCommand):
    usage = "[PID...] [--since T] [--until T] [--host HOST] [--jsonl|--csv|--sqlite FILE...]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--list", metavar="FILE", help="pids, the first column of its lines")
        parser.add_argument("--since", metavar="T", help="had by this time or later, 2026-11-20")
        parser.add_argument("--until", metavar="T", help="had by this time or before, 2026-11")
        parser.add_argument("--host", metavar="HOST", help="of futlis at this host")
        parser.add_argument("--archive", metavar="CODE", help="of papers of this archive of RePEc")
        parser.add_argument("--series", metavar="CODE", help="of papers of series of this code")
        what = "supplement, other, or any; fut if not given"
        parser.add_argument("--label", default="fut", metavar="LABEL", help=what)
        parser.add_argument("--all-times", action="store_true", help="not the latest alone")
        sheets.add_options(parser)

    def act(self, args: list[str], opts: Namespace) -> None:
        with self.papers() as paper:
            rows = (_row_of(fut) | paper(fut) for fut in self.futs(args, opts))
            sheets.write("futs", FUT_COLUMNS, rows, opts)

    @contextmanager
    def papers(self) -> Iterator[Callable[[StoredFut], dict[str, Any]]]:
        """Give what makes the columns of a fut's paper; without an index there is no title."""
        archive = self.archive()
        index = IndexFiles.of(archive.root, self.settings["LAFKA_INDEX"]).database
        with ExitStack() as stack:
            stack.enter_context(reraising(index))
            read = open_to_read(index) if index.exists() else None
            if read:
                stack.callback(read.close)
            unknown = 0

            def columns(fut: StoredFut) -> dict[str, Any]:
                nonlocal unknown
                found = read.execute(_TITLE, (str(fut.pid),)).fetchone() if read else None
                unknown += found is None
                named = Named.of(fut.pid)
                title, year = found or (None, named.year)
                path = os.path.relpath(fut.warc, archive.root)
                values = (named.archive, named.series, title, year, path)
                return dict(zip(PAPER_COLUMNS, values, strict=True))

            yield columns
            if unknown:
                told = f"without a title: {counted(unknown, 'line')}; titles are in the index"
                self.tell(f"{told}, which lafka index makes and brings up to date")

    def futs(self, args: list[str], opts: Namespace) -> Iterator[StoredFut]:
        """Yield the futs that *args* and *opts* mean; ``CallerError`` for what cannot be."""
        chosen = {name: getattr(opts, name) for name in ("archive", "series", "host")}
        count = 0
        try:
            for fut in self.archive().futs(
                named(args, opts.list), since=opts.since, until=opts.until, label=opts.label,
                latest=not opts.all_times, problem=self.wrong, **chosen,
            ):  # fmt: skip
                count += 1
                yield fut
        except BadChoice as error:
            raise BadArgument(f"--{error}") from None
        if not count and any(chosen.values()):
            told = ", ".join(f"--{name} {value}" for name, value in chosen.items() if value)
            self.tell(f"nothing in the archive is of {told}")

    def wrong(self, error: Exception) -> None:
        """Tell of a paper that cannot be read; the others are given."""
        self.tell(str(error))
        self.exitcode = 1

    def tell(self, text: str) -> None:
        """Write *text* to standard error."""
        print(text, file=sys.stderr)


def _row_of(fut: StoredFut) -> dict[str, Any]:
    row = {name: getattr(fut, name) for name in ("futli", "time", "url", "digest", "label")}
    warc = str(fut.warc.absolute())
    return row | {"pid": str(fut.pid), "warc": warc, "s": fut.start, "l": fut.length}


TEXT_COLUMNS: dict[str, type] = {
    "pid": str, **PAPER_COLUMNS, "futli": str, "time": datetime, "url": str, "digest": str,
    "label": str, "pages": int, "text": str, "error": str,
}  # fmt: skip


class TextCommand(FutsCommand):
    """Chooses futs as ``futs`` does, and gives their texts."""

    usage = "[PID...|--all] [--since T] [--into FOLDER|--jsonl|--csv|--sqlite FILE...]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--all", action="store_true", help="of all papers")
        parser.add_argument("--into", metavar="FOLDER", help="a file a fut, named by its pid")

    def act(self, args: list[str], opts: Namespace) -> None:
        is_named = args or opts.list or opts.since or opts.until or opts.archive or opts.series
        if not (is_named or opts.host or opts.all):
            raise BadArgument("say which papers: pids, --list, --since or the like, or --all")
        if opts.into and (opts.output or opts.csv or opts.jsonl or opts.parquet or opts.sqlite):
            raise BadArgument("--into makes files; the other forms are without it")
        file = opts.parquet or opts.sqlite or (opts.output if opts.output != STDOUT else None)
        self._tally = _TextTally(file)
        read = self._with_warnings(parts.texts.texts(self.futs(args, opts)))
        with self._tally.shown():
            if opts.into:
                folder = folder_at(opts.into)
                for one in read:
                    path, _ = put_text_into(folder, one.fut, one.text)
                    print(path, one.fut.pid, one.fut.futli, sep="\t")
            else:
                with self.papers() as paper:
                    rows = (_text_row(one) | paper(one.fut) for one in read)
                    sheets.write("texts", TEXT_COLUMNS, rows, opts)
        print(self._tally, file=sys.stderr)

    def tell(self, text: str) -> None:
        """Write *text* to standard error, above the live line."""
        self._tally.say(text)

    def _with_warnings(self, read: Iterable[FutText]) -> Iterator[FutText]:
        """Yield what is *read*, and say of what has no text."""
        for one in read:
            self._tally.add(one)
            if one.error:
                self.exitcode = 1
                self._tally.say(one.error)
            yield one
        self._tally.end()


class _TextTally:
    """Counts texts, and shows the counts in the last line of a terminal meanwhile.

    *file* is what the texts are written to, None where lines go to standard output: in the same
    terminal these show by themselves how far it is.
    """

    def __init__(self, file: str | None) -> None:
        self._file = file
        is_free = file is not None or not sys.stdout.isatty()
        self._terminal = Terminal.at(sys.stderr, os.environ) if is_free else None
        self._count = self._empty = self._failed = 0
        self._begun = self._last = monotonic()

    def __str__(self) -> str:
        return (
            f"{self._count} read, {self._empty} without text,"
            f" {self._failed} of these could not be read"
        )

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Erase the live line at the end, whatever it is."""
        try:
            yield
        finally:
            if self._terminal:
                self._terminal.show(())

    def add(self, one: FutText) -> None:
        """Count *one*, and show it twice a second."""
        self._count, self._empty = self._count + 1, self._empty + (not one.text)
        self._failed += bool(one.error)
        now = monotonic()
        if self._terminal and now - self._last >= INTERVAL:
            self._last = now
            rate = self._count / (now - self._begun)
            self._terminal.show((f"{self._count:,} texts read", f"{rate * 60:,.0f} a minute",
                f"{self._empty:,} without text, {self._failed:,} could not be read"))  # fmt: skip

    def end(self) -> None:
        """Show that all is read, and a file is still to be finished."""
        if self._terminal and self._file:
            self._terminal.show((f"{self._count:,} texts read", f"finishing {self._file}"))

    def say(self, text: str) -> None:
        """Write *text* to standard error, above the live line."""
        if self._terminal:
            self._terminal.say(text)
        else:
            print(text, file=sys.stderr)


def _text_row(one: FutText) -> dict[str, Any]:
    return _row_of(one.fut) | {"pages": one.pages, "text": one.text, "error": one.error}


OUTCOME_COLUMNS: dict[str, type] = {
    "pid": str, "futli": str, "outcome": str, "group": str, "time": str, "futs": list,
    "splap": str, "candidates": list, "capped": bool, "requests": int, "error": str, "run": str,
    "as_written": str,
}  # fmt: skip


class OutcomesCommand(ArchiveCommand):
    most_args = 0
    usage = "[--group GROUP] [--outcome WORD] [--jsonl|--csv|--sqlite FILE|--parquet FILE]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--group", metavar="GROUP", help="held, 'page only', 'not there', ...")
        parser.add_argument("--outcome", metavar="WORD", help="fut, splap-only, not-found, ...")
        sheets.add_options(parser)

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        groups, words = _selected(opts.group, Group), _selected(opts.outcome, Outcome)
        found = (
            line
            for line in self.archive().outcomes(problem=self.wrong)
            if line.outcome.group in groups and line.outcome in words
        )
        sheets.write("outcomes", OUTCOME_COLUMNS, map(_outcome_row, found), opts)

    def wrong(self, error: Exception) -> None:
        """Tell of a held fut that cannot be looked up; its line is given without it."""
        print(error, file=sys.stderr)
        self.exitcode = 1


def _selected(name: str | None, known: Any) -> tuple[str, ...]:
    """Return *name* alone, or all *known* names for None; ``BadArgument`` for an unknown one."""
    if name is not None and name not in list(known):
        raise BadArgument(f"{name!r} is none of {', '.join(known)}{meant(name, known)}")
    return tuple(word for word in known if name in (None, word))


def _outcome_row(line: LastOutcome) -> dict[str, Any]:
    row = {name: getattr(line, name) for name in OUTCOME_COLUMNS if name != "group"}
    futs = [fut.as_json() for fut in line.futs]
    told = {"outcome": str(line.outcome), "group": str(line.outcome.group)}
    return row | told | {"futs": futs, "candidates": list(line.candidates)}
