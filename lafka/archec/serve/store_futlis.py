"""The templates of an obi store -> futlis, as they stand now or stood at a time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lafka.archec import redif
from lafka.archec.records import Kind
from lafka.archec.redif.vocabulary import Problem
from lafka.archec.serve.futlis import asked, lines_of
from lafka.archec.serve.queries import standing
from lafka.archec.store.journals import Withdrawals
from lafka.errors import KeeperError, NotHeld, StorageTrouble, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lafka.archec.records import Obi, Records
    from lafka.archec.serve.futlis import FutliChoice, FutliLine
    from lafka.archec.store.folders import ObiStore

_WITHOUT_FILES = redif.TYPES - redif.ITEMS - {"archive", "series"}


class StoreFutliList:
    """The futlis of the templates that *store* has at the tist *at*, now if that is None.

    As ``FutliList``: read once, in the order of the handles' bytes. Templates that were lost by
    then, or withdrawn since, are not in it; the latter, and those that cannot be read, are counted.
    ``RecordsAway``.
    """

    def __init__(
        self, store: ObiStore, records: Records, choice: FutliChoice, at: int | None
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self.whole = False
        self._store, self._records, self._choice, self._at = store, records, choice, at
        self._restrictions = redif.Restrictions()
        self._withdrawals = Withdrawals(store)

    def __iter__(self) -> Iterator[FutliLine]:
        # In this order an archive comes before its series, a series before its papers, so that
        # what restricts a paper is known when it comes.
        for obi in self._records.walk(Kind.TOBI):
            if self._is_left_out(obi):
                continue
            for template in self._templates(obi):
                self._restrictions.add(template)
                for line in self._lines(template):
                    self.counts["lines"] += 1
                    self.counts["restricted"] += bool(line.restriction)
                    yield line
        self.whole = not self.problems

    def _is_left_out(self, obi: Obi) -> bool:
        """Return whether it neither has files that are wanted nor restricts any; it is not even
        read.
        """
        of_other = obi.type in redif.ITEMS and self._choice.series not in (None, obi.series)
        return (
            of_other
            or obi.type in _WITHOUT_FILES
            or self._choice.archive not in (None, obi.archive)
        )

    def _templates(self, obi: Obi) -> Iterator[redif.Template]:
        tist = standing(obi, self._at)
        if tist is None:
            return
        if self._withdrawals.why(obi.id, tist):
            self.counts["withdrawn"] += 1
            return
        try:
            yield from redif.read(self._store.read(tist, obi.id), obi.id)
        except (KeeperError, NotHeld, StorageTrouble) as error:
            self.counts["unreadable"] += 1
            if self.counts["unreadable"] <= redif.MOST_PROBLEMS:
                place = self._store.path(tist, obi.id).relative_to(self._store.root).as_posix()
                self.problems.append(
                    Problem(file=place, line=0, code="unreadable", sentence=printable(str(error)))
                )

    def _lines(self, template: redif.Template) -> list[FutliLine]:
        handle = template.handle
        if not handle or handle.number is None or not self._choice.takes(template, handle):
            return []
        self.counts["templates"] += 1
        files = asked(template.files(), self._choice, self.counts)
        return lines_of(handle, files, self._restrictions, template.first("Title"))
