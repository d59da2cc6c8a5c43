"""Items in a bucket: sent once, held against what was sent, never over what is there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lafka.errors import BadArgument, Stopped
from lafka.filesets.targets.folder import PartFile
from lafka.filesets.targets.item import ForeignItem, ItemDescription, TargetTrouble
from lafka.filesets.targets.s3 import BucketItem, BucketPlace, Keys, S3Target
from tests.services.stores import SECRET, Store, serving

PART = 5 << 20
"""The least that a store takes for a part."""
BIG = hashlib.sha512(b"big").digest() * (PART * 2 // 64 + 100)
FILESET = "fileset:x:y:1"


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with serving() as served:
        yield served


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def item(target: S3Target, fileset_id: str = FILESET, **files: bytes) -> BucketItem:
    """An item whose *files* are whole on the disk."""
    named = {name: f"files/{name}" for name in files}
    made = target.item(ItemDescription(identifier="an-item", files=named), fileset_id)
    made.make()
    for name, data in files.items():
        part = PartFile(made.final(name))
        part.take_up("https://x.example/")
        part.write(data)
        assert part.keep()
    return made


def never() -> bool:
    return False


class Calls:
    """The verbs that a target's client is asked for, in order; *kill* ends the asking.

    What is sent of a file is never bytes in memory.
    """

    def __init__(self, target: S3Target, kill: Callable[[list[str]], bool] = lambda _: False):
        self.verbs: list[str] = []
        events = target.client.meta.events

        def heard(model: Any, params: Any, **_: Any) -> None:
            self.verbs.append(model.name)
            assert model.name != "UploadPart" or not isinstance(params["body"], bytes)
            if kill(self.verbs):
                raise KeyboardInterrupt

        events.register("before-call.s3", heard)


def test_an_item_is_sent_and_gone_from_the_disk(store: Store, tmp_path: Path) -> None:
    bucket = store.bucket()
    target = store.target(bucket, tmp_path / "work", part_bytes=PART)
    made = item(target, small=b"small", big=BIG, empty=b"")
    assert not made.is_described
    for name, data in (("small", b"small"), ("big", BIG), ("empty", b"")):
        assert made.send(name, sha256(data), never)
        made.sent(name)
    made.finish()
    assert made.is_described
    assert not made.path.exists()
    assert store.keys(bucket) == {
        "a/b/an-item/.lafka.json": len(made.marker_bytes),
        "a/b/an-item/files/big": len(BIG),
        "a/b/an-item/files/small": 5,
        "a/b/an-item/files/empty": 0,
        "a/b/an-item/item.json": len(made.description.to_bytes()),
    }
    assert store.body(bucket, "a/b/an-item/files/big") == BIG
    told = store.client.head_object(Bucket=bucket, Key="a/b/an-item/files/big")
    assert told["Metadata"] == {"sha256": sha256(BIG)}
    names = ["files/big", "files/small", "files/none"]
    assert target.sizes("an-item", names) == {"files/big": len(BIG), "files/small": 5}
    assert target.sizes("an-item", ["files/none"]) == {}
    with target.opened("an-item", "files/big") as file:
        file.seek(PART - 3)
        assert file.read(7) == BIG[PART - 3 : PART + 4]
        file.seek(-5, 2)
        assert file.read() == BIG[-5:]
    with pytest.raises(FileNotFoundError):
        target.opened("an-item", "files/none")


def test_what_the_store_has_is_not_sent_again(store: Store, tmp_path: Path) -> None:
    bucket = store.bucket()
    made = item(store.target(bucket, tmp_path / "one"), small=b"small")
    assert made.send("small", sha256(b"small"), never)
    target = store.target(bucket, tmp_path / "two")
    again = item(target, small=b"small")
    calls = Calls(target)
    assert again.send("small", sha256(b"small"), never)
    assert calls.verbs == ["HeadObject"]


@pytest.mark.parametrize("data", [b"other", b"others", BIG], ids=["same size", "size", "parts"])
def test_other_content_under_a_key_is_never_written_over(
    store: Store, tmp_path: Path, data: bytes
) -> None:
    bucket = store.bucket()
    made = item(store.target(bucket, tmp_path, part_bytes=PART), file=data)
    store.put(bucket, "a/b/an-item/files/file", b"mine!")
    assert not made.send("file", sha256(data), never)
    assert store.body(bucket, "a/b/an-item/files/file") == b"mine!"
    assert made.final("file").read_bytes() == data


@pytest.mark.parametrize("data", [b"mine?", BIG], ids=["put", "parts"])
def test_of_two_workers_that_send_at_once_the_second_writes_nothing(
    store: Store, tmp_path: Path, data: bytes
) -> None:
    bucket = store.bucket()
    target = store.target(bucket, tmp_path, part_bytes=PART)
    made = item(target, file=data)

    def other(model: Any, **_: Any) -> None:
        if model.name in ("PutObject", "CompleteMultipartUpload"):
            store.put(bucket, "a/b/an-item/files/file", b"other")

    target.client.meta.events.register("before-call.s3", other)
    assert not made.send("file", sha256(data), never)
    assert store.body(bucket, "a/b/an-item/files/file") == b"other"
    assert not store.client.list_multipart_uploads(Bucket=bucket).get("Uploads")


def test_an_item_that_is_not_ours_is_left_alone(store: Store, tmp_path: Path) -> None:
    bucket = store.bucket()
    store.put(bucket, "a/b/an-item/files/file")
    with pytest.raises(ForeignItem, match="an item that is not Lafka's"):
        item(store.target(bucket, tmp_path))
    other = store.bucket()
    item(store.target(other, tmp_path / "one"))
    with pytest.raises(ForeignItem, match="an item of another fileset"):
        item(store.target(other, tmp_path / "two"), "fileset:x:y:2")
    item(store.target(other, tmp_path / "three"))
    assert list(store.keys(bucket)) == ["a/b/an-item/files/file"]
    assert list(store.keys(other)) == ["a/b/an-item/.lafka.json"]


@pytest.mark.parametrize("nth", range(1, 4))
def test_a_kill_at_any_part_goes_on_with_the_next(store: Store, tmp_path: Path, nth: int) -> None:
    bucket = store.bucket()
    target = store.target(bucket, tmp_path, part_bytes=PART)
    made = item(target, big=BIG)
    Calls(target, lambda verbs: verbs.count("UploadPart") == nth)
    with pytest.raises(KeyboardInterrupt):
        made.send("big", sha256(BIG), never)
    target = store.target(bucket, tmp_path, part_bytes=PART)
    again = target.item(made.description, FILESET)
    calls = Calls(target)
    assert again.send("big", sha256(BIG), never)
    assert calls.verbs.count("UploadPart") == 3 - (nth - 1)
    assert store.body(bucket, "a/b/an-item/files/big") == BIG
    again.finish()
    assert not again.path.exists()


def test_an_upload_that_the_store_forgot_begins_anew(store: Store, tmp_path: Path) -> None:
    bucket = store.bucket()
    target = store.target(bucket, tmp_path, part_bytes=PART)
    made = item(target, big=BIG)
    Calls(target, lambda verbs: verbs.count("UploadPart") == 2)
    with pytest.raises(KeyboardInterrupt):
        made.send("big", sha256(BIG), never)
    for upload in store.client.list_multipart_uploads(Bucket=bucket)["Uploads"]:
        store.client.abort_multipart_upload(
            Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"]
        )
    target = store.target(bucket, tmp_path, part_bytes=PART)
    assert target.item(made.description, FILESET).send("big", sha256(BIG), never)
    assert store.body(bucket, "a/b/an-item/files/big") == BIG


def test_a_crawl_that_stops_is_not_waited_for(store: Store, tmp_path: Path) -> None:
    target = store.target(store.bucket(), tmp_path, part_bytes=PART)
    made = item(target, big=BIG)
    with pytest.raises(Stopped):
        made.send("big", sha256(BIG), lambda: True)


def test_a_store_that_refuses_is_told_without_its_keys(store: Store, tmp_path: Path) -> None:
    keys = Keys(access_key="AKIA", secret_key=SECRET)
    place = BucketPlace(bucket="none-such", endpoint=store.endpoint)
    with pytest.raises(TargetTrouble, match="NoSuchBucket") as raised:
        item(S3Target(place, keys, tmp_path))
    away = S3Target(BucketPlace(bucket="none-such", endpoint="http://127.0.0.1:9"), keys, tmp_path)
    away.client.meta.config.retries["total_max_attempts"] = 1
    with pytest.raises(TargetTrouble, match="EndpointConnectionError"):
        item(away)
    assert SECRET not in f"{raised.value}{keys!r}{raised.value.__dict__}"


@pytest.mark.parametrize(
    ("text", "endpoint", "sentence"),
    [
        ("s3://", None, "is no s3://BUCKET/PREFIX"),
        ("s3://Upper/x", None, "is no s3://BUCKET/PREFIX"),
        ("s3://bucket/a/../b", None, "is no s3://BUCKET/PREFIX"),
        ("s3://bucket/a//b", None, "is no s3://BUCKET/PREFIX"),
        ("s3://bucket", "ftp://x", "is no URL"),
        ("s3://bucket", "https://me:secret@x", "keys stand in LAFKA_TOKENS"),
    ],
)
def test_a_place_that_is_none_is_refused(text: str, endpoint: str | None, sentence: str) -> None:
    with pytest.raises(BadArgument, match=sentence) as raised:
        BucketPlace.parse(text, endpoint)
    assert "secret" not in str(raised.value)


def test_a_place_names_its_keys() -> None:
    place = BucketPlace.parse("s3://bucket/a/b/", "https://S3.example:9000", "eu-west-1")
    assert (place.host, place.key("item", "files/x")) == ("s3.example", "a/b/item/files/x")
    assert BucketPlace.parse("s3://bucket").key("item", "item.json") == "item/item.json"
    assert BucketPlace.parse("s3://bucket").host == "s3.amazonaws.com"
