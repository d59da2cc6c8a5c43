"""Dead letters: messages of which nothing can be made, kept in a file with the reason."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lafka.errors import StorageTrouble
from lafka.storage.folders import sync_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as it came: ``place`` says where from, a line of a file or an offset of a topic."""

    place: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """A message of which nothing can be made, and why."""

    message: Message
    reason: str


def burying(place: Path) -> Callable[[Dead], None]:
    """Return what appends each dead letter, synced, to the file *place*.

    A line of a topic's message has ``topic``, ``partition``, ``offset``, ``base64`` and ``reason``;
    one of a line of a file has ``place``, ``reason``, and the line in base64 as ``data``. The file
    is made when it is needed. ``StorageTrouble``.
    """

    def bury(dead: Dead) -> None:
        line = json.dumps(_letter(dead), ensure_ascii=False) + "\n"
        with StorageTrouble.at(place):
            is_new = not place.exists()
            with place.open("ab", buffering=0) as file:
                file.write(line.encode("utf-8", "backslashreplace"))
                os.fsync(file.fileno())
            if is_new:
                sync_folder(place.parent)

    return bury


_OF_TOPIC = re.compile(r"([A-Za-z0-9._-]+)/([0-9]+)@([0-9]+)")


def _letter(dead: Dead) -> dict[str, Any]:
    """Return the values of the line of *dead*."""
    message, reason = dead.message, dead.reason
    data = base64.b64encode(message.data).decode("ascii")
    if found := _OF_TOPIC.fullmatch(message.place):
        topic, partition, offset = found.groups()
        where = {"topic": topic, "partition": int(partition), "offset": int(offset)}
        return {**where, "base64": data, "reason": reason}
    return {"place": message.place, "reason": reason, "data": data}
