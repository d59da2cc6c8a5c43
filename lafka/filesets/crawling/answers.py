"""Reads answers, and bundles in them, from the raw log for the walk. All of this blocks.

Bodies are read where they were recorded, not where Scrapy handed on their beginning.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from lafka.capture.failures import verdict_of
from lafka.capture.logged import LoggedExchange, LoggedHops
from lafka.capture.recording import BrokenCoding
from lafka.errors import BadHttp, StorageTrouble, printable
from lafka.filesets.bundles.children import MAX_PAGE, BundleChildren
from lafka.filesets.crawling.tokens import PlatformBases
from lafka.filesets.model.asks import Answer, Ask, Fetch, FetchBundle, Fetched, Resource
from lafka.filesets.model.bundles import BundleContents, BundleLimits
from lafka.filesets.model.manifests import Digester, FileFacts, facts_of
from lafka.filesets.model.types import OTHER_DIGESTS, FileStatus
from lafka.payloads import decoded_max
from lafka.politeness.failures import causes
from lafka.warc.format import http
from lafka.warc.format.codings import decode
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import RECORD_END
from lafka.warc.format.sources import Source, write_all
from lafka.warc.reading.volumes import WarcVolume


def framing_trouble(error: BaseException | None) -> str:
    """Return what contradicts itself in the chunks of a body; empty for one that is merely cut."""
    for cause in causes(error) if error is not None else ():
        if isinstance(cause, BrokenCoding):
            return f"the chunked coding is broken: {printable(str(cause))}"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleReader:
    """Reads what came for *want*, in a child, within *limits*; copies have no name in *folder*."""

    want: FetchBundle
    children: BundleChildren
    limits: BundleLimits
    folder: Path

    def at(self, path: Path, *, start: int = 0, length: int | None = None) -> BundleContents:
        """Return what stands in *length* bytes from byte *start* of the file *path*."""
        return self.children.bundle(
            path, self.limits, start=start, length=length, others=self.want.others
        )

    def copied(self, pieces: Iterable[bytes]) -> tuple[BundleContents, FileFacts]:
        """Return what stands in *pieces*, and the facts of them all; ``StorageTrouble``."""
        seen = Digester(self.want.others)
        with _nameless(self.folder) as fd:
            for piece in pieces:
                seen.feed(piece)
                try:
                    write_all(fd, piece)
                except OSError as error:
                    raise StorageTrouble(self.folder, error) from error
            contents = self.at(Path(f"/proc/{os.getpid()}/fd/{fd}"))
        return contents, self.typed(seen.facts())

    def typed(self, facts: FileFacts) -> FileFacts:
        """*facts* with the type of the bytes."""
        return replace(facts, mimetype=self.children.mimetype(facts.prefix))

    def looked_into(
        self,
        fetched: Fetched,
        contents: BundleContents,
        undone: Callable[[], Iterator[bytes]] | None,
    ) -> Fetched:
        """*fetched* with *contents*, or, where these are none, with those that *undone* gives.

        *undone* has the bytes behind the content coding, None where there is none; ``BadHttp`` of
        it leaves *contents*.
        """
        if contents.trouble and undone is not None:
            with suppress(BadHttp):
                behind, facts = self.copied(undone())
                return replace(fetched, contents=behind, decoded=facts)
        return replace(fetched, contents=contents)


@contextmanager
def _nameless(folder: Path) -> Iterator[int]:
    """The descriptor of a new file without a name in *folder*; ``StorageTrouble``."""
    try:
        fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageTrouble(folder, error) from error
    try:
        yield fd
    finally:
        os.close(fd)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """The outcome of a request: its exchanges in the raw log, and the error that ended it."""

    hops: LoggedHops
    error: BaseException | None = None

    @property
    def last(self) -> LoggedExchange | None:
        """The last exchange; None where nothing was answered."""
        last = self.hops.exchanges[-1] if self.hops.exchanges else None
        return last if last is not None and last.payload is not None else None

    @property
    def trouble(self) -> tuple[str, str]:
        """A word and a sentence for what went wrong; both empty where nothing did."""
        if self.error is not None:
            return verdict_of(self.error)
        last = self.last
        if last is None:
            return "bad-http", "the answer is no HTTP"
        if last.too_big:
            return "too-big", "more bytes than are allowed"
        if last.truncated:
            return "truncated", (last.payload and last.payload.trouble) or "the body ends early"
        return "", ""

    def moment(self) -> str:
        """The time when the last exchange began, 14 digits, UTC."""
        assert self.hops.exchanges
        return self.hops.exchanges[-1].time.strftime("%Y%m%d%H%M%S")


def is_shared(exchanges: Iterable[LoggedExchange]) -> bool:
    """Return whether any of *exchanges* was not the first on its connection."""
    return any(exchange.shared for exchange in exchanges)


@contextmanager
def _answer(exchange: LoggedExchange) -> Iterator[tuple[Source, http.Head]]:
    """The block of an answer in the raw log, and its head; ``BadHttp``."""
    span = exchange.response
    if span is None:
        raise BadHttp("no answer")
    with WarcVolume(Path(span.path), strict=True) as volume:
        record = volume.with_header(span.head, span.offset) if span.head else volume.at(span.offset)
        block = record.block()
        yield block, http.head(block)


def _entity(block: Source, head: http.Head, most: int = 0) -> Iterator[bytes]:
    """The entity, bounded, also by *most* bytes (0: not): a bomb is no page of a platform's."""
    codings, most = head.content_codings, decoded_max(block.size, most)
    yield from decode(map(bytes, http.payload(block, head)), codings, most=most)


