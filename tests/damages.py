"""Random damages to the files of an archive: what disks, copies and hands do to bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """*file* becomes *data*; *what* tells a person how."""

    file: Path
    what: str
    data: bytes


def flip(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    place, bit = rng.randrange(len(data)), rng.randrange(8)
    changed = bytearray(data)
    changed[place] ^= 1 << bit
    return f"bit {bit} of byte {place} flipped", bytes(changed)


def cut(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    place = rng.randrange(len(data))
    return f"cut at {place}", data[:place]


def hole(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.choice((1, 2, 16, 512)))
    return f"{start} to {end} lost", data[:start] + data[end:]


def zeros(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.choice((1, 16, 512)))
    return f"{start} to {end} zeroed", data[:start] + bytes(end - start) + data[end:]


def insert(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    place = rng.randrange(len(data) + 1)
    added = rng.choice((b"\n", b" ", b"\r\n", b"0", bytes([rng.randrange(256)])))
    return f"{added!r} put in at {place}", data[:place] + added + data[place:]


def swap(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    size = rng.choice((1, 16, 64, 512))
    if len(data) < 2 * size:
        return flip(data, rng)
    first = rng.randrange(len(data) - 2 * size + 1)
    second = rng.randrange(first + size, len(data) - size + 1)
    parts = (
        data[:first],
        data[second : second + size],
        data[first + size : second],
        data[first : first + size],
        data[second + size :],
    )
    return f"{size} bytes at {first} and {second} swapped", b"".join(parts)


def tail(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    added = rng.choice((b"\0" * 512, b"WARC/1.1\r\nWARC-Ty", rng.randbytes(40), data[:700]))
    return f"{len(added)} bytes added", data + added


ANY: tuple[Callable[[bytes, random.Random], tuple[str, bytes]], ...] = (
    flip, flip, flip, cut, hole, zeros, insert, swap, tail,
)  # fmt: skip


def damages(
    files: Mapping[Path, bytes], older: Mapping[Path, list[bytes]], rng: random.Random
) -> Iterator[Damage]:
    """Endless damages to *files*, each file of which is as likely; *older* are restored too."""
    paths = sorted(files)
    while True:
        path = rng.choice(paths)
        kind = rng.random()
        if older.get(path) and kind < 0.05:
            what, data = "an older one restored", rng.choice(older[path])
        elif kind < 0.08:
            other = rng.choice([other for other in paths if other.suffix == path.suffix])
            what, data = f"replaced by {other.name}", files[other]
        else:
            what, data = rng.choice(ANY)(files[path], rng)
        if data != files[path]:
            yield Damage(file=path, what=what, data=data)


def same_values(one: bytes, other: bytes) -> bool:
    """Whether two suwafs say the same in another spelling."""
    try:
        return json.dumps(json.loads(one)) == json.dumps(json.loads(other))
    except ValueError:
        return False
