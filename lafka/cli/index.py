"""``lafka index``: brings the index of the archive up to date, or compares it with a new one."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING

from lafka.cli.base import ArchiveCommand, json_line
from lafka.errors import BadArgument
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from lafka.index.tables import IndexFiles


class IndexCommand(ArchiveCommand):
    most_args = 0

    def syntax(self) -> str:
        return "[--rebuild] [--captures] [--titles] [--check] [--quiet]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--rebuild", action="store_true", help="make it anew, beside the old one")
        add("--captures", action="store_true", help="every record of the paper WARCs, too, in"
            " captures.sqlite")  # fmt: skip
        add("--titles", action="store_true", help="titles, from ReDIF or the stored page")
        add("--check", action="store_true", help="change nothing, tell where it differs from one"
            " made anew: a JSON line each, exit 1 if any")  # fmt: skip
        add("--quiet", action="store_true", help="say nothing where nothing is wrong")

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        from lafka.cli.indexing import more_of  # noqa: PLC0415
        from lafka.index.build import refresh  # noqa: PLC0415
        from lafka.index.tables import IndexFiles  # noqa: PLC0415

        assert self.settings is not None
        archive = self.archive()
        place = IndexFiles.of(archive.root, self.settings["LAFKA_INDEX"])
        if opts.check and opts.rebuild:
            raise BadArgument("--check changes nothing, --rebuild makes anew: say one of them")
        if opts.check:
            self._check(place, quiet=opts.quiet)
            return
        begun = monotonic()
        asked = {"captures": opts.captures, "titles": opts.titles, "anew": opts.rebuild}
        with more_of(self.settings, **asked) as more:
            account = refresh(archive, place, anew=opts.rebuild, more=more)
        for sentence in account.sentences:
            print(f"{program()} index: {sentence}", file=sys.stderr)
        if not opts.quiet:
            print(f"{account.in_figures()}; {monotonic() - begun:.1f} s: {place.database}")

    def _check(self, place: IndexFiles, *, quiet: bool) -> None:
        from lafka.index.build import check  # noqa: PLC0415

        for difference in check(self.archive(), place):
            print(json_line(difference.as_json()))
            self.exitcode = 1
        if not self.exitcode and not quiet:
            print(f"as one made anew: {place.database}")
