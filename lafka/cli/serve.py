"""``lafka serve``: web pages over the archive, read only."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.cli.base import ArchiveCommand
from lafka.errors import BadArgument
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from lafka.web.serving import Where
    from lafka.web.site import Origins, Site


class ServeCommand(ArchiveCommand):
    most_args = 0

    def syntax(self) -> str:
        return "[--port N] [--replay-port N] [--host ADDRESS]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--port", type=int, default=8000, metavar="N", help="of the pages; 0 for a free one")
        add("--replay-port", type=int, default=8001, metavar="N", help="of the bytes of others")
        add("--replayweb-port", type=int, default=8002, metavar="N", help="of ReplayWeb.page")
        add("--host", default="127.0.0.1", metavar="ADDRESS", help="loopback, unless this says so")
        add("--no-index", action="store_true", help="do not bring the index up to date first")

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        try:
            from lafka.web.serving import Where, serve  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise BadArgument(f"needs the package {error.name}: pip install lafka[web]") from None
        from lafka.runs.validation import positive  # noqa: PLC0415

        assert self.settings is not None
        hosts = self.settings.getlist("LAFKA_WEB_HOSTS")
        self._check(opts, hosts)
        replayweb = self.settings["LAFKA_WEB_REPLAYWEB"]
        where: Where = Where(
            bind=opts.host, port=opts.port, replay_port=opts.replay_port, hosts=tuple(hosts),
            origin=self.settings["LAFKA_WEB_ORIGIN"],
            replay_origin=self.settings["LAFKA_WEB_REPLAY_ORIGIN"],
            connections=positive(self.settings, "LAFKA_WEB_CONNECTIONS"),
            replayweb=Path(replayweb) if replayweb else None, replayweb_port=opts.replayweb_port,
            replayweb_origin=self.settings["LAFKA_WEB_REPLAYWEB_ORIGIN"],
        )  # fmt: skip
        serve(lambda origins: self._site(origins, opts), where, _tell)

    def _check(self, opts: Namespace, hosts: list[str]) -> None:
        from lafka.web.gateway_server import is_loopback  # noqa: PLC0415

        if not is_loopback(opts.host) and not hosts:
            raise BadArgument(f"--host {opts.host} needs LAFKA_WEB_HOSTS: by what name it is asked")

    def _site(self, origins: Origins, opts: Namespace) -> Site:
        from lafka.index.build import refresh  # noqa: PLC0415
        from lafka.index.captures import index_captures  # noqa: PLC0415
        from lafka.index.tables import IndexFiles  # noqa: PLC0415
        from lafka.web.site import Site  # noqa: PLC0415

        assert self.settings is not None
        archive, withheld = self.archive(), self.settings["LAFKA_WEB_WITHHELD"]
        place = IndexFiles.of(archive.root, self.settings["LAFKA_INDEX"])
        if not opts.no_index:
            print(f"{program()} serve: brings the index up to date", file=sys.stderr)
            refresh(archive, place, more=[index_captures])
        return Site(
            archive=archive, index=place.folder, origins=origins,
            withheld=Path(withheld) if withheld else None,
        )  # fmt: skip


def _tell(origins: Origins) -> None:
    print(*filter(None, (origins.pages, origins.bytes, origins.replayweb)), sep="\n", flush=True)
