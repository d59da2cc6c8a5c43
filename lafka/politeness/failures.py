"""Failures of downloads by their cause: the connection, TLS, the name, the answer."""

from __future__ import annotations

import copy
import errno
import os
from collections.abc import Iterator
from functools import cache

from OpenSSL import SSL
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
)
from service_identity.exceptions import VerificationError
from twisted.internet.error import ConnectError, ConnectionDone, ConnectionLost
from twisted.web._newclient import ParseError  # of Scrapy's own handler; ours raises BadHttp
from twisted.web.client import ResponseNeverReceived

from lafka.errors import BadHttp, MachineTrouble, Stopped, StorageTrouble, machine_trouble

_CONNECTION_FAILURES = (
    CannotResolveHostError,
    ConnectError,
    ConnectionDone,
    ConnectionLost,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
)


_DISK = frozenset((errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EFBIG))
_MACHINE = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))
"""Refusals of a file or a connection by a limit of this machine."""


@cache
def tunnel_error() -> type[Exception]:
    """Return Scrapy's ``TunnelError``, imported when it is needed.

    At start-up, from the depth of our imports, its module takes a third of a second, for it looks
    up the source of every frame that imports it.
    """
    from scrapy.core.downloader.handlers.http11 import TunnelError  # noqa: PLC0415

    return TunnelError


def causes(error: BaseException) -> Iterator[BaseException]:
    """*error* and what led to it, each once, depth first.

    That are the ``reasons`` of Twisted's wrapper exceptions, then ``__cause__``.
    """
    waiting, seen = [error], set[int]()
    while waiting:
        cause = waiting.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        if cause.__cause__ is not None:
            waiting.append(cause.__cause__)
        reasons = getattr(cause, "reasons", None) or ()
        waiting += [reason.value for reason in reversed(reasons)]


def not_the_sites(error: BaseException) -> StorageTrouble | Stopped | None:
    """Return what led to *error*, where that is our own: a disk that refuses, a crawl that stops.

    No outcome may be made of it: the site has nothing to do with it, and the next run asks again.
    """
    for cause in causes(error):
        if isinstance(cause, StorageTrouble | Stopped):
            return cause
        if isinstance(cause, OSError) and cause.errno in _DISK:
            return StorageTrouble(cause.filename or "a file", cause)
        if trouble := _machine_trouble(cause):
            return trouble
    return None


def _machine_trouble(cause: BaseException) -> MachineTrouble | None:
    """Return the limit of this machine that *cause* tells of."""
    number = cause.osError if isinstance(cause, ConnectError) else getattr(cause, "errno", None)
    if number in _MACHINE:
        where = getattr(cause, "filename", None) or "a connection"
        return MachineTrouble(where, OSError(number, os.strerror(number)))
    return machine_trouble(cause)


def is_tls(error: BaseException) -> bool:
    """Return whether the TLS layer refused: protocol, cipher, certificate. A mere hang-up is not
    that.
    """
    return any(_refuses_tls(cause) for cause in causes(error))


def _refuses_tls(cause: BaseException) -> bool:
    if isinstance(cause, VerificationError | SSL.Error):
        hang_up = isinstance(cause, SSL.SysCallError | SSL.ZeroReturnError)
        return not hang_up and "unexpected eof" not in str(cause)
    return False


def is_bad_http(error: BaseException) -> bool:
    """Return whether the answer was no HTTP: ``ParseError``, or for a bad length ``ValueError``."""
    return any(isinstance(cause, BadHttp | ParseError | ValueError) for cause in causes(error))


def is_connection_failure(error: BaseException) -> bool:
    """Return whether the host gave no answer at all, in time or ever: what the breaker counts."""
    if isinstance(error, IgnoreRequest) or is_bad_http(error):
        return False
    if isinstance(error, (*_CONNECTION_FAILURES, tunnel_error())):
        return True
    return isinstance(error, DownloadFailedError) and any(
        isinstance(cause, ResponseNeverReceived) for cause in causes(error)
    )


def is_final(error: BaseException) -> bool:
    """Return whether asking again cannot help."""
    refused = any(isinstance(cause, IgnoreRequest) for cause in causes(error))
    return refused or is_tls(error) or is_bad_http(error)


def without_frames(error: Exception) -> Exception:
    """A copy of *error* fit to be kept for a whole run.

    A raised exception holds its frames, and through them requests and responses. The chain of
    ``__cause__`` is kept: it tells a TLS error from a reset.
    """
    try:
        kept = copy.copy(error)
    except Exception:  # its __init__ does not take its own args
        return error.with_traceback(None)
    if isinstance(error.__cause__, Exception):
        kept.__cause__ = without_frames(error.__cause__)
    return kept
