"""What can be said of an ingest, and of one file of it: two closed vocabularies."""

from __future__ import annotations

from enum import StrEnum


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
