"""Futs are looked into in child processes, with bounds (``pdf_fronts``, ``finders.inside``).

Whatever happens to a child, the fut is stored: then nothing was seen in it.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from importlib.util import find_spec

from lafka.errors import BadHttp, BadWarc, MachineTrouble, Stopped
from lafka.papers.archive.contents import fut_in
from lafka.papers.walk import Capture
from lafka.storage.children import ChildDied, Children
from lafka.storage.threads import Threads
from lafka.warc.writing.copying import Files

MODULE = "lafka.papers.crawling.pdf_fronts"
"""The module whose ``serve`` a child runs."""
CHILDREN = 2
CPU_SECONDS = 2
LOOKED_INTO = 32 << 20
"""Bytes of the longest fut that is looked into; longer ones are scans, most often."""

logger = logging.getLogger(__name__)


def can_look() -> bool:
    """Return whether the library that reads PDFs is installed."""
    return find_spec("pypdfium2") is not None


class FutReaders:
    """Looks into futs in at most two children, started when there are futs."""

    def __init__(self) -> None:
        self._threads = Threads("lafka-futs", CHILDREN)
        self._children = Children(MODULE, CHILDREN)

    async def look(self, capture: Capture, titles: tuple[str, ...]) -> Capture:
        """Return *capture*, a fut, with what its first pages say of a paper of one of *titles*.

        ``Stopped`` where it was not looked into because of ``cut``.
        """
        payload = capture.payload
        if payload is None or payload.length > LOOKED_INTO:
            return capture
        try:
            found = await self._threads.run(self._ask, capture, titles)
        except (ChildDied, MachineTrouble, BadWarc, BadHttp) as error:
            if self._children.is_cut:
                raise Stopped(f"{capture.url}: not looked into, for the crawl stops") from None
            logger.debug("%s: not looked into: %s", capture.url, error)
            return capture
        origin = capture.ask.origin.looked_into(found)
        return replace(capture, ask=replace(capture.ask, origin=origin))

    def _ask(self, capture: Capture, titles: tuple[str, ...]) -> str:
        answer, payload = capture.exchanges[-1].response, capture.payload
        assert answer is not None
        assert payload is not None
        with Files() as files:
            data = b"".join(fut_in(files.stored(answer), payload))
        found = self._children.ask("fut", {"titles": titles}, data, seconds=CPU_SECONDS)
        return str(found)

    def cut(self) -> None:
        """Give up the futs that are being looked into, or wait for it."""
        self._children.cut()

    def stop(self) -> None:
        self._threads.stop()
        self._children.stop()
