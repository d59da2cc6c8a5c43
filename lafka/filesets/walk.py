"""A request's way from its landing page to its result, without I/O.

:func:`walk` is a generator like those that it drives: it yields what helper and strategy want, is
sent what came of it, and returns the result. So whoever drives it, a crawl or a test, decides
nothing about a fileset.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lafka.errors import BadPid
from lafka.filesets.model.asks import Answer, Ask, Claim, Got, Resource, Want
from lafka.filesets.model.manifests import LIMITS, Limits, ManifestVerdict, judge
from lafka.filesets.model.messages import IngestRequest, IngestResult, LandingCapture
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.model.types import (
    ArchiveStrategyResult,
    FilesetManifestFile,
    FilesetPlatformItem,
    IngestStrategy,
    NoStrategy,
    NotThisPlatform,
    PlatformError,
    PlatformRestrictedError,
    Status,
)
from lafka.filesets.platforms import helpers, matches
from lafka.filesets.platforms.platform import FilesetPlatformHelper
from lafka.filesets.strategies import STRATEGIES
from lafka.filesets.strategies.strategy import HeldVersion, HoldingsView, NoHoldings
from lafka.pids import SCHEMES, Pid


def fileset_pid(item: FilesetPlatformItem) -> Pid:
    """The pid of *item*, with its path; always of the scheme ``any``.

    ``PlatformError`` where its platform names it in a way that is no id: with blanks, or too long.
    """
    if item.fileset_id is None:
        raise PlatformError("the platform does not say what it is", item)
    try:
        pid = SCHEMES["any"].pid(item.fileset_id)
    except BadPid as error:
        raise PlatformError(f"the fileset's id: {error}", item) from None
    return pid


Walking = Generator[Ask | Claim | Want, Any, IngestResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The operator's rules for every walk.

    ``types`` are the ingest types that are done; ``blocked`` patterns are searched in ``base_url``.
    ``latest`` as in a request. ``partial``: open files are archived where others are restricted.
    ``token_hosts``: platforms whose restricted files the operator may have. ``strategy`` is taken
    where a request names none. ``refresh``: what is held is fetched again; ``refresh_before``: what
    was had before that time, ``YYYY-MM-DDThh:mm:ssZ``.
    """

    helpers: tuple[FilesetPlatformHelper, ...] = field(default_factory=helpers)
    limits: Limits = LIMITS
    types: frozenset[str] = frozenset({"dataset"})
    blocked: tuple[re.Pattern[str], ...] = ()
    latest: bool = False
    partial: bool = False
    token_hosts: frozenset[str] = frozenset()
    strategy: IngestStrategy | None = None
    refresh: bool = False
    refresh_before: str = ""


def refused(request: IngestRequest, rules: Rules) -> IngestResult | None:
    """The result of a request that is not begun at all; None: go on to its landing page."""
    if request.ingest_type not in rules.types:
        message = f"ingest type {request.ingest_type} is not done here"
        return _result(request, Status.NOT_IMPLEMENTED, message)
    for pattern in rules.blocked:
        if pattern.search(request.base_url):
            message = f"blocked by {pattern.pattern}"
            return _result(request, Status.SKIP_URL_BLOCKLIST, message)
    return None


def walk(
    request: IngestRequest,
    resource: Resource,
    landing: LandingCapture,
    rules: Rules,
    *,
    held: Callable[[], HoldingsView] = NoHoldings,
    free: int | None = None,
) -> Walking:
    """The walk of *request* from its landing page *resource*, which is told as *landing*.

    *held* gives the view of what is held, once the fileset is claimed; *free* are bytes of disk,
    None: not known.
    """
    result = _result(request, Status.NO_PLATFORM_MATCH, landing=landing)
    bad = _bad_landing(resource)
    biblio = (landing.html_biblio if bad is None else None) or HtmlBiblio()
    for helper in matches(rules.helpers, request, resource, biblio):
        if bad is not None and (not helper.has_api or resource.status in _GONE):
            continue
        told = replace(result, lafka={"landing": bad}) if bad is not None else result
        with suppress(NotThisPlatform):
            return (
                yield from _walked(
                    helper, told, request, resource, biblio, rules=rules, held=held, free=free
                )
            )
    if bad is not None:
        return replace(result, status=bad, error_message=f"{resource.url}: {bad}")
    return replace(result, error_message=f"{resource.url}: no platform that is known")


def _walked(
    helper: FilesetPlatformHelper,
    result: IngestResult,
    request: IngestRequest,
    resource: Resource,
    biblio: HtmlBiblio,
    *,
    rules: Rules,
    held: Callable[[], HoldingsView],
    free: int | None,
) -> Walking:
    """The walk with *helper*; ``NotThisPlatform`` where the page is not of its platform."""
    try:
        asked = replace(request, latest=request.latest or rules.latest)
        item = yield from _item(helper, asked, resource, biblio, rules)
        fileset_pid(item)
        result = _with_item(result, item)
        if item.manifest is not None:
            judged = judge(item.manifest, _limits(request, rules), free)
            result = _with_judged(result, judged)
            item = replace(item, manifest=judged.manifest)
            if judged.status is not None:
                return replace(result, status=judged.status, error_message=judged.message)
        strategy = _strategy(helper, request, item, rules)
        yield Claim(item=item, strategy=strategy)
        done = yield from _archived(request, item, strategy, rules, held())
    except NotThisPlatform:
        raise
    except PlatformError as error:
        return _failed(result, error)
    return _with_archived(result, item, done)


def _result(
    request: IngestRequest, status: Status, message: str = "", **values: Any
) -> IngestResult:
    return IngestResult(
        request=request.raw or {"ingest_type": request.ingest_type, "base_url": request.base_url},
        status=status,
        error_message=message or None,
        **values,
    )


