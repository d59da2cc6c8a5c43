"""Digests: those that a header states, and those that the bytes have.

What a server did to a fut on its way is undone by no code of the writer's (RFC 9110, RFC 9112).
Brotli and Zstandard are not undone: the standard library of Python 3.11 has neither.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import zlib
from base64 import b32decode
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, wait
from io import BufferedReader, RawIOBase
from itertools import chain
from typing import NamedTuple

from lafka.witness.blocks import HttpEntity, RecordBlock
from lafka.witness.headers import ALGORITHMS
from lafka.witness.problems import Fault

_CHUNK = 1 << 18
_SHARED_CHUNK = 1 << 19  # more would leave the caches, less hand the interpreter over more often
_PARALLEL = 1 << 17  # below this it costs less to hash one after the other

_HEX = re.compile(r"[0-9A-Fa-f]+")
_PLAIN_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
_ALGORITHM = re.compile(r"[a-z0-9/_]+")
_PARTIAL = frozenset(("revisit", "continuation"))

_own = threading.local()

HashedRange = tuple[str, int, int]
"""An algorithm, the first byte and the end of a range of the file."""
Hashers = dict[HashedRange, "hashlib._Hash"]


def canonical_digest(value: str) -> str | None:
    """``algorithm:hex`` in lower case; None where *value* is no digest in hex or base32.

    Of one case throughout: a digest in mixed case was not written by any writer. An algorithm
    that is not known is returned as it is.
    """
    if _PLAIN_SHA256.fullmatch(value):
        return value
    algorithm, _, text = value.partition(":")
    algorithm = algorithm.lower().replace("-", "")
    if not _ALGORITHM.fullmatch(algorithm) or text not in {text.lower(), text.upper()} - {""}:
        return None
    size = ALGORITHMS.get(algorithm)
    if size is None:
        return f"{algorithm}:{text}"
    raw = _bytes_of(text, size)
    return f"{algorithm}:{raw.hex()}" if raw is not None and len(raw) == size else None


def _bytes_of(text: str, size: int) -> bytes | None:
    """Return what *text* is in hex, where it is as long as *size* bytes are, else in base32."""
    try:
        if _HEX.fullmatch(text) and len(text) == 2 * size:
            return bytes.fromhex(text)
        bare = text.upper().rstrip("=")
        return b32decode(bare + "=" * (-len(bare) % 8))
    except ValueError:
        return None


class StatedDigest(NamedTuple):
    """A digest in a header: *digest* (hex) should be that of one of *ranges*."""

    field: str
    digest: str
    ranges: tuple[HashedRange, ...]

    @property
    def code(self) -> str:
        """``block-digest`` or ``payload-digest``."""
        return self.field.removeprefix("warc-")


def stated_digests(
    fields: Mapping[str, str], block: RecordBlock, entity: HttpEntity | None, faults: list[Fault]
) -> Iterator[StatedDigest]:
    """Each digest in the header that this record alone can prove."""
    if "warc-block-digest" not in fields:
        faults.append(("no-block-digest", "nothing says what the block should be"))
    begin, end = (entity.offset, entity.end) if entity else (block.offset, block.end)
    for name in ("warc-block-digest", "warc-payload-digest"):
        digest = _stated(name, fields, faults) if name in fields else ""
        if not digest:
            continue
        algorithm, _, text = digest.partition(":")
        if name == "warc-block-digest":
            yield StatedDigest(name, text, ((algorithm, block.offset, block.end),))
        elif not _is_elsewhere(fields):
            ranges: tuple[HashedRange, ...] = ((algorithm, begin, end),)
            if end != block.end:
                # Other writers count what stands after the end that Content-Length gives.
                ranges += ((algorithm, begin, block.end),)
            yield StatedDigest(name, text, ranges)


def _stated(name: str, fields: Mapping[str, str], faults: list[Fault]) -> str:
    """The digest in a field, canonical; empty where there is none that can be checked."""
    value = fields[name]
    if _PLAIN_SHA256.fullmatch(value):
        return value
    digest = canonical_digest(value)
    algorithm = digest.partition(":")[0] if digest is not None else ""
    if digest is None:
        faults.append(("bad-digest", f"{name} is {value[:80]!r}"))
    elif algorithm not in ALGORITHMS:
        faults.append(("unknown-digest", f"{name} is by {algorithm[:40]!r}"))
    else:
        return digest
    return ""


def _is_elsewhere(fields: Mapping[str, str]) -> bool:
    """Return whether the payload is, wholly or in part, in other records."""
    return fields.get("warc-type") in _PARTIAL or "warc-segment-number" in fields


def range_digest(fd: int, part: HashedRange) -> str:
    """``algorithm:hex`` of a range of the file."""
    hasher = _hasher(part[0])
    _hash_range(fd, hasher, part)
    return f"{part[0]}:{hasher.hexdigest()}"


def hashers_for(stated: list[StatedDigest], *more: HashedRange) -> Hashers:
    """A hasher for each range, once."""
    hashers = {each: _hasher(each[0]) for digest in stated for each in digest.ranges}
    return hashers | {each: _hasher(each[0]) for each in more if each not in hashers}


def _hasher(algorithm: str) -> hashlib._Hash:
    return hashlib.sha256() if algorithm == "sha256" else hashlib.new(algorithm)


def differences(stated: list[StatedDigest], hashers: Hashers, *, chunked: bool) -> Iterator[Fault]:
    """The stated digests that the bytes do not have."""
    for each in stated:
        if each.digest in [hashers[part].hexdigest() for part in each.ranges]:
            continue
        if each.code == "payload-digest" and chunked:
            # Writers disagree whether it is of the chunked or of the plain bytes.
            yield "payload-digest-unsure", "not the digest of the chunked payload"
        else:
            yield each.code, f"the bytes do not have the digest of {each.field}"


def hash_block(fd: int, block: RecordBlock, hashers: Hashers, pool: Executor | None) -> None:
    """Feed each of *hashers* its range of the block; big ones beside each other in *pool*.

    OSError where the file ends early.
    """
    if len(block.front) == block.size:
        view = memoryview(block.front)
        for (_, start, end), hasher in hashers.items():
            hasher.update(view[start - block.offset : end - block.offset])
    elif pool is None or block.size < _PARALLEL or len(hashers) < 2:
        _hash_together(fd, block.offset, block.end, hashers)
    else:
        _hash_beside(fd, hashers, pool)


def _hash_beside(fd: int, hashers: Hashers, pool: Executor) -> None:
    """Each thread reads for itself: the second finds the bytes in the system's cache, and that
    costs less than to meet for each chunk.
    """
    mine, *others = hashers.items()
    waiting = [pool.submit(_hash_range, fd, hasher, part) for part, hasher in others]
    try:
        _hash_range(fd, mine[1], mine[0])
    finally:
        wait(waiting)
    for done in waiting:
        done.result()


def _hash_together(fd: int, at: int, end: int, hashers: Hashers) -> None:
    buffer = _buffer()
    while at < end:
        view = buffer[: min(_SHARED_CHUNK, end - at)]
        _fill(fd, view, at)
        for (_, first, last), hasher in hashers.items():
            if first < at + len(view) and last > at:
                hasher.update(view[max(0, first - at) : last - at])
        at += len(view)


def _hash_range(fd: int, hasher: hashlib._Hash, part: HashedRange) -> None:
    _, at, end = part
    buffer = _buffer()
    while at < end:
        view = buffer[: min(_CHUNK, end - at)]
        _fill(fd, view, at)
        hasher.update(view)
        at += len(view)


def _buffer() -> memoryview:
    """Room for a chunk, each thread's own, made once: it is needed again for the next block."""
    buffer: memoryview | None = getattr(_own, "buffer", None)
    if buffer is None:
        buffer = _own.buffer = memoryview(bytearray(_SHARED_CHUNK))
    return buffer