def _beginning(pieces: Iterator[bytes], most: int) -> bytes:
    """At most *most* bytes; what came before a break is kept."""
    found = bytearray()
    try:
        for piece in pieces:
            found += piece[: most - len(found)]
            if len(found) >= most:
                break
    except BadHttp:
        pass
    return bytes(found)


def answer_of(ask: Ask, came: RequestOutcome, bases: PlatformBases) -> Answer:
    """Return what is sent for *ask*."""
    word, sentence = came.trouble
    last = came.last
    if last is None or (word and word != "too-big"):
        return Answer(status=0, url=ask.url, trouble=sentence)
    try:
        with _answer(last) as (block, head):
            body = _beginning(_entity(block, head), ask.max_bytes + 1)
            return Answer(
                status=head.status,
                url=bases.told(last.url),
                headers=head.fields,
                body=body,
                too_long=word == "too-big" or len(body) > ask.max_bytes,
            )
    except BadHttp as error:
        return Answer(status=0, url=ask.url, trouble=str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingPage:
    """The landing page read: what the walk is given, its bytes' facts, the links of its head."""

    resource: Resource
    facts: FileFacts
    content_type: str
    links: tuple[str, ...]
    bad_coding: bool = False


def landing_of(came: RequestOutcome, bases: PlatformBases) -> LandingPage | None:
    """The landing page that *came*; None where there is no answer."""
    last = came.last
    if last is None:
        return None
    seen = Digester()
    bad_coding = False
    with _answer(last) as (block, head):
        body = bytearray()
        try:
            for piece in _entity(block, head):
                seen.feed(piece)
                body += piece[: MAX_PAGE - len(body)]
        except BadHttp:
            bad_coding = (
                bool(head.content_codings) and last.payload is not None and not (last.truncated)
            )
        fields = head.fields
    hops = tuple(bases.told(hop.url) for hop in came.hops.exchanges)
    resource = Resource(
        url=hops[-1],
        hops=hops,
        status=head.status,
        headers=Fields(fields),
        body=bytes(body),
        size=seen.size,
        dt=came.moment(),
    )
    return LandingPage(
        resource=resource,
        facts=seen.facts(),
        content_type=fields.first("Content-Type"),
        links=tuple(fields.all("Link")),
        bad_coding=bad_coding,
    )


_DOWNLOAD = FileStatus.ERROR_PLATFORM_DOWNLOAD


def fetched_of(
    want: Fetch | FetchBundle,
    came: RequestOutcome,
    children: BundleChildren,
    bases: PlatformBases,
    limits: BundleLimits,
) -> Fetched:
    """Return what is sent for *want*, whose bytes lie in the raw log; digests in one pass over
    them.
    """
    last = came.last
    url = bases.told(last.url) if last else want.url
    word, sentence = came.trouble
    answered = last.payload.status if last and last.payload else 0
    if word == "too-big" and answered == 200:
        return Fetched(status=FileStatus.TOO_LARGE_FILE, url=url, trouble=sentence)
    if last is None or last.payload is None or word or answered != 200:
        if framing := _framing_trouble(last, word):
            status = FileStatus.TRANSFER_ENCODING_ERROR
            return Fetched(status=status, url=url, trouble=framing)
        if answered not in (0, 200):
            sentence = f"HTTP status {answered}"
        return Fetched(status=_DOWNLOAD, url=url, trouble=sentence or "no answer")
    try:
        with _answer(last) as (block, head):
            if isinstance(want, FetchBundle):
                reader = BundleReader(
                    want=want, children=children, limits=limits, folder=_folder_of(last)
                )
                fetched = _read_bundle(last, block, head, reader)
            else:
                fetched = _read(want, block, head, children)
    except BadHttp as error:
        coded = last.payload.chunked
        status = FileStatus.TRANSFER_ENCODING_ERROR if coded else _DOWNLOAD
        return Fetched(status=status, url=url, trouble=str(error))
    return replace(fetched, url=url, dt=came.moment(), http_status=last.payload.status)


def _framing_trouble(last: LoggedExchange | None, word: str) -> str:
    """Return what contradicts itself in a transfer coding; empty for a body that is merely cut."""
    payload = last.payload if last is not None else None
    if payload is None or not payload.chunked or word not in ("bad-http", "truncated"):
        return ""
    return "" if payload.trouble == http.ENDS_EARLY else payload.trouble


def _read(want: Fetch, block: Source, head: http.Head, children: BundleChildren) -> Fetched:
    others = tuple(name for name in OTHER_DIGESTS if name in want.file.digests)
    facts = facts_of(http.payload(block, head), others)
    decoded = None
    if head.content_codings:
        with suppress(BadHttp):
            decoded = facts_of(_entity(block, head), others)
    return Fetched(
        status=FileStatus.SUCCESS,
        facts=_typed(facts, children),
        decoded=_typed(decoded, children) if decoded else None,
    )


def _typed(facts: FileFacts, children: BundleChildren) -> FileFacts:
    return replace(facts, mimetype=children.mimetype(facts.prefix))


def _folder_of(exchange: LoggedExchange) -> Path:
    assert exchange.response is not None
    return Path(exchange.response.path).parent


def _read_bundle(
    last: LoggedExchange, block: Source, head: http.Head, reader: BundleReader
) -> Fetched:
    """A bundle, read where it lies; one that is chunked, in a copy."""
    span = last.response
    assert span is not None
    if head.chunked or head.transfer_codings:
        contents, facts = reader.copied(http.payload(block, head))
    else:
        start = span.offset + span.length - len(RECORD_END) - (block.size - head.end)
        size = block.size - head.end if head.content_length is None else head.content_length
        contents = reader.at(Path(span.path), start=start, length=size)
        facts = reader.typed(facts_of(http.payload(block, head), reader.want.others))
    fetched = Fetched(status=FileStatus.SUCCESS, facts=facts)
    undone = partial(_entity, block, head, reader.want.max_bytes)
    return reader.looked_into(fetched, contents, undone if head.content_codings else None)
