"""The addresses that may be asked: public ones, and the networks that the operator names.

A crawler that follows links can be led to the operator's own network (a redirect to
``http://169.254.169.254/``, a name that resolves to ``127.0.0.1``). So an address is judged where
a connection is made, after DNS. Nothing here opens a socket.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from urllib.parse import unquote

from lafka.errors import BadArgument

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# The registries of IANA, not ``is_global``: that changed between patch releases of Python.
# https://www.iana.org/assignments/iana-ipv4-special-registry
_NOT_PUBLIC = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier's private
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link local, cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays, deprecated
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
# https://www.iana.org/assignments/ipv6-unicast-address-assignments: all public ones lie here ...
_PUBLIC_6 = IPv6Network("2000::/3")
# ... but for these, https://www.iana.org/assignments/iana-ipv6-special-registry
_NOT_PUBLIC_6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
    )
)
_COMPATIBLE = IPv6Network("::/96")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)
_ONES = 0xFFFFFFFF


def networks(values: Iterable[str]) -> tuple[Network, ...]:
    """The networks of the setting ``LAFKA_ALLOWED_NETWORKS``.

    Raises BadArgument for a text that is no CIDR network.
    """
    found: list[Network] = []
    for value in values:
        try:
            found.append(ip_network(value.strip()))
        except ValueError as error:
            raise BadArgument(f"LAFKA_ALLOWED_NETWORKS: {error}") from None
    return tuple(found)


def literal(host: str) -> Address | None:
    """The address that *host* spells, or None where it is a name.

    Knows the spellings that resolvers and browsers know: brackets, zone ids, one to four parts in
    decimal, octal or hexadecimal (``inet_aton``), full-width digits and dots, percent escapes.
    ``localhost`` and what lies below it is loopback (RFC 6761).
    """
    text = unicodedata.normalize("NFKC", unquote(host)).replace("\u3002", ".").lower()
    text = text.removeprefix("[").removesuffix("]").removesuffix(".")
    if text == "localhost" or text.endswith(".localhost"):
        return IPv4Address("127.0.0.1")
    if ":" in text:
        try:
            return IPv6Address(text)
        except ValueError:
            return None
    return _aton(text)


def _aton(text: str) -> IPv4Address | None:
    parts = [_number(part) for part in text.split(".")]
    if len(parts) > 4 or None in parts:
        return None
    numbers = [part for part in parts if part is not None]
    *bytes_, last = numbers
    room = 4 - len(bytes_)
    if any(byte > 255 for byte in bytes_) or last >= 256**room:
        return None
    value = last
    for place, byte in enumerate(bytes_):
        value |= byte << 8 * (3 - place)
    return IPv4Address(value)


def _number(part: str) -> int | None:
    base = 16 if part.startswith("0x") else 8 if part.startswith("0") and part != "0" else 10
    digits = part[2:] if base == 16 else part
    if not digits.isascii() or not digits.isalnum() or len(digits) > 32:
        return None
    try:
        return int(digits, base)
    except ValueError:
        return None


def is_allowed(ip: str | Address, allowed: Sequence[Network] = ()) -> bool:
    """Return whether a connection to *ip* may be made.

    True for globally routable unicast addresses and those in one of the *allowed* networks. An
    IPv6 address that carries an IPv4 address (mapped, compatible, translated, 6to4, NAT64, Teredo,
    ISATAP) is judged by what it carries. False for what is no address.
    """
    address = literal(ip) if isinstance(ip, str) else ip
    if address is None:
        return False
    carried = _carried(address)
    if carried:
        return all(is_allowed(each, allowed) for each in carried)
    if any(_lies_in(address, network) for network in allowed):
        return True
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC)
    if address.scope_id is not None or address not in _PUBLIC_6:
        return False
    return not any(address in network for network in _NOT_PUBLIC_6)


def _lies_in(address: Address, network: Network) -> bool:
    if isinstance(address, IPv6Address):
        address = IPv6Address(int(address))  # a zone id makes it unequal to any network's
    return address.version == network.version and address in network


def _carried(address: Address) -> tuple[Address, ...]:
    """The IPv4 addresses that lie in an IPv6 address, and none for an address without any."""
    if isinstance(address, IPv4Address):
        return ()
    number = int(address)
    plain = IPv6Address(number)
    last = IPv4Address(number & _ONES)
    if plain.teredo:
        return plain.teredo
    if plain.sixtofour:
        return (plain.sixtofour,)
    if plain.ipv4_mapped or plain in _NAT64 or plain in _TRANSLATED:
        return (last,)
    if plain in _COMPATIBLE and number > 0xFFFF:
        return (last,)
    if number >> 32 & _ONES in _ISATAP and plain in _PUBLIC_6:
        return (last,)
    return ()
