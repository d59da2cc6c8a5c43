"""A file's bytes against what its platform says of them."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.filesets.bundles.sniffing import Sniffer
from lafka.filesets.model.statuses import FileStatus
from lafka.filesets.model.types import OTHER_DIGESTS, FilesetManifestFile
from lafka.filesets.model.verification import (
    SNIFFED,
    compare,
    facts_of,
    filled,
    held_again,
    is_unverified,
    mimetype_of,
)

DATA = b"station,mm\nA,12\n"
PAGE = b"<!DOCTYPE html><html><title>Sign in</title></html>"
ALL = FilesetManifestFile(
    path="rain.csv",
    size=len(DATA),
    md5=hashlib.md5(DATA).hexdigest(),
    sha1=hashlib.sha1(DATA).hexdigest(),
    sha256=hashlib.sha256(DATA).hexdigest(),
    extra={"sha512": hashlib.sha512(DATA).hexdigest(), "crc32": f"{zlib.crc32(DATA):08x}"},
)
FACTS = facts_of([DATA], OTHER_DIGESTS)


@given(st.lists(st.binary(max_size=200), max_size=6))
def test_all_digests_come_of_one_pass_however_it_is_cut(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    facts = facts_of(iter(pieces), OTHER_DIGESTS)
    assert facts.size == len(whole)
    assert facts.prefix == whole[:SNIFFED]
    for name, value in facts.digests.items():
        if name == "crc32":
            assert value == f"{zlib.crc32(whole):08x}"
        else:
            assert value == hashlib.new(name, whole).hexdigest()
    assert set(facts.digests) == {"md5", "sha1", "sha256", *OTHER_DIGESTS}


def test_the_first_64_kib_are_kept_whatever_the_size() -> None:
    facts = facts_of([b"ab" * 50_000, b"c" * 10])
    assert len(facts.prefix) == SNIFFED
    assert facts.size == 100_010


def test_bytes_as_promised_are_a_success() -> None:
    assert compare(ALL, FACTS) is FileStatus.SUCCESS
    assert compare(FilesetManifestFile(path="x"), FACTS) is FileStatus.SUCCESS


OTHER = "0" * 64


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"size": 15, "sha1": OTHER[:40], "md5": OTHER[:32]}, "mismatch-size"),
        ({"sha1": OTHER[:40], "sha256": OTHER, "md5": OTHER[:32]}, "mismatch-sha1"),
        ({"sha256": OTHER, "md5": OTHER[:32]}, "mismatch-sha256"),
        ({"md5": OTHER[:32], "extra": {"sha512": OTHER * 2}}, "mismatch-md5"),
        ({"extra": {"sha512": OTHER * 2}}, "mismatch"),
        ({"extra": {"crc32": OTHER[:8]}}, "mismatch"),
    ],
)
def test_mismatches_are_told_in_their_order(values: dict[str, Any], status: str) -> None:
    assert compare(replace(ALL, **values), FACTS) == status


def test_a_digest_that_nobody_computed_is_no_success() -> None:
    assert compare(ALL, facts_of([DATA])) is FileStatus.MISMATCH


@pytest.mark.parametrize(
    ("size", "status"), [(0, "success"), (None, "empty-blob"), (5, "empty-blob")]
)
def test_an_empty_body_is_legal_where_it_was_promised(size: int | None, status: str) -> None:
    assert compare(FilesetManifestFile(path="x", size=size), facts_of([])) == status


def test_an_empty_body_of_another_digest_is_a_mismatch() -> None:
    file = FilesetManifestFile(path="x", size=0, md5=OTHER[:32])
    assert compare(file, facts_of([])) is FileStatus.MISMATCH_MD5


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({}, "mismatch"),
        ({"mimetype": "text/csv"}, "mismatch"),
        ({"mimetype": "text/html; charset=utf-8"}, "success"),
        ({"path": "index.html"}, "success"),
        ({"size": len(PAGE)}, "mismatch"),
        ({"md5": hashlib.md5(PAGE).hexdigest()}, "success"),
    ],
)
def test_a_page_where_none_was_promised_is_a_mismatch(values: Any, status: str) -> None:
    assert compare(FilesetManifestFile(**{"path": "a.csv", **values}), facts_of([PAGE])) == status


def test_digests_are_filled_in_where_the_manifest_had_none() -> None:
    file = FilesetManifestFile(path="rain.csv", md5=ALL.md5, mimetype="text/tab-separated-values")
    good = filled(file, replace(FACTS, mimetype="text/csv"))
    assert (good.size, good.md5, good.sha1, good.sha256) == (16, ALL.md5, ALL.sha1, ALL.sha256)
    assert good.mimetype == "text/csv"
    assert good.extra == {"platform_mimetype": "text/tab-separated-values"}


def test_what_could_be_held_against_nothing_says_so() -> None:
    assert is_unverified(FilesetManifestFile(path="x", extra={"bad_digest": "MD5:abc"}))
    assert filled(FilesetManifestFile(path="x"), FACTS).extra == {"unverified": True}
    assert filled(FilesetManifestFile(path="x", size=16), FACTS).extra is None


@pytest.mark.parametrize(
    ("stated", "shown", "told"),
    [
        ("text/csv", "application/pdf", "application/pdf"),
        ("text/csv", "text/plain", "text/csv"),
        ("application/x-stata", "application/octet-stream", "application/x-stata"),
        ("application/vnd.ms-excel", "application/zip", "application/vnd.ms-excel"),
        ("image/svg+xml", "application/xml", "image/svg+xml"),
        (None, "text/plain", "text/plain"),
        ("text/csv", "", "text/csv"),
        (None, "", "application/octet-stream"),
    ],
)
def test_the_type_that_is_told(stated: str | None, shown: str, told: str) -> None:
    assert mimetype_of(stated, shown) == told


@pytest.mark.parametrize(
    ("prefix", "shown"),
    [
        (b"", ""),
        (b"%PDF-1.4\n%\xe2\xe3\n1 0 obj\n", "application/pdf"),
        (b'<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><head/></html>',
         "application/xhtml+xml"),
        (b'<?xml version="1.0"?>\n<article article-type="x"><front/></article>',
         "application/jats+xml"),
        (b'<?xml version="1.0"?>\n<data/>', "text/xml"),
    ],
)  # fmt: skip
def test_bytes_show_their_type(prefix: bytes, shown: str) -> None:
    assert Sniffer().sniffed(prefix) == shown


def test_file_meta_has_the_names_of_the_result() -> None:
    assert FACTS.file_meta() == {
        "size_bytes": 16,
        "md5hex": ALL.md5,
        "sha1hex": ALL.sha1,
        "sha256hex": ALL.sha256,
        "mimetype": "application/octet-stream",
    }


def test_digests_of_big_pieces_are_those_of_all_bytes() -> None:
    big = bytes(range(256)) * 2048
    facts = facts_of([big, b"small", big], ["sha512"])
    for name in ("md5", "sha1", "sha256", "sha512"):
        assert facts.digests[name] == hashlib.new(name, big + b"small" + big).hexdigest()


@pytest.mark.parametrize(
    "file",
    [
        FilesetManifestFile(path="x", mimetype="text/plain", platform_url="https://a.example/x",
                            extra={"id": "7"}),
        FilesetManifestFile(path="x", size=16, mimetype="text/csv"),
        FilesetManifestFile(path="x"),
    ],
)  # fmt: skip
def test_what_is_held_is_told_as_when_it_was_fetched(file: FilesetManifestFile) -> None:
    facts = replace(FACTS, mimetype="text/csv")
    fetched = replace(filled(file, facts), status="exists")
    held = replace(fetched, platform_url=None, extra=None)  # as much as a summary has
    assert held_again(file, held) == fetched
