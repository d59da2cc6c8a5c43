"""Rules by which a template that is missing from RePEc data counts as deleted (decision D23).

It is lost where the file that held it was read whole and lacks it, or is gone while a file in the
same folder is whole. Mirrors lose a whole archive when one page of an index breaks, so many losses
at once, and those without such a proof, are withheld until a later run misses them still. What
stood in a file that has no template at all any more is never lost by that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from lafka.archec.gather.sources import RedifSource, SourceFile, below_root
from lafka.archec.records import GatheringRecord, Kind, Records, in_batches
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import whole
from lafka.archec.store.lines import STORED, DeletionLine, WithheldLine

_ASKED = 1000
_OF_ALL = "all"
DAY = 86_400
FEW = 10
"""So many tobis of an archive can go at once, whatever share of it they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRule:
    """The rule by which losses are believed.

    More than ``FEW`` and more than *share* of an archive's tobis: only after *days*, or where the
    archive is *accepted*. *partial*: archives that the source does not have are not looked at.
    """

    share: float = 0.2
    days: float = 30
    accepted: frozenset[str] = frozenset()
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtfulFile:
    """A file that is not whole, or none any more: templates that it lacks may be there still.

    ``held`` are the numbers of the tobis that it had, None where that is not known; ``is_barren``:
    no template is in it. ``key`` is the cache's.
    """

    path: str
    place: str
    key: bytes
    held: frozenset[int] | None
    is_barren: bool

    @property
    def archive(self) -> str:
        """The folder of an archive in which it stands, in lower case."""
        return self.place.partition("/")[0].lower()


@dataclass(slots=True)
class Proofs:
    """Proofs that a run's files give of the templates that were not seen in it.

    ``folders`` are those, by paths and by places, in which a file was whole; ``archives`` theirs.
    """

    folders: set[str] = field(default_factory=set)
    archives: set[str] = field(default_factory=set)
    doubtful: list[DoubtfulFile] = field(default_factory=list)

    def read(self, file: SourceFile, *, is_whole: bool) -> None:
        """*file* was read to its end."""
        if is_whole:
            self.archives.add(file.archive)
            self.folders.update(name.rpartition("/")[0] for name in (file.path, file.place))


