"""A store that speaks S3, on loopback, in this process: moto's server."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import botocore.session
from moto.server import ThreadedMotoServer

from lafka.filesets.targets.s3 import BucketPlace, Keys, S3Target

ACCESS, SECRET = "AKIALAFKATESTKEY", "s3cret-of-the-store"


class Store:
    """The store at *endpoint*, with a bucket of its own for whoever asks."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.client: Any = boto3.session.Session(
            aws_access_key_id="x", aws_secret_access_key="y", region_name="us-east-1"
        ).client("s3", endpoint_url=endpoint)

    def bucket(self) -> str:
        """A new bucket, empty."""
        name = f"bucket-{uuid.uuid4().hex}"  # moto has one memory for all stores of a process
        self.client.create_bucket(Bucket=name)
        return name

    def keys(self, bucket: str) -> dict[str, int]:
        """Keys of a bucket and their sizes."""
        found = self.client.list_objects_v2(Bucket=bucket).get("Contents", ())
        return {each["Key"]: each["Size"] for each in found}

    def body(self, bucket: str, key: str) -> bytes:
        return bytes(self.client.get_object(Bucket=bucket, Key=key)["Body"].read())

    def put(self, bucket: str, key: str, body: bytes = b"mine") -> None:
        self.client.put_object(Bucket=bucket, Key=key, Body=body)

    def target(self, bucket: str, work: Path, *, part_bytes: int = 5 << 20) -> S3Target:
        place = BucketPlace(bucket=bucket, prefix="a/b", endpoint=self.endpoint)
        keys = Keys(access_key=ACCESS, secret_key=SECRET)
        return S3Target(place, keys, work, part_bytes=part_bytes)

    def settings(self, bucket: str, folder: Path) -> dict[str, Any]:
        """Settings of a crawl that keeps its items in *bucket*; the tokens go into *folder*."""
        tokens = folder / "tokens.json"
        tokens.write_text(json.dumps({"127.0.0.1": {"access_key": ACCESS, "secret_key": SECRET}}))
        tokens.chmod(0o600)
        return {
            "LAFKA_ITEMS": f"s3://{bucket}/a/b",
            "LAFKA_TOKENS": tokens,
            "AWS_ENDPOINT_URL": self.endpoint,
        }


# What services are like is read once, not for each client.
botocore.session.create_loader = cache(botocore.session.create_loader)


@contextmanager
def serving() -> Iterator[Store]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield Store(f"http://{host}:{port}")
    finally:
        server.stop()
