"""Four data platforms with a dataset each, and any other site, served on free ports of loopback."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from lafka.cli.demo.site import DemoAnswer, serving

README = b"What the tables hold, and how they were made.\n"
TABLE = b"year,value\n" + b"".join(b"%d,%d\n" % (year, year % 7) for year in range(1900, 2026))
README_FILE = DemoAnswer(content_type="text/plain", body=README)
TABLE_FILE = DemoAnswer(content_type="text/csv", body=TABLE)

Sites = dict[str, dict[str, DemoAnswer]]
"""Host -> path with query -> answer."""


def _md5(body: bytes) -> str:
    return hashlib.md5(body, usedforsecurity=False).hexdigest()


def _json(value: Any) -> DemoAnswer:
    return DemoAnswer(content_type="application/json", body=json.dumps(value).encode())


def _page(title: str, head: str = "") -> DemoAnswer:
    meta = f'<meta name="citation_title" content="{title}">'
    text = f"<!doctype html><html><head><title>{title}</title>{meta}{head}</head></html>"
    return DemoAnswer(body=text.encode())


def _zenodo(sites: Sites) -> str:
    base, api = "https://zenodo.org", "/api/records/1001"
    rows = [
        {"key": key, "size": len(body), "checksum": f"md5:{_md5(body)}",
         "links": {"self": f"{base}{api}/files/{key}/content"}}
        for key, body in (("README.txt", README), ("data/table.csv", TABLE))
    ]  # fmt: skip
    record = {"id": 1001, "conceptrecid": "1000", "metadata": {"access_right": "open"},
              "files": rows}  # fmt: skip
    sites["zenodo.org"] = {
        "/records/1001": _page("A dataset on Zenodo"),
        api: _json(record),
        f"{api}/files/README.txt/content": README_FILE,
        f"{api}/files/data/table.csv/content": TABLE_FILE,
    }
    return f"{base}/records/1001"


def _figshare(sites: Sites) -> str:
    api = "/v2/articles/1002/versions/1"
    file = {"id": 1, "name": "table.csv", "size": len(TABLE), "computed_md5": _md5(TABLE),
            "download_url": "https://ndownloader.figshare.com/files/1"}  # fmt: skip
    article = {"id": 1002, "version": 1, "is_public": True, "size": len(TABLE), "files": [file]}
    sites["figshare.com"] = {"/articles/dataset/x/1002/1": _page("A dataset on Figshare")}
    sites["api.figshare.com"] = {api: _json(article)}
    sites["ndownloader.figshare.com"] = {"/files/1": TABLE_FILE}
    return "https://figshare.com/articles/dataset/x/1002/1"


def _dataverse(sites: Sites) -> str:
    pid = "doi:10.5072/DEMO/1003"
    api = "/api/datasets/:persistentId/versions/:latest-published"
    rows = [
        {"label": name, "dataFile": {
            "id": number, "persistentId": "", "filename": name, "filesize": len(body),
            "contentType": "text/plain", "checksum": {"type": "MD5", "value": _md5(body)}}}
        for number, (name, body) in enumerate((("README.txt", README), ("table.csv", TABLE)))
    ]  # fmt: skip
    version = {"datasetPersistentId": pid, "versionNumber": 1, "versionMinorNumber": 0,
               "files": rows}  # fmt: skip
    sites["dataverse.example"] = {
        f"/dataset.xhtml?persistentId={pid}": _page("A dataset in a Dataverse"),
        f"{api}?persistentId={pid}": _json({"status": "OK", "data": version}),
        "/api/access/datafile/0": README_FILE,
        "/api/access/datafile/1": TABLE_FILE,
    }
    return f"https://dataverse.example/dataset.xhtml?persistentId={pid}"


def _archiveorg(sites: Sites) -> str:
    files = [
        {"name": name, "source": "original", "size": str(len(body)), "md5": _md5(body)}
        for name, body in (("README.txt", README), ("table.csv", TABLE))
    ]
    item = {"metadata": {"identifier": "demo-1004", "mediatype": "data"},
            "item_last_updated": 1700000000, "files": files}  # fmt: skip
    sites["archive.org"] = {
        "/details/demo-1004": _page("An item on archive.org"),
        "/metadata/demo-1004": _json(item),
        "/download/demo-1004/README.txt": README_FILE,
        "/download/demo-1004/table.csv": TABLE_FILE,
    }
    return "https://archive.org/details/demo-1004"


def _web(sites: Sites) -> str:
    rows = [{"path": "table.csv", "bytes": len(TABLE), "hash": f"md5:{_md5(TABLE)}"}]
    sites["lab.example"] = {
        "/set/": _page("A lab's page", '<link rel="describedby" href="datapackage.json">'),
        "/set/datapackage.json": _json({"resources": rows}),
        "/set/table.csv": TABLE_FILE,
    }
    return "https://lab.example/set/"


PLATFORMS: Mapping[str, Callable[[Sites], str]] = {
    "zenodo": _zenodo,
    "figshare": _figshare,
    "dataverse": _dataverse,
    "archiveorg": _archiveorg,
    "web": _web,
}


@contextmanager
def serving_platforms() -> Iterator[tuple[list[str], dict[str, str]]]:
    """Serve them while the context lasts: landing pages, and a base URL for each host."""
    sites: Sites = {}
    urls = [make(sites) for make in PLATFORMS.values()]
    with ExitStack() as stack:
        bases = {host: stack.enter_context(serving(pages)) for host, pages in sites.items()}
        yield urls, bases
