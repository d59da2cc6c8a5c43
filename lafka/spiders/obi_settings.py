"""The obi store that the settings name, for commands and the crawl that fills it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.errors import BadArgument
from lafka.runs.sources import PRIORITIES
from lafka.runs.stores import said

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from lafka.archec.files.fobi_store import FobiRules
    from lafka.archec.records import Records
    from lafka.archec.store.folders import ObiStore

INODES_LOW = 0.1
"""A smaller share of free inodes is worth a warning: each obi is a file."""


def the_store(settings: BaseSettings, *, create: bool = False) -> ObiStore:
    """The obi store that is set, made if *create*; ``BadStore``, ``BadArgument``."""
    from lafka.archec.store.folders import ObiStore  # noqa: PLC0415

    root = store_root(settings)
    return ObiStore.create(root) if create else ObiStore(root)


def store_root(settings: BaseSettings) -> str:
    """The folder of the obi store that is set; ``BadArgument`` where it is the archive's."""
    root = said(settings, "LAFKA_OBJECT_STORE")
    is_said = (settings.getpriority("LAFKA_ARCHIVE") or 0) >= PRIORITIES["cmdline"]
    if is_said and Path(root).resolve() == Path(settings["LAFKA_ARCHIVE"]).resolve():
        raise BadArgument(f"LAFKA_OBJECT_STORE and LAFKA_ARCHIVE are both {root}")
    return root


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


def fobi_rules(settings: BaseSettings) -> FobiRules:
    """Return how fobis are judged, and when they are asked for again; ``BadArgument``."""
    import time  # noqa: PLC0415

    from lafka.archec.files.fobi_store import FobiRules  # noqa: PLC0415
    from lafka.archec.gather.tobis import Clocks  # noqa: PLC0415
    from lafka.archec.records.folding import DAY, RefreshRule  # noqa: PLC0415

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
