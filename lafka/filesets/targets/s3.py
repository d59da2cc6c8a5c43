"""Items in a bucket of a store that speaks S3: made on the disk, sent file by file, held against
what was sent, and gone from the disk.

::

    <prefix>/<item name>/.lafka.json   which fileset the item is of; what has none is not Lafka's
    <prefix>/<item name>/files/<path>  a file; its SHA-256 is in the object's metadata
    <prefix>/<item name>/item.json     last of all

Nothing in the bucket is ever written over or removed: every object is put with ``If-None-Match``.
A file of many parts goes on after a kill with the parts that the store has; each part goes with its
MD5. ``boto3`` is imported in here alone; it is the extra ``lafka[s3]``.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, BinaryIO, Self
from urllib.parse import urlsplit

from lafka.errors import BadArgument, Stopped, StorageTrouble
from lafka.filesets.model.bundles import Slice
from lafka.filesets.targets.folder import ItemFolder
from lafka.filesets.targets.item import (
    DESCRIPTION,
    MARKER,
    ForeignItem,
    ItemDescription,
    TargetTrouble,
)
from lafka.storage import drafts
from lafka.warc.format.sources import CHUNK, RangeFile

PART_BYTES = 64 << 20
PARTS_MAX = 10_000
READ_BYTES = 1 << 20
SHA256 = "sha256"
"""Name of the metadata of an object that tells its bytes."""
UPLOAD = ".upload-"
AMAZON = "s3.amazonaws.com"
_THERE = ("PreconditionFailed", "412")
_MISSING = ("404", "NoSuchKey", "NotFound")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
# https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
_CONFIG = {
    "retries": {"mode": "standard", "max_attempts": 5},
    "connect_timeout": 10,
    "read_timeout": 60,
    "request_checksum_calculation": "when_required",  # others than Amazon's know none
    "response_checksum_validation": "when_required",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketPlace:
    """``s3://bucket/prefix`` at an endpoint; ``endpoint`` empty for Amazon's."""

    bucket: str
    prefix: str = ""
    endpoint: str = ""
    region: str = ""

    @classmethod
    def parse(cls, text: str, endpoint: str | None = None, region: str | None = None) -> Self:
        """``BadArgument`` where *text* names no bucket, or keys would go in the clear."""
        bucket, _, prefix = text.removeprefix("s3://").partition("/")
        prefix = prefix.strip("/")
        if not _BUCKET.fullmatch(bucket) or {"", ".", ".."} & set(prefix.split("/")) - {prefix}:
            raise BadArgument(f"LAFKA_ITEMS={text} is no s3://BUCKET/PREFIX")
        parts = urlsplit(endpoint or "")
        if endpoint and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise BadArgument(f"AWS_ENDPOINT_URL={endpoint} is no URL")
        if parts.username or parts.password:
            raise BadArgument("AWS_ENDPOINT_URL names a user; keys stand in LAFKA_TOKENS")
        return cls(bucket=bucket, prefix=prefix, endpoint=endpoint or "", region=region or "")

    @property
    def host(self) -> str:
        return urlsplit(self.endpoint).hostname or AMAZON

    def key(self, item: str, name: str = "") -> str:
        """The key of an object of *item*."""
        return "/".join(filter(None, (self.prefix, item))) + f"/{name}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Keys:
    """The credentials of a store; they have no repr."""

    access_key: str
    secret_key: str


@cache
def library() -> tuple[Any, Any]:
    """Return boto3's sessions and botocore's exceptions; ``BadArgument`` where boto3 is missing."""
    try:
        import boto3  # noqa: PLC0415
        from botocore import exceptions  # noqa: PLC0415
    except ImportError:
        raise BadArgument("items on S3 need boto3: pip install 'lafka[s3]'") from None
    for name in ("boto3", "botocore", "urllib3"):  # at DEBUG they tell every header
        logging.getLogger(name).setLevel(logging.WARNING)
    return boto3.session, exceptions


