"""``lafka warc get FILE OFFSET``: one record, or what is in it, as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lafka.cli._shared.base import place, the_file
from lafka.cli.warc._shared import write

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from lafka.warc.reading.stored import StoredRecord

HELP = "write the record at a byte of a file to standard output, inflated"
EXAMPLE = "lafka warc get a.warc.gz 5120 --decoded > page.html"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="WARC, ARC, WACZ, MAFF or MHTML")
    parser.add_argument("offset", type=place, metavar="OFFSET", help="as `ls` gives it")
    parser.add_argument(
        "--inner",
        type=place,
        default=0,
        metavar="N",
        help="as `ls` gives it, if it does",
    )
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument("--block", action="store_true", help="the block alone")
    parts.add_argument(
        "--payload", action="store_true", help="the payload, transfer codings undone"
    )
    parts.add_argument("--decoded", action="store_true", help="content codings undone too")
    parts.add_argument("--raw", action="store_true", help="the bytes of the file as they are")


def run(opts: Namespace) -> int:
    from lafka.warc.foreign import open_volume  # noqa: PLC0415

    with open_volume(the_file(opts.path)) as volume:
        write(_part(volume.at(opts.offset, opts.inner), opts))
    return 0


def _part(record: StoredRecord, opts: Namespace) -> Iterator[bytes]:
    if opts.raw:
        return record.raw().chunks()
    if opts.block:
        return record.block().chunks()
    if opts.payload or opts.decoded:
        return record.payload(decoded=opts.decoded)
    return record.pieces()
