"""``lafka archec report``: what the store holds, what was lost, whose links rot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lafka.cli.archec._shared import the_records, the_store
from lafka.errors import BadArgument
from lafka.storage.outputs import write_output

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import BaseSettings

HELP = "tell what the store holds, what was lost and whose links rot"
EXAMPLE = "lafka archec report --by archive -o report.csv"


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    by = ("archive", "series", "host", "year", "outcome", "code")
    add("--by", choices=by, default="", help="one table; CSV without it is by archive")
    add("--archive", metavar="CODE", default="", help="only what is of that RePEc archive")
    add("--since", metavar="TIME", default="", help="count what appeared, changed, went since")
    add("--format", choices=("json", "csv", "html"), help="else by the name of FILE; json")
    add("-o", "--output", metavar="FILE", default="", help="write to FILE, over what is there")
    add("--top", metavar="N", type=int, default=50, help="rows a table in HTML (50)")
    add("--mail", metavar="CODE", default="", help="text for the maintainer of that archive")


def run(opts: Namespace, settings: BaseSettings) -> int:
    from lafka.reports.obi_report import ObiReportOptions, answer  # noqa: PLC0415

    if opts.mail:
        return _mail(opts, settings)
    asked = ObiReportOptions.of(opts)  # what is wrong is told before anything is read
    with the_records(settings, the_store(settings)) as records:
        data = answer(records, asked)
    write_output(opts.output, [data])
    return 0


def _mail(opts: Namespace, settings: BaseSettings) -> int:
    from lafka.archec.statistics import is_known, letter  # noqa: PLC0415

    if opts.by or opts.archive or opts.since or opts.format or opts.output:
        raise BadArgument("--mail stands alone: a text on standard output")
    with the_records(settings, the_store(settings)) as records:
        code = opts.mail.lower()
        if not is_known(records, code):
            raise BadArgument(f"--mail {opts.mail}: the store has no template of that archive")
        for line in letter(records, code):
            print(line)
    return 0
