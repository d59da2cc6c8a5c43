"""A real Apache Kafka of the tests' own: one process that is broker and controller (KRaft).

Its jars are listed with their digests in ``kafka.jars``; ``make services`` fetches them once into a
cache of the user's. A free loopback port, a folder of its own, its own handle.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
import uuid
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pytest

from lafka.jobs.kafka.consuming import settings
from tests.services.ports import free_port

HOW = "make services fetches Kafka's jars; Java 17: apt install openjdk-17-jre-headless"
JARS = Path(__file__).with_name("kafka.jars")
_READY = 120  # seconds for a busy machine


def listed() -> dict[str, str]:
    """SHA-256 by ``group:artifact:version``."""
    lines = JARS.read_text("utf-8").splitlines()
    return dict(line.split(" ") for line in lines)


def folder() -> Path:
    """Where the jars are kept between runs."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "lafka-services" / "kafka"


def _jar(name: str) -> Path:
    _, artifact, version = name.split(":")
    return folder() / f"{artifact}-{version}.jar"


def _is_whole(path: Path, digest: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


def fetch() -> None:
    """Bring the jars that are missing; ``SystemExit`` where one is not what it should be."""
    from jgo.maven import MavenContext

    folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        maven = MavenContext(repo_cache=Path(place), timeout=60)
        for name, digest in listed().items():
            if _is_whole(_jar(name), digest):
                continue
            found = maven.create_dependency(name).artifact.resolve()
            if not _is_whole(found, digest):
                raise SystemExit(f"{name} is not the one of {JARS.name}")
            draft = _jar(name).with_suffix(f".{os.getpid()}")
            shutil.copyfile(found, draft)
            draft.rename(_jar(name))


def java() -> str | None:
    return shutil.which("java")


@cache
def is_here() -> bool:
    return java() is not None and all(_is_whole(_jar(name), sha) for name, sha in listed().items())


@dataclass
class Kafka:
    """A broker that can be killed and started again over the same data."""

    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="lafka-kafka-")))
    ports: tuple[int, int] = (0, 0)
    process: subprocess.Popen[bytes] | None = None
    advertised: int = 0
    """The port at which clients come, where that is a proxy's."""

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.advertised or self.ports[0]}"

    def make(self) -> None:
        self.ports = free_port(), free_port()
        client, controller = self.ports
        values = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.servers}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            "auto.create.topics.enable": "false",
            "log.dirs": self.folder / "logs",
        }
        text = "".join(f"{name}={value}\n" for name, value in values.items())
        (self.folder / "properties").write_text(text, "utf-8")
        random = b"\0" + uuid.uuid4().bytes[1:]  # its first sign is no "-" then, as an option's is
        name = base64.urlsafe_b64encode(random).decode().rstrip("=")
        tool = ["kafka.tools.StorageTool", "format", "-t", name, "-c"]
        subprocess.run(self._java(*tool), check=True, capture_output=True)

    def _java(self, *args: str) -> list[str | Path]:
        how = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", f"{folder()}/*"]
        return [str(java()), *how, *args, self.folder / "properties"]

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self.folder / "out").open("ab") as out:
            self.process = subprocess.Popen(
                self._java("kafka.Kafka"), stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        from confluent_kafka.admin import AdminClient

        AdminClient({"bootstrap.servers": self.servers, "log_level": 0}).list_topics(timeout=_READY)

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        if self.process and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder)


class Proxy(Protocol):
    """What listens at ``port`` and forwards to the port ``target``."""

    port: int
    target: int


def started(proxy: Proxy | None = None) -> Kafka:
    """A broker that answers, by way of *proxy* if there is one; skips the test, or fails it under
    CI, where there is no Kafka.
    """
    if not is_here():
        told = f"no Kafka here: {HOW}"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    broker = Kafka(advertised=proxy.port if proxy else 0)
    try:
        broker.make()
        if proxy:
            proxy.target = broker.ports[0]
        broker.start()
    except BaseException:
        broker.end()
        raise
    return broker


def take_the_name(kafka: Kafka, topic: str, group: str, name: str) -> None:
    """Join *group* as *name*, until partitions come, and go without a word."""
    from confluent_kafka import Consumer  # the extra may be missing

    other = Consumer(settings(kafka.servers, group, {"group.instance.id": name}))
    is_joined = threading.Event()

    def assigned(consumer: Any, partitions: list[Any]) -> None:
        consumer.incremental_assign(partitions)
        is_joined.set()

    other.subscribe([topic], on_assign=assigned)
    while not is_joined.is_set():
        other.poll(0.2)
    other.close()
