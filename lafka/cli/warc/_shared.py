"""Parts that the verbs share: lines and bytes as they are printed, exit codes."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lafka.warc.converting.arc2warc import ConversionResult
    from lafka.warc.problems import Problem
    from lafka.warc.reading.stored import StoredRecord


def print_json(values: dict[str, object]) -> None:
    """One line of JSON, without what is None or empty."""
    kept = {name: value for name, value in values.items() if value not in (None, "")}
    # Escapes, as what stands in foreign files can drive a terminal, or be no text at all.
    print(json.dumps(kept))


def described(record: StoredRecord) -> dict[str, object]:
    """Return what is printed of a record: where it stands, what it is."""
    from lafka.warc.indexes.base import Entry  # noqa: PLC0415

    entry = Entry.of(record, str(record.path))
    return {
        "path": entry.volume,
        "offset": entry.offset,
        "inner": entry.inner or None,
        "length": entry.length,
        "type": entry.type,
        "url": entry.url,
        "date": entry.date.text if entry.date else None,
        "id": entry.record_id,
        "status": entry.status,
        "mime": entry.mime,
        "payload_offset": entry.payload_offset,
        "payload_length": entry.payload_length,
        "digest": entry.digest,
    }


def tell(problems: Iterable[Problem], *, printed: bool) -> int:
    """Say what is wrong, as JSON lines if *printed*, else how much on stderr; the exit code.

    It is 1 where anything is an error.
    """
    counts: Counter[str] = Counter()
    for problem in problems:
        counts[problem.severity] += 1
        if printed:
            print(problem.to_json())
    if counts and not printed:
        told = ", ".join(
            f"{count} {name}{'s' * (count > 1)}" for name, count in sorted(counts.items())
        )
        print(f"{told}: lafka warc check says what", file=sys.stderr)
    return 1 if counts["error"] else 0


def write(pieces: Iterable[bytes]) -> None:
    """Bytes to standard output."""
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def account(done: ConversionResult, *, printed: bool) -> int:
    """Say what came of a conversion, problems too if *printed*; the exit code."""
    values: dict[str, object] = {"path": done.path and str(done.path), "kept": dict(done.kept)}
    print_json({**values, "left_out": dict(done.left_out), "problems": len(done.problems)})
    return tell(done.problems, printed=printed)
