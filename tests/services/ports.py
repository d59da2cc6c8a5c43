"""A free port for a server that cannot take one by itself."""

from __future__ import annotations

import random
import socket
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 10_000


def free_port() -> int:
    """Return a port of 127.0.0.1 below those that the kernel gives to whoever asks for any.

    Nobody takes it before the server does, or while the server is stopped, but by the same chance.
    """
    highest = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32_768
    while True:
        port = random.SystemRandom().randrange(_LOWEST, max(highest, _LOWEST + 1))
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
