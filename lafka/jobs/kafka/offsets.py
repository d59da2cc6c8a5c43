"""Up to which offset all messages of a partition are done: pure.

Messages are begun in the order of their offsets and done in any order. What may be committed is the
lowest that is not done, so that a crash repeats what was begun and loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Partition = tuple[str, int]


@dataclass(slots=True)
class _Line:
    """Offsets of one partition that are open, in the order in which they came, and the next one."""

    open: dict[int, None] = field(default_factory=dict)
    next: int = -1
    committed: int = -1


@dataclass(slots=True)
class Offsets:
    """What was read and not yet done of each partition that is ours."""

    _lines: dict[Partition, _Line] = field(default_factory=dict)

    def read(self, partition: Partition, offset: int) -> None:
        """*offset* of *partition* was read; offsets of a partition come in order."""
        line = self._lines.setdefault(partition, _Line())
        line.open[offset] = None
        line.next = offset + 1

    def done(self, partition: Partition, offset: int) -> None:
        """*offset* is done; one that is not open, as its partition was lost, is passed over."""
        if line := self._lines.get(partition):
            line.open.pop(offset, None)

    def lost(self, partition: Partition) -> None:
        """*partition* is another's: nothing of it is open here."""
        self._lines.pop(partition, None)

    @property
    def open(self) -> int:
        """How many are read and not done."""
        return sum(len(line.open) for line in self._lines.values())

    def committable(self) -> dict[Partition, int]:
        """The offset to commit, for each partition where it has moved since :meth:`committed`."""
        found = {}
        for partition, line in self._lines.items():
            offset = next(iter(line.open), line.next)
            if offset > line.committed:
                found[partition] = offset
        return found

    def committed(self, offsets: dict[Partition, int]) -> None:
        """*offsets*, as :meth:`committable` gave them, are committed."""
        for partition, offset in offsets.items():
            if line := self._lines.get(partition):
                line.committed = max(line.committed, offset)
