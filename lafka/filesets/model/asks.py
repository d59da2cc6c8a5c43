"""The values that helpers and strategies yield, and those that they are sent for them.

A helper's ``process_request`` and a strategy's ``process`` are generators without I/O: they yield
one of the wants below and are sent its answer. So the crawl drives them, and so does a test:

    >>> def driven(steps, answers):
    ...     try:
    ...         want = next(steps)
    ...         while True:
    ...             want = steps.send(answers[want.url])
    ...     except StopIteration as end:
    ...         return end.value
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lafka.filesets.model.bundles import BundleContents, Member
from lafka.filesets.model.manifests import FileFacts
from lafka.filesets.model.types import (
    ArchiveStrategyResult,
    FilesetManifestFile,
    FilesetPlatformItem,
    IngestStrategy,
)
from lafka.warc.format.fields import Fields

JSON = "application/json"
MAX_JSON = 64 << 20
"""Bytes of an API's answer; a longer one is ``platform-error``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """The landing page: where ``base_url`` led to.

    ``hops`` are all URLs that were asked, ``base_url`` first, the terminal one last; ``dt`` is when
    the last was captured, 14 digits, UTC; ``body`` is decoded, and empty where it is not needed;
    ``size`` is its length in bytes.
    """

    url: str
    hops: tuple[str, ...] = ()
    status: int = 200
    headers: Fields = field(default_factory=Fields)
    body: bytes = b""
    size: int | None = None
    dt: str = ""

    @property
    def urls(self) -> tuple[str, ...]:
        """The terminal URL and every hop before it, last first, none twice."""
        return tuple(dict.fromkeys((self.url, *reversed(self.hops))))

    @property
    def media_type(self) -> str:
        """Of Content-Type, lower case, without parameters."""
        return self.headers.first("Content-Type").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """An API's answer, or a small file, is wanted whole in memory.

    ``robots``: robots.txt binds it, for it is not known yet whether there is an API.
    """

    url: str
    accept: str = JSON
    max_bytes: int = MAX_JSON
    robots: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The outcome of an :class:`Ask`; redirects were followed to ``url``.

    ``status`` 0: no answer, and ``trouble`` says why. ``too_long``: the body went on beyond
    ``max_bytes``.
    """

    status: int
    url: str = ""
    headers: Fields = field(default_factory=Fields)
    body: bytes = b""
    trouble: str = ""
    too_long: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The fileset of *item* is to be this walk's alone from now on, to be stored by *strategy*.

    It is answered by None, before anything is looked up of what is held.
    """

    item: FilesetPlatformItem
    strategy: IngestStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """The bytes of *file* are wanted, at most ``max_bytes`` of them.

    *anew*: from the platform, whatever is on the disk; *again*: what came before was another file.
    """

    file: FilesetManifestFile
    max_bytes: int
    anew: bool = False
    again: bool = False

    @property
    def url(self) -> str:
        return self.file.platform_url or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchBundle:
    """The platform's "download all" is wanted, and what stands in it.

    *others*: the digests that its members are to be hashed by beside the usual ones; *again*: what
    came before was none.
    """

    url: str
    max_bytes: int
    others: tuple[str, ...] = ()
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The outcome of a :class:`Fetch` or a :class:`FetchBundle`; the bytes wait where they came.

    ``status`` is ``success``, or why there are no bytes (``error-platform-download``,
    ``transfer-encoding-error``, ``too-large-file`` for more than ``max_bytes``), with a sentence in
    ``trouble``. ``facts`` are of the bytes with the transfer coding undone, ``decoded`` with the
    content coding undone too, None where there was none. ``contents`` is for bundles alone: of the
    bytes, or, where these are no bundle but ``decoded`` may be one, of what is decoded. ``shared``:
    the connection had carried others, so that what failed may have been the answer for another.
    """

    status: str
    url: str = ""
    dt: str = ""
    http_status: int = 0
    facts: FileFacts | None = None
    decoded: FileFacts | None = None
    contents: BundleContents | None = None
    trouble: str = ""
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The wish to store for good the last fetch, which is verified as *file*.

    *decoded*: the file is what the content coding hides. *members*: of a bundle, by the path of the
    manifest file that each is.
    """

    file: FilesetManifestFile
    decoded: bool = False
    members: Mapping[str, Member] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """The wish not to store the last fetch as *file*, which it is not."""

    file: FilesetManifestFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The outcome of a :class:`Keep`.

    ``status`` is ``success`` or ``error-archiveorg-upload`` with a sentence in ``trouble``;
    ``path`` is the item's, empty in a WARC; ``cdx`` or ``revisit_cdx`` name the WARC record.
    """

    status: str
    path: str = ""
    cdx: Mapping[str, Any] | None = None
    revisit_cdx: Mapping[str, Any] | None = None
    trouble: str = ""


Asking = Generator[Ask, Answer, FilesetPlatformItem]
"""What ``process_request`` makes; raises ``PlatformError``."""

Want = Fetch | FetchBundle | Keep | SetAside
Got = Fetched | Kept | None
Archiving = Generator[Want, Got, ArchiveStrategyResult]
"""The generator that ``process`` of a strategy returns."""
