"""HTTP/1.1 on a client's connection: uvicorn's protocol over httptools, bounded.

httptools keeps what has come of a head, however much, and reads on while an answer is made. So it
is given a head when that is there whole, and the next one when the answer is out. No body is ever
read: nothing that is served takes one.

Files are sent by the kernel: a PDF of 1 MB costs 1.3 times the CPU without (docs/adr/0029). Heads
and slow clients are bounded by this protocol alone.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import struct
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from typing import Any
from urllib.parse import unquote

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lafka.errors import BadArgument
from lafka.urls.addresses import Holdings
from lafka.web.answers import ZERO_COPY
from lafka.web.gateway import Gateway

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
CONNECTIONS_MAX = 200

HEAD_MAX = 384 * 1024
"""Bytes of a request's head: an address that is too long can be told so, with 414.

A search whose six words are all of 4,096 characters beyond the first plane has 288 KiB. What is
longer gets 400 or a closed connection, as what the client still sends is not read.
"""
LINES_MAX = 1000
"""Lines of a head; who has more gets 400."""
HEAD_SECONDS = 20.0
_END = re.compile(rb"\n\r?\n")
_TARGET = re.compile(rb"[!-~]+")
_ABSOLUTE = re.compile(rb"https?://([^/?#]+)", re.IGNORECASE)
_METHOD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?= )")
_KNOWN = (b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"CONNECT", b"TRACE")
_NO_SENDFILE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
"""A disk whose files the kernel does not send."""
_INVALID = "Invalid HTTP request received."


class PatientProtocol(HttpToolsProtocol):
    """Hangs up where a client sends no whole request, or takes no answer, for long.

    uvicorn alone waits for ever for the first request, and for the end of each head.
    """

    patience = HEAD_SECONDS

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._served = self.app
        self.app = self._with_files
        self._came = bytearray()
        self._searched = 0  # bytes of it that have no end of a head
        self._is_last = False  # what comes behind the request is not looked at

    # ---- What a client sends

    def data_received(self, data: bytes) -> None:
        if self._is_last:
            return
        self._unset_keepalive_if_required()
        self._came += data
        self._take()

    def _take(self) -> None:
        """Give the parser the next head, where it is whole and the answer before it is out."""
        if self._is_last or not self._came or self.transport.is_closing():
            return
        if not self._is_idle():
            self.flow.pause_reading()
            return
        found = _END.search(self._came, self._searched)
        end = found.end() if found else len(self._came)
        is_wrong = (
            self._came[0] <= 0x20  # no HTTP: a TLS hello, say, which waits for an answer
            or (found is None and end > HEAD_MAX)
            or self._came.count(b"\n", 0, end) > LINES_MAX
        )
        if is_wrong:
            self.logger.warning(_INVALID)
            self.send_400_response(_INVALID)
        elif found is None:
            self._searched = max(0, end - 2)
        else:
            head = bytes(self._came[:end])
            if (method := _METHOD.match(head)) and method[0] not in _KNOWN:
                head = b"POST" + head[method.end() :]  # refused as that is; the parser knows few
            del self._came[:end]
            self._searched = 0
            super().data_received(head)
            self._take()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        """As uvicorn has it, but of the target every byte as it came.

        Its own reading drops a host and a fragment. What is raised becomes 400 (RFC 9112, 3.2).
        """
        target, version = self.url, self.parser.get_http_version()
        hosts = [name for name, _ in self.headers].count(b"host")
        if version not in ("1.0", "1.1") or not _TARGET.fullmatch(target):
            raise ValueError("no request line of HTTP/1")
        if hosts > 1 or (not hosts and version == "1.1"):
            raise ValueError("not one Host")
        self.url = b"/"
        super().on_headers_complete()
        if absolute := _ABSOLUTE.match(target):  # RFC 9112, 3.2.2: its host is the one that counts
            target = target[absolute.end() :]
            target = target if target.startswith(b"/") else b"/" + target
            self.headers[:] = [(n, absolute[1] if n == b"host" else v) for n, v in self.headers]
        path, _, query = target.partition(b"?")
        self.scope["raw_path"], self.scope["query_string"] = path, query
        self.scope["path"] = unquote(path.decode("ascii"))
        self._is_last = True

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._is_last = self.parser.should_upgrade()  # the parser takes nothing behind these

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_last and not self.transport.is_closing():
            # Closed now, what comes of a body would reset the connection before the answer is read.
            self.transport.write_eof()
        self._take()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    # ---- Files, sent by the kernel

    async def _with_files(self, scope: Any, receive: Any, send: Any) -> None:
        """The application, which may have files sent by the kernel."""
        scope["extensions"] = {ZERO_COPY: {}}
        await self._served(scope, receive, partial(self._sent, self.cycle, send))

    async def _sent(self, cycle: Any, send: Any, message: Any) -> None:
        if message["type"] != ZERO_COPY:
            await send(message)
        elif not cycle.disconnected:
            count = message["count"]
            cycle.expected_content_length -= count  # uvicorn's count of what is still to come
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
        """Return how many of *count* bytes of the file *fd* were sent."""
        self.flow.pause_reading()  # until the answer is out: whoever is gone shows by the sending
        await self.flow.drain()  # nothing is in the transport's hands then
        sent = 0
        try:
            # A second descriptor, as the transport lets nobody wait for its own.
            with self.transport.get_extra_info("socket").dup() as sock:
                while sent < count:
                    try:
                        done = os.sendfile(sock.fileno(), fd, offset + sent, count - sent)
                    except BlockingIOError:
                        await self._writable(sock)
                        continue
                    if not done:
                        break
                    sent += done
        except OSError as error:
            if error.errno in _NO_SENDFILE and not sent:
                return await self._read_and_sent(fd, offset, count)
        return sent

    async def _writable(self, sock: socket.socket) -> None:
        """Wait until *sock* takes more, or is gone."""
        ready = asyncio.Event()
        self.loop.add_writer(sock, ready.set)
        try:
            await ready.wait()
        finally:
            self.loop.remove_writer(sock)

    async def _read_and_sent(self, fd: int, offset: int, count: int) -> int:
        data = await asyncio.to_thread(os.pread, fd, count, offset)
        self.transport.write(data)
        return len(data)

    # ---- Patience

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # drained is empty, then
        # A body behind its head does not wait for an acknowledgement; asyncio sets this only on
        # sockets that name their protocol.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._seen: object = None
        self._look_again()

    def _look_again(self) -> None:
        self._look = self.loop.call_later(self.patience, self._looked)

    def _looked(self) -> None:
        """Hang up where the client was idle at the last look, and has asked nothing since."""
        idle = self._is_idle()
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


def listening_at(bind: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket at the address *bind*, which others that are *shared* may have, too; the kernel
    deals connections out among these. ``BadArgument`` where it cannot be had.
    """
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    try:
        return socket.create_server((bind, port), family=family, backlog=128, reuse_port=shared)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadArgument(f"{bind} port {port} cannot be had: {reason}") from None


def config(
    app: ASGIApp,
    protocol: type[PatientProtocol] = PatientProtocol,
    connections: int = CONNECTIONS_MAX,
) -> uvicorn.Config:
    """Return how uvicorn is to serve *app*; who asks where *connections* others are open
    gets 503.
    """
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
        timeout_keep_alive=10,
        timeout_graceful_shutdown=5,
    )
