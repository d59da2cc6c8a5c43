"""The fileset WARC: wherever a kill left it, what was committed stands and the rest goes on."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lafka.capture.exchanges import Exchange
from lafka.capture.logged import LoggedExchange, Provenance
from lafka.capture.rawlog import RawLog
from lafka.errors import BadSuwaf, BadWarc, ShortWarc, Stopped, StorageTrouble
from lafka.filesets.archive.contents import Role
from lafka.filesets.archive.filesets import Filesets
from lafka.filesets.archive.filesetwarc import FilesetWarc
from lafka.filesets.archive.storing import SMALL, PageCapture, RequestStore
from lafka.filesets.checking.filesets import check_filesets
from lafka.filesets.model.asks import Keep
from lafka.filesets.model.manifests import facts_of, filled
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.types import FilesetManifestFile, FilesetPlatformItem, IngestStrategy

ID = "fileset:zenodo:zenodo.org:1"
URL = "https://zenodo.org/records/1"
TIME = datetime(2026, 11, 20, 10, 11, 12, tzinfo=UTC)
BODIES = {"a.txt": b"first\n" * 9, "b.txt": b"second\n" * 9}
ITEM = FilesetPlatformItem(
    platform_name="zenodo", platform_domain="zenodo.org", platform_id="1", extra={"version": "1"}
)


class Store:
    """A raw log with a page and two files, and an archive to store them in."""

    def __init__(self, folder: Path, logs: Path | None = None) -> None:
        self.log = RawLog((logs or folder) / "raw", "20261120T101112000000Z-host-1", config={})
        self.filesets = Filesets(folder)
        pid = self.filesets.pid(ID)
        self.warc = self.filesets.warc_path(pid)
        self.summary = self.filesets.summary_path(pid)
        self.page = self.logged(URL, b"<title>data</title>")
        self.files = {path: self.logged(f"{URL}/{path}", body) for path, body in BODIES.items()}

    def logged(self, url: str, body: bytes, *fields: bytes) -> LoggedExchange:
        exchange = Exchange(url=url, method="GET")
        exchange.begin(TIME, "127.0.0.1")
        exchange.request = b"GET / HTTP/1.1\r\n\r\n"
        lines = fields or (b"Content-Length: %d" % len(body),)
        exchange.response.append(b"\r\n".join((b"HTTP/1.1 200 OK", *lines, b"", body)))
        exchange.ended = "complete"
        logged = self.log.record(exchange, Provenance(owner=1, fields=(("Role", "file"),)))
        assert logged is not None
        return logged

    def locked(self, fileset: str = ID) -> FilesetWarc:
        warc = self.filesets.locked(fileset)
        assert warc is not None
        return warc

    def storing(self, fileset: str = ID) -> RequestStore:
        pages = [PageCapture(role=Role.SPLAP, exchanges=(self.page,))]
        storing = RequestStore(self.locked(fileset), IngestRequest.of_url(URL), pages,
                          root=self.filesets.root, clock=lambda: TIME)  # fmt: skip
        storing.version(ITEM, IngestStrategy.WEB_FILESET, anew=False)
        return storing

    def keep(
        self, storing: RequestStore, path: str, *, decoded: bool = False, later: bool = False
    ) -> None:
        file = filled(FilesetManifestFile(path=path), facts_of([BODIES[path]]))
        storing.keep(Keep(file=file, decoded=decoded), (self.files[path],), later=later)

    def held(self) -> dict[str, bytes]:
        version = self.filesets.version(ID)[1]
        return {path: b"".join(self.filesets.file(ID, path).pieces()) for path in version.files}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def ended(store: Store, storing: RequestStore) -> None:
    storing.end({"hit": True, "status": "success", "request": {}})
    storing.close()


def test_files_that_are_kept_later_are_committed_together(store: Store) -> None:
    storing = store.storing()
    want = Keep(file=FilesetManifestFile(path="a.txt", size=SMALL))
    assert not storing.may_gather(want)
    store.keep(storing, "a.txt")
    assert storing.may_gather(want)
    assert not storing.may_gather(Keep(file=FilesetManifestFile(path="a.txt", size=SMALL + 1)))
    length, summary = store.warc.stat().st_size, store.summary.read_bytes()
    store.keep(storing, "b.txt", later=True)
    assert storing.is_behind
    assert store.warc.stat().st_size > length
    assert store.summary.read_bytes() == summary
    storing.commit()
    assert not storing.is_behind
    assert store.held() == BODIES
    before = store.summary.stat()
    storing.commit()
    assert os.path.samestat(before, store.summary.stat())
    storing.close()


def test_what_a_kill_leaves_of_files_kept_later_is_rolled_forward(
    store: Store, tmp_path: Path
) -> None:
    storing = store.storing()
    store.keep(storing, "a.txt")
    store.keep(storing, "b.txt", later=True)
    after = Store(tmp_path / "after", logs=tmp_path / "logs")
    shutil.copytree(store.filesets.folder, after.filesets.folder, dirs_exist_ok=True)
    assert after.held() == {"a.txt": BODIES["a.txt"]}
    after.locked().close()
    assert after.held() == BODIES
    assert list(check_filesets(after.filesets.root)) == []
    storing.close()


def test_who_lets_a_fileset_go_commits_what_was_kept_later(store: Store) -> None:
    storing = store.storing()
    store.keep(storing, "a.txt")
    store.keep(storing, "b.txt", later=True)
    storing.close()
    assert store.held() == BODIES
    assert list(check_filesets(store.filesets.root)) == []
    with pytest.raises(Stopped):
        store.keep(storing, "b.txt", later=True)
    storing.commit()


def test_where_the_disk_refuses_to_sync_nothing_of_what_was_kept_later_is_believed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    storing = store.storing()
    store.keep(storing, "a.txt")
    committed = store.warc.read_bytes()
    store.keep(storing, "b.txt", later=True)

    def refuse(_: int) -> None:
        raise OSError(errno.EIO, "no")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", refuse)
        with pytest.raises(StorageTrouble):
            storing.commit()
    assert store.warc.read_bytes() == committed
    storing.close()
    assert store.held() == {"a.txt": BODIES["a.txt"]}
    again = store.storing()
    store.keep(again, "b.txt")
    ended(store, again)
    assert store.held() == BODIES


def test_at_any_cut_what_was_committed_stands_and_the_rest_goes_on(store: Store) -> None:
    storing = store.storing()
    store.keep(storing, "a.txt")
    before, summary = store.warc.read_bytes(), store.summary.read_bytes()
    store.keep(storing, "b.txt")
    after, summary_after = store.warc.read_bytes(), store.summary.read_bytes()
    storing.close()
    for cut in (*range(len(before), len(after), 97), len(after) - 1, len(after)):
        store.warc.write_bytes(after[:cut])
        store.summary.write_bytes(summary)
        store.locked().close()
        assert store.held() == dict(list(BODIES.items())[: 1 + (cut == len(after))])
        again = store.storing()
        if cut < len(after):
            store.keep(again, "b.txt")
        ended(store, again)
        assert store.held() == BODIES
        assert list(check_filesets(store.filesets.root)) == []
        for aside in store.warc.parent.glob("*.torn-*"):
            aside.unlink()
    assert summary_after != summary


def test_two_writers_never_have_one_fileset(store: Store) -> None:
    first = store.locked()
    assert store.filesets.locked(ID) is None
    first.close()
    store.locked().close()
    assert not store.warc.exists()  # nothing was stored, nothing is left
    assert not list(store.warc.parent.iterdir())


@pytest.mark.parametrize(
    ("damage", "error", "sentence"),
    [
        (lambda warc, _: warc.write_bytes(warc.read_bytes()[:-9]), ShortWarc, "its summary knows"),
        (lambda _, summary: summary.write_bytes(b"[]"), BadSuwaf, "not a summary"),
        (lambda warc, _: warc.write_bytes(warc.read_bytes().replace(b"splap", b"spla!", 1)
                                          .replace(b"Target-URI: <", b"Target-URJ: <", 1)
                                          .replace(b"WARC-Date: 2026", b"WARC-Date: 2025", 1)),
         BadWarc, "its record headers are not as they were"),
    ],
)  # fmt: skip
def test_what_is_damaged_is_never_written_to(
    store: Store, damage: Callable[[Path, Path], object], error: type[Exception], sentence: str
) -> None:
    storing = store.storing()
    store.keep(storing, "a.txt")
    ended(store, storing)
    damage(store.warc, store.summary)
    before = store.warc.read_bytes(), store.summary.read_bytes()
    with pytest.raises(error, match=sentence):
        store.filesets.locked(ID)
    assert (store.warc.read_bytes(), store.summary.read_bytes()) == before


def test_a_chunked_file_gets_a_conversion_and_an_unchanged_one_a_revisit(store: Store) -> None:
    body = BODIES["a.txt"]
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    store.files["a.txt"] = store.logged(f"{URL}/a.txt", chunks, b"Transfer-Encoding: chunked")
    storing = store.storing()
    store.keep(storing, "a.txt")
    ended(store, storing)
    assert store.held() == {"a.txt": body}
    size = store.warc.stat().st_size
    store.files["a.txt"] = store.logged(f"{URL}/a.txt", body)
    again = store.storing()
    store.keep(again, "a.txt")
    ended(store, again)
    data = store.warc.read_bytes()
    assert data.count(b"WARC-Type: conversion") == data.count(b"WARC-Type: revisit") == 1
    assert data[size:].count(body) == 0
    before = store.summary.read_bytes()
    assert store.filesets.rebuild(ID).to_bytes() == before
    digest = hashlib.sha256(body).hexdigest()
    assert f"sha256:{digest}".encode() in before


def test_a_folder_named_like_a_feed_ends_no_check(tmp_path: Path) -> None:
    (tmp_path / "runs" / "1.jsonl").mkdir(parents=True)
    manifest = {"path": "a.txt", "sha256": "0" * 64}
    result = {"hit": True, "lafka": {"fileset": ID}, "manifest": [manifest]}
    (tmp_path / "runs" / "2.jsonl").write_text(json.dumps(result) + "\n")
    assert [found.code for found in check_filesets(tmp_path)] == ["result-lost"]