def _fill(fd: int, view: memoryview, offset: int) -> None:
    done = 0
    while done < len(view):
        got = os.preadv(fd, [view[done:]], offset + done)
        if got == 0:
            raise OSError("became shorter while it was read")
        done += got


_CHUNK = 1 << 18
_LINE = 1 << 16
_MARK = b"%PDF-"
_MARK_WITHIN = 1024
_GZIP = b"\x1f\x8b"
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?\r?\n", re.S)
_UNDONE = frozenset(("gzip", "x-gzip", "deflate"))


def difference(fd: int, entity: HttpEntity, place: int, length: int) -> str:
    """Return how the PDF in *entity* differs from ``file[place:place+length]``; empty where it does
    not.

    Empty too where it is coded in a way that is not undone here.
    """
    if not _UNDONE.issuperset(entity.content) or (pieces := _payload(fd, entity)) is None:
        return ""
    for coding in reversed(entity.content):
        pieces = _inflated(pieces, coding)
    at, end = place, place + length
    try:
        for piece in _from_mark(pieces):
            if piece != os.pread(fd, min(len(piece), end - at), at):
                return f"another byte than in the answer from byte {at} on, or fewer"
            at += len(piece)
    except (zlib.error, ValueError) as error:
        return f"the answer cannot be decoded: {error}"
    return "" if at == end else f"the answer holds {end - at} bytes fewer"


