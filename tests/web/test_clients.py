"""Many clients, and slow ones: bounded in number, in time and in memory."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.stores import Store, pdf
from tests.waiting import LIMIT
from tests.web.served import BIG, Served, serving

CLIENTS = 200
SIZE = 8_000_000
MOST = 150 << 20
"""Bytes that so many answers may take, of which together there are ten times as many."""


def peak(process: int) -> int:
    """The most memory that *process* has had, in bytes."""
    lines = Path(f"/proc/{process}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


def reader(served: Served, path: str) -> socket.socket:
    """A client that has asked for *path* and takes little at a time."""
    parts = urlsplit(served.bytes)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(LIMIT)
    client.connect((parts.hostname, parts.port))
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
    return client


def test_two_hundred_slow_readers_take_little_memory(tmp_path: Path) -> None:
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf("big", SIZE), pid=BIG, futli="http://x.example/big.pdf"))
    with serving(store, tmp_path / "withheld") as served, ExitStack() as stack:
        assert httpx.get(f"{served.bytes}/futs/{BIG}", timeout=LIMIT).status_code == 200
        before = peak(served.process)
        clients = [stack.enter_context(reader(served, f"/futs/{BIG}")) for _ in range(CLIENTS)]
        assert {client.recv(12) for client in clients} == {b"HTTP/1.1 200"}
        for client in clients:
            assert client.recv(4096)
        assert peak(served.process) - before < MOST


def test_clients_that_hang_up_in_the_middle_leave_nothing_open(tmp_path: Path) -> None:
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf("big", SIZE), pid=BIG, futli="http://x.example/big.pdf"))
    with serving(store, tmp_path / "withheld") as served:
        for _ in range(20):
            with reader(served, f"/futs/{BIG}") as client:
                assert client.recv(12) == b"HTTP/1.1 200"
        asked = (httpx.get(f"{served.bytes}/robots.txt").status_code for _ in range(1000))
        assert next(status for status in asked if not warcs_open(served.process)) == 200


def warcs_open(process: int) -> list[str]:
    """The WARCs that *process* has open."""
    found = []
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(link.readlink()))
    return [name for name in found if name.endswith(".warc")]


def test_who_comes_when_all_connections_are_taken_is_told_so(tmp_path: Path) -> None:
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf("one")))
    few = "-s", "LAFKA_WEB_CONNECTIONS=2"
    with serving(store, tmp_path / "withheld", *few) as served:
        with httpx.Client() as one, httpx.Client() as other:
            assert one.get(f"{served.pages}/robots.txt").status_code == 200
            assert other.get(f"{served.bytes}/robots.txt").status_code == 200
            assert httpx.get(f"{served.pages}/robots.txt").status_code == 503
            assert one.get(f"{served.pages}/robots.txt").status_code == 200
        again = (httpx.get(f"{served.pages}/robots.txt").status_code for _ in range(1000))
        assert 200 in again