class S3Target:
    """The items at *place*, made in the folder *work*."""

    def __init__(
        self, place: BucketPlace, keys: Keys, work: Path, *, part_bytes: int = PART_BYTES
    ) -> None:
        self._sessions, _ = library()
        self.at = place
        self.work = work
        self._keys = keys
        self._part_bytes = part_bytes

    @cached_property
    def client(self) -> Any:
        style = "path" if self.at.endpoint else "auto"
        return self._sessions.Session().client(
            "s3",
            aws_access_key_id=self._keys.access_key,
            aws_secret_access_key=self._keys.secret_key,
            region_name=self.at.region or "us-east-1",
            endpoint_url=self.at.endpoint or None,
            config=self._sessions.Config(s3={"addressing_style": style}, **_CONFIG),
        )

    def item(self, description: ItemDescription, fileset_id: str) -> BucketItem:
        return BucketItem(self, description, fileset_id)

    def sizes(self, item: str, names: Iterable[str]) -> Mapping[str, int]:
        wanted, prefix = set(names), self.at.key(item)
        if len(wanted) == 1:
            [name] = wanted
            there = self.head(prefix + name)
            return {name: there["ContentLength"]} if there else {}
        with self.troubles("list"):
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.at.bucket, Prefix=prefix
            )
            found = {
                each["Key"].removeprefix(prefix): each["Size"]
                for page in pages
                for each in page.get("Contents", ())
            }
        return {name: size for name, size in found.items() if name in wanted}

    def opened(self, item: str, name: str) -> BinaryIO:
        key = self.at.key(item, name)
        there = self.head(key)
        if there is None:
            raise FileNotFoundError(f"{self.place(item, name)}: no such object")
        return io.BufferedReader(_Object(self, key, there["ContentLength"]), READ_BYTES)

    def place(self, item: str, name: str) -> str:
        return f"s3://{self.at.bucket}/{self.at.key(item, name)}"

    # ---- Objects

    @contextmanager
    def troubles(self, what: str) -> Iterator[None]:
        """Raise ``TargetTrouble`` for errors of the library, without what was sent."""
        where = f"s3://{self.at.bucket} at {self.at.host}"
        try:
            yield
        except library()[1].ClientError as error:
            raise TargetTrouble(f"{where}: {what}: {code_of(error)}") from None
        except library()[1].BotoCoreError as error:
            raise TargetTrouble(f"{where}: {what}: {type(error).__name__}") from None

    def head(self, key: str) -> Mapping[str, Any] | None:
        """Return what the store says of an object; None where there is none. ``TargetTrouble``."""
        with self.troubles("head"):
            found: Mapping[str, Any] | None = self._unless(_MISSING, "head_object", Key=key)
        return found

    def get(self, key: str) -> bytes | None:
        """A small object; None where there is none. ``TargetTrouble``."""
        with self.troubles("get"):
            found = self._unless(_MISSING, "get_object", Key=key)
            return None if found is None else bytes(found["Body"].read())

    def create(self, key: str, body: bytes | BinaryIO, **more: Any) -> bool:
        """Put an object; False where one is there. ``TargetTrouble``."""
        with self.troubles("put"):
            done = self._unless(_THERE, "put_object", Key=key, Body=body, IfNoneMatch="*", **more)
        return done is not None

    def _unless(self, codes: tuple[str, ...], verb: str, **given: Any) -> Any:
        """Return what the store answers; None where it answers with one of *codes*."""
        try:
            return getattr(self.client, verb)(Bucket=self.at.bucket, **given)
        except library()[1].ClientError as error:
            if code_of(error) not in codes:
                raise
            return None

    def send(self, key: str, path: Path, sha256: str, stopped: Callable[[], bool]) -> bool:
        """Have the file at *path* in the store; False where another has its key.

        What is there is not sent again. ``TargetTrouble``, ``StorageTrouble``, ``Stopped``.
        """
        with StorageTrouble.at(path):
            size = path.stat().st_size
            there = self.head(key)
            if there is None:
                part = max(self._part_bytes, -(-size // PARTS_MAX))
                if size <= part:
                    with path.open("rb") as file:
                        md5 = _md5(file, 0, size)
                        more = {"ContentMD5": md5, "Metadata": {SHA256: sha256}}
                        self.create(key, file, **more)
                else:
                    Upload(self, key, path, sha256, part).run(size, stopped)
                there = self.head(key)
        if there is None:
            raise TargetTrouble(f"{self.at.bucket}/{key}: the store has not what it took")
        return bool(there["ContentLength"] == size and there["Metadata"].get(SHA256) == sha256)


class Upload:
    """The upload of a file in parts of *part* bytes; ``.upload-<name>.json`` beside it tells how
    to go on.
    """

    def __init__(self, target: S3Target, key: str, path: Path, sha256: str, part: int) -> None:
        self._target = target
        self._at = {"Bucket": target.at.bucket, "Key": key}
        self._path = path
        self._sha256 = sha256
        self._part = part
        self._told = upload_note(path)

    def run(self, size: int, stopped: Callable[[], bool]) -> None:
        """Send what the store has not; ``TargetTrouble``, ``OSError``, ``Stopped``."""
        client = self._target.client
        with self._target.troubles("upload"), self._path.open("rb") as file:
            upload, have = self._open_upload()
            parts = []
            for number, start in enumerate(range(0, size, self._part), 1):
                if stopped():
                    raise Stopped(f"{self._path}: not sent, for the crawl stops")
                length = min(self._part, size - start)
                md5 = _md5(file, start, length)
                etag = have.get(number, "")
                if etag.strip('"') != base64.b64decode(md5).hex():
                    etag = client.upload_part(
                        **self._at, UploadId=upload, PartNumber=number, ContentMD5=md5,
                        Body=Slice(file, start, length).buffered(),
                    )["ETag"]  # fmt: skip
                parts.append({"PartNumber": number, "ETag": etag})
            self._complete(upload, parts)
        self._told.unlink()

    def _complete(self, upload: str, parts: list[dict[str, Any]]) -> None:
        try:
            self._target.client.complete_multipart_upload(
                **self._at, UploadId=upload, MultipartUpload={"Parts": parts}, IfNoneMatch="*"
            )
        except library()[1].ClientError as error:
            if code_of(error) not in _THERE:
                raise
            # Another worker's is there: what comes of it the caller sees.
            self._target.client.abort_multipart_upload(**self._at, UploadId=upload)

    def _open_upload(self) -> tuple[str, dict[int, str]]:
        """The upload's id, and the ETags of the parts that the store has of it, by number."""
        wanted = {**self._at, SHA256: self._sha256, "part": self._part}
        known: Any = None
        with suppress(OSError, ValueError):
            known = json.loads(self._told.read_bytes())
        if isinstance(known, dict) and {**wanted, "upload": known.get("upload")} == known:
            with suppress(library()[1].ClientError):  # the store has forgotten it
                pages = self._target.client.get_paginator("list_parts").paginate(
                    **self._at, UploadId=known["upload"]
                )
                parts = [part for page in pages for part in page.get("Parts", ())]
                return known["upload"], {part["PartNumber"]: part["ETag"] for part in parts}
        upload = self._target.client.create_multipart_upload(
            **self._at, Metadata={SHA256: self._sha256}
        )["UploadId"]
        drafts.replace(self._told, [json.dumps({**wanted, "upload": upload}).encode()])
        return str(upload), {}


class BucketItem(ItemFolder):
    """An item whose files are made in the target's work folder and sent to the bucket."""

    is_remote = True

    def __init__(self, target: S3Target, description: ItemDescription, fileset_id: str) -> None:
        super().__init__(target.work, description, fileset_id)
        self._target = target
        self._is_ours = False

    def _key(self, name: str) -> str:
        return self._target.at.key(self.description.identifier, name)

    @property
    def is_described(self) -> bool:
        return self._target.head(self._key(DESCRIPTION)) is not None

    def make(self) -> None:
        if not self._is_ours:
            self._claim()
            self._is_ours = True
        super().make()

    def _claim(self) -> None:
        """Have the item's name in the bucket."""
        marker, where = self._key(MARKER), self._target.place(self.description.identifier, "")
        told = self._target.get(marker)
        if told is None:
            if self._target.head(self._key(DESCRIPTION)) or self._holds_anything():
                raise ForeignItem(f"{where}: an item that is not Lafka's")
            if self._target.create(marker, self.marker_bytes):
                return
            told = self._target.get(marker) or b""
        if told != self.marker_bytes:
            raise ForeignItem(f"{where}: an item of another fileset")

    def _holds_anything(self) -> bool:
        target = self._target
        with target.troubles("list"):
            found = target.client.list_objects_v2(
                Bucket=target.at.bucket, Prefix=self._key(""), MaxKeys=1
            )
        return bool(found.get("KeyCount"))

    def send(self, path: str, sha256: str, stopped: Callable[[], bool]) -> bool:
        """Have the file *path*, which is whole on the disk, in the bucket; False where another is.

        As :meth:`S3Target.send`.
        """
        return self._target.send(self._key(self.name_of(path)), self.final(path), sha256, stopped)

    def sent(self, path: str) -> None:
        """Have the file *path* on the disk no more: it is in the bucket, and noted."""
        with StorageTrouble.at(self.final(path)):
            for each in (self.final(path), upload_note(self.final(path))):
                each.unlink(missing_ok=True)

    def finish(self) -> None:
        """Write ``item.json`` where none is there, and have nothing on the disk any more."""
        self._target.create(self._key(DESCRIPTION), self.description.to_bytes())
        files = self.description.files
        there = self._target.sizes(self.description.identifier, files.values())
        for path, name in files.items():  # what a kill left
            with suppress(OSError):
                if self.final(path).stat().st_size == there.get(name):
                    self.sent(path)
        with StorageTrouble.at(self.path):
            (self.path / MARKER).unlink(missing_ok=True)
        folders = [path for path in self.path.rglob("*") if path.is_dir()]
        for folder in (*sorted(folders, reverse=True), self.path):
            with suppress(OSError):  # what twice was not the file stays
                folder.rmdir()


class _Object(RangeFile):
    """An object of the store, asked for a stretch at a time."""

    def __init__(self, target: S3Target, key: str, size: int) -> None:
        super().__init__(size)
        self._target = target
        self._key = key

    def pread(self, start: int, length: int) -> bytes:
        with self._target.troubles("get"):
            asked = f"bytes={start}-{start + length - 1}"
            found = self._target.client.get_object(
                Bucket=self._target.at.bucket, Key=self._key, Range=asked
            )
            data: bytes = found["Body"].read()
        return data


def upload_note(path: Path) -> Path:
    """The file beside *path* that tells of its upload."""
    return path.with_name(f"{UPLOAD}{path.name}.json")


def code_of(error: Any) -> str:
    """The code of what a store refused with, as AccessDenied."""
    return str(error.response.get("Error", {}).get("Code", "")) or "unknown"


def _md5(file: BinaryIO, start: int, length: int) -> str:
    """Base64 of the MD5 of a stretch of *file*, which then stands where it stood at first."""
    md5 = hashlib.md5(usedforsecurity=False)
    file.seek(start)
    while length and (data := file.read(min(CHUNK, length))):
        md5.update(data)
        length -= len(data)
    file.seek(start)
    return base64.b64encode(md5.digest()).decode()
