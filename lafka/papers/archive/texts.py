"""The texts of futs, read by pypdfium2 (the extra ``lafka[text]``) in child processes with bounds.

A PDF can be made to stop any reader; here that is one fut without text, and the next is read. The
module is its own child: ``serve`` runs there.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any

from lafka.errors import BadArgument, KeeperError
from lafka.storage import children
from lafka.storage.children import ChildDied, Children

if TYPE_CHECKING:
    from lafka.papers.archive.suwafs import StoredFut

MODULE = "lafka.papers.archive.texts"
"""The module whose ``serve`` a child runs."""
CPU_SECONDS = 60
"""For one fut; a thousand pages take ten."""
LONGEST = 512 << 20
"""Bytes of a fut that is read; the child has its bytes in memory."""
LONGEST_TEXT = 64 << 20
"""Characters of a text; what is beyond them is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FutText:
    """The text of a fut: its pages, parted by form feeds. A scan has pages and no text.

    ``error`` says in a sentence why there is none, else it is empty.
    """

    fut: StoredFut
    text: str = ""
    pages: int = 0
    error: str = ""


def texts(futs: Iterable[StoredFut]) -> Iterator[FutText]:
    """Yield the texts of *futs* in their order, read by as many children as there are processors.

    ``BadArgument`` where pypdfium2 is not installed, ``MachineTrouble`` where no child can begin.
    """
    if find_spec("pypdfium2") is None:
        raise BadArgument("texts need pypdfium2: pip install 'lafka[text]'")
    count = os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count()
    readers = Children(MODULE, count or 1)
    coming, waiting = iter(futs), deque[Future[FutText]]()
    with ThreadPoolExecutor(count or 1) as threads:
        try:
            while True:
                begun = islice(coming, 2 * (count or 1) - len(waiting))
                waiting.extend(threads.submit(_text_of, fut, readers) for fut in begun)
                if not waiting:
                    return
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
            readers.cut()
            readers.stop()


def _text_of(fut: StoredFut, readers: Children) -> FutText:
    if fut.length > LONGEST:
        return FutText(fut=fut, error=f"{fut.pid}: no text is read of {fut.length} bytes")
    try:
        with fut.open() as pdf:
            found = readers.ask("text", {}, pdf.read(), seconds=CPU_SECONDS)
    except (ChildDied, KeeperError) as error:
        return FutText(fut=fut, error=f"{fut.pid}: its text could not be read: {error}")
    problem = f"{fut.pid}: its text could not be read: {found['error']}" if found["error"] else ""
    return FutText(fut=fut, text=str(found["text"]), pages=int(found["pages"]), error=problem)


# In the child -----------------------------------------------------------------------------


def serve() -> None:
    """Read texts until standard input ends. Runs in the child."""
    children.serve({"text": lambda _, data: read_text(data)})


def read_text(data: bytes) -> dict[str, Any]:
    """Return the text of the PDF *data* page by page, how many pages it has, and why no more."""
    from pypdfium2 import PdfDocument  # noqa: PLC0415  an optional extra

    said: list[str] = []
    length, count, problem = 0, 0, ""
    try:
        document = PdfDocument(data)
        count = len(document)
        while len(said) < count and length < LONGEST_TEXT:
            page = document[len(said)]
            sheet = page.get_textpage()
            said.append(sheet.get_text_range()[: LONGEST_TEXT - length].replace("\r\n", "\n"))
            length += len(said[-1])
            sheet.close()
            page.close()
    except Exception as error:  # whatever the library raises over foreign bytes
        problem = str(error) or type(error).__name__
    text = "\f".join(said).encode("utf-8", "replace").decode()
    return {"text": text if text.strip() else "", "pages": count, "error": problem}
