"""Papers as pieces of a WACZ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from urllib.parse import quote

import lafka
from lafka.papers.archive.archives import Archive
from lafka.pids import Pid
from lafka.warc.converting.packing import Package, Piece
from lafka.warc.indexes.base import Entry

_NAME_MAX = 200  # bytes of a name, with its suffix well below what disks take
_PAGES = ("text/html", "application/xhtml+xml")


def pieces(archive: Archive, pids: Iterable[str | Pid]) -> Iterator[Piece]:
    """Yield what is packed of each of *pids*: its WARC up to where its suwaf knows it good.

    ``BadPid``, ``NotHeld``, ``BadSuwaf``; ``ShortWarc`` where the WARC is shorter than that.
    """
    for text in pids:
        pid = archive.pid(text)
        suwaf = archive.suwaf(pid)
        path = archive.warc_path(pid)
        suwaf.check_length(path, path.stat().st_size if path.exists() else 0)
        futs = (fut for times in suwaf.futlis.values() for fut in times.values())
        starts = frozenset(fut.s for fut in futs if not fut.label)
        title = _titles(pid, starts)
        yield Piece(path=path, name=name_of(pid), length=suwaf.end, title=title)


def name_of(pid: Pid) -> str:
    """The name of a paper's WARC among those of other papers; no two pids share one."""
    name = quote(pid.text, safe="~!'()")
    if len(name) > _NAME_MAX:
        name = f"{name[: _NAME_MAX - 34]}%%{sha256(pid.text.encode()).hexdigest()[:32]}"
    return f"{name}.warc"


def package(title: str) -> Package:
    """Return what a WACZ called *title* says of itself."""
    return Package(title=title, software=f"Lafka {lafka.__version__}")


def _titles(pid: Pid, starts: frozenset[int]) -> Callable[[Entry], str]:
    """Return what titles the captures that are pages: the futs at *starts*, and their splaps."""

    def title(entry: Entry) -> str:
        if entry.payload_offset in starts:
            return f"{pid} (full text)"
        is_splap = entry.type == "response" and entry.status == 200 and entry.mime in _PAGES
        return f"{pid} (splash page)" if is_splap else ""

    return title
