"""The settings of the obi store, which have the paper's names in ``[archec]`` of scrapy.cfg too."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.conf import closest_scrapy_cfg, get_config

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

NAMES = {
    "LAFKA_OBJECT_STORE": "object_store",
    "LAFKA_REDIF_DIRECTORY": "ReDIF_directory",
    "LAFKA_CACHING_DATABASE": "caching_database",
}


def said(settings: BaseSettings, name: str) -> str:
    """A setting: given by ``-s`` or the environment, else by the paper's name in ``[archec]`` of
    scrapy.cfg, else the project's. A path in scrapy.cfg is relative to the folder of that file.
    """
    value = str(settings.get(name) or "")
    given = (settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["cmdline"]
    if given or name in os.environ:
        return value
    found = get_config().get("archec", NAMES[name], fallback="")
    if not found or name == "LAFKA_CACHING_DATABASE":
        return found or value
    return str(Path(closest_scrapy_cfg()).parent / Path(found).expanduser())


def tell_store(settings: BaseSettings, given: str | None = None) -> None:
    """Say which obi store is written to, and who said so; *given* is that of the command line."""
    from lafka.cli import sources  # noqa: PLC0415

    if given:
        print(f"store: {Path(given).absolute()}", file=sys.stderr, flush=True)
        return
    root = said(settings, "LAFKA_OBJECT_STORE")
    source = sources.source_of(settings, "LAFKA_OBJECT_STORE", sources.here())
    if root != str(settings["LAFKA_OBJECT_STORE"]):
        source = f"[archec] of {closest_scrapy_cfg()}"
    told = f"store: {Path(root).absolute()} (LAFKA_OBJECT_STORE: {source})"
    print(told, file=sys.stderr, flush=True)
