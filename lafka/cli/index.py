"""``lafka index``: brings the index of the archive up to date, or compares it with a new one."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from lafka.archec.redif.reading import read
from lafka.archec.serve.queries import ObiQuery, the_id
from lafka.cli.base import ArchiveCommand, json_line
from lafka.errors import BadArgument, BadId, LafkaError, NotHeld
from lafka.index.build import More, check, refresh
from lafka.index.captures import index_captures
from lafka.index.tables import IndexFiles
from lafka.index.titles import PaperTitle, Redif, Titles
from lafka.runs.terminals import program
from lafka.spiders.obi_settings import open_store, records_of

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")


@contextmanager
def more_of(settings: BaseSettings, *, captures: bool, anew: bool = False) -> Iterator[list[More]]:
    """Give what ``build.refresh`` is to add; the obi store is open meanwhile. ``BadStore``."""
    more: list[More] = [partial(index_captures, anew=anew)] if captures else []
    with redif_titles(settings) as redif:
        yield [*more, Titles(redif)]


@contextmanager
def redif_titles(settings: BaseSettings) -> Iterator[Redif | None]:
    """Return a reader of titles in the obi store of *settings*, or None. ``BadStore``."""
    if not Path(settings["LAFKA_OBJECT_STORE"], "archec.json").is_file():
        yield None
        return

    store = open_store(settings)
    with records_of(settings, store) as records:

        def titled(pid: str) -> PaperTitle | None:
            with suppress(NotHeld, BadId, OSError, LafkaError):
                return in_template(ObiQuery(store, records, the_id(pid)).read())
            return None

        yield titled


def in_template(data: bytes) -> PaperTitle | None:
    """Title and year of the first template in *data*; None where it has no title."""
    for template in read(data):
        title = template.first("Title")
        when = template.first("Creation-Date") or template.first("Year") or ""
        year = _YEAR.search(when)
        if title:
            authors = tuple(template.all("Author-Name"))
            return PaperTitle(title=title, year=int(year[1]) if year else None, authors=authors)
    return None


class IndexCommand(ArchiveCommand):
    most_args = 0
    usage = "[--rebuild] [--captures] [--titles] [--check] [--quiet]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--rebuild", action="store_true", help="make it anew, beside the old one")
        add("--captures", action="store_true", help="every record of the paper WARCs, too, in"
            " captures.sqlite")  # fmt: skip
        add("--titles", action="store_true", help="titles and authors, which are always read:"
            " from ReDIF, the stored page or the PDF")  # fmt: skip
        add("--check", action="store_true", help="change nothing, tell where it differs from one"
            " made anew: a JSON line each, exit 1 if any")  # fmt: skip
        add("--quiet", action="store_true", help="say nothing where nothing is wrong")

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        archive = self.archive()
        place = IndexFiles.of(archive.root, self.settings["LAFKA_INDEX"])
        if opts.check and opts.rebuild:
            raise BadArgument("--check changes nothing, --rebuild makes anew: say one of them")
        if opts.check:
            self._check(place, quiet=opts.quiet)
            return
        begun = monotonic()
        with more_of(self.settings, captures=opts.captures, anew=opts.rebuild) as more:
            account = refresh(archive, place, anew=opts.rebuild, more=more)
        for sentence in account.sentences:
            print(f"{program()} index: {sentence}", file=sys.stderr)
        if not opts.quiet:
            print(f"{account.in_figures()}; {monotonic() - begun:.1f} s: {place.database}")

    def _check(self, place: IndexFiles, *, quiet: bool) -> None:
        for difference in check(self.archive(), place):
            print(json_line(difference.as_json()))
            self.exitcode = 1
        if not self.exitcode and not quiet:
            print(f"as one made anew: {place.database}")
