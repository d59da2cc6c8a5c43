"""What platforms answer: JSON of which nothing is taken for granted.

Keys are missing, types are swapped, numbers come as text. :class:`Value` gives what is there in the
type that is wanted, and None for all else; nothing that it does raises but ``need_text``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import Any

from lafka.errors import BadUrl, printable
from lafka.filesets.model.asks import JSON, MAX_JSON, Answer, Ask
from lafka.filesets.model.types import (
    FilesetManifestFile,
    FilesetPlatformItem,
    IncompleteManifest,
    PlatformError,
    PlatformHttpError,
    PlatformNotFound,
    PlatformRestrictedError,
    is_digest,
)
from lafka.urls import check_url

_WHOLE = re.compile(r"[0-9]{1,18}")
_MOST = 10**18  # of a BIGINT column, and more bytes than anybody has
_MAX_TEXT = 20_000


class Value:
    """A JSON value, and ``where`` it stands: ``data.files[3].size``."""

    __slots__ = ("raw", "where")

    def __init__(self, raw: Any, where: str = "") -> None:
        self.raw = raw
        self.where = where

    def __getitem__(self, key: str) -> Value:
        """Return what stands under *key*; None's value where this is no object or has no
        such key.
        """
        where = f"{self.where}.{key}" if self.where else key
        return Value(self.raw.get(key) if isinstance(self.raw, dict) else None, where)

    def __bool__(self) -> bool:
        return self.raw is not None

    @property
    def is_list(self) -> bool:
        return isinstance(self.raw, list)

    @property
    def is_object(self) -> bool:
        return isinstance(self.raw, dict)

    def text(self) -> str | None:
        """A text that is not empty, or a whole number as text."""
        if isinstance(self.raw, str):
            return _clean(self.raw)[:_MAX_TEXT] or None
        return str(self.raw) if type(self.raw) is int and abs(self.raw) < _MOST else None

    def name(self) -> str | None:
        """A text that is not empty, char by char as it came: a name that is judged elsewhere."""
        return self.raw if isinstance(self.raw, str) and self.raw else None

    def number(self) -> int | None:
        """A whole number from 0 on, also written as text or with a fraction of nothing."""
        raw = self.raw
        if isinstance(raw, str) and _WHOLE.fullmatch(raw):
            raw = int(raw)
        if isinstance(raw, float) and raw.is_integer() and abs(raw) < _MOST:
            raw = int(raw)
        return raw if type(raw) is int and 0 <= raw < _MOST else None

    def flag(self) -> bool:
        """True only for true, and for the text that says so."""
        return self.raw is True or (isinstance(self.raw, str) and self.raw.lower() == "true")

    def each(self) -> Iterator[Value]:
        """The values of a list; none where this is no list."""
        if isinstance(self.raw, list):
            for number, value in enumerate(self.raw):
                yield Value(value, f"{self.where}[{number}]")

    def texts(self) -> list[str]:
        """The texts of a list, or the one text that stands instead."""
        found = [value.text() for value in (self.each() if self.is_list else (self,))]
        return [text for text in found if text]

    def keys(self) -> Iterator[tuple[str, Value]]:
        """The keys of an object that are texts, with their values; none where this is none."""
        if isinstance(self.raw, dict):
            for key in self.raw:
                yield key, self[key]

    def need_text(self, item: FilesetPlatformItem | None = None) -> str:
        """A text; ``PlatformError`` with the key's name where there is none."""
        text = self.text()
        if text is None:
            raise PlatformError(f"the answer has no {self.where}", item)
        return text


def _clean(text: str) -> str:
    """Without what no JSON column takes and no WARC line has: NUL and lone surrogates."""
    return text.encode("utf-8", "replace").decode().replace("\0", "").strip()


def ask_json(
    url: str, item: FilesetPlatformItem, *, accept: str = JSON
) -> Generator[Ask, Answer, tuple[Value, Answer]]:
    """Ask for *url*; its JSON and the answer, held to :func:`check_status`."""
    answer = yield Ask(url=url, accept=accept)
    check_status(answer, url, item)
    return read_json(answer, url, item), answer


def check_status(answer: Answer, url: str, item: FilesetPlatformItem) -> None:
    """``PlatformError`` or one of its kinds where *answer* is no whole 200."""
    status = answer.status
    if status == 0:
        raise PlatformError(f"{url}: no answer: {answer.trouble or 'unknown'}", item)
    if status in (401, 403):
        raise PlatformRestrictedError(f"{url}: status {status}", item)
    if status == 404:
        raise PlatformNotFound(f"{url}: status 404", item)
    if status == 410:
        raise PlatformNotFound(f"{url}: deleted (status 410)", item)
    if status != 200:
        raise PlatformHttpError(f"{url}: status {status}", item)
    if answer.too_long:
        raise PlatformError(f"{url}: an answer of over {MAX_JSON} bytes", item)


def read_json(answer: Answer, url: str, item: FilesetPlatformItem) -> Value:
    """The JSON of *answer*; ``PlatformError`` where it is none."""
    try:
        return Value(json.loads(answer.body))
    except (ValueError, RecursionError):
        start = printable(answer.body[:40].decode("utf-8", "replace"))
        raise PlatformError(f"{url}: the answer is not JSON: {start}", item) from None


def hold_to_count(listed: int, counted: int | None, what: str, item: FilesetPlatformItem) -> None:
    """Raise ``IncompleteManifest`` where the platform counts another number of *what*, files or
    bytes, than it lists; None where it counts none.
    """
    if counted is not None and counted != listed:
        raise IncompleteManifest(f"the platform lists {listed} {what} and counts {counted}", item)


def hold_to_size(rows: Iterable[Value], size: int | None, item: FilesetPlatformItem) -> None:
    """Raise ``IncompleteManifest`` where the ``size`` of all *rows* is not the platform's; a row
    that has none leaves it open.
    """
    sizes = [row["size"].number() for row in rows]
    if None not in sizes:
        hold_to_count(sum(number or 0 for number in sizes), size, "bytes", item)


def checked_url(url: str | None, file: str, item: FilesetPlatformItem) -> str | None:
    """*url* where it may be asked for: http or https, and no user's name in it."""
    if url is None:
        return None
    try:
        check_url(url)
    except (BadUrl, UnicodeError) as error:
        raise PlatformError(f"the URL of {printable(file)}: {error}", item) from None
    if "@" in url.split("/", 3)[2]:
        raise PlatformError(f"the URL of {printable(file)} names a user", item)
    return url


def with_digest(
    file: FilesetManifestFile, algorithm: str | None, value: str | None
) -> FilesetManifestFile:
    """*file* with a digest that its platform gives, whatever it calls it (``SHA-1``, ``MD5``).

    One that is none of its algorithm, or of one that is not known, goes to ``extra.bad_digest``: it
    cannot be held against anything, and is told.
    """
    if not value:
        return file
    name = re.sub(r"[^a-z0-9]", "", (algorithm or "").lower())
    digest = value.strip().lower()
    if not is_digest(name, digest):
        return with_extra(file, bad_digest=f"{algorithm}:{value}")
    if name == "md5":
        return replace(file, md5=digest)
    if name == "sha1":
        return replace(file, sha1=digest)
    if name == "sha256":
        return replace(file, sha256=digest)
    return with_extra(file, **{name: digest})


def with_extra(file: FilesetManifestFile, **values: Any) -> FilesetManifestFile:
    """*file* with those *values* in its ``extra`` that are neither None nor empty."""
    found = {key: value for key, value in values.items() if value not in (None, "", [], {})}
    return replace(file, extra={**(file.extra or {}), **found}) if found else file
