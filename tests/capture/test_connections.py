"""Connections are kept for their group, and an answer is its request's; a clock of our own."""

from __future__ import annotations

import socket
from collections.abc import Hashable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from scrapy import Request
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure
from twisted.web.client import ResponseNeverReceived

from lafka.capture.client.connections import IDLE, Client, Connection
from lafka.capture.client.requests import wire_request
from lafka.capture.exchanges import Exchange
from lafka.capture.recording import ReadingLimits, Tap, UnaskedBytes

URL = "http://192.0.66.1/"
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Net(MemoryReactorClock):
    """A reactor in memory that resolves addresses to themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.nameResolver = self
        self.wires: list[Wire] = []

    def resolveHostName(self, receiver: Any, hostName: str, portNumber: int) -> None:
        receiver.addressResolved(IPv4Address("TCP", hostName, portNumber))
        receiver.resolutionComplete()

    def connect(self) -> Wire:
        """Let the connection come about that was asked for last."""
        host, port, factory, *_ = self.tcpClients.pop()
        wire = Wire(IPv4Address("TCP", host, port))
        wire.protocol = factory.buildProtocol(wire.peerAddr)
        wire.protocol.makeConnection(wire)
        self.wires.append(wire)
        return wire


class Wire(StringTransport):
    """One end of a connection; ``gone``: the client has closed it.

    What is sent on ``far`` has come, and the client has not read it.
    """

    protocol: Any

    def __init__(self, peer: Any) -> None:
        super().__init__(peerAddress=peer)
        self._near, self.far = socket.socketpair()
        self._first = b""

    def fileno(self) -> int:
        return self._near.fileno()

    def value(self) -> bytes:
        """What was written: the first request past the transport."""
        with suppress(BlockingIOError):
            self._first += self.far.recv(65536, socket.MSG_DONTWAIT)
        return self._first + super().value()

    def close(self) -> None:
        self._near.close()
        self.far.close()

    @property
    def gone(self) -> bool:
        return self.disconnecting or self.disconnected

    def bring(self, data: bytes) -> None:
        self.protocol.dataReceived(data)

    def lose(self) -> None:
        self.protocol.connectionLost(Failure(ConnectionDone()))

    def abortConnection(self) -> None:
        super().abortConnection()
        self.disconnected = True

    disconnected = False


class Asking:
    def __init__(self, net: Net, client: Client, group: Hashable = "trail", **options: Any) -> None:
        self.tap = Tap(
            Exchange(url=URL, method="GET"),
            ReadingLimits(stall=0),
            lambda: datetime.now(UTC),
            miss_max=0,
        )
        self.ended: list[Any] = []
        self.tap.watch(net).addBoth(self.ended.append)
        client.ask(wire_request(Request(URL, **options), group=group), self.tap, 10)


@pytest.fixture
def net() -> Iterator[Net]:
    net = Net()
    yield net
    for wire in net.wires:
        wire.close()


@pytest.fixture
def client(net: Net) -> Client:
    """One that keeps a connection."""
    return Client(net, None, kept=1)


def answered(net: Net, client: Client, group: Hashable = "trail") -> Wire:
    """A connection on which one request was asked, and answered."""
    Asking(net, client, group)
    wire = net.connect()
    wire.bring(WHOLE)
    return wire


def test_a_connection_is_used_again(net: Net, client: Client) -> None:
    first = Asking(net, client)
    wire = net.connect()
    wire.bring(WHOLE)
    second = Asking(net, client)
    assert net.tcpClients == []
    assert wire.value().count(b"GET / HTTP/1.1\r\n") == 2
    wire.bring(WHOLE[:-1])
    assert (first.ended, second.ended) == ([None], [])
    wire.bring(WHOLE[-1:])
    assert second.ended == [None]
    for asking in (first, second):
        response = asking.tap.exchange.response
        assert response.read(0, response.size) == WHOLE


def test_no_more_are_kept_than_a_host_may_have(net: Net) -> None:
    client = Client(net, None, kept=2)
    for _ in range(3):
        Asking(net, client)
        net.connect()
    for wire in net.wires:
        wire.bring(WHOLE)
    assert [wire.gone for wire in net.wires] == [True, False, False]


def test_an_idle_one_is_closed_after_a_while(net: Net) -> None:
    client = Client(net, None, kept=2)
    for _ in range(2):
        Asking(net, client)
        net.connect()
    first, second = net.wires
    first.bring(WHOLE)
    net.advance(IDLE / 2)
    second.bring(WHOLE)
    net.advance(IDLE / 2)
    assert (first.gone, second.gone) == (True, False)
    net.advance(IDLE / 2)
    assert second.gone
    assert net.getDelayedCalls() == []


def test_one_that_was_closed_meanwhile_is_asked_once_more_on_a_new_one(
    net: Net, client: Client
) -> None:
    answered(net, client)
    again = Asking(net, client)
    net.wires[0].lose()
    assert again.ended == []
    net.connect().bring(WHOLE)
    assert again.ended == [None]
    assert again.tap.exchange.ended == "complete"


def test_a_new_one_that_is_closed_is_not_asked_again(net: Net) -> None:
    asking = Asking(net, Client(net, None, kept=1))
    net.connect().lose()
    assert asking.ended[0].check(ResponseNeverReceived)
    assert net.tcpClients == []


def test_one_that_has_begun_to_answer_is_not_asked_again(net: Net, client: Client) -> None:
    answered(net, client)
    again = Asking(net, client)
    net.wires[0].bring(WHOLE[:9])
    net.wires[0].lose()
    assert len(again.ended) == 1
    assert net.tcpClients == []


@pytest.mark.parametrize("options", [{"method": "POST"}, {"body": b"x"}])
def test_what_cannot_be_repeated_is_not(net: Net, client: Client, options: dict[str, Any]) -> None:
    answered(net, client)
    again = Asking(net, client, **options)
    net.wires[0].lose()
    assert again.ended[0].check(ResponseNeverReceived)


def test_bytes_that_nobody_asked_for_end_a_connection(net: Net, client: Client) -> None:
    wire = answered(net, client)
    wire.bring(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    assert wire.gone
    Asking(net, client)
    assert len(net.tcpClients) == 1


def test_one_is_used_by_its_group_alone_and_makes_room_for_another(
    net: Net, client: Client
) -> None:
    answered(net, client, 1)
    Asking(net, client, 2)
    assert net.wires[0].gone
    net.connect().bring(WHOLE)
    Asking(net, client, 2)
    assert net.tcpClients == []
    assert [wire.value().count(b"GET") for wire in net.wires] == [1, 2]


def test_without_a_group_each_has_its_own(net: Net, client: Client) -> None:
    for _ in range(2):
        asking = Asking(net, client, None)
        net.connect().bring(WHOLE)
        assert asking.ended == [None]
    assert [wire.gone for wire in net.wires] == [True, True]


def test_bytes_that_came_before_a_request_answer_nobody(net: Net, client: Client) -> None:
    answered(net, client)
    net.wires[0].far.sendall(WHOLE)
    again = Asking(net, client)
    assert net.wires[0].gone
    assert net.wires[0].value().count(b"GET") == 1
    net.connect().bring(WHOLE)
    assert again.ended == [None]
    assert net.wires[1].gone  # such a host has none kept


def test_one_that_is_half_closed_is_not_used(net: Net, client: Client) -> None:
    answered(net, client)
    net.wires[0].far.shutdown(socket.SHUT_WR)
    Asking(net, client)
    assert net.wires[0].gone
    net.connect().bring(WHOLE)
    assert not net.wires[1].gone


def test_more_than_was_asked_for_puts_the_answer_on_a_kept_one_in_doubt(
    net: Net, client: Client
) -> None:
    wire = answered(net, client)
    second = Asking(net, client)
    wire.bring(WHOLE * 2)
    assert second.ended[0].check(UnaskedBytes)
    assert wire.gone
    assert (second.tap.exchange.ended, second.tap.exchange.response.size) == (
        "complete",
        len(WHOLE),
    )
    third = Asking(net, client)
    net.connect().bring(WHOLE)
    assert third.ended == [None]
    assert net.wires[1].gone


def test_more_than_was_asked_for_leaves_the_first_answer_what_it_is(
    net: Net, client: Client
) -> None:
    first = Asking(net, client)
    net.connect().bring(WHOLE * 2)
    assert first.ended == [None]
    assert net.wires[0].gone
    answered(net, client)
    assert net.wires[1].gone


@pytest.mark.parametrize("answer", [WHOLE, WHOLE.replace(b"200 OK", b"404 Not Found")])
def test_what_crosses_a_request_on_a_kept_one_answers_nobody(
    net: Net, client: Client, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    """The far end's kernel has all of the first request, and none of the second."""
    acknowledged = iter((1, 1_000_000, 1_000_000, 1_000_000))
    monkeypatch.setattr(Connection, "_acknowledged", lambda _: next(acknowledged))
    first = Asking(net, client)
    wire = net.connect()
    wire.bring(WHOLE)
    second = Asking(net, client)
    wire.bring(answer)
    assert first.ended == [None]
    assert second.ended[0].check(UnaskedBytes)
    assert wire.gone
    monkeypatch.undo()
    answered(net, client)
    assert net.wires[1].gone  # such a host has none kept


def test_a_body_behind_the_head_that_was_asked_for_is_more(net: Net, client: Client) -> None:
    head = Asking(net, client, method="HEAD")
    net.connect().bring(WHOLE)
    assert head.ended == [None]
    assert head.tap.exchange.response.size == len(WHOLE) - 2
    assert net.wires[0].gone
    again = Asking(net, client)
    net.connect().bring(WHOLE)
    assert again.ended == [None]
    assert net.wires[1].gone


def test_what_is_given_up_takes_its_connection_with_it(net: Net, client: Client) -> None:
    asking = Asking(net, client)
    wire = net.connect()
    asking.tap.fail(RuntimeError("enough"))
    assert asking.ended[0].check(RuntimeError)
    assert wire.gone
    wire.bring(WHOLE)  # what was on its way
    wire.lose()
    assert asking.tap.exchange.response.size == 0


def test_closing_waits_for_what_is_kept(net: Net, client: Client) -> None:
    wire = answered(net, client)
    closed: list[Any] = []
    client.close().addCallback(closed.append)
    assert wire.gone
    assert closed == []
    wire.lose()
    assert len(closed) == 1
    assert net.getDelayedCalls() == []
