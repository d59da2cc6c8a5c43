"""``lafka bench``: its own server is on loopback, and asks for no politeness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import bench

from lafka.cli._shared.scrapys import LOOPBACK, ready

if TYPE_CHECKING:
    from argparse import Namespace


class Command(bench.Command):
    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        ready(self.settings, "bench")
        assert self.settings is not None
        for name, value in self.default_settings.items():  # the project's would go before them
            self.settings.set(name, value, priority="project")
        alone = {"LAFKA_ALLOWED_NETWORKS": LOOPBACK, "AUTOTHROTTLE_ENABLED": False}
        self.settings.setdict(alone, priority="cmdline")
