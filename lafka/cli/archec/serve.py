"""``lafka archec serve``: the obi store by Memento, for a colleague, or for a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lafka.cli import _gateways
from lafka.cli.archec._shared import said, the_store

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import BaseSettings

    from lafka.archec.records import Records

HELP = "serve the store read-only by Memento (RFC 7089), on loopback"
EXAMPLE = "lafka archec serve --port 8732"


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--port", default=_gateways.PORT, metavar="N", help="8732; 0 for a free one")
    add("--bind", default="127.0.0.1", metavar="ADDRESS", help="loopback, unless this says so")
    add("--name", action="append", default=[], metavar="HOST", help="a further Host it is asked by")


def run(opts: Namespace, settings: BaseSettings) -> int:
    from lafka.archec.records.opening import open_records  # noqa: PLC0415
    from lafka.archec.serve.holdings import StoreHoldings  # noqa: PLC0415

    store = the_store(settings)
    database = said(settings, "LAFKA_CACHING_DATABASE")

    def opened() -> Records:
        return open_records(store, database, read_only=True)

    opened().close()  # what is wrong with it is told before anybody asks
    _gateways.serve("archec serve", opts, lambda: StoreHoldings(store, opened))
    return 0
