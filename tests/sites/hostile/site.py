"""Serves every behaviour on a loopback address of its own, and writes the list that leads there."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.sites.hostile import (
    framing,
    headers,
    lists,
    pages,
    payloads,
    redirects,
    robots,
    security,
)
from tests.sites.hostile.behaviours import (
    PDF,
    PORT,
    Answer,
    Asked,
    Behaviour,
    End,
    Pause,
    Repeat,
    Steps,
    http,
    pdf,
)
from tests.waiting import LIMIT

FAMILIES: dict[str, Callable[[], Iterator[Behaviour]]] = {
    "framing": framing.behaviours,
    "headers": headers.behaviours,
    "tls": security.behaviours,
    "redirects": redirects.behaviours,
    "robots and states": robots.behaviours,
    "payloads": payloads.behaviours,
    "pages": pages.behaviours,
    "lists": lists.behaviours,
}
NETWORK = "127.77.0.0/16"
_NOT_FOUND = http(b"nothing here", status="404 Not Found", media_type="text/plain")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A behaviour's own host, and the lines that the list has for it."""

    number: int
    family: str
    behaviour: Behaviour

    @property
    def address(self) -> str:
        return f"127.77.{1 + self.number // 200}.{1 + self.number % 200}"

    @property
    def pid(self) -> str:
        return f"RePEc:bad:{self.family.partition(' ')[0]}:{self.number}"

    @property
    def good_pid(self) -> str:
        return f"RePEc:bad:good:{self.number}"


class HostileSite:
    """A context manager; serves in a thread, from sockets that the entering thread makes."""

    def __init__(self, behaviours: Iterable[tuple[str, Behaviour]], folder: Path) -> None:
        self.hosts = [
            Host(number=n, family=family, behaviour=b) for n, (family, b) in enumerate(behaviours)
        ]
        self.trapped: list[str] = []
        """Who was let into an address that may not be asked."""
        self.seen: list[tuple[str, str]] = []
        """Host and target of each request."""
        self._contexts = security.contexts(folder)
        self._sockets: list[tuple[socket.socket, Host | None]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self.port = self._listen()
        self._ready = threading.Event()
        self._thread.start()
        assert self._ready.wait(LIMIT)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LIMIT)
        for listener, _ in self._sockets:
            listener.close()

    def _listen(self) -> int:
        """Take one port at every address."""
        first = self._listener("127.0.0.1", 0, None)
        port = first.getsockname()[1]
        assert len(str(port)) == len(PORT)
        with contextlib.suppress(OSError):
            self._listener("::1", port, None)
        for host in self.hosts:
            self._listener(host.address, port, host)
        return int(port)

    def _listener(self, address: str, port: int, host: Host | None) -> socket.socket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.create_server((address, port), family=family, backlog=64)
        self._sockets.append((listener, host))
        return listener

    def url(self, host: Host) -> str:
        scheme = "https" if host.behaviour.tls else "http"
        return f"{scheme}://{host.address}:{self.port}"

    def list(self) -> bytes:
        """Each bad line, and behind all of them a good paper on each of the same hosts.

        The families are mixed, as in a list from anywhere.
        """
        mixed = sorted(self.hosts, key=lambda host: zlib.crc32(host.behaviour.name.encode()))
        bad = [self._line(host) for host in mixed]
        good = [f"{h.good_pid}\t{self.url(h)}/good-paper".encode() for h in self.hosts]
        return b"\n".join([*bad, *good, b""])

    def _line(self, host: Host) -> bytes:
        behaviour = host.behaviour
        line = behaviour.line
        if line is None:
            line = f"{host.pid}\t{behaviour.start or self.url(host) + '/x'}".encode()
        return self._placed(line).replace(b"@URL@", self.url(host).encode())

    def told(self, host: Host) -> tuple[str, str]:
        """The beginning of the pid and the futli as the outcome feed has them for the bad line."""
        text = self._line(host).decode("utf-8", "backslashreplace")
        pid, _, url = (text, "", "") if len(text) > 1 << 20 else text.partition("\t")
        return pid[:100], url

    def _placed(self, data: bytes) -> bytes:
        return data.replace(PORT.encode(), b"%d" % self.port)

    # In the loop's thread -----------------------------------------------------------------

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        self._ready.set()
        self._loop.run_forever()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._loop.close()

    async def _start(self) -> None:
        self._loop.set_exception_handler(lambda *_: None)  # resets are what this site is for
        for listener, host in self._sockets:
            tls = host.behaviour.tls if host else ""
            context = self._contexts.get(tls)
            await asyncio.start_server(
                self._client(host), sock=listener, ssl=context, limit=1 << 20,
                ssl_handshake_timeout=LIMIT if context else None,
            )  # fmt: skip

    def _client(self, host: Host | None):  # type: ignore[no-untyped-def]
        visits: Counter[str] = Counter()

        async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            if host is None:
                self.trapped.append(str(writer.get_extra_info("sockname")))
                writer.close()
                return
            with contextlib.suppress(
                OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
            ):
                await self._talk(host, visits, reader, writer)
            writer.close()

        return client

    async def _talk(
        self,
        host: Host,
        visits: Counter[str],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        if host.behaviour.on_connect is not None:
            if await self._do(host.behaviour.on_connect, writer):
                await reader.read()
            return
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            found = re.match(rb"GET (\S*)", head)
            target = found[1].decode("latin-1") if found else ""
            self.seen.append((host.address, target))
            asked = Asked(target=target, head=head, visits=visits[target])
            visits[target] += 1
            steps = _answer(host.behaviour, asked)
            if not await self._do(steps(asked) if callable(steps) else steps, writer):
                return

    async def _do(self, steps: Steps, writer: asyncio.StreamWriter) -> bool:
        """Send *steps*; whether the connection goes on."""
        for step in steps:
            if isinstance(step, End):
                await self._end(step, writer)
                return False
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
            elif isinstance(step, Repeat):
                count = 0
                while count < step.count or not step.count:
                    writer.write(step.data)
                    await writer.drain()
                    await asyncio.sleep(0)
                    count += 1
            else:
                writer.write(self._placed(step))
                await writer.drain()
        return True

    async def _end(self, end: End, writer: asyncio.StreamWriter) -> None:
        if end.how == "hold":
            await asyncio.Event().wait()
        if end.how == "reset":
            raw = writer.get_extra_info("socket")
            await asyncio.sleep(0.05)  # what was sent first shall have arrived
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()


def _answer(behaviour: Behaviour, asked: Asked) -> Answer:
    if asked.target == "/good-paper":
        return pdf(data=PDF)
    if asked.target == "/robots.txt" and "/robots.txt" not in behaviour.answers:
        return behaviour.robots or _NOT_FOUND
    return behaviour.answers.get(asked.target) or behaviour.answers.get("*") or _NOT_FOUND


def behaviours(*families: str) -> Iterator[tuple[str, Behaviour]]:
    """Family and behaviour, of all families or those named."""
    for family, of in FAMILIES.items():
        if not families or family in families:
            yield from ((family, behaviour) for behaviour in of())
