"""What the verbs share with ``scrapy tobi`` and ``scrapy obi``: the store that is set."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.conf import closest_scrapy_cfg, get_config

from lafka.errors import BadArgument

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from lafka.archec.records import Records
    from lafka.archec.store import ObiStore

_INODES_LOW = 0.1
_NAMES = {
    "LAFKA_OBJECT_STORE": "object_store",
    "LAFKA_REDIF_DIRECTORY": "ReDIF_directory",
    "LAFKA_CACHING_DATABASE": "caching_database",
}


def said(settings: BaseSettings, name: str) -> str:
    """A setting: given by ``-s``, else by the paper's name for it in ``[archec]`` of scrapy.cfg,
    else the project's. A path in scrapy.cfg is relative to the folder of that file.
    """
    value = str(settings.get(name) or "")
    if (settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["cmdline"]:
        return value
    found = get_config().get("archec", _NAMES[name], fallback="")
    if not found or name == "LAFKA_CACHING_DATABASE":
        return found or value
    return str(Path(closest_scrapy_cfg()).parent / Path(found).expanduser())


def the_store(settings: BaseSettings, *, create: bool = False) -> ObiStore:
    """The obi store that is set, made if *create*; ``BadStore``, ``BadArgument``."""
    from lafka.archec.store import ObiStore  # noqa: PLC0415

    root = said(settings, "LAFKA_OBJECT_STORE")
    is_said = (settings.getpriority("LAFKA_ARCHIVE") or 0) >= SETTINGS_PRIORITIES["cmdline"]
    if is_said and Path(root).resolve() == Path(settings["LAFKA_ARCHIVE"]).resolve():
        raise BadArgument(f"LAFKA_OBJECT_STORE and LAFKA_ARCHIVE are both {root}")
    return ObiStore.create(root) if create else ObiStore(root)


def warn_of_inodes(verb: str, store: ObiStore) -> None:
    """Say where the disk soon takes no more files: each obi is one."""
    if (share := store.free_inodes()) < _INODES_LOW:
        print(f"scrapy {verb}: {share:.1%} of the disk's inodes are free", file=sys.stderr)


@contextmanager
def the_records(
    settings: BaseSettings, store: ObiStore, *, read_only: bool = True
) -> Iterator[Records]:
    from lafka.archec.records.opening import open_records  # noqa: PLC0415

    database = said(settings, "LAFKA_CACHING_DATABASE")
    records = open_records(store, database, read_only=read_only)
    try:
        yield records
    finally:
        records.close()
