"""A fut in an archive: where it lies, and its bytes by one positioned read."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from lafka.errors import NotHeld, ShortWarc, StorageTrouble
from lafka.pids import Pid

_READING = os.O_RDONLY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFut:
    """A fut in an archive: ``length`` bytes at ``start`` of the file ``warc``.

    ``time`` is as in the suwaf, ``digest`` is ``sha256:`` and hex of the bytes, ``url`` is what the
    fut was fetched from, ``futli`` what the list said. ``label`` is empty for what is thought to be
    the fut, else ``supplement`` or ``other``. ``warc_name`` is ``warc`` as a text.
    """

    pid: Pid
    futli: str
    time: str
    url: str
    digest: str
    warc_name: str
    start: int
    length: int
    label: str = ""

    @property
    def warc(self) -> Path:
        return Path(self.warc_name)  # made where it is asked for: reading a fut costs little else

    def read(self) -> bytes:
        """The whole PDF, by one positioned read; ``ShortWarc`` where the file is too short."""
        try:
            fd = os.open(self.warc_name, _READING)
        except OSError as error:
            _refuse(self, error)
        try:
            data = os.pread(fd, self.length, self.start)
            while len(data) < self.length:  # one read gives at most 2 GiB
                more = os.pread(fd, self.length - len(data), self.start + len(data))
                if not more:
                    raise ShortWarc(self.warc, "ends inside a fut of its suwaf", self.start)
                data += more
            return data
        except OSError as error:
            raise StorageTrouble(self.warc, error) from error
        finally:
            os.close(fd)

    def open(self) -> io.BufferedReader:
        """A binary file object over the PDF alone, seekable; the caller closes it."""
        return io.BufferedReader(_Range(self))


def _refuse(fut: StoredFut, error: OSError) -> NoReturn:
    if isinstance(error, FileNotFoundError):
        raise NotHeld(f"{fut.pid}: its suwaf is here, but {fut.warc} is missing") from None
    raise StorageTrouble(fut.warc, error) from error


class _Range(io.RawIOBase):
    """The bytes of a fut as a file of their own."""

    _file: io.FileIO | None = None  # where opening fails, closing still works

    def __init__(self, fut: StoredFut) -> None:
        try:
            self._file = io.FileIO(fut.warc_name)
        except OSError as error:
            _refuse(fut, error)
        self._fut = fut
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        bases = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._fut.length}
        if whence not in bases or bases[whence] + offset < 0:
            raise ValueError(f"cannot seek to {offset} from {whence}")
        self._place = bases[whence] + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._file is None or self.closed:
            raise ValueError("I/O operation on closed file")
        size = max(0, min(len(buffer), self._fut.length - self._place))
        data = os.pread(self._file.fileno(), size, self._fut.start + self._place)
        if size and not data:
            raise ShortWarc(self._fut.warc, "ends inside a fut of its suwaf", self._fut.start)
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()
