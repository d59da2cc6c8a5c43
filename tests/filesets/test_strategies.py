"""Strategies, driven from recorded downloads: nothing is kept that was not verified."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lafka.filesets.bundles.unpacking import read_bundle
from lafka.filesets.model.asks import (
    Fetch,
    FetchBundle,
    Fetched,
    Keep,
    Kept,
    SetAside,
)
from lafka.filesets.model.bundles import BundleContents, BundleLimits
from lafka.filesets.model.manifests import Limits, facts_of
from lafka.filesets.model.types import (
    ArchiveStrategyResult,
    FilesetManifestFile,
    FilesetPlatformItem,
    IngestStrategy,
    Status,
)
from lafka.filesets.strategies import STRATEGIES
from lafka.filesets.strategies.strategy import HeldVersion, NoHoldings

WEB_FILE, WEB_FILESET, WEB_BUNDLED, ITEM_FILE, ITEM_FILESET, ITEM_BUNDLED = IngestStrategy
BODIES = {"a.csv": b"1,2\n", "d/b.txt": b"hello", "c": b"third"}
BASE = "https://x.example/f/"


def listed(path: str, **values: Any) -> FilesetManifestFile:
    body = BODIES[path]
    told = {"size": len(body), "md5": hashlib.md5(body).hexdigest(), "platform_url": BASE + path}
    return FilesetManifestFile(path=path, **{**told, **values})


def item_of(*files: FilesetManifestFile, name: str = "figshare", **values: Any) -> Any:
    return FilesetPlatformItem(
        platform_name=name,
        platform_domain="x.example",
        platform_id="7",
        manifest=files,
        archiveorg_item_name="x.example-7-v1",
        extra={"version": "1"},
        **values,
    )


def came(body: bytes, **values: Any) -> Fetched:
    told = {"status": "success", "url": "https://cdn.example/x", "dt": "20261120101112",
            "http_status": 200, "facts": facts_of([body])}  # fmt: skip
    return Fetched(**{**told, **values})


class Site:
    """Answers the wants of a strategy, and remembers them in order."""

    def __init__(self, bodies: dict[str, Any] | None = None, **kept: Any) -> None:
        self.bodies: dict[str, Any] = {**BODIES, **(bodies or {})}
        self.kept = kept
        self.log: list[str] = []
        self.stored: list[Keep] = []
        self.bundle: Callable[[], Fetched] | None = None

    def answer(self, want: Any) -> Any:
        if isinstance(want, FetchBundle):
            self.log.append("bundle")
            assert self.bundle is not None
            return self.bundle()
        if isinstance(want, Fetch):
            self.log.append(f"fetch {want.file.path} <= {want.max_bytes}")
            body = self.bodies[want.file.path]
            body = body.pop(0) if isinstance(body, list) else body
            return body if isinstance(body, Fetched) else came(body)
        if isinstance(want, SetAside):
            self.log.append(f"aside {want.file.path}")
            return None
        assert isinstance(want, Keep)
        self.log.append(f"keep {want.file.path}")
        self.stored.append(want)
        return Kept(**{"status": "success", **self.kept})


def archived(
    strategy: IngestStrategy, item: Any, site: Site, held: Any = None, limits: Any = None
) -> ArchiveStrategyResult:
    made = STRATEGIES[strategy](held or NoHoldings(), limits or Limits())
    steps = made.process(item)
    got = None
    try:
        want = next(steps)
        while True:
            got = site.answer(want)
            want = steps.send(got)
    except StopIteration as end:
        return end.value


class Holding:
    def __init__(self, complete: bool, *files: FilesetManifestFile, result: Any = None) -> None:
        self.held = HeldVersion(
            complete=complete, files={file.path: file for file in files}, result=result
        )

    def version(self, item: FilesetPlatformItem) -> HeldVersion:
        return self.held


def test_there_is_a_strategy_for_each_of_the_six() -> None:
    assert list(STRATEGIES) == list(IngestStrategy)
    assert all(make(NoHoldings()).ingest_strategy == name for name, make in STRATEGIES.items())


def test_each_file_is_fetched_verified_and_kept_one_after_the_other() -> None:
    site = Site(cdx={"url": "u"})
    result = archived(WEB_FILESET, item_of(listed("a.csv"), listed("d/b.txt")), site)
    limit = 64 << 30
    assert site.log == [
        f"fetch a.csv <= {limit}",
        "keep a.csv",
        f"fetch d/b.txt <= {limit - 4}",
        "keep d/b.txt",
    ]
    assert (result.status, result.ingest_strategy) == ("success", "web-fileset")
    assert [file.status for file in result.manifest] == ["success", "success"]
    first = result.manifest[0]
    assert first.sha256 == hashlib.sha256(b"1,2\n").hexdigest()
    assert (first.terminal_url, first.terminal_dt) == ("https://cdn.example/x", "20261120101112")
    assert result.file_file_meta is None


def test_a_single_file_of_the_web_is_told_with_its_capture() -> None:
    site = Site(cdx={"url": "u"}, revisit_cdx={"url": "r"})
    result = archived(WEB_FILE, item_of(listed("a.csv")), site)
    assert result.status == "success-file"
    assert result.file_file_meta is not None
    assert result.file_file_meta["md5hex"] == hashlib.md5(b"1,2\n").hexdigest()
    assert result.file_terminal == {
        "terminal_url": "https://cdn.example/x",
        "terminal_dt": "20261120101112",
        "terminal_status_code": 200,
        "terminal_sha1hex": hashlib.sha1(b"1,2\n").hexdigest(),
    }
    assert (result.file_cdx, result.file_revisit_cdx) == ({"url": "u"}, {"url": "r"})


def test_a_single_file_of_an_item_is_told_with_its_path() -> None:
    result = archived(ITEM_FILE, item_of(listed("a.csv")), Site(path="x.example-7-v1/a.csv"))
    assert result.status == "success-file"
    assert result.file_terminal is not None
    assert result.file_terminal["terminal_url"] == "x.example-7-v1/a.csv"
    assert result.file_cdx is None


def test_a_mismatch_is_fetched_once_more_and_set_aside_the_second_time() -> None:
    site = Site({"a.csv": [b"bad!", b"1,2\n"]})
    assert archived(WEB_FILE, item_of(listed("a.csv")), site).status == "success-file"
    assert site.log[2:] == ["keep a.csv"]

    site = Site({"a.csv": [b"bad!", b"bad!"]})
    result = archived(WEB_FILESET, item_of(listed("a.csv"), listed("c")), site)
    assert [line.split(" <=")[0] for line in site.log] == [
        "fetch a.csv", "fetch a.csv", "aside a.csv", "fetch c", "keep c",
    ]  # fmt: skip
    assert result.status == "mismatch-md5"
    assert [file.status for file in result.manifest] == ["mismatch-md5", "success"]
    assert "a.csv" in (result.message or "")


@pytest.mark.parametrize(
    ("body", "values", "status"),
    [
        (b"12345", {}, "mismatch-size"),
        (b"", {}, "empty-blob"),
        (b"1;2\n", {"md5": None, "sha1": "0" * 40}, "mismatch-sha1"),
        (b"1;2\n", {"md5": None, "sha256": "0" * 64}, "mismatch-sha256"),
        (b"1;2\n", {}, "mismatch-md5"),
        (b"1;2\n", {"md5": None, "extra": {"crc32": "00000000"}}, "mismatch"),
        (b"<html></html>", {"md5": None, "size": None}, "mismatch"),
    ],
)
def test_each_mismatch_has_its_name(body: bytes, values: Any, status: str) -> None:
    site = Site({"a.csv": body})
    result = archived(ITEM_FILE, item_of(listed("a.csv", **values)), site)
    assert result.status == result.manifest[0].status == status
    assert not site.stored


def test_a_content_coding_is_undone_only_where_the_coded_bytes_do_not_match() -> None:
    coded = came(b"gzipped", decoded=facts_of([b"1,2\n"]))
    site = Site({"a.csv": coded})
    assert archived(WEB_FILE, item_of(listed("a.csv")), site).status == "success-file"
    assert site.stored[0].decoded
    assert site.stored[0].file.size == 4
    other = came(b"1,2\n", decoded=facts_of([b"inflated"]))
    site = Site({"a.csv": other})
    assert archived(WEB_FILE, item_of(listed("a.csv")), site).status == "success-file"
    assert not site.stored[0].decoded


@pytest.mark.parametrize("status", ["error-platform-download", "transfer-encoding-error"])
def test_what_did_not_come_has_its_name_and_the_rest_goes_on(status: str) -> None:
    site = Site({"a.csv": Fetched(status=status, trouble="reset by peer")})
    result = archived(WEB_FILESET, item_of(listed("a.csv"), listed("c")), site)
    assert result.status == status
    assert result.message == "'a.csv': reset by peer"
    assert [file.status for file in result.manifest] == [status, "success"]


def test_a_files_own_limit_and_the_whole_ones_have_two_names() -> None:
    site = Site({"a.csv": Fetched(status="too-large-file")})
    files = (listed("a.csv", size=None), listed("c"))
    small = Limits(max_total=100, max_file=10)
    result = archived(WEB_FILESET, item_of(*files), site, limits=small)
    assert [file.status for file in result.manifest] == ["too-large-file", "success"]

    site = Site({"c": Fetched(status="too-large-file")})
    files = (listed("a.csv", size=None), listed("c", size=None), listed("d/b.txt"))
    result = archived(WEB_FILESET, item_of(*files), site, limits=Limits(max_total=6, max_file=10))
    assert [file.status for file in result.manifest] == [
        "success", "too-large-size", "not-processed",
    ]  # fmt: skip
    assert result.status == "too-large-size"
    assert site.log[-1] == "fetch c <= 2"


def test_a_target_that_fails_ends_the_fileset() -> None:
    site = Site(status="error-archiveorg-upload", trouble="no such bucket")
    result = archived(ITEM_FILESET, item_of(listed("a.csv"), listed("c")), site)
    assert result.status == "error-archiveorg-upload"
    assert result.message == "'a.csv': no such bucket"
    assert [file.status for file in result.manifest] == [
        "error-archiveorg-upload", "not-processed",
    ]  # fmt: skip


def test_what_is_held_already_is_not_fetched() -> None:
    site = Site()
    held = Holding(False, listed("a.csv", sha1="1" * 40))
    result = archived(WEB_FILESET, item_of(listed("a.csv"), listed("c")), site, held)
    assert [line.split(" <=")[0] for line in site.log] == ["fetch c", "keep c"]
    assert [file.status for file in result.manifest] == ["exists", "success"]
    assert result.manifest[0].sha1 == "1" * 40
    assert result.status == "success"


def test_a_single_file_that_was_kept_before_a_kill_is_told_whole() -> None:
    body = BODIES["a.csv"]
    former = listed("a.csv", sha1=hashlib.sha1(body).hexdigest(), terminal_url="https://cdn/x")
    result = archived(WEB_FILE, item_of(listed("a.csv")), Site(), Holding(False, former))
    assert result.status == "success-file"
    assert result.file_file_meta is not None
    assert result.file_file_meta["sha1hex"] == former.sha1


def test_restricted_files_are_passed_over_and_the_rest_is_partial() -> None:
    site = Site()
    closed = listed("c", status="restricted")
    result = archived(WEB_FILESET, item_of(listed("a.csv"), closed), site)
    assert result.status == "partial"
    assert [file.status for file in result.manifest] == ["success", "restricted"]
    assert len(site.stored) == 1


def test_a_file_that_nothing_says_anything_of_is_unverified() -> None:
    site = Site()
    result = archived(WEB_FILE, item_of(listed("a.csv", size=None, md5=None)), site)
    assert result.status == "success-file"
    assert result.extra == {"unverified": True}


# Existing ----------------------------------------------------------------------------------


def existing(strategy: IngestStrategy, item: Any, held: Any) -> ArchiveStrategyResult | None:
    return STRATEGIES[strategy](held).check_existing(item)


@pytest.mark.parametrize("strategy", list(IngestStrategy))
def test_a_version_that_is_held_whole_is_existing(strategy: IngestStrategy) -> None:
    result = existing(strategy, item_of(listed("a.csv")), Holding(True, listed("a.csv")))
    assert result is not None
    assert (result.status, result.ingest_strategy) == ("success-existing", strategy)
    assert result.manifest[0].status == "exists"


def test_what_was_told_then_is_told_again() -> None:
    former = ArchiveStrategyResult(
        ingest_strategy="web-file", status="success-file", manifest=(), file_cdx={"url": "u"}
    )
    result = existing(
        WEB_FILE, item_of(listed("a.csv")), Holding(True, listed("a.csv"), result=former)
    )
    assert result is not None
    assert (result.status, result.file_cdx) == ("success-existing", {"url": "u"})


def test_nothing_held_and_a_version_that_was_begun_go_on() -> None:
    item = item_of(listed("a.csv"), listed("c"))
    assert existing(WEB_FILESET, item, NoHoldings()) is None
    assert existing(WEB_FILESET, item, Holding(False, listed("a.csv"))) is None


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("strategy", [WEB_FILESET, ITEM_FILESET])
def test_a_published_version_does_not_change(strategy: Any, complete: bool) -> None:
    held = Holding(complete, listed("a.csv", md5="0" * 32), listed("c"))
    result = existing(strategy, item_of(listed("a.csv"), listed("c")), held)
    assert result is not None
    assert result.status == "mismatch-existing"
    assert [file.status for file in result.manifest] == ["mismatch-existing", None]
    assert "'a.csv'" in (result.message or "")


def test_another_list_of_files_is_a_mismatch_too() -> None:
    result = existing(
        WEB_FILESET, item_of(listed("a.csv"), listed("c")), Holding(True, listed("a.csv"))
    )
    assert result is not None
    assert result.status == "mismatch-existing"


@pytest.mark.parametrize("name", ["web", "archiveorg"])
def test_what_changes_in_place_is_a_new_entry_in_the_warc_but_never_in_an_item(name: str) -> None:
    held = Holding(True, listed("a.csv", md5="0" * 32))
    item = item_of(listed("a.csv"), name=name)
    assert existing(WEB_FILE, item, held) is None
    result = existing(ITEM_FILE, item, held)
    assert result is not None
    assert result.status == "mismatch-existing"


def test_digests_are_compared_where_both_have_them() -> None:
    held = Holding(True, listed("a.csv", md5=None, sha256="1" * 64))
    assert existing(WEB_FILE, item_of(listed("a.csv")), held) is not None


# Bundles -----------------------------------------------------------------------------------


def bundle(files: dict[str, bytes]) -> Callable[[], Fetched]:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    contents = read_bundle(out, BundleLimits.for_files(200, 1 << 30))
    return lambda: came(out.getvalue(), contents=contents)


URL = {"web_bundle_url": "https://x.example/all.zip"}


@pytest.mark.parametrize("strategy", [WEB_BUNDLED, ITEM_BUNDLED])
def test_a_bundle_is_kept_where_every_file_stands_in_it(strategy: IngestStrategy) -> None:
    site = Site(path="" if strategy.is_web else "x.example-7-v1.zip")
    site.bundle = bundle({**BODIES, "MANIFEST.TXT": b"list"})
    item = item_of(*map(listed, BODIES), **URL)
    result = archived(strategy, item, site)
    assert result.status == "success"
    assert [file.status for file in result.manifest] == ["success"] * 3
    assert result.manifest[1].sha256 == hashlib.sha256(b"hello").hexdigest()
    assert result.extra == {"bundle_extra": ["MANIFEST.TXT"]}
    assert site.log == ["bundle", "keep x.example-7-v1.zip"]
    assert set(site.stored[0].members) == set(BODIES)
    assert result.bundle_file_meta is not None
    assert result.bundle_file_meta["mimetype"] == "application/zip"
    assert result.bundle_archiveorg_path == (site.kept["path"] or None)


def test_a_file_that_the_platform_left_out_in_silence_has_a_name() -> None:
    site = Site()
    site.bundle = bundle({"a.csv": BODIES["a.csv"]})
    result = archived(WEB_BUNDLED, item_of(listed("a.csv"), listed("c"), **URL), site)
    assert result.status == "bundle-missing-file"
    assert [file.status for file in result.manifest] == ["success", "bundle-missing-file"]
    assert site.log == ["bundle", "bundle", "aside x.example-7-v1.zip"]


def test_a_member_that_is_not_as_told_has_its_name() -> None:
    site = Site()
    site.bundle = bundle({"a.csv": b"1;2\n"})
    result = archived(WEB_BUNDLED, item_of(listed("a.csv"), **URL), site)
    assert result.status == result.manifest[0].status == "mismatch-md5"


def test_digests_that_the_platform_gives_are_asked_for_of_members() -> None:
    data = BODIES["a.csv"]
    file = listed("a.csv", md5=None, extra={"sha512": hashlib.sha512(data).hexdigest()})
    steps = STRATEGIES[WEB_BUNDLED](NoHoldings()).process(item_of(file, **URL))
    want = next(steps)
    assert isinstance(want, FetchBundle)
    assert want.others == ("sha512",)


def test_a_bundle_that_cannot_be_read_has_a_name() -> None:
    site = Site()
    site.bundle = lambda: came(b"PK", contents=BundleContents(trouble="'a' is encrypted"))
    result = archived(WEB_BUNDLED, item_of(listed("a.csv"), **URL), site)
    assert result.status == "bundle-unreadable"
    assert result.message == "the bundle: 'a' is encrypted"
    assert site.log[-1].startswith("aside")
    unlisted = replace(item_of(**URL), manifest=None)
    assert archived(WEB_BUNDLED, unlisted, site).status == "bundle-unreadable"


def test_a_bundle_that_does_not_come_has_a_name() -> None:
    site = Site()
    site.bundle = lambda: Fetched(status="too-large-file", trouble="over 5 bytes")
    result = archived(WEB_BUNDLED, item_of(listed("a.csv"), **URL), site)
    assert (result.status, result.message) == ("too-large-size", "the bundle: over 5 bytes")
    unlisted = replace(item_of(**URL), manifest=None)
    assert archived(WEB_BUNDLED, unlisted, site).status == "too-large-size"


def test_where_no_files_were_listed_the_members_make_the_manifest() -> None:
    site = Site()
    site.bundle = bundle({**BODIES, "empty": b""})
    result = archived(WEB_BUNDLED, replace(item_of(**URL), manifest=None), site)
    assert result.status == "success"
    assert [file.path for file in result.manifest] == [*BODIES, "empty"]
    assert result.extra == {"from_bundle": True}


@pytest.mark.parametrize(
    ("files", "status"),
    [
        ({"../x": b"1"}, "unsafe-path"),
        ({}, "empty-manifest"),
        ({f"{n}": b"" for n in range(201)}, "too-many-files"),
    ],
)
def test_such_a_manifest_is_held_to_the_same_rules(files: dict[str, bytes], status: str) -> None:
    site = Site()
    site.bundle = bundle(files)
    result = archived(ITEM_BUNDLED, replace(item_of(**URL), manifest=None), site)
    assert result.status == status
    assert not site.stored


def test_a_target_that_refuses_the_bundle_has_a_name() -> None:
    site = Site(status="error-archiveorg-upload", trouble="disk full")
    site.bundle = bundle(BODIES)
    result = archived(ITEM_BUNDLED, item_of(listed("a.csv"), **URL), site)
    assert (result.status, result.message) == ("error-archiveorg-upload", "disk full")


def test_every_status_that_a_strategy_gives_is_one() -> None:
    for strategy in IngestStrategy:
        for status in ("error-platform-download", "transfer-encoding-error", "too-large-file"):
            site = Site({"a.csv": Fetched(status=status)})
            site.bundle = lambda status=status: Fetched(status=status)
            result = archived(strategy, item_of(listed("a.csv"), **URL), site)
            assert result.status in list(Status)
