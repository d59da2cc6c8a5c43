"""The content of a suwaf, and its faults by itself."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lafka.pids import Pid, Scheme
from lafka.witness.problems import problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lafka.witness.problems import FileProblem

FORMAT = 1
_ENTRY_KEYS = frozenset(("s", "l", "url", "digest", "found_by", "html_url", "html_date", "label"))
_WRITER_KEYS = frozenset(("format", "end", "chain", "open"))

_CHAIN = re.compile(r"sha256:[0-9a-f]{64}")
_TEXT = json.JSONEncoder(ensure_ascii=False).encode

Place = tuple[str, int, int]  # digest, s, l


@dataclass(slots=True, kw_only=True)
class Summary:
    """The content of the suwaf; ``end`` and ``chain`` are None where it says nothing of them."""

    pid: Pid
    entries: dict[tuple[str, str], dict[str, Any]]
    end: int | None
    chain: str | None
    open: list[str]
    ours: bool


def places_in(suwaf: Path) -> frozenset[Place]:
    """Return what a suwaf names; nothing where it is missing or none."""
    try:
        values = json.loads(suwaf.read_bytes())
        papers = [futlis for key, futlis in values.items() if key != "_warc"]
        entries = (entry for futlis in papers for _, entry in _entries_of(futlis))
        return frozenset((entry.get("digest", ""), entry["s"], entry["l"]) for entry in entries)
    except (OSError, ValueError, AttributeError, RecursionError):
        return frozenset()


def load(suwaf: Path, name: str, scheme: Scheme) -> tuple[Summary | None, list[FileProblem]]:
    """The suwaf of the paper *name*, None where there is none or it is none; what is wrong with it.

    Raises OSError.
    """
    try:
        data = suwaf.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None, []
    try:
        values = json.loads(data, object_pairs_hook=_unique)
        summary = _summary(values, scheme)
    except (ValueError, RecursionError) as error:
        return None, [problem(suwaf, "bad-suwaf", f"not a suwaf: {error}")]
    found = [
        problem(suwaf, code, sentence) for code, sentence in _faults(data, values, summary, name)
    ]
    return summary, found


def _summary(values: object, scheme: Scheme) -> Summary:
    if not isinstance(values, dict):
        raise ValueError("not an object")
    writer = values.get("_warc", {})
    if not isinstance(writer, dict):
        raise ValueError("_warc is no object")
    pids = [key for key in values if key != "_warc"]
    if len(pids) != 1:
        raise ValueError(f"it is of {len(pids)} pids")
    end, chain, opened = writer.get("end"), writer.get("chain"), writer.get("open", [])
    if "_warc" in values and (writer.get("format") != FORMAT or not _is_count(end)):
        raise ValueError(f"_warc is not of format {FORMAT}, or has no end")
    _check_types(chain, opened)
    return Summary(
        pid=scheme.pid(pids[0]),
        entries=dict(_entries_of(values[pids[0]])),
        end=end,
        chain=chain,
        open=[str(futli) for futli in opened],
        ours=bool(writer),
    )


def _check_types(chain: object, opened: object) -> None:
    if not isinstance(chain, str | None) or not isinstance(opened, list):
        raise ValueError("_warc holds a value of another type")
    if chain is not None and not _CHAIN.fullmatch(chain):
        raise ValueError("the chain is no digest")


def _faults(
    data: bytes, values: dict[str, Any], summary: Summary, name: str
) -> Iterator[tuple[str, str]]:
    """Code and sentence of what is wrong with the form of a suwaf."""
    pid = next(key for key in values if key != "_warc")
    if str(summary.pid) != pid or summary.pid.path != name:
        yield "wrong-path", f"{pid} belongs at {summary.pid.path}"
    if not summary.ours:
        yield "no-end", "it does not say how far its WARC is good"
    for key in values.get("_warc", {}).keys() - _WRITER_KEYS:
        yield "unknown-key", f"_warc has {key[:60]!r}"
    for (futli, time), entry in summary.entries.items():
        for key in entry.keys() - _ENTRY_KEYS:
            yield "unknown-key", f"{futli} at {time} has {key[:60]!r}"
    if summary.chain is not None and data != _spelled(values):
        yield "suwaf-spelling", "not as Lafka writes these values"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key stands there twice")
    return values


def _spelled(values: object) -> bytes:
    return (_indented(values, "\n") + "\n").encode("utf-8", "surrogatepass")


def _indented(value: object, indent: str) -> str:
    """As ``json.dumps`` with ``indent=1`` has it, which takes several times as long."""
    inner = f"{indent} "
    if isinstance(value, dict) and value:
        members = [f"{_TEXT(key)}: {_indented(each, inner)}" for key, each in value.items()]
        return f"{{{inner}{f',{inner}'.join(members)}{indent}}}"
    if isinstance(value, list) and value:
        return f"[{inner}{f',{inner}'.join(_indented(each, inner) for each in value)}{indent}]"
    return _TEXT(value) if isinstance(value, str) else json.dumps(value)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _entries_of(futlis: object) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    if not isinstance(futlis, dict):
        raise ValueError("the futlis are no object")
    for futli, times in futlis.items():
        if not isinstance(times, dict):
            raise ValueError("the times of a futli are no object")
        for time, entry in times.items():
            if not isinstance(entry, dict) or not all(_is_count(entry.get(k)) for k in "sl"):
                raise ValueError("an entry without s and l")
            if not all(isinstance(value, str) for key, value in entry.items() if key not in "sl"):
                raise ValueError("an entry with something that is no text")
            yield (futli, time), entry
