"""A run's raw WARC files: scrapy-warcio's settings, names and rotation, our records.

scrapy-warcio 0.0.8 is used for what is sound in it: its settings file, ``PREFIX-timestamp-serial-
host`` names, rotation by size and the fields of its warcinfo. What it writes is overridden, since
it decodes bodies as text and loses header fields (docs/adr/0003-scrapy-warcio.md).
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pylibmagic  # noqa: F401  brings libmagic for the import of python-magic in scrapy-warcio
import yaml
from scrapy_warcio import ScrapyWarcIo

from lafka.capture.leftovers import PREFIX, FileMark, begun
from lafka.errors import BadArgument, StorageTrouble
from lafka.warc.format import dates
from lafka.warc.format.fields import Fields, one_line
from lafka.warc.format.records import RECORD_END, uuid_urn, warcinfo
from lafka.warc.format.sources import Source
from lafka.warc.writing.appending import Appender

SPEC = "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
DEFAULTS: Mapping[str, Any] = {
    "max_warc_size": 1_000_000_000,
    "collection": "",
    "description": "",
    "operator": "",
    "robots": "obey",
    "user_agent": "",
    "warc_prefix": "LAFKA",
}


def load_settings(path: Path | str) -> dict[str, Any]:
    """A scrapy-warcio ``settings.yml``; ``BadArgument`` where it is none.

    Keys that are missing or empty are left out: Lafka has values of its own for them.
    """
    try:
        values = yaml.safe_load(Path(path).read_bytes())
    except OSError as error:
        raise BadArgument(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError) as error:
        # Its constructors let errors of int(), float() and date() through.
        raise BadArgument(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise BadArgument(f"{path}: not a scrapy-warcio settings file")
    size = values.get("max_warc_size")
    if size is not None and (type(size) is not int or size <= 0):
        raise BadArgument(f"{path}: max_warc_size has to be a number of bytes")
    prefix = values.get("warc_prefix")
    if prefix is not None and not re.fullmatch(PREFIX, str(prefix)):
        raise BadArgument(f"{path}: warc_prefix {str(prefix)!r} cannot begin a file name")
    return {key: value for key, value in values.items() if value is not None}


class RawFiles(ScrapyWarcIo):  # type: ignore[misc]  # scrapy-warcio has no types
    """The WARC files of one run in *folder*, appended to by one thread at a time.

    *config* has the keys of a scrapy-warcio settings file. ``warc_dest`` is not looked at, raw
    WARCs belong to their archive, nor is ``warc_spec``: what is written is WARC/1.1.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any], software: str) -> None:
        # Not super().__init__: it insists on an environment variable and every key of its file.
        self.log = logging.getLogger(__name__)
        self.max_serial = sys.maxsize  # a sixth digit is better than an end
        self.config = {**DEFAULTS, **config, "warc_dest": str(folder)}
        self.config["warc_prefix"] = str(self.config["warc_prefix"])
        self.folder = folder
        self.software = software
        self.warc_fname: str | None = None
        self.begun: dict[str, FileMark] = {}
        """Its files by their names: what it may remove."""
        self._path = folder
        self._file = Appender(-1)

    def warcfile(self) -> str:
        """The next file's path, plain where scrapy-warcio would compress."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # datetime.utcnow
            return str(super().warcfile()).removesuffix(".gz")

    def write_warcinfo(self) -> None:
        """Begin the file that ``bump_serial`` named, with its warcinfo."""
        self.close()
        path = self.path
        self._file = Appender.create(path)
        self.begun[path.name] = begun(self._file.fd)
        config = {key: one_line(str(value)) for key, value in self.config.items()}
        # No ip: finding it asks the name server. No field without a value.
        lines = [
            ("software", self.software),
            ("hostname", socket.gethostname()),
            ("format", "WARC File Format 1.1"),
            ("conformsTo", SPEC),
            ("operator", config["operator"]),
            ("isPartOf", config["collection"]),
            ("description", config["description"]),
            ("robots", config["robots"]),
            ("http-header-user-agent", config["user_agent"]),
        ]
        body = Fields((name, value) for name, value in lines if value)
        date = dates.to_text(dates.now())
        self._file.write([warcinfo(uuid_urn(), date, body, filename=path.name).to_bytes()])

    @property
    def path(self) -> Path:
        """The file that is written now; the folder before there is one."""
        if str(self._path) != self.warc_fname:
            self._path = Path(self.warc_fname or self.folder)
        return self._path

    def room_for(self, size: int) -> None:
        """Begin a file where there is none, or where *size* bytes more would be too many.

        ``StorageTrouble`` where the disk refuses; no file is left that begins with half a record.
        """
        if self._file.fd < 0 or not os.fstat(self._file.fd).st_nlink:
            self.warc_fname = None
        elif self._file.position + size < self.config["max_warc_size"]:
            return
        before = self.warc_fname
        try:
            self.bump_serial(size)
        except OSError as error:
            if self.warc_fname != before and self._file.fd >= 0:
                self.close()
                with suppress(OSError):
                    self.path.unlink()
            raise StorageTrouble(self.folder, error) from error

    def append(self, header: bytes, block: Source | bytes) -> tuple[Path, int, int]:
        """Append a record, whose header is through its blank line: file, offset, length.

        ``StorageTrouble`` where the disk refuses; the file then ends as it did before.
        """
        [place] = self.append_group([(header, block)])
        return place

    def append_group(
        self, records: Sequence[tuple[bytes, Source | bytes]]
    ) -> list[tuple[Path, int, int]]:
        """Append *records* side by side, all of them or none; as :meth:`append` does."""
        file = self._file
        path, place = self.path, file.position
        places = []
        try:
            with file.group():
                file.write(_pieces(records))
        except OSError as error:
            raise StorageTrouble(path, error) from error
        finally:
            if not file.intact:
                self.log.warning("%s: a torn record stays at byte %d", path, place)
                self.close()  # a reader stops there, so what follows goes into a new file
        for header, block in records:
            size = len(block) if isinstance(block, bytes) else block.size
            length = len(header) + size + len(RECORD_END)
            places.append((path, place, length))
            place += length
        return places

    def close(self) -> None:
        self._file.close()


def _pieces(records: Sequence[tuple[bytes, Source | bytes]]) -> Iterator[bytes]:
    for header, block in records:
        yield header
        if isinstance(block, bytes):
            yield block
        else:
            yield from block.chunks()
        yield RECORD_END
