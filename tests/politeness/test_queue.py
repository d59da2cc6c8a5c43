from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import count
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue

from lafka.politeness import HostQueue
from lafka.politeness.host_speed import HostSpeeds
from lafka.politeness.hosts import Hosts
from tests.sites.hosts import Answer, hosts
from tests.sites.polite_crawl import crawl
from tests.waiting import LIMIT


class Downloader:
    """As much of Scrapy's downloader as a queue looks at."""

    def __init__(self) -> None:
        self.slots: dict[str, SimpleNamespace] = {}
        self.active: set[Request] = set()
        self.domain_concurrency = 1
        self.per_slot_settings: dict[str, dict[str, int]] = {}

    def get_slot_key(self, request: Request) -> str:
        return request.meta["download_slot"]


@pytest.fixture
def world():
    downloader = Downloader()
    known = Hosts(failures_max=1)
    crawler = SimpleNamespace(
        settings=Settings(),
        signals=SignalManager(),
        engine=SimpleNamespace(downloader=downloader),
        get_downloader_middleware=lambda cls: SimpleNamespace(hosts=known),
    )
    queue = HostQueue(crawler, LifoMemoryQueue, "", start_queue_cls=FifoMemoryQueue)
    queue._set_wake_up = lambda: None  # no event loop here
    return SimpleNamespace(queue=queue, downloader=downloader, hosts=known)


numbers = count()


def request(slot: str, priority: int = 0, *, start: bool = False) -> Request:
    meta = {"download_slot": slot, "is_start_request": start}
    return Request(f"http://{slot}/{next(numbers)}", priority=priority, meta=meta)


def send(world) -> str | None:
    """Pop, and let the downloader begin: the slot that goes next."""
    popped = world.queue.pop()
    if popped is None:
        return None
    world.downloader.active.add(popped)
    return popped.meta["download_slot"]


def push(world, *requests: Request) -> None:
    for each in requests:
        world.queue.push(each)


def test_slots_take_turns_and_none_has_two_at_once(world):
    push(world, *(request(slot, start=True) for slot in "aaabbc"))
    assert [send(world) for _ in range(4)] == ["a", "b", "c", None]
    assert len(world.queue) == 3
    world.downloader.active.clear()
    assert [send(world) for _ in range(3)] == ["a", "b", None]


def test_a_slot_has_its_own_concurrency(world):
    world.downloader.per_slot_settings["a"] = {"concurrency": 2}
    push(world, *(request("a") for _ in range(4)))
    assert [send(world) for _ in range(3)] == ["a", "a", None]


def test_continuing_requests_go_before_starts_in_every_slot(world):
    push(world, request("a", start=True), request("b", start=True), request("b", 2))
    push(world, request("c", 1), request("d"))
    assert [send(world) for _ in range(5)] == ["b", "c", "d", "a", None]


def test_a_push_of_higher_priority_moves_its_slot_forward(world):
    push(world, request("a", start=True), request("b", start=True), request("b", 1))
    first = world.queue.pop()
    assert (first.meta["download_slot"], first.priority) == ("b", 1)


def test_requests_of_others_in_the_slot_count_too(world):
    foreign = request("a")
    world.downloader.slots["a"] = SimpleNamespace(
        concurrency=1, active={foreign}, lastseen=0.0, delay=0.0
    )
    push(world, request("a"))
    assert send(world) is None
    world.downloader.slots["a"].active.clear()
    assert send(world) == "a"


def test_a_slot_waits_for_its_delay_outside_the_downloader(world):
    slot = SimpleNamespace(concurrency=1, active=set(), lastseen=time.monotonic(), delay=3600.0)
    world.downloader.slots["a"] = slot
    push(world, request("a"), request("b"))
    assert [send(world), send(world)] == ["b", None]
    assert len(world.queue) == 1


def test_a_parked_slot_waits_and_one_set_aside_fails_fast(world):
    world.hosts.park("a", 3600)
    world.hosts.failed("b", ValueError())
    push(world, *(request(slot) for slot in "aabbbc"))
    assert [send(world) for _ in range(5)] == ["b", "c", "b", "b", None]