class LossCheck:
    """The losses of a run that are believed, as journal lines, and those that are not.

    *was_seen* is asked of the numbers of tobis, *tist* is that of the gathering. ``withheld`` has
    how many of which archive are not believed, and ``held`` the tobis by doubtful file that may be
    in it still; both are whole when :meth:`lines` has ended.
    """

    def __init__(
        self, store: ObiStore, records: Records, source: RedifSource, *, proofs: Proofs,
        rule: LossRule, was_seen: Callable[[int], bool], tist: int,
    ) -> None:  # fmt: skip
        self.withheld: Counter[str] = Counter()
        self.held: dict[DoubtfulFile, list[int]] = {file: [] for file in proofs.doubtful}
        self._store, self._records, self._source = store, records, source
        self._proofs, self._rule, self._was_seen, self._tist = proofs, rule, was_seen, tist
        self._had = {number: one for one in proofs.doubtful for number in one.held or ()}
        self._unknown = [one for one in proofs.doubtful if one.held is None]
        self._barren: set[str] = set()  # archives: what they lack may stand in a file without any
        self._cut: set[str] = set()  # the same, in one that is cut, or a folder that is gone

    def lines(self) -> Iterator[WithheldLine | DeletionLine]:
        """Journal lines: deletions that are believed, and how many of which archive are not.

        ``BadJournal``, ``StorageTrouble``.
        """
        there, gone = self._count()
        waiting = withheld_since(self._records.gatherings())
        waited = {code: self._tist - waiting.get(code, self._tist) for code in gone}
        self._look_for({
            code for code in gone
            if code not in self._rule.accepted and (
                self._is_suspect(code)
                or (covered(self._source, code, self._rule) and not self._is_late(waited[code]))
            )
        })  # fmt: skip
        believed = set()
        for code in sorted(there):
            if code in self._barren:
                self.withheld[code] = gone[code]
            elif not covered(self._source, code, self._rule):
                continue
            elif self._is_too_much(code, gone[code], there[code], waited.get(code, 0)):
                self.withheld[code] = gone[code]
                yield WithheldLine(e="withheld", archive=code, count=gone[code])
            else:
                believed.add(code)
                if code in waiting:  # what was withheld is over
                    yield WithheldLine(e="withheld", archive=code, count=0)
        if any(gone[code] for code in believed):
            yield from self._deletions(believed)

    def _count(self) -> tuple[Counter[str], Counter[str]]:
        """Count the tobis of each archive, and those of them that were not seen."""
        there: Counter[str] = Counter()
        gone: Counter[str] = Counter()
        for _, number, archive in self._records.present(Kind.TOBI):
            there[archive] += 1
            if not self._was_seen(number):
                gone[archive] += 1
                if (file := self._had.get(number)) and archive not in self._rule.accepted:
                    self._hold(file, number, archive)
        return there, gone

    def _hold(self, file: DoubtfulFile, number: int, archive: str) -> None:
        self.held[file].append(number)
        (self._barren if file.is_barren else self._cut).add(archive)

    def _is_suspect(self, code: str) -> bool:
        return any(file.archive in (code, _OF_ALL) for file in self._unknown)

    def _is_late(self, waited: int) -> bool:
        return waited >= self._rule.days * DAY

    def _is_too_much(self, code: str, gone: int, there: int, waited: int) -> bool:
        if code in self._rule.accepted or self._is_late(waited):
            return False
        return code in self._cut or (gone > FEW and gone > self._rule.share * there)

    def _look_for(self, archives: Collection[str]) -> None:
        """Find out by the journals where the tobis of *archives* stood that were not seen."""
        wanted = {
            obi: (number, archive)
            for obi, number, archive in (self._records.present(Kind.TOBI) if archives else ())
            if archive in archives and number not in self._had and not self._was_seen(number)
        }
        unknown = {name: one for one in self._unknown for name in (one.place, one.path)}
        left: Counter[tuple[str, str]] = Counter()
        for obi, path in _last_files(self._store, self._records, wanted):
            number, archive = wanted[obi]
            file = unknown.get(path) or unknown.get(below_root(path))
            if file is None and not path:  # nobody knows where it stood
                file = next((one for one in self._unknown if one.archive == archive), None)
            if file is not None:
                self._hold(file, number, archive)
            elif not self._is_folder_there(path, archive):
                left[below_root(path).rpartition("/")[0], archive] += 1
        for (folder, archive), count in left.items():
            # One template that stood alone may go: an archive of a single paper can lose it.
            if count > 1 or folder not in self._source.folders:
                self._cut.add(archive)

    def _is_folder_there(self, path: str, archive: str) -> bool:
        """Return whether a file is whole in the folder of *path*, or of *archive* without one."""
        if not path:
            return archive in self._proofs.archives
        folders = {name.rpartition("/")[0] for name in (path, below_root(path))}
        return bool(folders & self._proofs.folders)

    def _deletions(self, believed: set[str]) -> Iterator[DeletionLine]:
        for obi, number, archive in self._records.present(Kind.TOBI):
            if archive in believed and not self._was_seen(number):
                yield DeletionLine(e="deletion", id=obi, why="gone from the data")


def _last_files(
    store: ObiStore, records: Records, obis: Collection[str]
) -> Iterator[tuple[str, str]]:
    """*obis*, each with the path at which its last version stood; empty where nobody knows it."""
    versions: defaultdict[int, set[str]] = defaultdict(set)
    for some in in_batches(obis, _ASKED):
        for obi, last in records.last_many(Kind.TOBI, some).items():
            versions[last.noted or 0].add(obi)
    for tist, wanted in versions.items():
        for _, line in whole(store.journal(tist)):
            if line.get("e") in STORED and line["id"] in wanted:
                yield line["id"], line.get("file") or ""


def covered(source: RedifSource, code: str, rule: LossRule) -> bool:
    """Return whether a tobi of the archive *code* that was not seen is gone indeed.

    In ``all/`` stand copies of archive and series templates, so that has to be read as well.
    """
    if (rule.partial or source.partial) and code not in source.archives:
        return False
    return source.covers(code) and source.covers("all")


def withheld_since(gatherings: list[GatheringRecord]) -> dict[str, int]:
    """The archives whose losses are withheld now -> the tist of the first run that did so."""
    since: dict[str, int] = {}
    for gathering in gatherings:
        for code, count in gathering.withheld.items():
            if count:
                since.setdefault(code, gathering.tist)
            else:
                since.pop(code, None)
    return since
