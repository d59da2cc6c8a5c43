"""``lafka warc repair FILE NEW``: the whole records of a damaged file, in a new one."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from lafka.cli._shared.base import the_file
from lafka.cli.warc._shared import print_json, tell

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

HELP = "copy the whole records of a damaged WARC or ARC to a new one, the rest aside; FILE stays"
EXAMPLE = "lafka warc repair torn.warc.gz mended.warc.gz"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="a WARC or ARC, plain or compressed")
    parser.add_argument("target", metavar="NEW", help="the rest goes to NEW.torn-* and NEW.garbage")
    parser.add_argument("--problems", action="store_true", help="lines for what is wrong with FILE")


def run(opts: Namespace) -> int:
    from lafka.warc.converting.repairing import repair  # noqa: PLC0415

    done = repair(the_file(opts.path), opts.target)
    asides = [{**asdict(aside), "path": str(aside.path)} for aside in done.asides]
    into = str(done.into) if done.into else None
    print_json({"path": into, "records": done.records, "asides": asides})
    return tell(done.problems, printed=opts.problems)
