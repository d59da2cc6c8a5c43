"""A server on loopback that sends scripted bytes, and keeps what it was sent."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import socket
import ssl
import struct
import threading
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is sent for one path, part by part, and what becomes of the connection then.

    ``keep``: the next request is read; ``close``: a clean close (over TLS with close_notify);
    ``eof``: a close without close_notify; ``reset``: RST; ``hold``: nothing more, until the
    client goes. With *stale* the first request on a kept connection is met with a close instead.
    """

    parts: tuple[bytes, ...]
    then: Literal["keep", "close", "eof", "reset", "hold"] = "keep"
    stale: bool = False


class RawSite:
    """A context manager; ``CONNECT`` is answered and TLS spoken after it, so it is a proxy too."""

    def __init__(
        self,
        answers: dict[str, Answer],
        *,
        tls: bool = False,
        context: ssl.SSLContext | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.address = address
        self.answers = answers
        self.requests: dict[str, list[bytes]] = {}
        """Each request as it came, by path, and those for CONNECT by authority."""
        self.connections = 0
        self.events: list[tuple[str, int]] = []
        """Paths as they were asked for, with the connection's number; a path whose answer ends
        in ``hold`` comes again, with 0, when the client has gone."""
        self._tls = tls
        self._context = context
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
        self._listener = socket.create_server((self.address, 0), family=family)
        self.port: int = self._listener.getsockname()[1]
        host = f"[{self.address}]" if ":" in self.address else self.address
        self.url = f"{'https' if self._tls else 'http'}://{host}:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            arguments = (connection, self.connections)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open.add(connection)
            threading.Thread(target=self._serve_quietly, args=arguments, daemon=True).start()

    def _serve_quietly(self, connection: socket.socket, number: int) -> None:
        try:
            self._serve(connection, number)
        except OSError:
            connection.close()

    def _secured(self, connection: socket.socket) -> socket.socket:
        assert self._context is not None
        return self._context.wrap_socket(connection, server_side=True)

    def _serve(self, connection: socket.socket, number: int) -> None:
        if self._tls:
            connection = self._secured(connection)
        served = 0
        while request := _read_request(connection):
            method, target = request.split(b" ", 2)[:2]
            path = urlsplit(target.decode()).path if method != b"CONNECT" else target.decode()
            self.requests.setdefault(path, []).append(request)
            self.events.append((path, number))
            if method == b"CONNECT":
                connection.sendall(b"HTTP/1.1 200 Go on\r\nX-Proxy: yes\r\n\r\n")
                connection = self._secured(connection)
                continue
            answer = self.answers[path]
            if answer.stale and served:
                break
            for part in answer.parts:
                connection.sendall(part)
            if answer.then == "hold":
                _wait_for_the_end(connection)
                self.events.append((path, 0))
            if answer.then != "keep":
                _end(connection, answer.then)
                return
            served += 1
        connection.close()


def _read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return b""
        data += more
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", data)
    whole = data.index(b"\r\n\r\n") + 4 + (int(length[1]) if length else 0)
    while len(data) < whole:
        data += connection.recv(65536)
    return data


def _wait_for_the_end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while connection.recv(65536):
            pass


def _end(connection: socket.socket, how: str) -> None:
    if how == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if how == "close" and isinstance(connection, ssl.SSLSocket):
        connection = connection.unwrap()
    connection.close()


def server_context(folder: Path) -> ssl.SSLContext:
    """TLS for 127.0.0.1 and paper.example with a certificate that nobody has signed but itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start.replace(year=2120))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.IPAddress(IPv4Address("127.0.0.1")), x509.DNSName("paper.example")]
            ),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    pem = folder / "site.pem"
    pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context
