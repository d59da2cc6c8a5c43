"""Child processes, with bounds, for work that foreign bytes could make stop or crash.

Three things are: telling a file's type (libmagic), reading a bundle, reading a landing page. The
children are those of ``storage.children``; the methods of :class:`BundleChildren` block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lafka.filesets.bundles.unpacking import Sniffer, read_bundle
from lafka.filesets.model.bundles import BundleContents, BundleLimits, Slice
from lafka.filesets.model.pages import HtmlBiblio, read_page
from lafka.storage import children
from lafka.storage.children import ChildDied, Task

MODULE = "lafka.filesets.bundles.children"
"""The module whose ``serve`` a child runs."""
MAX_PAGE = 8 << 20
"""Bytes of a landing page that are looked at; what it says of itself stands in its head."""
CPU_SECONDS = 10
"""For a question whose size does not grow with the file."""
BYTES_A_SECOND = 16 << 20
"""Of a bundle, unpacked and hashed four times over: what the slowest machine should do."""


class BundleChildren:
    """At most *count* children, started when there is work for them."""

    def __init__(self, count: int = 2) -> None:
        self._children = children.Children(MODULE, count)

    def mimetype(self, prefix: bytes) -> str:
        """See ``sniffing.Sniffer``; empty where the child died over it."""
        try:
            return str(self._children.ask("mimetype", {}, prefix, seconds=CPU_SECONDS))
        except ChildDied:
            return ""

    def bundle(
        self,
        path: Path,
        limits: BundleLimits,
        *,
        start: int = 0,
        length: int | None = None,
        others: tuple[str, ...] = (),
    ) -> BundleContents:
        """See ``unpacking.read_bundle``: of *length* bytes from byte *start* of the file."""
        size = path.stat().st_size - start if length is None else length
        work = min(limits.max_total, limits.max_ratio * size) // BYTES_A_SECOND
        question = {
            "path": str(path),
            "start": start,
            "length": size,
            "limits": asdict(limits),
            "others": others,
        }
        try:
            answer = self._children.ask("bundle", question, seconds=60 + work)
            return BundleContents.of_json(answer)
        except (ChildDied, ValueError) as error:
            return BundleContents(trouble=str(error))

    def page(self, url: str, body: bytes, content_type: str, links: list[str]) -> HtmlBiblio:
        """See ``pages.read_page``; nothing is known of a page that the child died over."""
        question = {"url": url, "content_type": content_type, "links": links}
        try:
            answer = self._children.ask("page", question, body[:MAX_PAGE], seconds=CPU_SECONDS)
            return HtmlBiblio.of_json(answer)
        except (ChildDied, ValueError):
            return HtmlBiblio()

    def stop(self) -> None:
        """End the children, after what they were asked last."""
        self._children.stop()


# In the child -----------------------------------------------------------------------------


def serve() -> None:
    """Answer questions until standard input ends. Runs in the child."""
    children.serve(_TASKS)


_SNIFFER = Sniffer()


def _mimetype(_question: dict[str, Any], prefix: bytes) -> str:
    return _SNIFFER.sniffed(prefix)


def _bundle(question: dict[str, Any], _data: bytes) -> dict[str, Any]:
    limits = BundleLimits(**question["limits"])
    with Path(question["path"]).open("rb", buffering=0) as file:
        part = Slice(file, question["start"], question["length"])
        return read_bundle(part.buffered(), limits, question["others"]).as_json()


def _page(question: dict[str, Any], body: bytes) -> dict[str, Any]:
    url, content_type = question["url"], question["content_type"]
    return read_page(url, body, content_type, question["links"]).as_json(whole=True)


_TASKS: Mapping[str, Task] = {"mimetype": _mimetype, "bundle": _bundle, "page": _page}
