"""Platforms played from one description of a dataset: what each of their APIs would answer.

``PLAYED`` has for each platform a function from a description to its landing page's URL and the
answers of its API by URL, in the form of ``driving.answer_of``. A site on loopback can serve them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedFile:
    """A file as its depositor gave it; ``folder`` empty or with its slashes inside.

    ``md5`` is of another ``kind`` where a Dataverse says so.
    """

    name: str
    body: bytes
    md5: str
    folder: str = ""
    restricted: bool = False
    kind: str = "MD5"

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}" if self.folder else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedSet:
    """A dataset in one version."""

    files: tuple[PlayedFile, ...]
    number: int = 4711
    version: int = 2
    title: str = "Played"


Answers = dict[str, dict[str, Any]]
Played = tuple[str, Answers]


def _pages(rows: list[Any], size: int) -> list[list[Any]]:
    """*rows* in pages; the last one is short, and may be empty."""
    return [rows[start : start + size] for start in range(0, len(rows) + 1, size)]


def dataverse(played: PlayedSet) -> Played:
    """Of today's Dataverse: the files stand on a list of their own."""
    pid = f"doi:10.5072/FK2/{played.number}"
    base = "https://dataverse.example/api/datasets/:persistentId/versions/:latest-published"
    rows = [
        {
            "label": file.name,
            "restricted": file.restricted,
            **({"directoryLabel": file.folder} if file.folder else {}),
            "dataFile": {
                "id": number,
                "persistentId": "",
                "filename": file.name,
                "contentType": "application/octet-stream",
                "filesize": len(file.body),
                "checksum": {"type": file.kind, "value": file.md5},
            },
        }
        for number, file in enumerate(played.files)
    ]
    version = {"datasetPersistentId": pid, "versionNumber": played.version, "versionMinorNumber": 0}
    answers: Answers = {f"{base}?persistentId={pid}": {"json": {"status": "OK", "data": version}}}
    for number, page in enumerate(_pages(rows, 1000)):
        url = f"{base}/files?persistentId={pid}&limit=1000&offset={1000 * number}"
        answers[url] = {"json": {"status": "OK", "data": page}}
    return f"https://dataverse.example/dataset.xhtml?persistentId={pid}", answers


def figshare(played: PlayedSet) -> Played:
    """Ten files in the article, all of them on the list."""
    base = f"https://api.figshare.com/v2/articles/{played.number}/versions/{played.version}"
    rows = [
        {
            "id": number,
            "name": file.name,
            "size": len(file.body),
            "is_link_only": file.restricted,
            "download_url": f"https://ndownloader.figshare.com/files/{number}",
            "computed_md5": file.md5,
        }
        for number, file in enumerate(played.files)
    ]
    article = {
        "id": played.number,
        "version": played.version,
        "title": played.title,
        "is_public": True,
        "size": sum(len(file.body) for file in played.files),
        "files": rows[:10],
        "folder_structure": {
            str(number): file.folder for number, file in enumerate(played.files) if file.folder
        },
    }
    answers: Answers = {base: {"json": article}}
    for number, page in enumerate(_pages(rows, 1000), 1):
        answers[f"{base}/files?page={number}&page_size=1000"] = {"json": page}
    return f"https://figshare.com/articles/dataset/x/{played.number}/{played.version}", answers


def zenodo(played: PlayedSet) -> Played:
    """Of today's Zenodo: a key may have folders."""
    api = f"https://zenodo.org/api/records/{played.number}"
    closed = any(file.restricted for file in played.files)
    rows = [
        {
            "key": file.path,
            "size": len(file.body),
            "checksum": f"md5:{file.md5}",
            "links": {"self": f"{api}/files/{quote(file.path)}/content"},
        }
        for file in played.files
    ]
    record = {
        "id": played.number,
        "conceptrecid": str(played.number - 1),
        "metadata": {"title": played.title, "access_right": "restricted" if closed else "open"},
        "links": {"archive": f"{api}/files-archive"},
        "files": rows,
    }
    return f"https://zenodo.org/records/{played.number}", {api: {"json": record}}


def archiveorg(played: PlayedSet) -> Played:
    """An item with its own files beside those of the uploader; sizes are texts."""
    name = f"played-{played.number}"
    rows: list[dict[str, Any]] = [
        {
            "name": file.path,
            "source": "original",
            "size": str(len(file.body)),
            "md5": file.md5,
            "format": "Unknown",
            **({"private": "true"} if file.restricted else {}),
        }
        for file in played.files
    ]
    rows.append({"name": f"{name}_meta.xml", "source": "original", "format": "Metadata"})
    rows.append({"name": "thumb.jpg", "source": "derivative", "size": "5"})
    item = {
        "metadata": {"identifier": name, "mediatype": "data", "title": played.title},
        "item_last_updated": played.version,
        "files": rows,
    }
    return f"https://archive.org/details/{name}", {
        f"https://archive.org/metadata/{name}": {"json": item}
    }


def dryad(played: PlayedSet) -> Played:
    """Two files a page."""
    doi = f"doi:10.5061/dryad.{played.number}"
    files = f"https://datadryad.org/api/v2/versions/{played.number}/files"
    dataset = {
        "_links": {"stash:version": {"href": f"/api/v2/versions/{played.number}"}},
        "versionNumber": played.version,
        "visibility": "restricted" if any(file.restricted for file in played.files) else "public",
    }
    rows = [
        {
            "path": file.path,
            "size": len(file.body),
            "digestType": "md5",
            "digest": file.md5,
            "_links": {"stash:download": {"href": f"/api/v2/files/{number}/download"}},
        }
        for number, file in enumerate(played.files)
    ]
    api = f"https://datadryad.org/api/v2/datasets/{quote(doi, safe='')}"
    answers: Answers = {api: {"json": dataset}}
    pages = _pages(rows, 2)
    for number, page in enumerate(pages, 1):
        more = {"next": {"href": f"/api/v2/versions/{played.number}/files?page={number + 1}"}}
        answers[files if number == 1 else f"{files}?page={number}"] = {
            "json": {
                "_links": more if number < len(pages) else {},
                "_embedded": {"stash:files": page},
            }
        }
    return f"https://datadryad.org/dataset/{doi}", answers


def web(played: PlayedSet) -> Played:
    """A page that links a Data Package; it knows nothing of restricted files."""
    rows = [
        {"path": file.path, "bytes": len(file.body), "hash": f"md5:{file.md5}"}
        for file in played.files
        if not file.restricted
    ]
    url = f"https://lab.example/{played.number}/"
    return url, {f"{url}datapackage.json": {"json": {"resources": rows}}}


PLAYED: dict[str, Callable[[PlayedSet], Played]] = {
    "dataverse": dataverse,
    "figshare": figshare,
    "zenodo": zenodo,
    "archiveorg": archiveorg,
    "dryad": dryad,
    "web": web,
}
