"""The gate without a server: workers that share a table in memory, and a clock that is set."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.core.downloader import Slot

from lafka.capture.handler import after_turn
from lafka.errors import Stopped
from lafka.politeness.claims import LEASE
from lafka.politeness.courier import FRESH
from lafka.politeness.gate import AGAIN, RENEW, TURN, UNUSED
from lafka.politeness.hosts import Hosts
from tests.politeness.gates import Table, Worker


@pytest.fixture
def table() -> Table:
    return Table()


def test_a_host_is_asked_for_beside_and_the_queue_is_told(table: Table) -> None:
    worker = Worker(table, "one")
    assert worker.gate.wait("a") == worker.gate.wait("a") == math.inf
    assert not worker.send("a")
    assert worker.changed == []
    worker.visit()
    assert worker.changed == ["a"]
    assert worker.gate.wait("a") == 0
    assert worker.send("a")
    assert worker.gate.held == worker.gate.counts["claims"] == table.visits == 1


def test_hosts_that_are_asked_for_together_go_in_one_statement(table: Table) -> None:
    worker = Worker(table, "one")
    for number in range(300):
        worker.gate.wait(f"host{number}")
    worker.visit()
    assert table.visits == 1
    assert worker.gate.held == 300


def test_a_claim_that_was_not_confirmed_for_a_while_sends_nothing(table: Table) -> None:
    one, two = Worker(table, "one"), Worker(table, "two")
    assert one.takes("a")
    assert one.send("a", "on the wire")
    table.clock.now += FRESH
    assert not one.gate.is_fresh("a")
    assert not one.send("a")
    table.clock.now += 30  # it was stopped, and its lease is over
    assert two.takes("a")
    assert not one.send("a")
    one.look()
    assert one.gate.counts["lost"] == 1
    assert not one.send("a")


def test_a_worker_that_was_stopped_goes_on_where_nobody_took_its_host(table: Table) -> None:
    worker = Worker(table, "one")
    assert worker.takes("a")
    assert worker.send("a", "on the wire")
    table.clock.now += 100
    assert not worker.send("a")
    worker.look()
    assert worker.send("a")


def test_a_host_that_is_used_is_renewed_and_given_back_when_nobody_waits(table: Table) -> None:
    worker = Worker(table, "one", delay=3.0)
    assert worker.takes("a")
    assert worker.send("a")
    for _ in range(10):
        table.clock.now += RENEW
        worker.look()
    assert worker.gate.is_fresh("a")
    worker.end("a")
    table.clock.now += UNUSED
    worker.look()
    assert worker.gate.held == 1  # more waits here
    worker.waits.clear()
    worker.last["a"] = table.clock()
    worker.look()
    assert worker.gate.held == 0
    assert table.rows["a"].worker is None
    assert table.rows["a"].until == table.clock() - UNUSED + 3  # it counts from the end


def test_a_claim_that_nobody_uses_is_given_back(table: Table) -> None:
    worker = Worker(table, "one")
    assert worker.takes("a")
    table.clock.now += UNUSED
    worker.look()
    assert worker.gate.held == 0
    assert worker.takes("a")


def test_who_wants_a_host_has_it_after_a_turn_and_its_delay(table: Table) -> None:
    one, two = Worker(table, "one", delay=1.0), Worker(table, "two")
    assert one.takes("a")
    assert one.send("a")
    one.end("a")
    assert not two.takes("a")
    begun, given_back = table.clock(), 0.0
    while table.clock() - begun < 3 * TURN:
        table.clock.now += 0.125
        if one.send("a"):
            one.end("a")
        two.gate.look()
        two.visit()
        one.look()
        if not given_back and table.rows["a"].worker is None:
            given_back = table.clock()
        if two.gate.may_send("a"):
            break
        one.gate.wait("a")
    assert two.gate.may_send("a")
    assert TURN <= given_back - begun <= TURN + RENEW
    assert table.clock() - one.last["a"] >= 1
    assert table.clock() - given_back <= AGAIN + 0.25
    assert not one.gate.may_send("a")


def test_what_is_on_the_wire_keeps_its_host_and_nothing_new_begins(table: Table) -> None:
    one, two = Worker(table, "one"), Worker(table, "two")
    assert one.takes("a")
    assert one.send("a", 1)
    for _ in range(30):
        table.clock.now += 0.5
        two.takes("a")
        two.gate.look()
        one.look()
    assert not two.gate.may_send("a")
    assert not one.send("a", 2)
    one.end("a", 1)
    one.look()
    table.clock.now += AGAIN
    two.look()
    assert two.gate.may_send("a")


def test_a_host_that_asked_to_wait_is_parked_for_all(table: Table) -> None:
    one, two = Worker(table, "one"), Worker(table, "two")
    hosts = Hosts(failures_max=0, clock=table.clock)
    hosts.take_gate(two.gate)
    assert one.takes("a")
    assert one.send("a")
    one.gate.park("a", 600, "429, Retry-After: 600")
    one.end("a")
    one.look()
    assert table.rows["a"].worker is None
    assert not two.takes("a")
    assert two.changed == ["a"]  # it asks again, and finds it parked
    assert hosts.parked("a") == 600
    assert hosts.as_json()["parked"][0]["why"] == "429, Retry-After: 600"
    table.clock.now += 600
    assert two.takes("a")


def test_a_parking_that_came_back_from_the_gate_is_not_told_again(table: Table) -> None:
    worker = Worker(table, "one")
    hosts = Hosts(failures_max=0, clock=table.clock)
    hosts.take_gate(worker.gate)
    assert worker.takes("a")
    hosts.park("a", 60, "503")
    worker.look()
    assert not worker.takes("a")
    assert [parked["times"] for parked in hosts.as_json()["parked"]] == [1]


def test_who_waits_past_the_queue_has_its_turn_or_is_stopped(table: Table) -> None:
    one, two = Worker(table, "one"), Worker(table, "two")
    assert one.takes("a")
    turn, other = two.gate.turn("a"), two.gate.turn("a")
    two.visit()
    assert not turn.done()
    one.waits.clear()
    table.clock.now += UNUSED
    one.look()
    two.look()
    assert turn.done()
    assert other.done()
    assert two.send("a")
    table.clock.now += FRESH
    late = two.gate.turn("a")
    two.gate.stop()
    with pytest.raises(Stopped):
        late.result(0)
    with pytest.raises(Stopped):
        two.gate.turn("b").result(0)
    assert not two.gate.may_send("a")


def test_a_gate_that_is_away_is_asked_until_the_patience_is_over(table: Table) -> None:
    worker = Worker(table, "one", patience=60)
    assert worker.takes("a")
    assert worker.send("a")
    worker.end("a")
    table.away = True
    worker.gate.park("b", 600, "429")
    for _ in range(60):
        table.clock.now += 1
        worker.look()
        assert worker.send("a") == (table.clock() < 100 + FRESH)
        worker.end("a")
    assert worker.lost == []
    table.clock.now += 2
    worker.look()
    assert worker.lost == ["The gate was away for 60 s: postgresql://db/x: it is away"]
    table.away = False
    worker.look()
    assert len(worker.lost) == 1
    assert not worker.takes("a")


def test_a_gate_that_comes_back_is_told_what_happened_meanwhile(table: Table) -> None:
    worker = Worker(table, "one")
    assert worker.takes("a")
    table.away = True
    worker.gate.park("a", 600, "429")
    worker.look()
    worker.gate.wait("b")
    worker.visit()
    assert worker.lost == []
    table.away = False
    worker.visit()
    assert table.rows["a"].parked == table.clock() + 600
    assert table.rows["a"].worker is None
    assert worker.gate.may_send("b")


def test_a_batch_that_hangs_is_broken_off_and_counts_as_away(table: Table) -> None:
    worker = Worker(table, "one", patience=10)
    worker.courier._begun = table.clock()
    table.clock.now += FRESH + 1
    worker.gate.look()
    assert worker.claims.aborted == 1
    assert worker.lost == []
    table.clock.now += 10
    worker.gate.look()
    assert len(worker.lost) == 1


def test_the_end_gives_all_back_with_what_is_left_of_the_delay(table: Table) -> None:
    worker = Worker(table, "one", delay=4.0)
    assert worker.takes("a")
    assert worker.takes("b")
    assert worker.send("a")
    worker.end("a")
    worker.gate.close()
    worker.courier._leave()
    assert [row.worker for row in table.rows.values()] == [None, None]
    assert table.rows["a"].until == table.clock() + 4
    assert table.rows["b"].until <= table.clock()


def test_the_thread_takes_batches_by_itself_and_ends(table: Table) -> None:
    worker = Worker(table, "one")
    del worker.courier.start  # type: ignore[attr-defined]
    turn = worker.gate.turn("a")
    turn.result(60)
    worker.gate.close()
    assert worker.courier._thread is not None
    assert not worker.courier._thread.is_alive()
    assert table.rows["a"].worker is None


def test_a_worker_that_is_killed_leaves_its_host_alone_for_the_whole_delay(table: Table) -> None:
    one, two = Worker(table, "one", delay=60.0), Worker(table, "two")
    assert one.takes("a")
    assert one.send("a")
    table.clock.now += 59
    assert not two.takes("a")
    table.clock.now += LEASE + 1
    two.look()
    assert two.takes("a")


def test_a_turn_that_was_given_up_holds_up_nobody(table: Table) -> None:
    worker = Worker(table, "one")
    given_up, turn = worker.gate.turn("a"), worker.gate.turn("a")
    assert given_up.cancel()
    worker.visit()
    assert turn.done()
    assert worker.gate.turn("b").cancel()
    stopped = worker.gate.turn("b")
    worker.gate.stop()
    assert isinstance(stopped.exception(0), Stopped)


def test_the_end_asks_nothing_of_a_gate_that_is_away(table: Table) -> None:
    worker = Worker(table, "one")
    assert worker.takes("a")
    table.away = True
    table.clock.now += RENEW
    worker.look()
    asked = table.visits
    worker.courier.close({})
    worker.courier._run()
    assert table.visits == asked


def test_who_waited_together_for_a_turn_goes_one_delay_after_the_other() -> None:
    slot = Slot(4, 2.0, jitter=0)
    slot.lastseen = 99.0
    requests = [Request(f"http://a/{number}") for number in range(3)]
    slot.transferring.update(requests)
    assert [after_turn(slot, 100.0) for _ in requests] == [1, 3, 5]
    assert slot.lastseen == 105
    slot.transferring.clear()
    assert after_turn(slot, 104.0) == 0
    assert slot.lastseen == 104


STEPS = st.tuples(
    st.integers(0, 2),
    st.sampled_from(["ask", "send", "send", "end", "look", "look", "visit", "park", "away"]),
    st.sampled_from("ab"),
    st.sampled_from([0.0, 0.05, 0.25, 0.25, 1.0, 3.0, 20.0]),
)


@given(st.lists(STEPS, max_size=300))
def test_workers_that_are_stopped_at_any_moment_keep_the_delay(
    steps: list[tuple[int, str, str, float]],
) -> None:
    table = Table()
    workers = [Worker(table, str(number), delay=2.0) for number in range(3)]
    sent: dict[str, float] = {}
    parked: dict[str, float] = {}
    for number, act, host, seconds in steps:
        worker = workers[number]
        table.clock.now += seconds
        match act:
            case "ask":
                worker.takes(host)
            case "send" if worker.send(host):
                assert table.clock() - sent.get(host, 0.0) >= 2.0
                assert table.clock() >= parked.get(host, 0.0)
                sent[host] = table.clock()
            case "end":
                worker.end(host)
            case "look":
                worker.look()
            case "visit":
                worker.visit()
            case "park" if worker.gate.begin(host, (host, "parks")):
                worker.gate.end((host, "parks"))
                worker.gate.park(host, 10.0, "429")
                worker.look()
                if not table.away:
                    parked[host] = table.clock() + 10.0
            case "away":
                table.away = not table.away


@pytest.mark.parametrize("part", ["look", "visit"])
def test_a_gate_that_fails_stops_its_crawl(table: Table, part: str) -> None:
    worker = Worker(table, "one")
    assert worker.takes("a")
    worker.is_sending = lambda _: 1 / 0  # type: ignore[method-assign]
    worker.gate_changed = lambda _: 1 / 0  # type: ignore[method-assign]
    worker.gate.wait("b")
    with pytest.raises(ZeroDivisionError):
        getattr(worker, part)()
    [sentence] = worker.lost
    assert sentence.startswith("The gate failed: ZeroDivisionError")
    assert not worker.send("a")
    with pytest.raises(Stopped):
        worker.gate.turn("c").result(0)
