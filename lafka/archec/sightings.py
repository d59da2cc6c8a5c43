"""Tobis as they stand in RePEc data: from templates to what a journal line says of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lafka.archec import redif
from lafka.archec.problems import Problem
from lafka.archec.sources import Source, SourceFile
from lafka.errors import BadHandle, BadId, TornFile

_STORED_NOT = ("mirror",)
Tell = Callable[[Problem], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A tobi at one place of the source.

    ``id`` is its canonical handle, ``modified`` the mtime of ``file`` in whole seconds,
    ``is_own`` whether the file stands in the folder that the handle belongs to.
    """

    id: str
    template: redif.Template
    file: str
    modified: int
    is_own: bool

    @property
    def data(self) -> bytes:
        return self.template.data

    @property
    def line(self) -> int:
        return self.template.line

    def line_values(self) -> dict[str, Any]:
        """What a journal line says of it beside id, checksums and times."""
        offset = self.template.offset
        told: dict[str, Any] = {"type": self.template.type, "file": self.file, "offset": offset}
        if offset is None:
            told["from"] = "utf-16"
        # Only now: of a template that is as it was, nobody asks for its files.
        refipos = list(_refipos(self.template))
        return told | {"encoding": self.template.encoding, "refipos": refipos}


def sightings(source: Source, tell: Tell) -> Iterator[Sighting]:
    """All tobis of *source* in its order; *tell* gets what is odd."""
    for file in source:
        try:
            yield from _of_file(file, tell)
        except TornFile:
            continue  # the source notes what it did not read
    for problem in source.problems:
        tell(problem)


def _of_file(file: SourceFile, tell: Tell) -> Iterator[Sighting]:
    for template in redif.read(file, file.path):
        for problem in template.problems:
            tell(problem)
        if template.handle is None or template.type in _STORED_NOT:
            continue
        folder = f"{template.handle.folder}/"
        yield Sighting(
            id=template.handle.text,
            template=template,
            file=file.path,
            modified=file.modified,
            is_own=file.place.lower().startswith(folder),
        )


def _refipos(template: redif.Template) -> Iterator[dict[str, Any]]:
    for file in template.files():
        for uri in file.uris:
            told = {"n": file.n, "uri": uri.uri, "raw": uri.futli if uri.second else file.url}
            more = {
                "format": file.format,
                "function": file.function,
                "size": file.size,
                "restriction": file.restriction,
                "second": uri.second or None,
                "mended": uri.mended or None,
            }
            yield told | {name: value for name, value in more.items() if value is not None}


def read_tobi(data: bytes) -> dict[str, Any] | None:
    """What a journal line says of the tobi with these bytes, ``id`` too; None for another file."""
    try:
        for template in redif.read(data, ""):
            if template.handle is not None and template.type not in _STORED_NOT:
                told = {"id": template.handle.text, "type": template.type, "file": None}
                return {
                    **told,
                    "offset": None,
                    "encoding": template.encoding,
                    "refipos": list(_refipos(template)),
                }
    except (BadHandle, BadId):
        return None
    return None