def sending(world, speeds: HostSpeeds, going: list[Request]) -> Callable[[], str | None]:
    """What sends the next request that has a place, and gives its slot."""
    world.queue._speeds = speeds

    def sent() -> str | None:
        if speeds.full or (popped := world.queue.pop()) is None:
            return None
        speeds.sent(popped, popped.meta["download_slot"])
        world.downloader.active.add(popped)
        going.append(popped)
        return popped.meta["download_slot"]

    return sent


def test_hosts_that_drip_hold_a_share_of_the_places_and_wait_in_turn(world):
    now = [100.0]
    speeds = HostSpeeds(places=2, beside=2, clock=lambda: now[0])
    going = []
    sent = sending(world, speeds, going)

    def over(request: Request) -> None:
        world.downloader.active.remove(request)
        speeds.ended(request)

    push(world, *(request(f"drip{n}", start=True) for n in range(6)))
    push(world, request("good", start=True))
    assert [sent() for _ in range(3)] == ["drip0", "drip1", None]
    now[0] += 2.1
    assert [sent() for _ in range(3)] == ["drip2", None, None]  # the other one is for who answers
    speeds.answered("robots.txt", "good")
    push(world, request("good", 1))
    assert sent() == "good"
    now[0] += 2.1
    speeds.answered(going[-1], "good")
    over(going[-1])
    assert [sent(), sent()] == ["good", None]
    over(going[-1])
    over(going[0])
    over(going[1])
    assert [sent(), sent()] == ["drip3", None]
    assert len(world.queue) == 2


def test_who_waits_for_a_share_keeps_its_turn_however_often_it_finds_no_room(world):
    now = [100.0]
    speeds = HostSpeeds(places=6, beside=18, clock=lambda: now[0])
    sent = sending(world, speeds, [])
    push(world, *(request(f"drip{n}", start=True) for n in range(18)))
    order = []
    for _ in range(5):
        while (slot := sent()) is not None:
            order.append(slot)
        now[0] += 2.1
    assert order == [f"drip{n}" for n in range(18)]


def test_everything_comes_out_once(world):
    pushed = {request(f"s{n % 7}", n % 3, start=n % 2 == 0) for n in range(200)}
    push(world, *pushed)
    popped = []
    while len(world.queue):
        while each := world.queue.pop():
            popped.append(each)
            world.downloader.active.add(each)
        world.downloader.active.clear()
    assert len(popped) == len(pushed)
    assert set(popped) == pushed
    assert world.queue.pop() is None


def test_pop_looks_at_few_slots_however_many_wait(world):
    """5,000 slots of two requests, most of them parked or busy: looks are counted, not timed."""
    for n in range(5000):
        push(world, request(f"h{n}", start=True), request(f"h{n}", start=True))
        if n % 2:
            world.hosts.park(f"h{n}", 3600)
    looks = 0
    wait = world.queue._wait

    def counted(slot):
        nonlocal looks
        looks += 1
        return wait(slot)

    world.queue._wait = counted
    done = 0
    while True:
        while len(world.downloader.active) < 32 and send(world) is not None:
            pass
        if not world.downloader.active:
            break
        world.downloader.active.pop()
        done += 1
    assert done == 5000
    assert looks <= 3 * done + 5000


def test_a_slow_host_never_fills_the_places():
    fast_done = threading.Event()
    in_time = []

    def slow(cookie):
        in_time.append(fast_done.wait(LIMIT))
        return Answer()

    served = count(1)

    def fast(cookie):
        if next(served) == 10:
            fast_done.set()
        return Answer()

    with hosts({"/slow": slow}, {"/fast": fast}) as [one, two]:
        report = crawl(
            [{"url": one.url + "/slow"}] * 4 + [{"url": two.url + "/fast"}] * 10,
            CONCURRENT_REQUESTS=2,
            ROBOTSTXT_OBEY=False,
        )
    assert in_time == [True] * 4
    assert len(report["results"]) == 14


def test_a_host_slow_to_give_its_robots_fills_no_places_either():
    fast_done = threading.Event()
    in_time = []

    def slow_robots(cookie):
        in_time.append(fast_done.wait(LIMIT))
        return Answer(status=404)

    def fast(cookie):
        fast_done.set()
        return Answer()

    with hosts({"/robots.txt": slow_robots}, {"/fast": fast}) as [one, two]:
        crawl(
            [{"url": one.url + "/slow"}] * 6 + [{"url": two.url + "/fast"}],
            CONCURRENT_REQUESTS=3,
        )
    assert in_time == [True]
