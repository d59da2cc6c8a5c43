"""Where the guard decides: pure functions, no packet."""

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.capture.addresses import is_allowed, literal, networks
from lafka.errors import BadArgument

LOOPBACK = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0X7F.1",
    "017700000001",
    "0177.0.0.1",
    "0177.0.0.01",
    "127.0.0.1.",
    "127.255.255.254",
    "１２７.０.０.１",  # full-width digits
    "127。0。0。1",  # ideographic full stops
    "127．0．0．1",  # full-width full stops
    "①②⑦.0.0.1",  # circled digits
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
    "localhost",
    "LOCALHOST.",
    "any.localhost",
    "[::1]",
    "::1",
    "0:0:0:0:0:0:0:1",
    "[::ffff:127.0.0.1]",
    "::ffff:7f00:1",
    "::127.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "2002:7f00:1::",
    "2002:7f00:1:1::5",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",  # Teredo, the client's address is 127.0.0.1
    "2a00:1450:4001:80b:0:5efe:127.0.0.1",  # ISATAP
    "::1%lo",
]
OTHERS_REFUSED = [
    "0.0.0.0",
    "0",
    "10.1.2.3",
    "100.64.0.1",
    "169.254.169.254",
    "0xA9FEA9FE",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "[fe80::1%25eth0]",
    "2a00:1450:4001:80b::200e%eth0",
    "fc00::1",
    "fd12:3456::1",
    "fec0::1",
    "ff02::1",
    "100::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "64:ff9b:1::7f00:1",
    "::ffff:10.0.0.1",
    "2002:c0a8:101::1",
    "64:ff9b::a9fe:a9fe",
]
NAMES = ["example.org", "", ".", "1.2.3.4.5", "256.1.1.1", "1.2.3.256", "4294967296", "08.1.1.1"]
PUBLIC = [
    "8.8.8.8",
    "134.76.9.1",
    "172.15.255.255",
    "172.32.0.1",
    "100.128.0.1",
    "0x08080808",
    "2a00:1450:4001:80b::200e",
    "2001:638:60f:110::1:2",
    "2620:4f:8000::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
]


@pytest.mark.parametrize("host", LOOPBACK + OTHERS_REFUSED)
def test_an_address_that_is_not_public_is_refused_in_every_spelling(host: str) -> None:
    assert literal(host) is not None
    assert not is_allowed(host)


@pytest.mark.parametrize("host", PUBLIC)
def test_a_public_address_is_allowed(host: str) -> None:
    assert is_allowed(host)


@pytest.mark.parametrize("host", NAMES)
def test_a_name_is_no_address_and_never_allowed_as_one(host: str) -> None:
    assert literal(host) is None
    assert not is_allowed(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "::ffff:127.0.0.1", "localhost"])
def test_an_allowed_network_holds_for_every_spelling(host: str) -> None:
    assert is_allowed(host, networks(["127.0.0.0/8"]))


def test_allowed_networks_allow_nothing_else() -> None:
    allowed = networks(["127.0.0.0/8", " fd00::/8 "])
    assert is_allowed("fd00::1", allowed)
    assert is_allowed("fd00::1%eth0", allowed)
    assert not is_allowed("::1", allowed)
    assert not is_allowed("10.0.0.1", allowed)
    assert not is_allowed("2001:0:4136:e378:8000:63bf:f5ff:fffe", allowed)
    # a NAT64 or 6to4 network that is allowed as such still carries the addresses it carries
    assert not is_allowed("64:ff9b::10.0.0.1", networks(["64:ff9b::/96"]))


@pytest.mark.parametrize("value", ["127.0.0.1/8", "loopback", "", "10.0.0.0/33"])
def test_what_is_no_network_is_the_operators_mistake(value: str) -> None:
    with pytest.raises(BadArgument, match="LAFKA_ALLOWED_NETWORKS"):
        networks([value])


@given(st.integers(0, 2**32 - 1))
def test_all_spellings_of_an_ipv4_address_are_one(number: int) -> None:
    address = IPv4Address(number)
    high, low = number >> 24, number & 0xFFFFFF
    for text in (str(address), str(number), hex(number), f"0{number:o}", f"{high}.{low:#x}"):
        assert literal(text) == address
    mapped = IPv6Address(0xFFFF << 32 | number)
    assert is_allowed(str(mapped)) == is_allowed(str(address))


@given(st.integers(0, 2**128 - 1))
def test_every_ipv6_address_is_read_and_judged(number: int) -> None:
    address = IPv6Address(number)
    assert literal(f"[{address}]") == address
    assert is_allowed(address) == is_allowed(str(address).upper())


@given(st.text())
def test_any_text_is_judged_without_an_error(text: str) -> None:
    is_allowed(text)
