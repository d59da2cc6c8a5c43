"""The helper of any platform, and JSON answers; subclasses: docs/how-to/add-a-fileset-platform.

A helper does no I/O and keeps no state: ``process_request`` is a generator that yields ``Ask`` and
is sent ``Answer``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, ClassVar
from urllib.parse import SplitResult, urlsplit

from lafka.errors import BadUrl, printable
from lafka.filesets.model.asks import JSON, MAX_JSON, Answer, Ask, Asking, Resource
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.model.types import (
    EmptyManifest,
    FilesetManifestFile,
    FilesetPlatformItem,
    IncompleteManifest,
    IngestStrategy,
    NoStrategy,
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


MISSING, MANY, NEVER = "missing", "many", "never"
"""When a bundle is taken: where a file has no URL of its own, also where they are many, never."""

_ITEM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{2,79}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The most that goes to the WARC; what is more goes to an item. Sizes in bytes."""

    web_max_file: int = 128 << 20
    web_max_total: int = 1 << 30
    web_max_files: int = 20
    bundle: str = MISSING


DEFAULTS = Thresholds()


class FilesetPlatformHelper:
    """The URLs and the API of one platform.

    *thresholds* are for ``chose_strategy``; *hosts* are further hosts of the same software.
    """

    platform_name: ClassVar[str] = "unknown"
    has_api: ClassVar[bool] = True
    """Whether it can tell a dataset by its URL alone, where its page is kept from programs."""

    def __init__(
        self, thresholds: Thresholds = DEFAULTS, hosts: frozenset[str] = frozenset()
    ) -> None:
        self.thresholds = thresholds
        self.more_hosts = hosts

    def match_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> bool:
        """Do the request and its landing page belong to this platform?"""
        raise NotImplementedError

    def process_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> Asking:
        """Return what the platform says of the dataset; raises ``PlatformError`` and
        nothing else.
        """
        raise NotImplementedError

    def chose_strategy(self, item: FilesetPlatformItem) -> IngestStrategy:
        """The strategy for *item*, by the number and sizes of its files.

        A size that is not known counts as over each limit. ``EmptyManifest`` where there is no
        file, ``NoStrategy`` where some file has no URL and there is no bundle either.
        """
        files = item.manifest
        if files is None:
            return self._bundled(item, IngestStrategy.ARCHIVEORG_FILESET_BUNDLED)
        if not files:
            raise EmptyManifest("the platform lists no file", item)
        is_small = self._is_small(files)
        if any(file.platform_url is None for file in files if not file.is_restricted):
            return self._bundled(item, _BUNDLED[is_small])
        if len(files) == 1:
            return IngestStrategy.WEB_FILE if is_small else IngestStrategy.ARCHIVEORG_FILE
        many = self.thresholds.bundle == MANY and len(files) > self.thresholds.web_max_files
        if many and item.web_bundle_url:
            return _BUNDLED[self._total(files) <= self.thresholds.web_max_total]
        return IngestStrategy.WEB_FILESET if is_small else IngestStrategy.ARCHIVEORG_FILESET

    def _bundled(self, item: FilesetPlatformItem, strategy: IngestStrategy) -> IngestStrategy:
        if item.web_bundle_url is None or self.thresholds.bundle == NEVER:
            raise NoStrategy("a file has no URL of its own, and there is no bundle to take", item)
        return strategy

    def _is_small(self, files: tuple[FilesetManifestFile, ...]) -> bool:
        """Return whether *files* may go to the WARC."""
        limits = self.thresholds
        biggest = max(_or_endless(file.size) for file in files)
        if biggest > limits.web_max_file:
            return False
        return len(files) == 1 or (
            len(files) <= limits.web_max_files and self._total(files) <= limits.web_max_total
        )

    def _total(self, files: tuple[FilesetManifestFile, ...]) -> float:
        return sum(_or_endless(file.size) for file in files)


_BUNDLED = {
    True: IngestStrategy.WEB_FILESET_BUNDLED,
    False: IngestStrategy.ARCHIVEORG_FILESET_BUNDLED,
}


def _or_endless(size: int | None) -> float:
    return float("inf") if size is None else size


def refuse_restricted(item: FilesetPlatformItem) -> FilesetPlatformItem:
    """*item*; ``PlatformRestrictedError``, with all of it, where a file is not open."""
    files = item.manifest or ()
    closed = [file.path for file in files if file.is_restricted]
    if closed:
        count = f"{len(closed)} of {len(files)} files are restricted, {closed[0]!r} the first"
        raise PlatformRestrictedError(count, item)
    return item


def split_url(url: str) -> SplitResult:
    """*url* in its parts; of one that cannot be split, none."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  it is read for the error
    except ValueError:
        return urlsplit("")
    return parts


def host_of(parts: SplitResult) -> str:
    """Host name, lower case, no port."""
    return parts.hostname or ""


def authority_of(parts: SplitResult) -> str:
    """Host, and the port where it is not the scheme's."""
    return host_of(parts) + (f":{parts.port}" if parts.port else "")


def in_domain(host: str, *domains: str) -> bool:
    """Return whether *host* is one of *domains* or below one."""
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def last_part(platform_id: str) -> str:
    return platform_id.rstrip("/").rpartition("/")[2]


def item_name(wanted: str, item: FilesetPlatformItem) -> str:
    """*wanted* as archive.org takes it: ``[A-Za-z0-9][A-Za-z0-9_.-]{2,79}``.

    Where that changes or cuts it, it ends with 8 hex of the SHA-256 of fileset id and version, so
    that no two filesets share an item.
    """
    if _ITEM_NAME.fullmatch(wanted):
        return wanted
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", wanted).lstrip("_.-") or "fileset"
    key = f"{item.fileset_id} {item.version}".encode("utf-8", "replace")
    return f"{plain[:71]}-{sha256(key).hexdigest()[:8]}"


def item_meta(**values: Any) -> Mapping[str, Any]:
    """Metadata of an item: those *values* that say something."""
    return {name: value for name, value in values.items() if value not in (None, "", [], ())}
