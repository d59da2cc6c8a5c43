"""The obi store that the settings name, for commands and the crawl that fills it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.settings import SETTINGS_PRIORITIES

from lafka.cli.stores import said
from lafka.errors import BadArgument

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from lafka.archec.files.fobi_store import FobiRules
    from lafka.archec.records import Records
    from lafka.archec.store.folders import ObiStore

INODES_LOW = 0.1


def the_store(settings: BaseSettings, *, create: bool = False) -> ObiStore:
    """The obi store that is set, made if *create*; ``BadStore``, ``BadArgument``."""
    from lafka.archec.store.folders import ObiStore  # noqa: PLC0415

    root = _root(settings)
    return ObiStore.create(root) if create else ObiStore(root)


def _is_unfilled(settings: BaseSettings) -> bool:
    """Whether the obi store that is set has no gathering, or is yet to be made; ``BadStore`` where
    it cannot be.
    """
    from lafka.archec.store.folders import ObiStore  # noqa: PLC0415

    root = _root(settings)
    return ObiStore.is_to_be_made(root) or not ObiStore(root).journals()


def _root(settings: BaseSettings) -> str:
    root = said(settings, "LAFKA_OBJECT_STORE")
    is_said = (settings.getpriority("LAFKA_ARCHIVE") or 0) >= SETTINGS_PRIORITIES["cmdline"]
    if is_said and Path(root).resolve() == Path(settings["LAFKA_ARCHIVE"]).resolve():
        raise BadArgument(f"LAFKA_OBJECT_STORE and LAFKA_ARCHIVE are both {root}")
    return root


def warn_of_inodes(verb: str, store: ObiStore) -> None:
    """Say where the disk soon takes no more files: each obi is one."""
    if (share := store.free_inodes()) < INODES_LOW:
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


@contextmanager
def to_be_filled(
    verb: str, settings: BaseSettings, *, dry: bool
) -> Iterator[tuple[ObiStore, Records]]:
    """The store that is set and its records, to be written; a *dry* run reads them, or before the
    first run an empty store elsewhere.
    """
    from lafka.archec.gather.dry_run import empty_store  # noqa: PLC0415

    if dry and _is_unfilled(settings):
        with empty_store() as opened:
            yield opened
        return
    store = the_store(settings, create=not dry)
    warn_of_inodes(verb, store)
    with the_records(settings, store, read_only=dry) as records:
        yield store, records


def fobi_rules(settings: BaseSettings) -> FobiRules:
    """How fobis are judged, and when they are asked for again; ``BadArgument``."""
    import time  # noqa: PLC0415

    from lafka.archec.files.fobi_store import FobiRules  # noqa: PLC0415
    from lafka.archec.gather.tobis import Clocks  # noqa: PLC0415
    from lafka.archec.records.refresh_rules import DAY, RefreshRule  # noqa: PLC0415

    least, most = settings.getfloat("LAFKA_REFRESH_MIN"), settings.getfloat("LAFKA_REFRESH_MAX")
    if least > most:
        raise BadArgument(f"LAFKA_REFRESH_MIN={least} is more than LAFKA_REFRESH_MAX={most}")
    return FobiRules(
        rule=RefreshRule(least=int(least * DAY), most=int(most * DAY)),
        clocks=Clocks(now=lambda: int(time.time()), monotonic=time.monotonic),
        judge_page=_guard_of,
        max_entity=settings.getint("LAFKA_MAX_PAYLOAD"),
    )


def _guard_of(url: str, body: bytes, content_type: str) -> tuple[str, str]:
    """Outcome and reason of a page that a guard or a login put in place of what was asked for."""
    from lafka.papers.finders import Page, describe  # noqa: PLC0415

    page = Page(url=url, body=body, content_type=content_type)
    try:
        verdict = describe(page)
    except Exception:  # a page that cannot be read is no guard's: it is kept as it is
        return "", ""
    if verdict.kind not in ("bot-challenge", "login"):
        return "", ""
    return verdict.kind, verdict.reason
