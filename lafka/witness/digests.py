"""Digests: those that a header states, and those that the bytes have."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from base64 import b32decode
from concurrent.futures import wait
from typing import TYPE_CHECKING, NamedTuple

from lafka.witness.tables import ALGORITHMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from concurrent.futures import Executor

    from lafka.witness.blocks import HttpEntity, RecordBlock
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
