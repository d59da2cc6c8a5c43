"""Who has a place: the clock, and what came of each request, are given."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.politeness.host_speed import FLOW, PATIENCE, REMEMBERED, HostSpeed, HostSpeeds

NEW, ANSWERING, SLOW = HostSpeed
STEP = PATIENCE + 0.01
EVENTS = ("send", "end", "fail", "flow", "wait")


class World(SimpleNamespace):
    """HostSpeeds with a clock that is moved, and bytes that are said to have come."""

    def __init__(self, places: int = 4, beside: int | None = None) -> None:
        super().__init__(now=100.0, bytes={})
        self.speeds = HostSpeeds(
            places=places,
            beside=beside,
            received=lambda request: self.bytes.get(request, 0),
            clock=lambda: self.now,
        )

    def send(self, *slots: str) -> None:
        for slot in slots:
            self.speeds.sent(f"to {slot}", slot)

    def end(self, *slots: str, answered: bool = True) -> None:
        for slot in slots:
            if answered:
                self.speeds.answered(f"to {slot}", slot)
            self.speeds.ended(f"to {slot}")

    def room(self) -> tuple[float, ...]:
        return tuple(self.speeds.room(speed) for speed in HostSpeed)


@pytest.fixture
def world() -> World:
    return World()


def test_places_are_for_whoever_comes_while_nobody_keeps_us_waiting(world: World) -> None:
    assert world.room() == (4, 4, 4)
    world.send("a", "b", "c", "d")
    assert world.speeds.full
    assert world.room()[:2] == (0, 0)
    world.end("a")
    assert not world.speeds.full
    assert world.room() == (1, 1, 4)


def test_a_request_that_is_kept_waiting_gives_its_place_back(world: World) -> None:
    world.send("a", "b", "c", "d")
    world.now += PATIENCE - 0.01
    assert world.speeds.full
    world.now += 0.02
    assert not world.speeds.full
    assert world.room() == (2, 4, 0)  # half are kept for those that answer


def test_one_to_which_bytes_come_keeps_its_place(world: World) -> None:
    world.send("a", "b")
    world.bytes = {"to a": int(2 * FLOW * PATIENCE), "to b": int(FLOW * PATIENCE / 2)}
    world.now += STEP
    assert world.room() == (3 - 1, 3, 3)
    assert world.speeds.speed("a") is NEW
    assert world.speeds.speed("b") is SLOW
    world.now += STEP  # and to a no more came
    assert world.room()[1] == 4
    world.bytes = {"to a": 10**9, "to b": 10**9}
    world.now += STEP
    assert world.room()[1] == 2


def test_what_a_component_of_ours_was_answered_counts_for_the_host(world: World) -> None:
    """Its robots.txt; the page is given the time from there on."""
    world.send("a")
    world.now += PATIENCE - 0.1
    world.speeds.answered("robots.txt of a", "a")
    assert world.speeds.speed("a") is ANSWERING
    world.now += 0.2
    assert world.room()[1] == 3
    world.now += PATIENCE
    assert world.room()[1] == 4


def test_what_we_still_do_with_an_answer_is_not_the_host_s_time(world: World) -> None:
    world.send("a")
    world.speeds.answered("to a", "a")
    world.now += 100
    assert world.room()[1] == 3
    world.speeds.ended("to a")
    assert world.speeds.speed("a") is ANSWERING


def test_a_slow_host_is_asked_again_beside_the_places_and_can_make_up_for_it(world: World) -> None:
    world.send("a")
    world.now += STEP
    world.speeds.room(NEW)
    world.end("a")  # late, but it has answered
    assert world.speeds.speed("a") is SLOW
    world.send("a")
    assert world.room() == (3, 4, 3)
    world.end("a")  # at once
    assert world.speeds.speed("a") is ANSWERING


def test_no_more_slow_ones_are_asked_than_there_are_places(world: World) -> None:
    for n in range(4):
        world.send(f"s{n}")
        world.now += STEP
        world.speeds.room(NEW)
        world.end(f"s{n}", answered=False)
    world.send("s0", "s1", "s2")
    assert world.room() == (2, 4, 1)
    world.send("s3")
    assert world.room() == (2, 4, 0)


def test_those_that_find_no_room_beside_the_places_hold_them_but_never_all() -> None:
    world = World(places=4, beside=6)
    for n in range(100):
        if world.speeds.room(NEW):
            world.send(f"d{n}")
        else:
            world.now += STEP
    assert world.room() == (0, 2, 0)  # six beside, two more in half of the places
    world.send("good")
    assert world.room() == (0, 1, 0)
    world.end("good")
    assert world.speeds.speed("good") is ANSWERING
    world.end("d0", "d1", "d2", answered=False)
    assert world.room()[0] > 0


def test_one_place_is_never_kept_free() -> None:
    world = World(places=1)
    world.send("a")
    world.now += STEP
    assert world.room() == (1, 1, 0)


def test_without_places_there_is_no_bound() -> None:
    world = World(places=0)
    world.send(*(f"h{n}" for n in range(1000)))
    world.now += STEP
    assert not world.speeds.full
    assert world.room() == (math.inf,) * 3
    assert world.speeds.next_look == math.inf


def test_the_next_look_is_told(world: World) -> None:
    assert world.speeds.next_look == math.inf
    world.send("a")
    world.now += 0.5
    world.send("b")
    assert world.speeds.next_look == pytest.approx(PATIENCE - 0.5)
    world.now += 10
    assert world.speeds.next_look == 0
    assert world.room()[1] == 4
    assert world.speeds.next_look == pytest.approx(PATIENCE)


def test_hosts_are_forgotten_after_many_others(world: World) -> None:
    for n in range(REMEMBERED + 1):
        world.speeds.answered("", f"h{n}")
    assert world.speeds.speed("h0") is NEW
    assert world.speeds.speed("h1") is ANSWERING


@given(
    st.integers(1, 9),
    st.lists(
        st.tuples(st.sampled_from(["send", "end", "fail", "flow", "wait"]), st.integers(0, 30))
    ),
)
def test_whatever_happens_the_bounds_hold(places: int, events: list[tuple[str, int]]) -> None:
    world = World(places=places)
    going: set[str] = set()
    for event, number in events:
        slot = f"h{number}"
        speed = world.speeds.speed(slot)
        if event == "send" and slot not in going:
            if not world.speeds.full and world.speeds.room(speed) > 0:
                world.send(slot)
                going.add(slot)
        elif event == "wait":
            world.now += number / 10
        elif event == "flow":
            world.bytes[f"to {slot}"] = world.bytes.get(f"to {slot}", 0) + 10_000
        elif slot in going and event in ("end", "fail"):
            going.remove(slot)
            world.end(slot, answered=event == "end")
            world.bytes.pop(f"to {slot}", None)
        assert len(going) <= places + 3 * places + places // 2 + 1
        room = world.room()
        assert all(0 <= each <= places for each in room)
        assert room[NEW] <= room[ANSWERING]
        assert (room[ANSWERING] == 0) == world.speeds.full
    world.end(*going)
    assert world.room() == (places,) * 3
