"""``lafka warc search FILE... --url URL``: captures in files and indexes, the best first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lafka.cli._shared.base import the_file
from lafka.cli.warc._shared import described, print_json, tell
from lafka.errors import BadArgument

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

HELP = "find records in files, folders of files and indexes, one JSON line each, the best first"
EXAMPLE = "lafka warc search warcs/index.cdxj --url http://a.example/ --time 2020-05 | head -1"


def add_arguments(parser: ArgumentParser) -> None:
    kinds = "WARC or like files, folders of such, or CDX, CDXJ and SQLite indexes"
    parser.add_argument("paths", nargs="+", metavar="PATH", help=kinds)
    parser.add_argument("--url", help="captures of URL")
    parser.add_argument("--prefix", metavar="URL", help="captures of what begins with URL")
    parser.add_argument("--time", metavar="T", help="the nearest to T first, as 2020-05-06T07:08Z")
    parser.add_argument("--id", metavar="ID", help="the record of that id")
    parser.add_argument("--digest", metavar="D", help="records whose payload has the digest D")
    parser.add_argument("--type", action="append", metavar="T", help="only records of type T")


def run(opts: Namespace) -> int:
    from lafka.warc.indexes.collections import Collection  # noqa: PLC0415

    wanted = {
        "url": opts.url,
        "url_prefix": opts.prefix,
        "time": opts.time,
        "record_id": opts.id,
        "digest": opts.digest,
    }
    if not any(wanted.values()):
        raise BadArgument("say what for: --url, --prefix, --time, --id or --digest")
    paths = [Path(path) if Path(path).is_dir() else the_file(path) for path in opts.paths]
    indexes = [path for path in paths if _is_index(path)]
    volumes = [path for path in paths if path not in indexes]
    with Collection(volumes, indexes) as collection:
        for record in collection.search(**wanted, types=opts.type):
            print_json(described(record))
        return tell(collection.problems, printed=False)


def _is_index(path: Path) -> bool:
    from lafka.warc.errors import BadValue  # noqa: PLC0415
    from lafka.warc.indexes import kind_of  # noqa: PLC0415

    try:
        return bool(kind_of(path)) and not path.is_dir()
    except BadValue:
        return False
