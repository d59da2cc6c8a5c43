"""Pages that would keep a server busy: each is shown or refused, and others are answered."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from lafka.errors import BadArgument
from lafka.web.connections import listening_at
from lafka.web.neutral import Cleaners, UncleanPage
from lafka.web.splaps import LONGEST_PAGE
from tests.waiting import LIMIT
from tests.web.served import HOSTILE, PID, filled, serving

SHAPES = {
    "div": b"<div>", "table": b"<table>", "cells": b"<td>", "bold": b"<b>", "links": b"<a>x",
    "both": b"<b><i>", "form": b"<form>", "lists": b"<ul><li>", "select": b"<select>",
    "text": b"word ", "entities": b"&amp;", "open": b"<", "attributes": b"<p title='", "p": b"<p>",
    "comments": b"<!--", "svg": b"<svg><title>", "titles": b"<title>", "template": b"<template>",
    "null": b"\0", "names": b"<x y=z>",
}  # fmt: skip


@pytest.fixture(scope="module")
def cleaners() -> Iterator[Cleaners]:
    made = Cleaners()
    yield made
    made.close()


@pytest.mark.forms(count=3)
@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_is_cleaned_or_refused(cleaners: Cleaners, shape: str) -> None:
    piece = SHAPES[shape]
    data = piece * (LONGEST_PAGE // len(piece))
    try:
        copy = cleaners.clean(data, "utf-8", cut=False)
    except UncleanPage:
        pass
    else:
        assert copy.startswith("<!DOCTYPE html>")
    assert "words" in cleaners.clean(b"<p>words", "utf-8", cut=False)


@pytest.mark.long("twenty clients at every handler for seconds")
def test_others_are_answered_while_such_pages_are_asked_for(tmp_path: Path) -> None:
    store = filled(tmp_path / "archive", hostile=b"<div>" * (1 << 17))
    with (
        serving(store, tmp_path / "withheld", "--workers", "2") as served,
        ThreadPoolExecutor(20) as threads,
        httpx.Client(base_url=served.pages, timeout=LIMIT) as pages,
    ):
        paper = pages.get(f"/api/v1/papers/{quote(HOSTILE, safe='')}").json()
        at = next(one["at"] for one in paper["captures"] if one["kind"] == "html")
        asked = [threads.submit(httpx.get, at, timeout=LIMIT) for _ in range(20)]
        assert pages.get("/healthz").status_code == 200
        assert pages.get(f"/papers/{quote(PID, safe='')}").status_code == 200
        assert not all(one.done() for one in asked)
        found = {one.result().status_code for one in asked}
        assert found <= {200, 503}
        assert found
        retry = [one.result().headers.get("retry-after") for one in asked
                 if one.result().status_code == 503]  # fmt: skip
        assert all(retry)


def test_a_worker_that_dies_is_begun_anew(tmp_path: Path) -> None:
    store = filled(tmp_path / "archive")
    with serving(store, tmp_path / "withheld", "--workers", "2") as served:
        assert httpx.get(f"{served.pages}/healthz").status_code == 200
        tasks = Path(f"/proc/{served.process}/task/{served.process}/children")
        first = tasks.read_text("ascii").split()
        assert first
        for worker in first:
            os.kill(int(worker), signal.SIGKILL)
        transport = httpx.HTTPTransport(retries=8)
        with httpx.Client(transport=transport, timeout=LIMIT) as client:
            assert client.get(f"{served.pages}/healthz").status_code == 200


def test_connections_that_come_at_once_are_dealt_out() -> None:
    with ExitStack() as stack:
        first = stack.enter_context(listening_at("127.0.0.1", 0, shared=True))
        port = first.getsockname()[1]
        sockets = [first, stack.enter_context(listening_at("127.0.0.1", port, shared=True))]
        for _ in range(64):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        for one in sockets:
            one.settimeout(LIMIT)
            stack.enter_context(one.accept()[0])
        with pytest.raises(BadArgument, match="cannot be had"):
            listening_at("127.0.0.1", port)
