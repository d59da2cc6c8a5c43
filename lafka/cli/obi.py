"""``lafka obi ID``: an obi of the store, as it was at a time, and its history."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

from lafka.cli.archec._shared import the_records, the_store
from lafka.cli.base import ArchiveCommand
from lafka.errors import BadArgument, StorageTrouble
from lafka.storage.outputs import STDOUT, file_at, write_output

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from lafka.archec.serve.queries import Looking


class ObiCommand(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "ID [--at TIME] [-o FILE] [--versions] [--diff A B] [--refipos] [--pointing]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--at", metavar="TIME", help="as it was at a tist or date, such as 2012-11-07")
        add("-o", "--output", metavar="FILE", help="write to FILE, which is not there yet")
        add("--versions", action="store_true", help="a JSON line for each version and loss")
        add("--diff", metavar="TIME", nargs=2, help="what changed from one time to another")
        add("--refipos", action="store_true", help="the files that a template points at")
        add("--pointing", action="store_true", help="the templates that point at a file")
        add("--path", action="store_true", help="where it lies")

    def act(self, args: list[str], opts: Namespace) -> None:
        from lafka.archec.serve import queries as looking  # noqa: PLC0415
        from lafka.archec.store import tists  # noqa: PLC0415

        if not args:
            raise BadArgument("say which obi: its handle or URL is missing")
        assert self.settings is not None
        store = the_store(self.settings)
        at = tists.parse(opts.at) if opts.at else None
        with the_records(self.settings, store) as records:
            look = looking.Looking(store, records, looking.the_id(args[0]))
            if opts.diff:
                sys.stdout.writelines(look.diff(*map(tists.parse, opts.diff)))
            elif opts.path:
                print(look.path(at))
            elif lines := _lines(look, opts, at):
                print("\n".join(lines))
            elif not (opts.versions or opts.refipos or opts.pointing):
                _write(look.read(at), opts.output)


def _lines(look: Looking, opts: Namespace, at: int | None) -> list[str]:
    if opts.versions:
        return look.versions()
    return look.refipos(at) if opts.refipos else look.pointing() if opts.pointing else []


def _write(data: bytes, output: str | None) -> None:
    if output and (path := file_at(output)) and path.exists():
        raise StorageTrouble(output, FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)))
    write_output(output or STDOUT, [data])