_COOKIE = re.compile(r"cookieabsent|[?&]cookieset=1", re.IGNORECASE)
_CAPTCHA = re.compile(r"captcha", re.IGNORECASE)
_WALL = re.compile(r"://[^/?#]+/(?:[^?#]*/)?(?:login|sign-?in|sso|idp)(?:[/?#.]|\Z)", re.IGNORECASE)


def _blocked(resource: Resource) -> Status | None:
    """Return where the way ended before a guard, as its last URL or Cloudflare's own field says."""
    url = resource.url
    if _COOKIE.search(url):
        return Status.BLOCKED_COOKIE
    if _CAPTCHA.search(url) or resource.headers.first("cf-mitigated").strip() == "challenge":
        return Status.BLOCKED_CAPTCHA
    return Status.BLOCKED_WALL if _WALL.search(url) else None


def _bad_landing(resource: Resource) -> Status | None:
    if (blocked := _blocked(resource)) is not None:
        return blocked
    if resource.status != 200:
        return Status.TERMINAL_BAD_STATUS
    return Status.EMPTY_BLOB if resource.size == 0 else None


_GONE = frozenset((404, 410))
"""Statuses by which a page is believed; by others a guard may keep programs from a page whose
dataset the API gives to all."""


def _limits(request: IngestRequest, rules: Rules) -> Limits:
    return rules.limits.lowered(request.max_total_size, request.max_file_count)


def _item(
    helper: FilesetPlatformHelper,
    request: IngestRequest,
    resource: Resource,
    biblio: HtmlBiblio,
    rules: Rules,
) -> Generator[Ask, Answer, FilesetPlatformItem]:
    """Return what the platform says; with restricted files where the rules can do with them."""
    try:
        return (yield from helper.process_request(request, resource, biblio))
    except PlatformRestrictedError as error:
        item = error.item
        if item is None or not item.manifest:
            raise
        if item.platform_domain in rules.token_hosts:
            return replace(item, manifest=tuple(map(_by_token, item.manifest)))
        if rules.partial and not all(file.is_restricted for file in item.manifest):
            return item
        raise


def _by_token(file: FilesetManifestFile) -> FilesetManifestFile:
    """*file*, asked for with the operator's token; but a mere link stays closed."""
    if not file.is_restricted or file.platform_url is None:
        return file
    return replace(file, status=None, extra={**(file.extra or {}), "access": "token"})


def _strategy(
    helper: FilesetPlatformHelper, request: IngestRequest, item: FilesetPlatformItem, rules: Rules
) -> IngestStrategy:
    """The strategy that is wanted where the platform gives what it needs, else the helper's."""
    wanted = request.ingest_strategy or rules.strategy
    if wanted is None:
        return helper.chose_strategy(item)
    files = [file for file in item.manifest or () if not file.is_restricted]
    if wanted.is_bundled:
        fits = item.web_bundle_url is not None
    else:
        fits = bool(files) and all(file.platform_url is not None for file in files)
    if not fits or (wanted.is_file and len(item.manifest or ()) != 1):
        raise NoStrategy(f"the platform does not give what {wanted} needs", item)
    return wanted


def is_anew(request: IngestRequest, rules: Rules, held: HeldVersion | None) -> bool:
    """Return whether a version of which *held* is there is fetched whatever of it is held."""
    is_old = held is not None and held.time < rules.refresh_before
    return request.force_recrawl or rules.refresh or is_old


def _archived(
    request: IngestRequest,
    item: FilesetPlatformItem,
    strategy: IngestStrategy,
    rules: Rules,
    held: HoldingsView,
) -> Generator[Want, Got, ArchiveStrategyResult]:
    """Return what is held already, or what came of archiving.

    ``refresh`` fetches anew what is held, but never past other content under the same version; that
    is for ``force_recrawl`` alone.
    """
    anew = is_anew(request, rules, held.version(item))
    if not request.force_recrawl:
        existing = STRATEGIES[strategy](held).check_existing(item)
        if existing is not None and (existing.status == Status.MISMATCH_EXISTING or not anew):
            return existing
    made = STRATEGIES[strategy](held, _limits(request, rules), anew=anew)
    return (yield from made.process(item))


def _with_item(result: IngestResult, item: FilesetPlatformItem) -> IngestResult:
    lafka: Mapping[str, Any] = {"fileset": item.fileset_id, "version": item.version}
    return replace(result, item=item, lafka={**lafka, **(result.lafka or {})})


def _with_judged(result: IngestResult, judged: ManifestVerdict) -> IngestResult:
    return replace(
        result,
        manifest=judged.manifest,
        file_count=judged.file_count,
        total_size=judged.total_size,
        manifest_truncated=judged.truncated,
    )


def _with_archived(
    result: IngestResult, item: FilesetPlatformItem, done: ArchiveStrategyResult
) -> IngestResult:
    told = replace(
        result,
        item=item,
        status=done.status,
        error_message=done.message,
        archived=done,
        manifest=done.manifest,
    )
    if result.file_count is None:  # the members of a bundle made the manifest
        total = sum(file.size or 0 for file in done.manifest)
        told = replace(told, file_count=len(done.manifest), total_size=total)
    return told


def _failed(result: IngestResult, error: PlatformError) -> IngestResult:
    """The result of *error*, with what is known: a manifest of closed files is told too."""
    failed = replace(result, status=error.status, error_message=str(error))
    item = error.item
    if item is None:
        return failed
    failed = _with_item(failed, item)
    if item.manifest is None:
        return failed
    return replace(
        failed,
        manifest=item.manifest[: LIMITS.max_files],
        manifest_truncated=len(item.manifest) > LIMITS.max_files,
        file_count=len(item.manifest),
        total_size=item.total_size,
    )
