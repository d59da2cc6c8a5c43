"""Verdicts on servers' certificates, by the system's trust; nothing is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from ipaddress import ip_address

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from OpenSSL import SSL
from OpenSSL.crypto import X509, X509Store, X509StoreContext, X509StoreContextError
from service_identity import CertificateError, VerificationError
from service_identity.cryptography import (
    verify_certificate_hostname,
    verify_certificate_ip_address,
)

OK = ("ok",)
NONE = ("none",)

# X509_V_ERR_* of OpenSSL (x509_vfy.h) -> the words of docs/formats.md.
_WORDS = {
    2: "unknown-issuer",
    9: "not-yet-valid",
    10: "expired",
    18: "self-signed",
    19: "unknown-issuer",
    20: "unknown-issuer",
    21: "unknown-issuer",
    66: "weak",
    67: "weak",
    68: "weak",
}
_OTHER = "invalid"
_FOR_SERVERS = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)
_SUITE = re.compile(
    r"(?:(?P<agreed>ECDHE-ECDSA|ECDHE-RSA|DHE-RSA|DHE-DSS)-)?"
    r"(?:AES(?P<bits>128|256)(?P<gcm>-GCM)?-(?P<hash>SHA(?:256|384)?)|(?P<chacha>CHACHA20-POLY1305))"
)


@cache
def _context() -> SSL.Context:
    """Kept for good: with it goes its store, whoever still holds the X509Store."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_default_verify_paths()
    return context


def system_trust() -> X509Store:
    """The certificates that the system trusts; SSL_CERT_FILE and SSL_CERT_DIR name others."""
    store = _context().get_cert_store()
    assert store is not None
    return store


def verdict(
    chain: Sequence[X509], host: str, *, trust: X509Store | None = None, now: datetime | None = None
) -> tuple[str, ...]:
    """All that is wrong with *chain*, the server's own certificate first, for *host*.

    ``("ok",)`` where nothing is, ``("none",)`` for no certificate at all. Looked at are the chain
    up to a certificate that is trusted, dates, purpose, and the name or address (RFC 9525);
    revocation is not. What cannot be read of the chain is ``invalid``; nothing is raised but what
    keeps us from reading whom we trust: ``OSError``.
    """
    if not chain:
        return NONE
    found: dict[str, None] = {}
    try:
        for fault in _faults(chain, host, trust or system_trust(), now or datetime.now(UTC)):
            found[fault] = None
    except OSError:  # of our own trust store: nothing is wrong with the chain
        raise
    except Exception:  # whatever a hostile certificate makes a parser raise
        found[_OTHER] = None
    return tuple(found) or OK


def _faults(chain: Sequence[X509], host: str, trust: X509Store, now: datetime) -> Iterator[str]:
    try:
        X509StoreContext(trust, chain[0], list(chain[1:])).verify_certificate()
    except X509StoreContextError as error:
        yield _WORDS.get(error.errors[0], _OTHER)
    leaf = chain[0].to_cryptography()
    if now > leaf.not_valid_after_utc:
        yield "expired"
    if now < leaf.not_valid_before_utc:
        yield "not-yet-valid"
    if not _names(leaf, host):
        yield "wrong-host"
    if not _is_for_servers(leaf):
        yield "wrong-purpose"


def _names(leaf: x509.Certificate, host: str) -> bool:
    try:
        if _is_address(host):
            verify_certificate_ip_address(leaf, host)
        else:
            verify_certificate_hostname(leaf, host)
    except (CertificateError, VerificationError, ValueError):  # ValueError: no such host name
        return False
    return True


def _is_address(host: str) -> bool:
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


def _is_for_servers(leaf: x509.Certificate) -> bool:
    try:
        uses = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return any(use in uses for use in _FOR_SERVERS)


def protocol_name(version: str) -> str:
    """``tls/1.3`` for OpenSSL's ``TLSv1.3``, as WARC-Protocol has it; empty for what is none."""
    found = re.fullmatch(r"TLSv(1(?:\.[0-9])?)", version)
    return f"tls/{found[1] if '.' in found[1] else '1.0'}" if found else ""


def suite_name(name: str) -> str:
    """IANA's name of a cipher suite that OpenSSL has *name* for; empty where we know none."""
    if name.startswith("TLS_"):
        return name
    found = _SUITE.fullmatch(name)
    if found is None:
        return ""
    if found["chacha"]:
        cipher = "CHACHA20_POLY1305_SHA256"
    else:
        cipher = f"AES_{found['bits']}_{'GCM' if found['gcm'] else 'CBC'}_{found['hash']}"
    return f"TLS_{(found['agreed'] or 'RSA').replace('-', '_')}_WITH_{cipher}"
