"""Up to where all is done: nothing that is open is ever passed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lafka.jobs.kafka.consuming import Offsets

ONE = ("x", 0)


def test_the_lowest_that_is_open_is_committed() -> None:
    offsets = Offsets()
    for offset in (5, 6, 9):
        offsets.read(ONE, offset)
    assert offsets.committable() == {ONE: 5}
    offsets.done(ONE, 6)
    assert offsets.committable() == {ONE: 5}
    offsets.done(ONE, 5)
    assert offsets.committable() == {ONE: 9}
    offsets.done(ONE, 9)
    assert offsets.committable() == {ONE: 10}
    offsets.committed({ONE: 10})
    assert offsets.committable() == {}
    assert offsets.open == 0


def test_what_is_lost_is_anothers() -> None:
    offsets = Offsets()
    offsets.read(ONE, 1)
    offsets.lost(ONE)
    offsets.done(ONE, 1)
    offsets.committed({ONE: 2})
    assert offsets.committable() == {}
    offsets.read(ONE, 1)
    assert offsets.open == 1


@given(st.permutations(range(8)), st.integers(0, 8))
def test_in_whatever_order_messages_end(order: list[int], ended: int) -> None:
    offsets = Offsets()
    for offset in range(8):
        offsets.read(ONE, offset)
    for offset in order[:ended]:
        offsets.done(ONE, offset)
    assert offsets.committable() == {ONE: min(order[ended:], default=8)}


class Partitions(RuleBasedStateMachine):
    """Partitions come, go and are read; a list of what is open is the model."""

    def __init__(self) -> None:
        super().__init__()
        self.offsets = Offsets()
        self.open: dict[tuple[str, int], list[int]] = {}
        self.next = 0

    @rule(number=st.integers(0, 2))
    def read(self, number: int) -> None:
        self.offsets.read(("x", number), self.next)
        self.open.setdefault(("x", number), []).append(self.next)
        self.next += 1

    @precondition(lambda self: any(self.open.values()))
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        places = [(p, o) for p, found in sorted(self.open.items()) for o in found]
        place, offset = data.draw(st.sampled_from(places))
        self.open[place].remove(offset)
        self.offsets.done(place, offset)

    @rule(number=st.integers(0, 2))
    def lost(self, number: int) -> None:
        self.offsets.lost(("x", number))
        self.open.pop(("x", number), None)

    @rule()
    def commit(self) -> None:
        self.offsets.committed(self.offsets.committable())
        assert self.offsets.committable() == {}

    @invariant()
    def nothing_open_is_passed(self) -> None:
        for place, offset in self.offsets.committable().items():
            assert all(offset <= found for found in self.open[place])
        assert self.offsets.open == sum(map(len, self.open.values()))


TestPartitions = Partitions.TestCase
