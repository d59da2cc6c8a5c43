"""The stores that the settings name, and who named them.

The settings of the obi store have the paper's names in ``[archec]`` of scrapy.cfg, too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.conf import closest_scrapy_cfg, get_config

from lafka.runs import sources

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
    given = (settings.getpriority(name) or 0) >= sources.PRIORITIES["cmdline"]
    if given or name in os.environ:
        return value
    found = get_config().get("archec", NAMES[name], fallback="")
    if not found or name == "LAFKA_CACHING_DATABASE":
        return found or value
    return str(Path(closest_scrapy_cfg()).parent / Path(found).expanduser())


def archive_line(settings: BaseSettings, name: str = "LAFKA_ARCHIVE") -> str:
    """The line that says which archive is written to, and who said so; *name* is the setting."""
    value = said(settings, name) if name in NAMES else settings[name]
    source = sources.source_of(settings, name, sources.here())
    if value != settings[name]:
        source = f"{NAMES[name]} of scrapy.cfg"
    return f"archive: {Path(value).absolute()} ({name}: {source})"


def store_line(settings: BaseSettings, given: str | None = None) -> str:
    """The line that says which obi store is written to; *given* is that of the command line."""
    if given:
        return f"store: {Path(given).absolute()}"
    root = said(settings, "LAFKA_OBJECT_STORE")
    source = sources.source_of(settings, "LAFKA_OBJECT_STORE", sources.here())
    if root != str(settings["LAFKA_OBJECT_STORE"]):
        source = f"[archec] of {closest_scrapy_cfg()}"
    return f"store: {Path(root).absolute()} (LAFKA_OBJECT_STORE: {source})"
