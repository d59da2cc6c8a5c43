import base64
import hashlib
import os
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.warc.errors import BadValue
from lafka.warc.format import digests, http
from lafka.warc.format.digests import BlockHash, Digest, hashed, hasher
from lafka.warc.format.sources import MemorySource

ALGORITHMS = ["md5", "sha1", "sha256", "sha384", "sha512", "blake2b", "blake2s", "sha3_256"]


@given(st.sampled_from(ALGORITHMS), st.binary(max_size=50))
def test_a_digest_is_the_same_however_it_is_spelled(algorithm: str, data: bytes) -> None:
    value = hashlib.new(algorithm, data).digest()
    base32 = base64.b32encode(value).decode()
    digest = Digest.of([data], algorithm)
    base64s = base64.b64encode(value).decode()
    others = (base64s, base64s.rstrip("="), base32.lower(), base32.rstrip("="))
    for text in (value.hex(), value.hex().upper(), base32, *others):
        for label in (algorithm, algorithm.upper(), algorithm.replace("sha", "SHA-")):
            assert Digest.parse(f"{label}:{text}") == digest
    assert Digest.parse(digest.text) == digest
    assert (digest.hex, digest.base32) == (value.hex(), base32)


@pytest.mark.parametrize(
    "text",
    [
        "", "sha1", "sha1:", ":abc", "sha1:abc", "sha1:" + "g" * 40, "sha1:" + "1" * 32,
        "sha256:" + "a" * 63, "sha1:" + "a " * 20, "a b:c",
    ],
)  # fmt: skip
def test_what_is_no_digest_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match="digest"):
        Digest.parse(text)


def test_an_unknown_algorithm_is_kept_and_not_known() -> None:
    digest = Digest.parse("Whirlpool:aBc")
    assert not digest.known
    assert digest.text == "whirlpool:aBc"
    assert digest != Digest.parse("whirlpool:abc")
    with pytest.raises(BadValue, match="whirlpool"):
        hasher("whirlpool")


def test_sha1_is_written_in_base32_and_sha256_in_hex() -> None:
    assert Digest.of([b""], "sha-1").text == "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
    assert str(Digest.of([b""])) == "sha256:" + hashlib.sha256(b"").hexdigest()


@given(st.text())
def test_any_text_is_a_digest_or_a_bad_value(text: str) -> None:
    with suppress(BadValue):
        assert Digest.parse(text).text


PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@given(st.binary(max_size=300), st.integers(1, 40), st.booleans())
def test_block_and_payload_are_hashed_in_one_pass(data: bytes, step: int, chunked: bool) -> None:
    block = PLAIN % len(data) + data + b"junk"
    if chunked:
        chunks = b"".join(
            b"%x\r\n%s\r\n" % (len(part), part)
            for start in range(0, len(data), 7)
            for part in [data[start : start + 7]]
        )
        block = CHUNKED + chunks + b"0\r\nTrailer: x\r\n\r\n"
    for to_end in (False, True):
        made = BlockHash("sha1", http.head(MemorySource(block)), to_end=to_end)
        for start in range(0, len(block), step):
            made.update(block[start : start + step])
        assert made.block == Digest.of([block], "sha1")
        junk = b"junk" if to_end and not chunked else b""
        assert made.payload == Digest.of([data + junk], "sha1")


@pytest.mark.parametrize("cores", [1, 2])
def test_large_pieces_are_hashed_side_by_side_also_in_a_forked_process(
    cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "_CORES", cores)
    data = os.urandom(3 << 20)
    block = MemorySource(PLAIN % len(data) + data)
    for _ in range(2):
        made = hashed(block, head=http.head(block))
        assert made.payload == Digest.of([data])
    child = os.fork()
    if not child:
        os._exit(hashed(block, head=http.head(block)).payload != made.payload)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("body", [b"zz\r\n", b"5\r\nab"])
def test_a_broken_body_has_no_payload_digest(body: bytes) -> None:
    block = MemorySource(CHUNKED + body)
    made = hashed(block, head=http.head(block))
    assert made.payload is None
    assert made.block == Digest.of([CHUNKED + body])


def test_a_block_that_is_no_http_has_no_payload_digest() -> None:
    assert hashed(MemorySource(b"x")).payload is None
