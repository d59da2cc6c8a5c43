"""A child's tasks, some of which stop it."""

from __future__ import annotations

import os
import threading
from typing import Any

from lafka.storage import children


def serve() -> None:
    children.serve(
        {"echo": echo, "die": die, "work": work, "wait": wait, "fill": fill, "chat": chat}
    )


def echo(question: dict[str, Any], data: bytes) -> dict[str, Any]:
    return {"asked": question["text"], "size": len(data), "data": data[-9:].decode()}


def die(question: dict[str, Any], data: bytes) -> None:
    os._exit(7)


def work(question: dict[str, Any], data: bytes) -> None:
    while True:
        pass


def wait(question: dict[str, Any], data: bytes) -> None:
    threading.Event().wait()


def fill(question: dict[str, Any], data: bytes) -> None:
    bytearray(2 * children.MEMORY)


def chat(question: dict[str, Any], data: bytes) -> str:
    """Long, and with words on standard output, which is not for them."""
    print("hello")
    return "x" * 3_000_000
