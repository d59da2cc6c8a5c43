"""Damage done to volumes by dice, and everything read that is left of them.

``python tests/warc/sweeps.py FOLDER ROUNDS`` damages every file of a folder so many times.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from lafka.warc.errors import WarcError
from lafka.warc.foreign import kind_of, open_volume
from lafka.warc.foreign.arc import ArcVolume
from lafka.warc.format.sources import CHUNK, MemorySource
from lafka.warc.reading.volumes import Volume
from tests.memory import peak

NOT_VOLUMES = (".tsv", ".cdx", ".cdxj", ".md")
IN_MEMORY = {"warc": Volume, "arc": ArcVolume}


class CountingSource(MemorySource):
    """Counts the bytes that are read from it."""

    __slots__ = ("count",)

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.count = 0

    def read(self, start: int, length: int) -> bytes:
        data = super().read(start, length)
        self.count += len(data)
        return data


def samples(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.suffix not in NOT_VOLUMES]


def damaged(data: bytes, dice: random.Random) -> bytes:
    """*data* with a few bytes flipped, a stretch cut out, put in or doubled, or its end gone."""
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 5))):
        at = dice.randrange(len(changed) + 1)
        size = dice.choice((1, 2, 4, 64, 1000, 20_000))
        match dice.randrange(6):
            case 0:
                for place in range(at, min(at + dice.choice((1, 3)), len(changed))):
                    changed[place] ^= 1 << dice.randrange(8)
            case 1:
                del changed[at : at + size]
            case 2:
                changed[at:at] = dice.randbytes(size)
            case 3:
                changed[at:at] = changed[at : at + size]
            case 4:
                del changed[at:]
            case 5:
                words = (b"\r\n", b"\n", b" ", b"WARC/1.0\r\n", b"9" * 15, b"\0" * 9, b"\r\n\r\n")
                changed[at:at] = dice.choice(words)
    return bytes(changed)


def read_all(volume: Volume, most: int = 5000) -> int:
    """Read all that can be asked of what a volume gives; how many records there are."""
    count = 0
    with volume:
        for record in islice(volume, most):
            count += 1
            assert (record.type, record.url, record.id) is not None
            _ = record.date, record.payload_place
            for decoded in (False, True):
                with suppress(WarcError):
                    for _ in islice(record.payload(decoded=decoded), 64):
                        pass
        for problem in volume.problems:
            assert problem.to_json().isprintable()
    return count


def sweep(path: Path, rounds: int, seed: object = 0) -> Iterator[tuple[int, int]]:
    """Damage the file at *path* so often and read it; each time its size, and what was read of it.

    An error that is not the library's own comes out.
    """
    kind, data = kind_of(path), path.read_bytes()
    for number in range(rounds):
        changed = damaged(data, random.Random(f"{seed} {path.name} {number}"))
        try:
            if kind in IN_MEMORY:
                source = CountingSource(changed)
                read_all(IN_MEMORY[kind](path, source=source))
                yield len(changed), source.count
            else:
                with tempfile.TemporaryDirectory() as folder:
                    copy = Path(folder) / path.name
                    copy.write_bytes(changed)
                    read_all(open_volume(copy))
        except WarcError:
            pass
        except BaseException:
            print(f"round {number} of {path.name}", file=sys.stderr)
            raise


def bound(size: int) -> int:
    """How many bytes may be read of a file of *size* bytes: each some times, and a window more."""
    return 8 * size + 16 * CHUNK


def main() -> None:
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    for path in samples(folder):
        with open_volume(path) as volume:
            read_all(volume)
        most = 0.0
        for size, count in sweep(path, rounds):
            most = max(most, count / bound(size))
            assert count <= bound(size), (path, size, count)
        print(f"{path.name}: {most:.3f} of the bound, {peak() >> 20} MB", flush=True)


if __name__ == "__main__":
    main()
