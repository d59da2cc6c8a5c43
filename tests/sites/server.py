"""A threaded server on loopback that answers by path with scripted bytes, and keeps the order."""

from __future__ import annotations

import select
import socket
import ssl
import struct
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

from tests.waiting import LIMIT

LAST = 64 << 10
"""Bytes at the end of an answer that a client can have before the server knows that it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request as it came; ``host`` is the address that it came to, ``time`` is monotonic."""

    host: str
    target: str
    headers: dict[str, str]
    time: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent, and what becomes of the connection then; *hold*: nothing until it goes."""

    data: bytes
    then: Literal["keep", "close", "reset", "hold"] = "keep"


Handler = Callable[[Seen], Reply]


class Server:
    """A context manager; every host has a port of its own and answers the same ``routes``.

    ``hosts`` are loopback addresses, those in ``tls`` with the given context. A target that has
    no route gets a 404, ``/robots.txt`` where the host has a text in ``robots``.
    """

    def __init__(self, hosts: tuple[str, ...], tls: dict[str, ssl.SSLContext] | None = None):
        self.hosts = hosts
        self.routes: dict[str, Reply | Handler] = {}
        self.robots: dict[str, Reply] = {}
        self.seen: list[Seen] = []
        self.most_at_once: Counter[str] = Counter()
        self.answered = 0
        self._tls = tls or {}
        self._busy: defaultdict[str, set[socket.socket]] = defaultdict(set)
        self._lock = threading.Lock()
        self._asked = threading.Condition(self._lock)
        self._open: set[socket.socket] = set()
        self._limit: int | None = None
        self._go_on = threading.Event()
        self._go_on.set()
        self.paused = threading.Event()
        self._watched: tuple[set[str], int, threading.Event] | None = None

    def __enter__(self) -> Self:
        self._listeners = {host: socket.create_server((host, 0)) for host in self.hosts}
        self._ports = {host: s.getsockname()[1] for host, s in self._listeners.items()}
        for host, listener in self._listeners.items():
            threading.Thread(target=self._accept, args=(host, listener), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.resume()
        for listener in self._listeners.values():
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        with self._lock:
            for connection in self._open:
                connection.close()

    def at(self, host: str) -> str:
        """``http://127.0.0.2:40123``"""
        return f"{'https' if host in self._tls else 'http'}://{host}:{self._ports[host]}"

    def targets(self) -> list[str]:
        """What was asked for, in order, without robots.txt."""
        return [seen.target for seen in list(self.seen) if seen.target != "/robots.txt"]

    def forget(self) -> None:
        """Begin to count anew."""
        with self._lock:
            self.seen.clear()
            self.most_at_once.clear()
            self.answered = 0

    def when_asked(self, targets: int, *origins: str) -> threading.Event:
        """Set once the hosts at *origins* have been asked for so many different targets."""
        hosts = {host for host in self.hosts if self.at(host) in origins}
        event = threading.Event()
        self._watched = (hosts, targets, event)
        return event

    def wait_until_asked(self, *targets: str) -> None:
        """Wait until all *targets* have been asked for."""
        with self._asked:
            so = self._asked.wait_for(lambda: set(targets) <= set(self.targets()), LIMIT)
        assert so, f"{targets} have not been asked for"

    def pause_after(self, count: int) -> None:
        """Answer *count* more requests, then set ``paused`` and hold all others."""
        with self._lock:
            self.paused.clear()
            self._go_on.clear()
            self._limit = self.answered + count

    def resume(self) -> None:
        with self._lock:
            self._limit = None
        self._go_on.set()

    def _accept(self, host: str, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(host, connection), daemon=True).start()

    def _serve(self, host: str, connection: socket.socket) -> None:
        try:
            if host in self._tls:
                connection = self._tls[host].wrap_socket(connection, server_side=True)
            while head := _head(connection):
                if not self._answer(host, head, connection):
                    break
        except OSError:
            pass
        finally:
            connection.close()
            with self._lock:
                self._open.discard(connection)

    def _answer(self, host: str, head: bytes, connection: socket.socket) -> bool:
        seen = _parsed(host, head)
        with self._lock:
            self.seen.append(seen)
            self._busy[host].add(connection)
            at_once = sum(1 for other in self._busy[host] if not _is_left(other))
            self.most_at_once[host] = max(self.most_at_once[host], at_once)
            self._tell_watched()
            self._asked.notify_all()
        try:
            self._await_turn()
            reply = self._reply(seen)
            connection.sendall(reply.data[:-LAST])
        finally:
            with self._lock:  # before the client can know that the answer is whole
                self._busy[host].discard(connection)
        connection.sendall(reply.data[-LAST:])
        self._count()
        return _goes_on(connection, reply.then)

    def _tell_watched(self) -> None:
        if self._watched:
            hosts, targets, event = self._watched
            asked = {s.target for s in self.seen if s.host in hosts} - {"/robots.txt"}
            if len(asked) >= targets:
                event.set()

    def _await_turn(self) -> None:
        while self._limit is not None and self.answered >= self._limit:
            self.paused.set()
            self._go_on.wait()

    def _count(self) -> None:
        with self._lock:
            self.answered += 1
            if self._limit is not None and self.answered >= self._limit:
                self.paused.set()

    def _reply(self, seen: Seen) -> Reply:
        if seen.target == "/robots.txt":
            return self.robots.get(seen.host, NOT_FOUND)
        route = self.routes.get(seen.target, NOT_FOUND)
        return route if isinstance(route, Reply) else route(seen)


def _is_left(connection: socket.socket) -> bool:
    """Whether the client has closed it: its request is over, also where the answer is not."""
    if connection.fileno() < 0:  # we have closed it ourselves
        return True
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return bool(poll.poll(0))


def _head(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        if data.startswith(b"\x16"):  # a ClientHello
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return b""
        more = connection.recv(65536)
        if not more:
            return b""
        data += more
    return data


def _parsed(host: str, head: bytes) -> Seen:
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines if ": " in line)
    return Seen(host=host, target=first.split(" ")[1], headers=headers, time=time.monotonic())


def _goes_on(connection: socket.socket, then: str) -> bool:
    if then == "hold":
        connection.recv(65536)
    elif then == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif then == "close" and isinstance(connection, ssl.SSLSocket):
        connection.unwrap()
    return then == "keep"


def reply(
    body: bytes,
    media_type: str = "text/html",
    *fields: str,
    status: str = "200 OK",
    length: int | None = None,
    then: Literal["keep", "close", "reset", "hold"] = "keep",
) -> Reply:
    """An answer with Content-Length (*length* where it lies)."""
    lines = [f"HTTP/1.1 {status}", *fields]
    if media_type:
        lines.append(f"Content-Type: {media_type}")
    lines.append(f"Content-Length: {len(body) if length is None else length}")
    return Reply("\r\n".join([*lines, "", ""]).encode("latin-1") + body, then)


def chunked(*chunks: bytes, fields: tuple[str, ...] = (), end: bytes = b"0\r\n\r\n") -> Reply:
    lines = ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *fields, "", ""]
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return Reply("\r\n".join(lines).encode("latin-1") + body + end)


def redirect(to: str, status: str = "302 Found", *fields: str) -> Reply:
    return reply(b"gone there", "text/plain", f"Location: {to}", *fields, status=status)


def in_turn(*replies: Reply) -> Handler:
    """One reply after the other, the last one from then on."""
    waiting = list(replies)
    return lambda _seen: waiting.pop(0) if len(waiting) > 1 else waiting[0]


NOT_FOUND = reply(b"<html><title>404</title>not here</html>", status="404 Not Found")
