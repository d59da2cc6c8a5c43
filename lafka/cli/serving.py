"""``lafka serve`` and ``lafka gateway``: pages over the archive, and legacy papers by Memento."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.cli.base import ArchiveCommand
from lafka.cli.index import more_of
from lafka.errors import BadArgument, BadList
from lafka.index.build import refresh
from lafka.index.tables import IndexFiles
from lafka.runs.terminals import program
from lafka.runs.validation import positive
from lafka.urls.addresses import Holdings
from lafka.web.listed import ListHoldings
from lafka.web.site import Origins, Site

if TYPE_CHECKING:
    from lafka.web.serving import ServeAddresses


GATEWAY_PORT = "8732"
_NAME = re.compile(r"[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]+\]")


def serve_holdings(verb: str, opts: Namespace, holdings: Callable[[], Holdings]) -> None:
    """Serve what *holdings* makes, until a signal comes; ``BadArgument``."""
    try:
        from lafka.web import connections as serving  # noqa: PLC0415
    except ImportError as error:
        raise BadArgument(f"needs the package {error.name}: pip install lafka[web]") from None
    if not (opts.port.isascii() and opts.port.isdigit() and int(opts.port[:6]) < 1 << 16):
        raise BadArgument(f"--port {opts.port!r} is no number from 0 to 65535")
    for name in opts.name:
        if not _NAME.fullmatch(name):
            raise BadArgument(f"--name {name!r} is no name of a host, without a port")
    if not is_loopback(opts.bind):
        print(
            f"{program()} {verb}: warning: {opts.bind} can be reached from elsewhere,"
            " and nobody is asked who he is",
            file=sys.stderr,
        )
    serving.serve(
        holdings(), bind=opts.bind, port=int(opts.port), names=tuple(opts.name), begun=_tell_address
    )


def is_loopback(bind: str) -> bool:
    """Return whether nobody from elsewhere can reach *bind*; ``BadArgument`` for what is no
    address.
    """
    try:
        return ip_address(bind).is_loopback
    except ValueError:
        raise BadArgument(f"--bind {bind!r} is no IP address") from None


def _tell_address(address: str) -> None:
    print(address, flush=True)


class ServeCommand(ArchiveCommand):
    most_args = 0
    usage = "[--port N] [--replay-port N] [--host ADDRESS]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--port", type=int, default=8000, metavar="N", help="of the pages; 0 for a free one")
        add("--replay-port", type=int, default=8001, metavar="N", help="of the bytes of others")
        add("--replayweb-port", type=int, default=8002, metavar="N", help="of ReplayWeb.page")
        add("--host", default="127.0.0.1", metavar="ADDRESS", help="loopback, unless this says so")
        add("--workers", type=int, default=1, metavar="N", help="processes that answer (1)")
        add("--no-index", action="store_true", help="do not bring the index up to date first")

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        try:
            from lafka.web.serving import ServeAddresses, serve  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise BadArgument(f"needs the package {error.name}: pip install lafka[web]") from None

        hosts = self.settings.getlist("LAFKA_WEB_HOSTS")
        self._check(opts, hosts)
        if not 1 <= opts.workers <= 64:
            raise BadArgument(f"--workers {opts.workers}: from 1 to 64")
        replayweb = self.settings["LAFKA_WEB_REPLAYWEB"]
        where: ServeAddresses = ServeAddresses(
            bind=opts.host, port=opts.port, replay_port=opts.replay_port, hosts=tuple(hosts),
            origin=self.settings["LAFKA_WEB_ORIGIN"],
            replay_origin=self.settings["LAFKA_WEB_REPLAY_ORIGIN"],
            connections=positive(self.settings, "LAFKA_WEB_CONNECTIONS"),
            replayweb=Path(replayweb) if replayweb else None, replayweb_port=opts.replayweb_port,
            replayweb_origin=self.settings["LAFKA_WEB_REPLAYWEB_ORIGIN"], workers=opts.workers,
        )  # fmt: skip
        serve(lambda origins: self._site(origins, opts), where, _tell_origins)

    def _check(self, opts: Namespace, hosts: list[str]) -> None:
        if not is_loopback(opts.host) and not hosts:
            raise BadArgument(f"--host {opts.host} needs LAFKA_WEB_HOSTS: by what name it is asked")

    def _site(self, origins: Origins, opts: Namespace) -> Site:
        archive, withheld = self.archive(), self.settings["LAFKA_WEB_WITHHELD"]
        place = IndexFiles.of(archive.root, self.settings["LAFKA_INDEX"])
        if not opts.no_index:
            print(f"{program()} serve: brings the index up to date", file=sys.stderr)
            with more_of(self.settings, captures=True) as more:
                refresh(archive, place, more=more)
        return Site(
            archive=archive, index=place.folder, origins=origins,
            withheld=Path(withheld) if withheld else None,
        )  # fmt: skip


def _tell_origins(origins: Origins) -> None:
    print(*filter(None, (origins.pages, origins.bytes, origins.replayweb)), sep="\n", flush=True)


TOLD_MAX = 1000


class GatewayCommand(ArchiveCommand):
    most_args = 1
    usage = "LIST --root FOLDER [--port N]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--root", metavar="FOLDER", help="the folder below which the list's files lie")
        add("--port", default=GATEWAY_PORT, metavar="N", help="8732; 0 for a free one")
        add("--bind", default="127.0.0.1", metavar="ADDRESS", help="loopback, unless this says so")
        add("--name", action="append", default=[], metavar="HOST", help="a Host it is asked by")

    def act(self, args: list[str], opts: Namespace) -> None:
        if not args:
            raise BadArgument("say which list: pid, URL, time and path a line, tabs between")
        if not opts.root:
            raise BadArgument("say below which folder the files lie: --root FOLDER")
        holdings = ListHoldings(Path(args[0]), Path(opts.root))
        _tell_refused(holdings)
        if not holdings.health()["urls"]:
            raise BadList(f"{args[0]}: no line of it can be served")
        serve_holdings("gateway", opts, lambda: holdings)


def _tell_refused(holdings: ListHoldings) -> None:
    for sentence in holdings.refused[:TOLD_MAX]:
        print(f"{program()} gateway: {sentence}", file=sys.stderr)
    if (more := len(holdings.refused) - TOLD_MAX) > 0:
        print(f"{program()} gateway: {more} lines more cannot be served", file=sys.stderr)
