"""TLS that fails, and TLS that is bad and taken all the same, with the verdict noted."""

# ruff: noqa: E501  a line a behaviour, where one will do
from __future__ import annotations

import datetime as dt
import ssl
import warnings
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.x509.oid import NameOID

from tests.sites.hostile.behaviours import (
    CLOSE,
    HOLD,
    RESET,
    Behaviour,
    Repeat,
    Steps,
    http,
    one,
    pdf,
    to,
)

_SOME = IPv4Address("127.77.0.1")
_GROUP = """\
-----BEGIN DH PARAMETERS-----
MIGHAoGBAN61ca3IigSIFtrtFy2Yegt60yfWfbUcH6ufU+52Sp8za/XoFY7vI1eo
vLjlVf4azJ+tn0Vr7hoA0R/e2MoO1glqJkW4dfJO4dVAkIfklQfE4JioQrpgN7wf
hI4uUE6R1fqOqGLQUrF8W0Fgcpavx6N7A09NSX0DCPAy1s1T2f2vAgEC
-----END DH PARAMETERS-----
"""
_HELLO = bytes.fromhex("160303002c0200002803035f") + b"\x11" * 31 + bytes.fromhex("00130100")


def behaviours() -> Iterator[Behaviour]:
    for name in ("self-signed", "expired", "wrong-host", "not-yet-valid", "weak-name", "tls-1.2"):
        dated = f"{name}, " if name in ("expired", "not-yet-valid") else ""
        yield one(f"tls-{name}", "fut", *pdf(), tls=name,
                  certificate=f"self-signed, {dated}wrong-host")  # fmt: skip
    for name in ("tls-1.0", "tls-1.1", "null"):  # asyncio hangs up before the alert is out
        yield one(f"tls-{name}-only", "tls", *pdf(), tls=name, good="tls")
    yield one("tls-weak-dh", "tls", *pdf(), tls="weak-dh", good="tls")
    yield one("tls-chain-of-fifty", "fut", *pdf(), tls="chain-of-fifty",
              certificate="self-signed, wrong-host")  # fmt: skip
    for code, name in ((40, "failure"), (70, "protocol-version"), (71, "security"), (80, "error"),
                       (112, "unknown-name")):  # fmt: skip
        yield Behaviour(name=f"tls-alert-{name}", outcome="tls", tls="raw", good="tls",
                        on_connect=(b"\x15\x03\x03\x00\x02\x02" + bytes([code]), CLOSE))  # fmt: skip
    for name, outcome, steps in (
        ("handshake-closed", "tls", (CLOSE,)),
        ("handshake-reset", "tls", (RESET,)),
        ("handshake-held", "timeout", (HOLD,)),
        ("handshake-cut", "tls", (_HELLO[:9], CLOSE)),
        ("handshake-cut-late", "tls", (_HELLO, CLOSE)),
        ("hello-garbage", "tls", (_HELLO + b"\xff" * 200, CLOSE)),
        ("hello-again-and-again", "timeout", (Repeat(b"\x16\x03\x03\x00\x04\x00\x00\x00\x00"),)),
        ("plain-http", "tls", http(b"no TLS here")),
        ("garbage", "tls", (b"\0\xff" * 500, CLOSE)),
        ("endless-garbage", "tls", (Repeat(b"\x16\x03\x03\x40\x00" + b"\x0b" * 0x4000),)),
    ):
        yield Behaviour(name=f"tls-{name}", outcome=outcome, tls="raw", on_connect=steps,
                        good=outcome)  # fmt: skip
    yield one("tls-cut-without-notify", "truncated", *_cut(), tls="self-signed",
              truncated="disconnect")  # fmt: skip
    yield one("tls-to-file", "bad-http", *to("file:///etc/passwd"), tls="self-signed")


def _cut() -> Steps:
    return (pdf()[0][:1500], RESET)  # type: ignore[index]


def contexts(folder: Path) -> dict[str, ssl.SSLContext]:
    """Contexts by name; their certificates are made in *folder*."""
    now = dt.datetime.now(dt.UTC)
    day = dt.timedelta(days=1)
    good = _pem(folder / "good.pem", now - day, now + 90 * day)
    return {
        "self-signed": _context(good),
        "expired": _context(_pem(folder / "old.pem", now - 900 * day, now - 100 * day)),
        "not-yet-valid": _context(_pem(folder / "new.pem", now + 90 * day, now + 900 * day)),
        "wrong-host": _context(
            _pem(folder / "other.pem", now - day, now + day, IPv4Address("127.99.9.9"))
        ),
        "weak-name": _context(_pem(folder / "name.pem", now - day, now + day, None)),
        "tls-1.2": _context(good, ssl.TLSVersion.TLSv1_2),
        "tls-1.1": _context(good, ssl.TLSVersion.TLSv1_1),
        "tls-1.0": _context(good, ssl.TLSVersion.TLSv1),
        "weak-dh": _weak_dh(folder),
        "chain-of-fifty": _context(_pem(folder / "chain.pem", now - day, now + day, more=50)),
        "null": _context(good, ssl.TLSVersion.TLSv1_2, "eNULL:@SECLEVEL=0"),
    }


def _context(
    pem: Path, newest: ssl.TLSVersion | None = None, ciphers: str = "ALL:@SECLEVEL=0"
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.set_ciphers(ciphers)
    if newest is not None:
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            context.minimum_version = min(newest, ssl.TLSVersion.TLSv1)
            context.maximum_version = newest
    return context


def _weak_dh(folder: Path) -> ssl.SSLContext:
    """Keys are agreed upon in a group of 1,024 bits only, which OpenSSL's clients refuse."""
    now, day = dt.datetime.now(dt.UTC), dt.timedelta(days=1)
    pem = _pem(folder / "rsa.pem", now - day, now + day, rsa=True)
    context = _context(pem, ssl.TLSVersion.TLSv1_2, "DHE:@SECLEVEL=0")
    group = folder / "group.pem"
    group.write_text(_GROUP)
    context.load_dh_params(group)
    return context


def _pem(
    path: Path,
    start: dt.datetime,
    end: dt.datetime,
    address: IPv4Address | None = _SOME,
    *,
    rsa: bool = False,
    more: int = 0,
) -> Path:
    """A key and its certificate, which stands there *more* times again as its own issuers."""
    key = generate_private_key(65537, 2048) if rsa else ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a\r\nX-Injected: yes\x1b[31m")])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(end)
    )
    if address is not None:
        names = x509.SubjectAlternativeName([x509.IPAddress(address)])
        builder = builder.add_extension(names, critical=False)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    signed = builder.sign(key, hashes.SHA256())
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM) * (1 + more))
    return path
