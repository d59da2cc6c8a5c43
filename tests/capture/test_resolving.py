from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.interfaces import IResolutionReceiver
from twisted.internet.testing import MemoryReactorClock
from zope.interface import implementer

from lafka.capture.resolving import NameResolver


@implementer(IResolutionReceiver)
class Receiver:
    def __init__(self) -> None:
        self.addresses: list[tuple[str, int]] = []
        self.complete = False

    def resolutionBegan(self, resolution: Any) -> None:
        assert not self.addresses

    def addressResolved(self, address: Any) -> None:
        self.addresses.append((address.host, address.port))

    def resolutionComplete(self) -> None:
        self.complete = True


class System:
    """What the system's resolver says: one IPv6 address for every name."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def resolveHostName(self, receiver: Any, name: str, *_: Any) -> Any:
        self.asked.append(name)
        receiver.resolutionBegan(None)
        receiver.resolutionComplete()


@pytest.mark.parametrize(
    ("name", "addresses", "asked"),
    [
        ("192.0.66.1", [("192.0.66.1", 80)], False),
        ("2a00:1450:4001:80b::200e", [("2a00:1450:4001:80b::200e", 80)], False),
        ("x" * 64 + ".example", [], False),
        ("a..example", [], False),
        ("", [], False),
        ("a\0b.example", [], False),
        ("\ud800.example", [], False),
        ("xn--ls8h.example", [], True),
        ("bücher.example", [], True),
        ("paper.example", [], True),
    ],
)
def test_only_what_can_be_a_name_is_asked_for(
    name: str, addresses: list[tuple[str, int]], asked: bool
) -> None:
    reactor: Any = MemoryReactorClock()
    reactor.nameResolver = system = System()
    receiver = Receiver()
    resolver = NameResolver(reactor, 0)
    resolver.original_resolver = system
    resolver.resolveHostName(receiver, name, 80)
    assert receiver.addresses == addresses
    assert receiver.complete
    assert system.asked == [name] * asked
