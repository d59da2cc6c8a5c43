"""The entry of a suwaf that is asked for, read without making objects of all others.

A suwaf as ``Suwaf.to_bytes`` writes it is matched as a whole by one expression, and only what tells
its entries apart is taken out. Where anything does not fit, to the blank, or stands twice, nothing
is said: ``Suwaf`` reads it then, with every check.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from lafka.papers.archive.suwafs import Fut, Suwaf, begins_time
from lafka.pids import Pid

MAX_BYTES = 8 << 10
"""Of a suwaf that is read so: those of most papers have a tenth."""

_KEPT = r'[^"\\\x00-\x1f]*+'  # a text without escapes: most have none
_TEXT = f'"{_KEPT}"'
_NUMBER = r"(?:0|[1-9][0-9]{0,17}+)"
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{3}|\.[0-9]{6})?Z"
_FUT = (
    rf'   "({_TIME})": {{\n    "s": ({_NUMBER}),\n    "l": ({_NUMBER}),\n    "url": "({_KEPT})",\n'
    rf'    "digest": "({_KEPT})"(?:,\n    "found_by": {_TEXT})?+(?:,\n    "html_url": {_TEXT})?+'
    rf'(?:,\n    "html_date": {_TEXT})?+(?:,\n    "label": "({_KEPT})")?+\n   }}'
)
_FUTLI = rf'  "({_KEPT})": {{\n'
_BARE_FUT, _BARE_FUTLI = (re.sub(r"\((?!\?)", "(?:", each) for each in (_FUT, _FUTLI))
_END = (
    rf'\n }},\n "_warc": {{\n  "format": 1,\n  "end": {_NUMBER}(?:,\n  "chain": {_TEXT})?+'
    rf'(?:,\n  "open": \[\n   {_TEXT}(?:,\n   {_TEXT})*+\n  \])?+\n }}\n}}\n'
)
_ONE = rf'{{\n "({_KEPT})": {{\n{_FUTLI}{_FUT}\n  }}{_END}'
# The sole fut of a paper that none of its trails left open, and how far its WARC is known good.
_SOLE = (
    rf'{{\n "({_KEPT})": {{\n{_FUTLI}{_FUT}\n  }}\n }},\n "_warc": {{\n  "format": 1,\n'
    rf'  "end": ({_NUMBER})(?:,\n  "chain": {_TEXT})?+\n }}\n}}\n'
)
_FUTS = rf"{_BARE_FUTLI}{_BARE_FUT}(?:,\n{_BARE_FUT})*+\n  }}"
_ALL = rf'{{\n "({_KEPT})": {{\n({_FUTS}(?:,\n{_FUTS})*+){_END}'
_EACH = rf"{_FUTLI}|{_FUT}"

_compiled = cache(re.compile)  # when they are needed: each takes some milliseconds


class Entry(NamedTuple):  # made for each read: as quick as can be
    """A fut of a suwaf: where it stands, and what tells it from others."""

    futli: str
    time: str
    start: int
    length: int
    url: str
    digest: str
    label: str


def found(
    path: str, pid: Pid, futli: str | None, time: str | None, label: str | None
) -> Entry | None:
    """The entry that ``Suwaf.fut`` gives, of the suwaf of *pid* at *path*.

    None where there is none, or where that takes a closer look.
    """
    if time is not None and not begins_time(time):
        return None
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            data = os.read(fd, MAX_BYTES)
        finally:
            os.close(fd)
    except OSError:
        return None
    entries = entries_of(data, pid.text) if len(data) < MAX_BYTES else None
    return latest(entries, futli, time, label) if entries else None


def held(root: str, pid: Pid, futli: str) -> Entry | None:
    """The fut of *futli* that ``Archive.held`` gives; None where that takes a closer look.

    ``OSError`` where suwaf or WARC are not there, or cannot be read.
    """
    fd = os.open(f"{root}/suwaf/{pid.path}.json", os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(fd, MAX_BYTES)
    finally:
        os.close(fd)
    try:
        sole = _compiled(_SOLE).fullmatch(data.decode())
    except UnicodeDecodeError:
        return None
    if sole is None:
        return None
    name, of, *fut, end = sole.groups()
    if name != pid.text or of != futli or fut[-1]:
        return None
    if os.stat(f"{root}/warc/{pid.path}.warc").st_size < int(end):  # noqa: PTH116  half the cost
        return None
    return _entry(of, fut)


def of_fut(futli: str, fut: Fut) -> Entry:
    """*fut*, as an entry without its time."""
    return Entry(futli, "", fut.s, fut.l, fut.url, fut.digest, fut.label)


def of_suwaf(suwaf: Suwaf, futli: str | None, time: str | None, label: str | None) -> Entry:
    """The same of a suwaf that was read with every check; raises as ``Suwaf.fut``."""
    name, key, fut = suwaf.fut(futli, time, label=label)
    return Entry(name, key, fut.s, fut.l, fut.url, fut.digest, fut.label)


def entries_of(data: bytes, pid: str) -> list[Entry] | None:
    """The entries of the suwaf of *pid* in *data*; None where that takes a closer look."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    if found := _compiled(_ONE).fullmatch(text):
        name, futli, time, start, length, url, digest, label = found.groups()
        if name != pid:
            return None
        return [Entry(futli, time, int(start), int(length), url, digest, label or "")]
    found = _compiled(_ALL).fullmatch(text)
    return _each(found[2]) if found and found[1] == pid else None


def _each(text: str) -> list[Entry] | None:
    entries: dict[tuple[str, str], Entry] = {}
    futlis, futli, count = set(), "", 0
    for name, *fut in _compiled(_EACH).findall(text):
        if fut[0]:
            count += 1
            entries[futli, fut[0]] = _entry(futli, fut)
        elif name in futlis:
            return None
        else:
            futlis.add(futli := name)
    return [*entries.values()] if len(entries) == count else None


def _entry(futli: str, fut: Sequence[str]) -> Entry:
    time, start, length, url, digest, label = fut
    return Entry(futli, time, int(start), int(length), url, digest, label or "")


def latest(
    entries: Sequence[Entry], futli: str | None, time: str | None, label: str | None
) -> Entry | None:
    """The entry that ``Suwaf.fut`` gives for these, None where there is none.

    *time* is a time of a suwaf, or a beginning of one.
    """
    if len(entries) == 1 and futli is None and time is None:
        return entries[0] if label is None or entries[0].label == label else None
    until = (time or "").removesuffix("Z")
    wanted = [
        entry
        for entry in entries
        if (futli is None or entry.futli == futli)
        and (label is None or entry.label == label)
        and entry.time[:-1][: len(until)] <= until
    ]
    if len(wanted) < 2:
        return wanted[0] if wanted else None
    return max(wanted, key=lambda entry: (not entry.label, entry.time[:-1], entry.futli))
