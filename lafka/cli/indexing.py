"""Additions to an index on request: captures, and titles by the obi store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.cli.archec._shared import said, the_records, the_store
from lafka.errors import BadId, LafkaError, NotHeld

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from lafka.index.build import More
    from lafka.index.titles import Redif, Titled

_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")


@contextmanager
def more_of(
    settings: BaseSettings, *, captures: bool, titles: bool, anew: bool
) -> Iterator[list[More]]:
    """What ``build.refresh`` is to add; the obi store is open meanwhile. ``BadStore``."""
    # Scrapy imports this module at the start of any command.
    from lafka.index.captures import index_captures  # noqa: PLC0415
    from lafka.index.titles import Titles  # noqa: PLC0415

    more: list[More] = [partial(index_captures, anew=anew)] if captures else []
    if not titles:
        yield more
        return
    with redif_titles(settings) as redif:
        yield [*more, Titles(redif)]


@contextmanager
def redif_titles(settings: BaseSettings) -> Iterator[Redif | None]:
    """What asks the obi store of *settings*; None where there is none. ``BadStore``."""
    if not Path(said(settings, "LAFKA_OBJECT_STORE"), "archec.json").is_file():
        yield None
        return
    from lafka.archec.serve.queries import Looking, the_id  # noqa: PLC0415

    store = the_store(settings)
    with the_records(settings, store) as records:

        def titled(pid: str) -> Titled | None:
            with suppress(NotHeld, BadId, OSError, LafkaError):
                return in_template(Looking(store, records, the_id(pid)).read())
            return None

        yield titled


def in_template(data: bytes) -> Titled | None:
    """Title and year of the first template in *data*; None where it has no title."""
    from lafka.archec.redif.reading import read  # noqa: PLC0415
    from lafka.index.titles import Titled  # noqa: PLC0415

    for template in read(data):
        title = template.first("Title")
        when = template.first("Creation-Date") or template.first("Year") or ""
        year = _YEAR.search(when)
        return Titled(title=title, year=int(year[1]) if year else None) if title else None
    return None
