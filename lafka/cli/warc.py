"""``lafka warc VERB``: lists, reads, searches, checks, mends and converts WARC and like files."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

from lafka.cli.base import GroupCommand, GroupVerb, place, the_file, the_files
from lafka.errors import BadArgument, StorageTrouble
from lafka.warc import indexes
from lafka.warc.converting.arc2warc import ConversionResult, arc2warc
from lafka.warc.converting.repairing import recompress, repair
from lafka.warc.converting.warc2arc import warc2arc
from lafka.warc.errors import BadValue
from lafka.warc.foreign import kind_of, open_volume
from lafka.warc.indexes import index_lines
from lafka.warc.indexes.base import Entry
from lafka.warc.indexes.collections import Collection
from lafka.warc.problems import Problem
from lafka.warc.reading.checking import check
from lafka.warc.reading.handles import link_flat, volumes_below
from lafka.warc.reading.stored import StoredRecord


def add_paths(parser: ArgumentParser) -> None:
    """The files of a verb: by name, below folders, in a list."""
    parser.add_argument("paths", nargs="*", metavar="FILE", help="WARC or like files, or folders")
    parser.add_argument("--list", metavar="FILE", help="paths, one a line; - for standard input")


def the_volumes(opts: Namespace) -> list[Path]:
    """The files that *opts* name; of a folder those whose names are those of volumes.

    ``BadArgument`` where one is not there, or a folder has none, or none is named.
    """
    names = [*opts.paths, *(_listed(opts.list) if opts.list else ())]
    if not names:
        raise BadArgument("say which files: none is named")
    found: list[Path] = []
    for name in names:
        inside = [*volumes_below(Path(name))] if Path(name).is_dir() else the_files([name])
        if not inside:
            raise BadArgument(f"{name}: no WARC or like file is below it")
        found += inside
    return found


def _listed(path: str) -> list[str]:
    data = sys.stdin.buffer.read() if path == "-" else the_file(path).read_bytes()
    return [os.fsdecode(line.rstrip(b"\r")) for line in data.split(b"\n") if line.strip()]


def print_json(values: dict[str, object]) -> None:
    """One line of JSON, without what is None or empty."""
    kept = {name: value for name, value in values.items() if value not in (None, "")}
    # Escapes, as what stands in foreign files can drive a terminal, or be no text at all.
    print(json.dumps(kept))


def described(record: StoredRecord) -> dict[str, object]:
    """Return what is printed of a record: where it stands, what it is."""
    entry = Entry.of(record, str(record.path))
    return {
        "path": entry.volume,
        "offset": entry.offset,
        "inner": entry.inner or None,
        "length": entry.length,
        "type": entry.type,
        "url": entry.url,
        "date": entry.date.text if entry.date else None,
        "id": entry.record_id,
        "status": entry.status,
        "mime": entry.mime,
        "payload_offset": entry.payload_offset,
        "payload_length": entry.payload_length,
        "digest": entry.digest,
    }


def report(problems: Iterable[Problem], *, printed: bool) -> int:
    """Say what is wrong, as JSON lines if *printed*, else how much on stderr; the exit code.

    It is 1 where anything is an error.
    """
    counts: Counter[str] = Counter()
    for problem in problems:
        counts[problem.severity] += 1
        if printed:
            print(problem.to_json())
    if counts and not printed:
        told = ", ".join(
            f"{count} {name}{'s' * (count > 1)}" for name, count in sorted(counts.items())
        )
        print(f"{told}: lafka warc check says what", file=sys.stderr)
    return 1 if counts["error"] else 0


def write(pieces: Iterable[bytes]) -> None:
    """Bytes to standard output."""
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def account(done: ConversionResult, *, printed: bool) -> int:
    """Say what came of a conversion, problems too if *printed*; the exit code."""
    values: dict[str, object] = {"path": done.path and str(done.path), "kept": dict(done.kept)}
    print_json({**values, "left_out": dict(done.left_out), "problems": len(done.problems)})
    return report(done.problems, printed=printed)


def _add_to_ls(parser: ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="FILE", help="WARC, ARC, WACZ, MAFF or MHTML")
    parser.add_argument(
        "--type", action="append", metavar="T", help="only records of type T; may be repeated"
    )
    parser.add_argument(
        "--problems", action="store_true", help="lines for what is wrong with the file, too"
    )


def _ls(opts: Namespace) -> int:
    code = 0
    for path in the_files(opts.paths):
        with open_volume(path) as volume:
            for record in volume.records(types=opts.type):
                print_json(described(record))
            code = max(code, report(volume.problems, printed=opts.problems))
    return code


def _add_to_cdx(parser: ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("--nine", action="store_true", help="the 9 columns of older tools")
    parser.add_argument("--folder", default=".", metavar="DIR", help="name files relative to DIR")


def _cdx(opts: Namespace) -> int:
    return lines_of(opts, "cdx9" if opts.nine else "cdx")


def lines_of(opts: Namespace, kind: str) -> int:
    """Write an index of *kind*; the exit code."""
    problems: list[Problem] = []
    write(index_lines(the_volumes(opts), kind, folder=opts.folder, problems=problems.append))
    return report(problems, printed=False)


def _add_to_cdxj(parser: ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("--folder", default=".", metavar="DIR", help="name files relative to DIR")


def _cdxj(opts: Namespace) -> int:
    return lines_of(opts, "cdxj")


def _add_to_link(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a folder of WARC or like files")
    parser.add_argument("into", metavar="FOLDER", help="gets a symbolic link for each")


def _link(opts: Namespace) -> int:
    source = Path(opts.source)
    if not source.is_dir():
        raise BadArgument(f"{source}: no such folder")
    try:
        made, there = link_flat(source, Path(opts.into))
    except FileExistsError as error:
        raise BadArgument(f"{error.filename}: there already, and no link to that file") from None
    except OSError as error:
        raise StorageTrouble(opts.into, error) from error
    print(f"{made} links made, {there} there already", file=sys.stderr)
    return 0


def _add_to_get(parser: ArgumentParser) -> None:
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


def _get(opts: Namespace) -> int:
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


def _add_to_search(parser: ArgumentParser) -> None:
    kinds = "WARC or like files, folders of such, or CDX, CDXJ and SQLite indexes"
    parser.add_argument("paths", nargs="+", metavar="PATH", help=kinds)
    parser.add_argument("--url", help="captures of URL")
    parser.add_argument("--prefix", metavar="URL", help="captures of what begins with URL")
    parser.add_argument("--time", metavar="T", help="the nearest to T first, as 2020-05-06T07:08Z")
    parser.add_argument("--id", metavar="ID", help="the record of that id")
    parser.add_argument("--digest", metavar="D", help="records whose payload has the digest D")
    parser.add_argument("--type", action="append", metavar="T", help="only records of type T")


def _search(opts: Namespace) -> int:
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
    indexed = [path for path in paths if _is_index(path)]
    volumes = [path for path in paths if path not in indexed]
    with Collection(volumes, indexed) as collection:
        for record in collection.search(**wanted, types=opts.type):
            print_json(described(record))
        return report(collection.problems, printed=False)


def _is_index(path: Path) -> bool:
    try:
        return bool(indexes.kind_of(path)) and not path.is_dir()
    except BadValue:
        return False


def _add_to_check(parser: ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("--quick", action="store_true", help="compute no digests")


def _check(opts: Namespace) -> int:
    code = 0
    for path in the_volumes(opts):
        with open_volume(path) as volume:
            checked = check(volume, digests=not opts.quick)
            for problem in checked:
                print(problem.to_json())
        counts = ", ".join(f"{checked.counts[name]} {name}s" for name in ("error", "warning"))
        print(f"{path}: {checked.records} records, {counts}", file=sys.stderr)
        code = max(code, 0 if checked.passed else 1)
    return code


def _add_to_repair(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="a WARC or ARC, plain or compressed")
    parser.add_argument("target", metavar="NEW", help="the rest goes to NEW.torn-* and NEW.garbage")
    parser.add_argument("--problems", action="store_true", help="lines for what is wrong with FILE")


def _repair(opts: Namespace) -> int:
    done = repair(the_file(opts.path), opts.target)
    asides = [{**asdict(aside), "path": str(aside.path)} for aside in done.asides]
    into = str(done.into) if done.into else None
    print_json({"path": into, "records": done.records, "asides": asides})
    return report(done.problems, printed=opts.problems)


def _add_to_recompress(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="a WARC or ARC, however compressed, or WACZ")
    parser.add_argument("target", metavar="NEW", help="the new file, FILE.gz say")
    parser.add_argument("--problems", action="store_true", help="lines for what is wrong with FILE")


def _recompress(opts: Namespace) -> int:
    path = the_file(opts.path)
    if kind_of(path) in ("maff", "mhtml"):
        raise BadArgument(f"{path}: not made of records that can be written anew")
    done = recompress(path, opts.target)
    print_json({"path": str(done.into), "records": done.records})
    return report(done.problems, printed=opts.problems)


def _add_to_conversion(parser: ArgumentParser, *, file: str) -> None:
    parser.add_argument("path", metavar="FILE", help=f"{file}, plain or compressed")
    parser.add_argument(
        "target", nargs="?", metavar="TARGET", help="compressed if it ends with .gz; beside FILE"
    )
    parser.add_argument("--problems", action="store_true", help="lines for what is wrong with FILE")


def _arc2warc(opts: Namespace) -> int:
    path = the_file(opts.path)
    if kind_of(path) != "arc":
        raise BadArgument(f"{path}: not an ARC file")
    return account(arc2warc(path, opts.target), printed=opts.problems)


def _warc2arc(opts: Namespace) -> int:
    path = the_file(opts.path)
    if kind_of(path) not in ("warc", "wacz"):
        raise BadArgument(f"{path}: not a WARC file")
    return account(warc2arc(path, opts.target), printed=opts.problems)


VERBS = {
    "ls": GroupVerb(
        "list the records of files, one JSON line each",
        (
            "lafka warc ls --type response a.warc.gz | jq -r .url",
            "lafka warc ls archive/warc/RePEc/abc/wpaper/1.warc",
        ),
        _add_to_ls,
        _ls,
    ),
    "cdx": GroupVerb(
        "write a sorted CDX index of files, 11 columns",
        ("lafka warc cdx warcs/*.warc.gz > index.cdx", "lafka warc cdx a.warc.gz"),
        _add_to_cdx,
        _cdx,
    ),
    "cdxj": GroupVerb(
        "write a sorted CDXJ index of files, places of payloads included",
        (
            "lafka warc cdxj --folder warcs warcs > warcs/index.cdxj",
            "lafka warc cdxj archive/warc > index.cdxj",
        ),
        _add_to_cdxj,
        _cdxj,
    ),
    "link": GroupVerb(
        "link to all files below SOURCE from one FOLDER, for tools that know base names alone",
        ("lafka warc link archive/warc flat",),
        _add_to_link,
        _link,
    ),
    "get": GroupVerb(
        "write the record at a byte of a file to standard output, inflated",
        ("lafka warc get a.warc.gz 5120 --decoded > page.html", "lafka warc get a.warc.gz 0"),
        _add_to_get,
        _get,
    ),
    "search": GroupVerb(
        "find records in files, folders of files and indexes, one JSON line each, the best first",
        (
            "lafka warc search warcs/index.cdxj --url http://a.example/ --time 2020-05 | head -1",
            "lafka warc search archive/warc --url http://a.example/",
        ),
        _add_to_search,
        _search,
    ),
    "check": GroupVerb(
        "hold files to the standard and verify their digests, one JSON line a problem",
        ("lafka warc check warcs || echo damaged", "lafka warc check a.warc.gz"),
        _add_to_check,
        _check,
    ),
    "repair": GroupVerb(
        "copy the whole records of a damaged WARC or ARC to a new one, the rest aside; FILE stays",
        ("lafka warc repair torn.warc.gz mended.warc.gz",),
        _add_to_repair,
        _repair,
    ),
    "recompress": GroupVerb(
        "write the same records to a new file, a gzip member each if it ends with .gz, else plain",
        (
            "lafka warc recompress one-member.warc.gz by-record.warc.gz",
            "lafka warc recompress a.warc.gz plain.warc",
        ),
        _add_to_recompress,
        _recompress,
    ),
    "arc2warc": GroupVerb(
        "convert ARC to WARC; a JSON line says what came of it",
        ("lafka warc arc2warc old.arc.gz new.warc.gz",),
        partial(_add_to_conversion, file="ARC"),
        _arc2warc,
    ),
    "warc2arc": GroupVerb(
        "convert WARC to ARC; a JSON line says what came of it",
        ("lafka warc warc2arc a.warc.gz a.arc.gz",),
        partial(_add_to_conversion, file="WARC"),
        _warc2arc,
    ),
}


class WarcCommand(GroupCommand):
    verbs = VERBS
