"""The obi store that is set, as ``tobi``, ``obi`` and the verbs of ``archec`` open it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lafka.runs.stores import said
from lafka.spiders.obi_settings import INODES_LOW, store_root, the_records, the_store

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from lafka.archec.records import Records
    from lafka.archec.store.folders import ObiStore

__all__ = ["said", "the_records", "the_store", "to_be_filled", "warn_of_inodes"]


def _is_unfilled(settings: BaseSettings) -> bool:
    """Return whether the obi store that is set has no gathering, or is yet to be made; ``BadStore``
    where it cannot be.
    """
    from lafka.archec.store.folders import ObiStore  # noqa: PLC0415

    root = store_root(settings)
    return ObiStore.is_to_be_made(root) or not ObiStore(root).journals()


def warn_of_inodes(verb: str, store: ObiStore) -> None:
    """Say where the disk soon takes no more files: each obi is one."""
    if (share := store.free_inodes()) < INODES_LOW:
        print(f"scrapy {verb}: {share:.1%} of the disk's inodes are free", file=sys.stderr)


@contextmanager
def to_be_filled(
    verb: str, settings: BaseSettings, *, dry: bool
) -> Iterator[tuple[ObiStore, Records]]:
    """The store that is set and its records, to be written; a *dry* run reads them, or before the
    first run an empty store elsewhere.
    """
    from lafka.archec.gather.runs import empty_store  # noqa: PLC0415

    if dry and _is_unfilled(settings):
        with empty_store() as opened:
            yield opened
        return
    store = the_store(settings, create=not dry)
    warn_of_inodes(verb, store)
    with the_records(settings, store, read_only=dry) as records:
        yield store, records
