"""A volume written anew, each record a gzip member of its own, or plain; records stay the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import BadWarc
from ..foreign import open_volume
from ..problems import Problem
from ..writing.appending import new_file
from ..writing.encoding import Gzip, Plain
from ..writing.names import is_gzip
from .repairing import LOST


@dataclass(frozen=True, slots=True, kw_only=True)
class RecompressionResult:
    """What was made: ``records`` in the file ``into``; ``problems`` of what was read."""

    into: Path
    records: int
    problems: tuple[Problem, ...]


def recompress(
    path: Path | str,
    into: Path | str,
    *,
    gzip: bool | None = None,
    skip_lengths: bool = False,
    level: int = 6,
) -> RecompressionResult:
    """Write each record of the volume at *path*, compressed in any way, to the new file *into*.

    A gzip member for each where the name *into* ends with ``.gz``, unless *gzip* says otherwise, of
    that *level* and with *skip_lengths* if asked; else plain. Records are as they were, and places
    in the file are others. ``BadWarc`` where not all of the volume is records: ``repair`` it first.
    ``FileExistsError`` where *into* is there; ``OSError``. Then there is no new file.
    """
    packed = is_gzip(into, gzip)
    encoding = Gzip(skip_lengths=skip_lengths, level=level, copies=False) if packed else Plain()
    count = 0
    with open_volume(path) as volume, new_file(Path(into)) as out:
        for record in volume:
            encoding.write(out, [record])
            count += 1
        problems = tuple(volume.problems)
        lost = next((problem for problem in problems if problem.code in LOST), None)
        if lost:
            raise BadWarc(lost.path, f"{lost.sentence}: repair it first", lost.offset)
    return RecompressionResult(into=Path(into), records=count, problems=problems)
