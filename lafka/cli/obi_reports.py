"""``lafka archec report`` and ``lafka archec export``: an obi store as tables, letters and WARC.

Apart from ``lafka tobi``, which is to start quickly each night and needs none of this.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.archec.files.export import ExportChoice, export
from lafka.archec.statistics import check_archive
from lafka.archec.store import tists
from lafka.errors import BadArgument, StorageTrouble
from lafka.reports.obi_letters import archives_of, letter_of, write_letters
from lafka.reports.obi_report import ObiReportOptions, answer
from lafka.spiders.obi_settings import open_store, records_of
from lafka.storage.folders import make_folders
from lafka.storage.outputs import write_output

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def add_to_report(parser: ArgumentParser) -> None:
    """Options of ``lafka archec report``."""
    add = parser.add_argument
    by = ("archive", "series", "host", "year", "outcome", "code")
    add("--by", choices=by, default="", help="one table; CSV without it is by archive")
    add("--archive", metavar="CODE", default="", help="only what is of that RePEc archive")
    add("--since", metavar="TIME", default="", help="count what appeared, changed, went since")
    add("--format", choices=("json", "csv", "html"), help="else by the name of FILE; json")
    add("-o", "--output", metavar="FILE", default="", help="write to FILE, over what is there")
    add("--top", metavar="N", type=int, default=50, help="rows a table in HTML (50)")
    add(
        "--mail",
        metavar="CODE",
        nargs="?",
        const="*",
        default="",
        help="text for the maintainer of that archive; with --out of each",
    )
    add("--out", metavar="DIR", default="", help="with --mail: a letter and a page an archive")


def report(opts: Namespace, settings: BaseSettings) -> int:
    """Write the report that *opts* ask for, or letters; ``BadArgument``."""
    if opts.mail:
        return _mail(opts, settings)
    if opts.out:
        raise BadArgument("--out is for --mail")
    asked = ObiReportOptions.of(opts)  # what is wrong is told before anything is read
    with records_of(settings, open_store(settings)) as records:
        check_archive(records, opts.archive)
        data = answer(records, asked)
    write_output(opts.output, [data])
    return 0


def _mail(opts: Namespace, settings: BaseSettings) -> int:
    if opts.by or opts.archive or opts.since or opts.format or opts.output:
        raise BadArgument("--mail stands alone: a text on standard output")
    code = opts.mail.lower()
    if code == "*" and not opts.out:
        raise BadArgument("--mail CODE prints one letter; --mail --out DIR writes all")
    with records_of(settings, open_store(settings)) as records:
        if code != "*":
            check_archive(records, opts.mail, "--mail")
        if not opts.out:
            print(letter_of(records, code).text(), end="")
            return 0
        codes = archives_of(records) if code == "*" else [code]
        for letter in write_letters(records, Path(opts.out), codes):
            new = sum(map(letter.is_new, letter.findings))
            told = {"archive": letter.archive, "findings": len(letter.findings), "new": new}
            print(json.dumps(told | {"mended": letter.mended}))
    return 0


def add_to_export(parser: ArgumentParser) -> None:
    """Options of ``lafka archec export``."""
    add = parser.add_argument
    add("folder", metavar="DIR", help="gets WARC files and index.cdxj")
    add("--archive", metavar="CODE", help="only what is of that RePEc archive")
    add("--series", metavar="CODE", help="only what is of series with that code")
    add("--from", dest="begin", metavar="TIME", default="", help="gatherings from that time on")
    add("--to", dest="end", metavar="TIME", default="", help="gatherings before that time")
    add("--no-templates", action="store_true", help="files alone")


def export_store(opts: Namespace, settings: BaseSettings) -> int:
    """Write the store, or a part, as WARC; 1 where something of it could not be read."""
    choice = ExportChoice(
        archive=opts.archive and opts.archive.lower(), series=opts.series and opts.series.lower(),
        begin=tists.parse(opts.begin) if opts.begin else 0,
        end=tists.parse(opts.end) if opts.end else tists.LAST + 1,
        templates=not opts.no_templates,
    )  # fmt: skip
    store, folder = open_store(settings), Path(opts.folder)
    try:
        with records_of(settings, store) as records:
            check_archive(records, opts.archive or "")
            make_folders(folder)
            done = export(store, records, folder, choice)
    except FileExistsError as error:
        raise BadArgument(f"{error.filename}: {error.strerror}") from None
    except OSError as error:
        raise StorageTrouble(error.filename or folder, error) from error
    for problem in done.problems:
        print(f"lafka archec export: {problem}", file=sys.stderr)
    told = {"files": len(done.files), **dict(sorted(done.counts.items()))}
    print(json.dumps(told))
    return 1 if done.problems else 0
