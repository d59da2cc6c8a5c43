"""A site on loopback that plays data platforms, each from one description of a dataset.

Each host of a platform is an address of its own; ``bases`` is what ``LAFKA_PLATFORM_BASES`` gets.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote, urlsplit

from tests.filesets.playing import PLAYED, PlayedFile, PlayedSet
from tests.sites.server import Handler, Reply, Seen, Server, redirect, reply

HOSTS = {
    "dataverse.example": "127.0.0.31",
    "figshare.com": "127.0.0.32",
    "api.figshare.com": "127.0.0.33",
    "ndownloader.figshare.com": "127.0.0.34",
    "zenodo.org": "127.0.0.35",
    "archive.org": "127.0.0.36",
    "datadryad.org": "127.0.0.37",
    "lab.example": "127.0.0.38",
    "doi.org": "127.0.0.39",
}
PLATFORMS = tuple(PLAYED)


def played(*files: tuple[str, bytes], **values: Any) -> PlayedSet:
    """A dataset of *files*, path and body."""
    return PlayedSet(files=tuple(played_file(path, body) for path, body in files), **values)


def played_file(path: str, body: bytes) -> PlayedFile:
    folder, _, name = path.rpartition("/")
    digest = hashlib.md5(body).hexdigest()
    return PlayedFile(name=name, folder=folder, body=body, md5=digest)


def file_target(platform: str, dataset: PlayedSet, number: int) -> str:
    """The target of the file *number* of *dataset*, without its host."""
    file = dataset.files[number]
    path = quote(file.path)
    return {
        "dataverse": f"/api/access/datafile/{number}?format=original",
        "figshare": f"/files/{number}",
        "zenodo": f"/api/records/{dataset.number}/files/{path}/content",
        "archiveorg": f"/download/played-{dataset.number}/{path}",
        "dryad": f"/api/v2/files/{number}/download",
        "web": f"/{dataset.number}/{path}",
    }[platform]


def ranged(body: bytes, *fields: str, etag: str = '"v1"') -> Handler:
    """*body*, all of it or what a Range with a good If-Range asks for."""

    def handle(seen: Seen) -> Reply:
        asked = seen.headers.get("Range", "")
        if asked.startswith("bytes=") and seen.headers.get("If-Range", etag) == etag:
            start = int(asked[6:].rstrip("-"))
            if start >= len(body):
                told = f"Content-Range: bytes */{len(body)}"
                return reply(b"", "", told, status="416 Range Not Satisfiable")
            told = f"Content-Range: bytes {start}-{len(body) - 1}/{len(body)}"
            return reply(body[start:], "application/octet-stream", told, f"ETag: {etag}", *fields,
                         status="206 Partial Content")  # fmt: skip
        return reply(body, "application/octet-stream", f"ETag: {etag}", *fields)

    return handle


class PlatformSite(Server):
    """The server with its datasets; ``files`` are the targets of files, ``urls`` landing pages."""

    def __init__(self) -> None:
        super().__init__(tuple(HOSTS.values()))
        self.files: set[str] = set()

    @property
    def bases(self) -> dict[str, str]:
        return {host: self.at(address) for host, address in HOSTS.items()}

    @property
    def settings(self) -> dict[str, Any]:
        return {"LAFKA_PLATFORM_BASES": json.dumps(self.bases)}

    def play(self, platform: str, dataset: PlayedSet) -> str:
        """Put *dataset* on *platform*; the URL of its landing page."""
        url, answers = PLAYED[platform](dataset)
        links = "".join(f'<link rel="describedby" href="{u}">' for u in answers
                        if platform == "web")  # fmt: skip
        title = f'<meta name="citation_title" content="{dataset.title}">'
        page = f"<!doctype html><html><head>{title}{links}</head><body>data</body></html>"
        self.routes[_target(url)] = reply(page.encode())
        for address, answer in answers.items():
            body = json.dumps(answer["json"]).encode()
            self.routes[_target(address)] = reply(body, "application/json")
        for number, file in enumerate(dataset.files):
            target = file_target(platform, dataset, number)
            self.routes[target] = ranged(file.body)
            self.routes[target.partition("?")[0]] = self.routes[target]
            self.files |= {target, target.partition("?")[0]}
        return url

    def doi(self, name: str, url: str) -> str:
        """A DOI that leads to *url*."""
        self.routes[f"/{name}"] = redirect(url)
        return f"https://doi.org/{name}"

    def file_requests(self) -> list[str]:
        """What was asked for of the files, in order."""
        return [target for target in self.targets() if target in self.files]


def _target(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
