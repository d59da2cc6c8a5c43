"""Labelled digests, ``algorithm:value`` (WARC/1.1 section 5.8), and a block hashed in one pass."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import zip_longest
from typing import Self

from ..errors import BadHttp, BadValue
from .http import Dechunker, Head
from .sources import CHUNK, Source

SHA256 = "sha256"
_NAMES = {
    name.replace("_", ""): name
    for name in (
        "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "blake2s", "blake3",
        "sha3_224", "sha3_256", "sha3_384", "sha3_512",
    )
    if name in hashlib.algorithms_available
}  # fmt: skip
_WORKERS = 2  # block and payload, while a writer writes
_PARALLEL = 1 << 17  # below this it costs less to hash one after the other
_CORES = len(os.sched_getaffinity(0))


def hasher(algorithm: str = SHA256) -> hashlib._Hash:
    """A hash object; ``BadValue`` where *algorithm* is not known (``sha-1`` is ``sha1``)."""
    if algorithm == SHA256:
        return hashlib.sha256()
    name = _NAMES.get(algorithm.lower().replace("-", "").replace("_", ""))
    if name is None:
        raise BadValue(f"unknown digest algorithm: {algorithm!r}")
    return hashlib.new(name, usedforsecurity=False)


@cache
def _size(name: str) -> int:
    return hasher(name).digest_size


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest, equal to another of the same algorithm and bytes however it was spelled.

    ``algorithm`` is as :mod:`hashlib` has it, ``value`` the bytes. Where the algorithm is not
    ``known`` here, ``value`` is the text as it stands.
    """

    algorithm: str
    value: bytes

    @classmethod
    def parse(cls, text: str) -> Self:
        """*text*, its value in hex or base32, in either case, or base64; padding may be missing.

        ``BadValue`` where there is no label, or no digest of that algorithm behind it.
        """
        label, colon, value = text.strip().partition(":")
        plain = label.lower().replace("-", "").replace("_", "")
        if not colon or not plain.isalnum() or not value:
            raise BadValue(f"not a labelled digest: {text!r}")
        if plain not in _NAMES:
            return cls(label.lower(), value.encode("utf-8", "surrogatepass"))
        name = _NAMES[plain]
        decoded = _decoded(value, _size(name))
        if decoded is None:
            raise BadValue(f"not a digest by {name}: {text!r}")
        return cls(name, decoded)

    @classmethod
    def of(cls, pieces: Iterable[bytes], algorithm: str = SHA256) -> Self:
        """The digest of what *pieces* are together, in constant memory; ``BadValue``."""
        made = hasher(algorithm)
        for piece in pieces:
            made.update(piece)
        return cls.made(made)

    @classmethod
    def made(cls, made: hashlib._Hash) -> Self:
        """Return the digest that a hash object has come to."""
        return cls(made.name, made.digest())

    @property
    def known(self) -> bool:
        """True if it can be computed here."""
        return self.algorithm in _NAMES.values()

    @property
    def hex(self) -> str:
        return self.value.hex()

    @property
    def base32(self) -> str:
        return base64.b32encode(self.value).decode()

    @property
    def text(self) -> str:
        """As it is written: ``sha1`` in base32, as tools expect it, others in hex.

        Base32 of another size ends with ``=``, which the grammar of a digest does not have.
        """
        if not self.known:
            return f"{self.algorithm}:{self.value.decode('utf-8', 'surrogatepass')}"
        value = self.base32 if self.algorithm == "sha1" else self.hex
        return f"{self.algorithm}:{value}"

    def __str__(self) -> str:
        return self.text


def _decoded(value: str, size: int) -> bytes | None:
    """The *size* bytes of *value*, told by its length whether it is hex, base32 or base64."""
    plain = value.rstrip("=")
    try:
        if len(plain) == 2 * size:
            return bytes.fromhex(plain) if plain.isalnum() else None
        if len(plain) == (8 * size + 4) // 5:
            return base64.b32decode(plain + "=" * (-len(plain) % 8), casefold=True)
        if len(plain) == (8 * size + 5) // 6:
            return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        pass
    return None


class BlockHash:
    """The digest of a block, and of the payload where ``head`` is of the HTTP message in it.

    One pass over the block, of any size. Both digests are made at the same time: hashlib frees
    the interpreter, so where a core is idle they take as long as one. *to_end*: what stands behind
    Content-Length is payload too, as :func:`http.payload` has it.
    """

    def __init__(
        self, algorithm: str = SHA256, head: Head | None = None, *, to_end: bool = True
    ) -> None:
        self._block = hasher(algorithm)
        self._payload = hasher(algorithm) if head and not head.transfer_codings else None
        self._dechunker = Dechunker() if head and head.chunked else None
        self._skip = head.end if head else 0
        self._left = head.content_length if head and not (to_end and head.status) else None

    def update(self, data: bytes | memoryview) -> None:
        """The next bytes of the block."""
        if self._payload is None:
            self._block.update(data)
        elif len(data) < _PARALLEL:
            view = memoryview(data)
            self._block.update(view)
            self._take(self._part(view))
        else:
            self.begin(data)()

    def _part(self, view: memoryview) -> memoryview:
        """Return what of the next bytes of the block is body."""
        part = view[self._skip :]
        self._skip = max(0, self._skip - len(view))
        if self._left is not None:
            part = part[: self._left]
            self._left -= len(part)
        return part

    def begin(self, data: bytes | memoryview) -> Callable[[], None]:
        """Hash the next bytes while something else is done; what is returned waits for the end."""
        view = memoryview(data)
        tasks = [partial(self._block.update, view)]
        if self._payload is not None:
            tasks.append(partial(self._take, self._part(view)))
        is_large = len(view) >= _PARALLEL and _CORES > 1
        begun = [_threads().submit(task) for task in reversed(tasks)] if is_large else []

        def finish() -> None:
            for task, future in zip_longest(tasks, reversed(begun)):
                # A task that no thread has begun yet is done here.
                if future is None or future.cancel():
                    task()
                else:
                    future.result()

        return finish

    def _take(self, part: memoryview) -> None:
        if self._payload is None or not part:
            return
        if self._dechunker is None:
            self._payload.update(part)
            return
        try:
            for piece in self._dechunker.feed(bytes(part)):
                self._payload.update(piece)
        except BadHttp:
            self._payload = None

    @property
    def block(self) -> Digest:
        return Digest.made(self._block)

    @property
    def payload(self) -> Digest | None:
        """None where the block is no HTTP message, or its coding is unknown, broken or unended."""
        unended = self._dechunker is not None and not self._dechunker.done
        return None if self._payload is None or unended else Digest.made(self._payload)


def hashed(
    block: Source, algorithm: str = SHA256, head: Head | None = None, *, to_end: bool = True
) -> BlockHash:
    """*block*, whose HTTP message has *head*, hashed in one pass and constant memory."""
    made = BlockHash(algorithm, head, to_end=to_end)
    for piece in block.chunks(0, CHUNK):
        made.update(piece)
    return made


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_WORKERS, thread_name_prefix="warc-hash")


os.register_at_fork(after_in_child=_threads.cache_clear)  # the threads stay behind
