"""The verdict on a server's certificate."""

from __future__ import annotations

import datetime as dt
import errno
from ipaddress import ip_address
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hypothesis import given
from hypothesis import strategies as st
from OpenSSL.crypto import X509, X509Store

from lafka.capture import certificates
from lafka.capture.certificates import OK, protocol_name, suite_name, system_trust, verdict
from lafka.capture.exchanges import Exchange
from lafka.capture.recording import ReadingLimits, Tap
from lafka.errors import StorageTrouble

NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)
HOST = "paper.example"


def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


ROOT_KEY, STRANGERS_KEY, LEAF_KEY = key(), key(), key()


def name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def made(
    subject: str = HOST,
    issuer: str = "root",
    signer: ec.EllipticCurvePrivateKey = ROOT_KEY,
    *,
    mine: ec.EllipticCurvePrivateKey = LEAF_KEY,
    start: dt.datetime = NOW - DAY,
    end: dt.datetime = NOW + DAY,
    names: tuple[str, ...] = (HOST, "127.0.0.1"),
    use: Any = ExtendedKeyUsageOID.SERVER_AUTH,
    is_ca: bool = False,
) -> X509:
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(mine.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
    )
    if names:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([general(n) for n in names]), critical=False
        )
    if use:
        builder = builder.add_extension(x509.ExtendedKeyUsage([use]), critical=False)
    return X509.from_cryptography(builder.sign(signer, hashes.SHA256()))


def general(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


ROOT = made("root", "root", mine=ROOT_KEY, names=(), use=None, is_ca=True)
STRANGER = made(
    "stranger", "stranger", STRANGERS_KEY, mine=STRANGERS_KEY, names=(), use=None, is_ca=True
)


@pytest.fixture(scope="module")
def trust() -> X509Store:
    store = X509Store()
    store.add_cert(ROOT)
    return store


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ([made()], "ok"),
        ([made(use=None)], "ok"),
        ([made(use=ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)], "ok"),
        ([made(), ROOT], "ok"),
        ([made(HOST, HOST, LEAF_KEY)], "self-signed"),
        ([made(start=NOW - 3 * DAY, end=NOW - 2 * DAY)], "expired"),
        ([made(start=NOW + 2 * DAY, end=NOW + 3 * DAY)], "not-yet-valid"),
        ([made(names=("other.example",))], "wrong-host"),
        ([made(names=())], "wrong-host"),  # the subject's common name is no name (RFC 9525)
        ([made(use=ExtendedKeyUsageOID.EMAIL_PROTECTION)], "wrong-purpose"),
        ([made(issuer="nobody")], "unknown-issuer"),
        ([made(issuer="stranger", signer=STRANGERS_KEY), STRANGER], "unknown-issuer"),
        ([made(signer=STRANGERS_KEY)], "invalid"),  # not signed by whom it names
        (
            [made(HOST, HOST, LEAF_KEY, start=NOW - 3 * DAY, end=NOW - 2 * DAY, names=("a",))],
            "self-signed expired wrong-host",
        ),
        ([], "none"),
    ],
    ids=lambda value: value.replace(" ", "+") if isinstance(value, str) else "",
)
def test_all_that_is_wrong_is_said(chain: list[X509], words: str, trust: X509Store) -> None:
    assert verdict(chain, HOST, trust=trust) == tuple(words.split())


@pytest.mark.parametrize(
    ("host", "right"),
    [
        ("127.0.0.1", True),
        ("127.0.0.2", False),
        ("PAPER.example", True),
        ("paper.example.", False),
        ("www.paper.example", False),
        ("", False),
        ("not a name", False),
        ("[::1]", False),
    ],
)
def test_the_host_is_the_certificates(host: str, right: bool, trust: X509Store) -> None:
    assert verdict([made()], host, trust=trust) == (OK if right else ("wrong-host",))


@given(host=st.text(max_size=30))
def test_no_host_raises(host: str) -> None:
    assert "wrong-host" in verdict([made()], host, trust=X509Store())


def test_a_certificate_that_nobody_can_read_is_invalid(trust: X509Store) -> None:
    assert verdict([X509()], HOST, trust=trust)[-1] == "invalid"


def test_the_systems_own_trust_is_asked() -> None:
    assert verdict([made()], HOST) == ("unknown-issuer",)
    assert system_trust() is not None


@pytest.mark.parametrize(
    ("openssl", "iana"),
    [  # as `openssl ciphers -stdname` has them
        ("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
        ("ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
        ("DHE-RSA-AES256-SHA256", "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256"),
        ("ECDHE-ECDSA-AES256-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384"),
        ("AES256-SHA", "TLS_RSA_WITH_AES_256_CBC_SHA"),
        ("AES128-GCM-SHA256", "TLS_RSA_WITH_AES_128_GCM_SHA256"),
        ("ADH-AES128-SHA", ""),
        ("", ""),
    ],
)
def test_cipher_suites_have_their_registered_names(openssl: str, iana: str) -> None:
    assert suite_name(openssl) == iana


def test_protocols_are_called_as_in_warc_protocol() -> None:
    assert [protocol_name(v) for v in ("TLSv1.3", "TLSv1.2", "TLSv1", "Unknown")] == [
        "tls/1.3",
        "tls/1.2",
        "tls/1.0",
        "",
    ]


def test_whom_we_trust_that_cannot_be_read_is_no_fault_of_the_certificate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> X509Store:
        raise OSError(errno.EIO, "Input/output error", "trusted.pem")

    monkeypatch.setattr(certificates, "system_trust", refuse)
    with pytest.raises(OSError, match=r"trusted\.pem"):
        verdict([made()], HOST)
    exchange = Exchange(url=f"https://{HOST}/", method="GET")
    tap = Tap(exchange, ReadingLimits(), lambda: NOW, miss_max=0)
    connection: Any = SimpleNamespace(
        get_protocol_version_name=lambda: "TLSv1.3",
        get_cipher_name=lambda: "TLS_AES_256_GCM_SHA384",
        get_peer_cert_chain=lambda: [made()],
    )
    tap.secure(connection)
    assert isinstance(tap.error, StorageTrouble)
    assert str(tap.error) == "trusted.pem: Input/output error"
