"""The obi store that the settings name, for commands and the crawl that fills it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.archec.records import Records
from lafka.archec.records.opening import open_records
from lafka.archec.store.folders import ObiStore
from lafka.errors import BadArgument
from lafka.runs.sources import PRIORITIES

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


INODES_LOW = 0.1
"""A smaller share of free inodes is worth a warning: each obi is a file."""


def open_store(settings: BaseSettings, *, create: bool = False) -> ObiStore:
    """The obi store that is set, made if *create*; ``BadStore``, ``BadArgument``."""
    root = store_root(settings)
    return ObiStore.create(root) if create else ObiStore(root)


def store_root(settings: BaseSettings) -> str:
    """The folder of the obi store that is set; ``BadArgument`` where it is the archive's."""
    root: str = settings["LAFKA_OBJECT_STORE"]
    is_said = (settings.getpriority("LAFKA_ARCHIVE") or 0) >= PRIORITIES["cmdline"]
    if is_said and Path(root).resolve() == Path(settings["LAFKA_ARCHIVE"]).resolve():
        raise BadArgument(f"LAFKA_OBJECT_STORE and LAFKA_ARCHIVE are both {root}")
    return root


@contextmanager
def records_of(
    settings: BaseSettings, store: ObiStore, *, read_only: bool = True
) -> Iterator[Records]:
    database = settings["LAFKA_CACHING_DATABASE"]
    records = open_records(store, database, read_only=read_only)
    try:
        yield records
    finally:
        records.close()
