"""The types of the fileset proposal, letter by letter, its statuses, and its platforms' errors.

All are values: frozen, they grow by ``dataclasses.replace``. The names of their fields are those of
the proposal ("New python types"), of the JSON of requests and results and of the SQL columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Annotated, Any, Self

import msgspec

from lafka.errors import SiteError


class Status(StrEnum):
    """The ``status`` of an ingest result; the first three are hits."""

    SUCCESS = "success"
    SUCCESS_EXISTING = "success-existing"
    SUCCESS_FILE = "success-file"

    # the landing page
    SKIP_URL_BLOCKLIST = "skip-url-blocklist"
    NO_CAPTURE = "no-capture"
    TERMINAL_BAD_STATUS = "terminal-bad-status"
    REDIRECT_LOOP = "redirect-loop"
    BLOCKED_COOKIE = "blocked-cookie"
    BLOCKED_CAPTCHA = "blocked-captcha"
    BLOCKED_WALL = "blocked-wall"
    EMPTY_BLOB = "empty-blob"
    BODY_TOO_LARGE = "body-too-large"
    BAD_GZIP_ENCODING = "bad-gzip-encoding"

    # the platform
    NO_PLATFORM_MATCH = "no-platform-match"
    PLATFORM_SCOPE = "platform-scope"
    PLATFORM_RESTRICTED = "platform-restricted"
    PLATFORM_404 = "platform-404"
    PLATFORM_HTTP_ERROR = "platform-http-error"
    PLATFORM_ERROR = "platform-error"
    NOT_IMPLEMENTED = "not-implemented"
    EMPTY_MANIFEST = "empty-manifest"
    INCOMPLETE_MANIFEST = "incomplete-manifest"

    # limits
    TOO_LARGE_SIZE = "too-large-size"
    TOO_LARGE_FILE = "too-large-file"
    TOO_MANY_FILES = "too-many-files"
    NO_SPACE = "no-space"

    # the strategy
    NO_STRATEGY_HELPER = "no-strategy-helper"
    UNSAFE_PATH = "unsafe-path"
    ERROR_PLATFORM_DOWNLOAD = "error-platform-download"
    ERROR_ARCHIVEORG_UPLOAD = "error-archiveorg-upload"
    MISMATCH = "mismatch"
    MISMATCH_SIZE = "mismatch-size"
    MISMATCH_SHA1 = "mismatch-sha1"
    MISMATCH_SHA256 = "mismatch-sha256"
    MISMATCH_MD5 = "mismatch-md5"
    MISMATCH_EXISTING = "mismatch-existing"
    TRANSFER_ENCODING_ERROR = "transfer-encoding-error"
    BUNDLE_UNREADABLE = "bundle-unreadable"
    BUNDLE_MISSING_FILE = "bundle-missing-file"
    PARTIAL = "partial"

    # ours
    BAD_REQUEST = "bad-request"
    DAMAGED = "damaged"
    GAVE_UP = "gave-up"

    @property
    def is_hit(self) -> bool:
        return self in (Status.SUCCESS, Status.SUCCESS_EXISTING, Status.SUCCESS_FILE)


FOREIGN_STATUSES = frozenset(
    {
        "spn2-error",
        "petabox-error",
        "cdx-error",
        "wayback-error",
        "wayback-content-error",
        "too-much-spn",
    }
)
"""Of services that only others use: accepted when read, never written."""


class FileStatus(StrEnum):
    """The ``status`` of a file in a manifest; the first two say that its bytes are held."""

    SUCCESS = "success"
    EXISTS = "exists"

    NOT_PROCESSED = "not-processed"
    RESTRICTED = "restricted"
    UNSAFE_PATH = "unsafe-path"
    EMPTY_BLOB = "empty-blob"
    TOO_LARGE_SIZE = "too-large-size"
    TOO_LARGE_FILE = "too-large-file"
    ERROR_PLATFORM_DOWNLOAD = "error-platform-download"
    ERROR_ARCHIVEORG_UPLOAD = "error-archiveorg-upload"
    MISMATCH = "mismatch"
    MISMATCH_SIZE = "mismatch-size"
    MISMATCH_SHA1 = "mismatch-sha1"
    MISMATCH_SHA256 = "mismatch-sha256"
    MISMATCH_MD5 = "mismatch-md5"
    MISMATCH_EXISTING = "mismatch-existing"
    TRANSFER_ENCODING_ERROR = "transfer-encoding-error"
    BUNDLE_UNREADABLE = "bundle-unreadable"
    BUNDLE_MISSING_FILE = "bundle-missing-file"

    @property
    def is_held(self) -> bool:
        return self in (FileStatus.SUCCESS, FileStatus.EXISTS)


def is_known(status: str) -> bool:
    """Return whether *status* may stand in a result that is read."""
    return status in _KNOWN


_KNOWN = FOREIGN_STATUSES.union(map(str, Status))


OTHER_DIGESTS = ("sha512", "sha384", "sha224", "blake2b", "crc32")
"""Digests that a manifest file has in ``extra``, in hex, under these names."""

_DIGEST_LENGTHS = {
    "md5": 32, "sha1": 40, "sha256": 64,
    "sha512": 128, "sha384": 96, "sha224": 56, "blake2b": 128, "crc32": 8,
}  # fmt: skip


class IngestStrategy(StrEnum):
    """The storage of bytes and the entity of a result: ``{storage_backend}-{fatcat_entity}``."""

    WEB_FILE = "web-file"
    WEB_FILESET = "web-fileset"
    WEB_FILESET_BUNDLED = "web-fileset-bundled"
    ARCHIVEORG_FILE = "archiveorg-file"
    ARCHIVEORG_FILESET = "archiveorg-fileset"
    ARCHIVEORG_FILESET_BUNDLED = "archiveorg-fileset-bundled"

    @property
    def is_web(self) -> bool:
        """True where the bytes go to the fileset WARC; else to an item."""
        return self.startswith("web-")

    @property
    def is_file(self) -> bool:
        """True where the fileset is told as a single file."""
        return self.endswith("-file")

    @property
    def is_bundled(self) -> bool:
        """True where one enclosing file is stored for all."""
        return self.endswith("-bundled")


def without_none(value: Any) -> dict[str, Any]:
    """The fields of the dataclass *value* that are not None, by name, in order."""
    found = {part.name: getattr(value, part.name) for part in fields(value)}
    return {name: part for name, part in found.items() if part is not None}


Count = Annotated[int, msgspec.Meta(ge=0)]


class JsonValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value that stands in JSON as its fields, in order, but for those without a value."""

    def as_json(self) -> dict[str, Any]:
        value: dict[str, Any] = msgspec.to_builtins(self)
        return value

    @classmethod
    def of_json(cls, value: Any) -> Self:
        """``ValueError`` where *value* is none; unknown keys are passed over."""
        return msgspec.convert(value, cls)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesetManifestFile:
    """A file of a fileset: what its platform says of it, and what came of it.

    ``path`` has ``/`` between its parts; ``size`` is in bytes; digests are lower-case hex of the
    bytes themselves. ``status`` is a :class:`FileStatus`, None until something is known.
    ``terminal_url`` and ``terminal_dt`` (14 digits, UTC) tell where and when the bytes came from.
    ``extra`` holds other digests under the names of ``OTHER_DIGESTS`` and what has no other place.
    """

    path: str
    size: Count | None = None
    md5: str | None = None
    sha1: str | None = None
    sha256: str | None = None
    mimetype: str | None = None
    extra: Mapping[str, Any] | None = None
    status: str | None = None
    platform_url: str | None = None
    terminal_url: str | None = None
    terminal_dt: str | None = None

    @property
    def digests(self) -> dict[str, str]:
        """Every digest that is known and can be computed, by algorithm, in order of comparing."""
        found = {"sha1": self.sha1, "sha256": self.sha256, "md5": self.md5}
        extra = self.extra or {}
        found.update({name: extra.get(name) for name in OTHER_DIGESTS})
        return {name: value for name, value in found.items() if value and is_digest(name, value)}

    @property
    def is_restricted(self) -> bool:
        return self.status == FileStatus.RESTRICTED

    @property
    def is_held(self) -> bool:
        return self.status in (FileStatus.SUCCESS, FileStatus.EXISTS)

    def as_json(self) -> dict[str, Any]:
        """The object that stands in results and summaries; keys without a value are left out."""
        return without_none(self)

    @classmethod
    def of_json(cls, value: Any) -> Self:
        """``ValueError`` where *value* is no manifest file; unknown keys are passed over."""
        return msgspec.convert(value, cls)