def payload_digest(fd: int, entity: HttpEntity, algorithm: str) -> str:
    """``algorithm:hex`` of *entity* without its transfer codings; empty where they stay."""
    hasher = hashlib.new(algorithm)
    try:
        for piece in _payload(fd, entity) or ():
            hasher.update(piece)
    except (zlib.error, ValueError):
        return ""
    return f"{algorithm}:{hasher.hexdigest()}"


def _payload(fd: int, entity: HttpEntity) -> Iterator[bytes] | None:
    """*entity* without its transfer codings; None where one of them is not undone here."""
    codings = [name for name in entity.transfer if name != "chunked"]
    if not _UNDONE.issuperset(codings):
        return None
    body: BufferedReader = BufferedReader(_Range(fd, entity.offset, entity.end), _CHUNK)
    pieces = _dechunked(body) if "chunked" in entity.transfer else iter(body.read1, b"")
    for coding in reversed(codings):
        pieces = _inflated(pieces, coding)
    return pieces


class _Range(RawIOBase):
    """``file[offset:end]`` as a file of its own."""

    def __init__(self, fd: int, offset: int, end: int) -> None:
        self._fd, self._at, self._end = fd, offset, end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        view = memoryview(buffer)[: self._end - self._at]
        count = os.preadv(self._fd, [view], self._at) if view else 0
        self._at += count
        return count


def _dechunked(body: BufferedReader) -> Iterator[bytes]:
    """``ValueError`` where the chunked coding is broken or has no end."""
    while True:
        size = _CHUNK_SIZE.fullmatch(body.readline(_LINE))
        if size is None:
            raise ValueError("a chunk without its size")
        left = int(size[1], 16)
        if not left:
            return
        while left:
            data = body.read(min(left, _CHUNK))
            if not data:
                raise ValueError("a chunk ends early")
            left -= len(data)
            yield data
        if body.readline(3) not in (b"\r\n", b"\n"):
            raise ValueError("a chunk is longer than its size")


def _inflated(pieces: Iterator[bytes], coding: str) -> Iterator[bytes]:
    """*pieces* as they are where their first bytes are not of *coding*: it was not applied."""
    opening = b""
    while len(opening) < len(_GZIP) and (piece := next(pieces, b"")):
        opening += piece
    pieces = chain((opening,), pieces)
    if coding == "deflate":
        # Many servers leave out the wrapper of zlib (RFC 9110 section 8.4.1.2).
        wrapped = opening[:1] and opening[0] & 15 == 8 and int.from_bytes(opening[:2]) % 31 == 0
        return _members(pieces, 15 if wrapped else -15, b"")
    return _members(pieces, 31, _GZIP) if opening.startswith(_GZIP) else pieces


def _members(pieces: Iterator[bytes], window: int, magic: bytes) -> Iterator[bytes]:
    """Streams of zlib's one behind the other; what follows and does not begin so is padding."""
    inner, held = zlib.decompressobj(window), b""
    for piece in pieces:
        data = held + piece
        while data:
            if inner.eof:
                if not magic or not data.startswith(magic[: len(data)]):
                    return
                if len(data) < len(magic):
                    break
                inner = zlib.decompressobj(window)
            yield from _inflate(inner, data)
            data = inner.unused_data
        held = data
    if not inner.eof:
        raise ValueError("the coded body ends early")


def _inflate(inner: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    out = inner.decompress(data, _CHUNK)
    while out:
        yield out
        # What zlib holds back beyond the limit is no unconsumed input.
        out = b"" if inner.eof else inner.decompress(inner.unconsumed_tail, _CHUNK)


def _from_mark(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """*pieces* without what stands before the mark of a PDF."""
    opening = b""
    while len(opening) < _MARK_WITHIN and (piece := next(pieces, b"")):
        opening += piece
    start = opening.find(_MARK)
    if start < 0:
        raise ValueError("it holds no PDF")
    yield opening[start:]
    yield from pieces
