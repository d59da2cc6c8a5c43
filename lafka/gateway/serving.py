"""A gateway on a socket, by uvicorn, with bounds on what a client can hold up."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from ipaddress import ip_address
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from lafka.errors import BadArgument
from lafka.gateway.app import ZERO_COPY, Gateway
from lafka.gateway.holdings import Holdings

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
CONNECTIONS_MAX = 200
HEAD_MAX = 384 * 1024
"""Bytes of a request's head: an address that is too long can be told so, with 414.

A search whose six words are all of 4,096 characters beyond the first plane has 288 KiB. What is
longer gets 400 or a closed connection, as what the client still sends is not read.
"""
HEAD_SECONDS = 20.0


class _Counted:
    """Stands for bytes that the kernel sends: h11 asks their number alone ("sendfile")."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count


class _Numbered:
    """A descriptor as asyncio wants it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd


class PatientProtocol(H11Protocol):
    """Hangs up where a client sends no whole request, or takes no answer, for long.

    uvicorn alone waits for ever for the first request, and for the end of each head.
    """

    patience = HEAD_SECONDS

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._served = self.app
        self.app = self._with_files

    async def _with_files(self, scope: Any, receive: Any, send: Any) -> None:
        """The application, which may have files sent by the kernel."""
        scope["extensions"] = {ZERO_COPY: {}}
        await self._served(scope, receive, partial(self._sent, self.cycle, send))

    async def _sent(self, cycle: Any, send: Any, message: Any) -> None:
        if message["type"] != ZERO_COPY:
            await send(message)
        elif not cycle.disconnected:
            count = message["count"]
            counted: Any = _Counted(count)
            self.conn.send_with_data_passthrough(h11.Data(data=counted))
            sent = 0
            try:
                sent = await self._file_sent(message["file"], message["offset"], count)
            finally:
                if sent < count:  # the client is gone or takes nothing, or the file is cut
                    cycle.disconnected = True
                    self._hang_up()
            if sent == count and not message["more_body"]:
                await send({"type": "http.response.body"})

    async def _file_sent(self, fd: int, offset: int, count: int) -> int:
        """How many of *count* bytes of the file *fd* were sent."""
        try:
            file: Any = _Numbered(fd)
            return await self.loop.sendfile(self.transport, file, offset, count, fallback=False)
        except asyncio.SendfileNotAvailableError:  # a disk whose files it does not take
            data = await asyncio.to_thread(os.pread, fd, count, offset)
            self.transport.write(data)
            await self.flow.drain()
            return len(data)
        except (OSError, RuntimeError):  # gone, or going
            return 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._seen: object = None
        self._look_again()

    def _look_again(self) -> None:
        self._look = self.loop.call_later(self.patience, self._looked)

    def _looked(self) -> None:
        """Hang up where the client was idle at the last look, and has asked nothing since."""
        idle = self.cycle is None or self.cycle.response_complete
        if self.transport.is_closing():
            self._hang_up()
        elif idle and self._seen is (self.cycle or self):
            self.transport.close()
            self._look_again()
        else:
            self._seen = (self.cycle or self) if idle else None
            self._look_again()

    def _hang_up(self) -> None:
        """Cut the connection: what it does not take would keep it open, here and in the system."""
        sock = self.transport.get_extra_info("socket")
        with suppress(OSError):  # it is cut already
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._look.cancel()
        super().connection_lost(exc)


def serve(
    holdings: Holdings,
    *,
    bind: str = "127.0.0.1",
    port: int = 0,
    names: tuple[str, ...] = (),
    begun: Callable[[str], None],
) -> None:
    """Serve *holdings* until a signal ends it; *begun* is told the address when it answers.

    *port* 0 is a free one. Asked by *names*, by *bind* and by what loopback is called.
    ``BadArgument`` where the address cannot be had.
    """
    with closing(listening_at(bind, port)) as listening:
        shown = f"[{bind}]" if ":" in bind else bind
        gateway = Gateway(holdings, (*LOOPBACK, shown, *names))
        server = uvicorn.Server(config(gateway))
        begun(f"http://{shown}:{listening.getsockname()[1]}")
        try:
            server.run(sockets=[listening])
        finally:
            gateway.close()


def is_loopback(bind: str) -> bool:
    """Whether nobody from elsewhere can reach *bind*; ``BadArgument`` for what is no address."""
    try:
        return ip_address(bind).is_loopback
    except ValueError:
        raise BadArgument(f"--bind {bind!r} is no IP address") from None


def listening_at(bind: str, port: int) -> socket.socket:
    """A socket at the address *bind*; ``BadArgument`` where it cannot be had."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    try:
        return socket.create_server((bind, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadArgument(f"{bind} port {port} cannot be had: {reason}") from None


def config(
    app: ASGIApp,
    protocol: type[PatientProtocol] = PatientProtocol,
    connections: int = CONNECTIONS_MAX,
) -> uvicorn.Config:
    """How uvicorn is to serve *app*; who asks where *connections* others are open gets 503."""
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        loop="asyncio",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_config=None,
        limit_concurrency=connections + 1,  # it counts the one that asks
        h11_max_incomplete_event_size=HEAD_MAX,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=5,
    )