def is_digest(algorithm: str, value: object) -> bool:
    """Return whether *value* has the form of a digest by *algorithm*: lower-case hex of
    its length.
    """
    length = _DIGEST_LENGTHS.get(algorithm)
    if length is None or not isinstance(value, str) or len(value) != length:
        return False
    return not set(value) - set("0123456789abcdef")


Manifest = tuple[FilesetManifestFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesetPlatformItem:
    """The description that a platform gives of one version of a dataset.

    ``platform_status`` is a :class:`Status`, ``success`` where there is nothing to say.
    ``manifest`` is None where the platform gives no list of files. ``archiveorg_item_meta`` is what
    ``item.json`` gets as metadata; ``web_base_url`` is the version's public page,
    ``web_bundle_url`` the platform's "download all". ``extra`` has ``version`` and what has
    no other place.
    """

    platform_name: str
    platform_status: str = Status.SUCCESS
    platform_domain: str | None = None
    platform_id: str | None = None
    manifest: Manifest | None = None
    archiveorg_item_name: str | None = None
    archiveorg_item_meta: Mapping[str, Any] | None = None
    web_base_url: str | None = None
    web_bundle_url: str | None = None
    extra: Mapping[str, Any] | None = None

    @property
    def version(self) -> str | None:
        """The version's name on its platform, None where it is not known."""
        found = (self.extra or {}).get("version")
        return found if isinstance(found, str) else None

    @property
    def fileset_id(self) -> str | None:
        """``fileset:<name>:<domain>:<id>``, None before domain and id are known."""
        if not self.platform_domain or not self.platform_id:
            return None
        return f"fileset:{self.platform_name}:{self.platform_domain}:{self.platform_id}"

    @property
    def total_size(self) -> int:
        """Bytes; a size that is not known counts 0."""
        return sum(file.size or 0 for file in self.manifest or ())

    def as_json(self) -> dict[str, Any]:
        value = without_none(self)
        if self.manifest is not None:
            value["manifest"] = [file.as_json() for file in self.manifest]
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveStrategyResult:
    """The result of archiving a fileset: of the whole, and of each file.

    The ``file_*`` are of the file of a ``*-file`` strategy, the ``bundle_*`` of the enclosing file
    of a ``*-bundled`` one; their objects are those of an ingest result (docs/filesets.md).
    ``bundle_archiveorg_path`` is the bundle's path in the item. ``extra``: ``bundle_extra``,
    ``from_bundle``, ``unverified``. ``message`` is a sentence where ``status`` is no hit.
    """

    ingest_strategy: str
    status: str
    manifest: Manifest
    file_file_meta: Mapping[str, Any] | None = None
    file_terminal: Mapping[str, Any] | None = None
    file_cdx: Mapping[str, Any] | None = None
    file_revisit_cdx: Mapping[str, Any] | None = None
    bundle_file_meta: Mapping[str, Any] | None = None
    bundle_terminal: Mapping[str, Any] | None = None
    bundle_cdx: Mapping[str, Any] | None = None
    bundle_revisit_cdx: Mapping[str, Any] | None = None
    bundle_archiveorg_path: str | None = None
    extra: Mapping[str, Any] | None = None
    message: str | None = None


class PlatformError(SiteError):
    """A platform did not give what a dataset is made of; ``item`` has what is known so far.

    Raised by ``process_request`` and ``chose_strategy`` and by nothing else of filesets.
    """

    status = Status.PLATFORM_ERROR

    def __init__(self, message: str, item: FilesetPlatformItem | None = None) -> None:
        super().__init__(message)
        self.item = item

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.item)


class NotThisPlatform(PlatformError):
    """A page looks like one of a platform, but its API's answer shows that it is none.

    Raised by ``process_request`` of a helper that matches hosts it does not know; the next one that
    matches is asked.
    """

    status = Status.NO_PLATFORM_MATCH


class PlatformScopeError(PlatformError):
    """A page of the platform, but not of one version of one dataset."""

    status = Status.PLATFORM_SCOPE


class PlatformRestrictedError(PlatformError):
    """Some file, or all of it, is not open to everybody (yet)."""

    status = Status.PLATFORM_RESTRICTED


class PlatformNotFound(PlatformError):
    """The platform knows no such dataset, or not any more."""

    status = Status.PLATFORM_404


class PlatformHttpError(PlatformError):
    """The platform answered with a status that says nothing of the dataset."""

    status = Status.PLATFORM_HTTP_ERROR


class EmptyManifest(PlatformError):
    """A dataset without files."""

    status = Status.EMPTY_MANIFEST


class IncompleteManifest(PlatformError):
    """The platform lists other files than it counts, so that a list may be short."""

    status = Status.INCOMPLETE_MANIFEST


class NoStrategy(PlatformError):
    """No strategy can archive what the platform gives."""

    status = Status.NO_STRATEGY_HELPER
