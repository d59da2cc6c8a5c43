"""The suwafs of an archive as an index of its paper WARCs, and papers as pieces of a WACZ.

>>> from lafka.warc import Collection
>>> from lafka.warc.indexes import copy
>>> index = SuwafIndex(Archive("archive"))  # doctest: +SKIP
>>> collection = Collection(indexes=[index])  # doctest: +SKIP
>>> copy(index, into="archive/futs.sqlite")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import lafka
from lafka.errors import BadPid, BadSuwaf, printable
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.suwafs import Fut, Suwaf
from lafka.pids import Pid
from lafka.warc.converting.packing import Package, Piece
from lafka.warc.format.dates import WarcDate
from lafka.warc.indexes.base import Entry, Index, Query, Rank
from lafka.warc.indexes.surts import surt
from lafka.warc.problems import Problem


class SuwafIndex(Index):
    """Every fut of *archive*: found by its URL or its futli, by time and digest.

    Entries say where the fut stands in the WARC, ``payload_offset`` and ``payload_length`` are
    ``s`` and ``l``; of the record around it a suwaf knows nothing. Each search reads all suwafs:
    :func:`lafka.warc.indexes.copy` makes an index of them that is fast. Suwafs that are none go
    into ``problems``; ``StorageTrouble`` where the disk does not read.
    """

    def __init__(self, archive: Archive) -> None:
        super().__init__()
        self.folder = archive.root
        self._archive = archive

    def __iter__(self) -> Iterator[Entry]:
        return (entry for _, entry in self._futs())

    def _futs(self) -> Iterator[tuple[str, Entry]]:
        """Each futli with the entry of a fut of it."""
        for warc in self._archive.warcs(self._lost):
            suwaf = self._suwaf(warc)
            volume = warc.relative_to(self.folder).as_posix()
            for futli, times in suwaf.futlis.items() if suwaf else ():
                for time, fut in times.items():
                    yield futli, _entry(volume, time, fut)

    def _suwaf(self, warc: Path) -> Suwaf | None:
        try:
            pid = self._archive.pid_at(warc)
            return Suwaf.load(self._archive.suwaf_path(pid), pid)
        except (BadPid, BadSuwaf) as error:
            self._note(warc, printable(error))
            return None

    def _lost(self, link: Path) -> None:
        self._note(link, "a link that leads nowhere")

    def _note(self, path: Path, sentence: str) -> None:
        problem = Problem(path=path, offset=0, code="suwaf", severity="error", sentence=sentence)
        if problem not in self.problems:
            self.problems.append(problem)

    def found(self, query: Query) -> Iterator[Entry]:
        ranked = [
            (rank, n, entry)
            for n, (futli, entry) in enumerate(self._futs())
            if (rank := _rank(query, futli, entry)) is not None
        ]
        return (entry for _, _, entry in sorted(ranked))


def _rank(query: Query, futli: str, entry: Entry) -> Rank | None:
    """The better of the ranks that *entry* has by its URL and by its futli, if it is found so."""
    by_futli = replace(entry, url=futli, key=surt(futli))
    return min((query.rank(one) for one in (entry, by_futli) if query.matches(one)), default=None)


def _entry(volume: str, time: str, fut: Fut) -> Entry:
    return Entry(
        key=surt(fut.url),
        url=fut.url,
        date=WarcDate.parse(time),
        mime="application/pdf",
        digest=fut.digest,
        volume=volume,
        payload_offset=fut.s,
        payload_length=fut.l,
    )


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
        title = _Pages(pid, starts)
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


class _Pages:
    """The captures of a paper that are pages: its futs, and the splaps that led to them."""

    def __init__(self, pid: Pid, starts: frozenset[int]) -> None:
        self._pid = pid
        self._starts = starts

    def __call__(self, entry: Entry) -> str:
        if entry.payload_offset in self._starts:
            return f"{self._pid} (full text)"
        is_splap = entry.type == "response" and entry.status == 200 and entry.mime in _PAGES
        return f"{self._pid} (splash page)" if is_splap else ""
