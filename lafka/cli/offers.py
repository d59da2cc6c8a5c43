"""Offers of an archive of papers to an obi store: where two wings meet, for a command."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from lafka.errors import BadPid, BadWarc, KeeperError, NotHeld
from lafka.papers.archive.archives import Archive, StoredFut

if TYPE_CHECKING:
    from lafka.archec.gather.pulls import Offer


def offers(archive: Archive, problems: list[str]) -> Iterator[Offer]:
    """Yield what each futli itself led to; a fut that was found on a page is not what it
    points at.
    """
    from lafka.archec.gather.pulls import Offer  # noqa: PLC0415  Scrapy imports this at any start

    for warc in archive.warcs(lambda path: problems.append(f"{path}: leads nowhere")):
        try:
            found = list(archive.futs_of(archive.pid_at(warc)))
        except (KeeperError, NotHeld, BadPid) as error:
            problems.append(str(error))
            continue
        for fut, origin in found:
            if not origin.html_url:
                when = datetime.fromisoformat(fut.time)
                read = partial(proved, fut)
                yield Offer(url=fut.futli, answered=fut.url, time=when, read=read)


def proved(fut: StoredFut) -> bytes:
    """The bytes of *fut*; ``BadWarc`` where they are not what its digest says."""
    data = fut.read()
    if fut.digest != f"sha256:{sha256(data).hexdigest()}":
        raise BadWarc(fut.warc, "the fut is not what its digest says", fut.start)
    return data
