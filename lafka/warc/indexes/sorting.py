"""Lines sorted in constant memory: sorted runs on the disk, merged."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Self

RUN_SIZE = 16 << 20
"""Bytes of lines that are sorted at once; twice as many are in memory."""
_RUNS_MAX = 64  # open files that one merge takes


class LineSorter:
    """Takes lines (bytes, each ended by LF) and gives them sorted by their bytes, each once.

    Runs lie in anonymous files in *folder*; ``OSError`` where the disk refuses. A context manager.
    """

    def __init__(self, folder: Path | str | None = None, *, run_size: int = 0) -> None:
        self._folder = folder
        self._run_size = run_size or RUN_SIZE
        self._lines: list[bytes] = []
        self._size = 0
        self._runs: list[IO[bytes]] = []

    def add(self, line: bytes) -> None:
        self._lines.append(line)
        self._size += len(line)
        if self._size >= self._run_size:
            self._spill()

    def _spill(self) -> None:
        self._lines.sort()
        self._keep(self._lines)
        self._lines, self._size = [], 0
        if len(self._runs) >= _RUNS_MAX:
            runs, self._runs = self._runs, []
            self._keep(heapq.merge(*runs))
            for run in runs:
                run.close()

    def _keep(self, lines: Iterable[bytes]) -> None:
        run: IO[bytes] = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
        self._runs.append(run)
        run.writelines(lines)
        run.seek(0)

    def __iter__(self) -> Iterator[bytes]:
        """All lines, once: what was merged is used up."""
        self._lines.sort()
        last = None
        for line in heapq.merge(*self._runs, self._lines):
            if line != last:
                yield line
            last = line

    def close(self) -> None:
        for run in self._runs:
            run.close()
        self._runs, self._lines = [], []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
