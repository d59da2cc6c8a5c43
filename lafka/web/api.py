"""The same as JSON: ``/api/v1/...``, described by the OpenAPI document at ``/openapi.json``."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from importlib.resources import files
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

import lafka
from lafka.errors import BadArgument
from lafka.index import tables
from lafka.index.search import search
from lafka.web import telling
from lafka.web.answers import as_json, check_asked
from lafka.web.pages import SEARCHED, asked
from lafka.web.site import Site

PREFIX = "/api/"


class Api:
    """Handlers of the API of *site*."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def refused(self, request: Request, status: int, sentence: str) -> Response:  # noqa: ARG002
        return as_json({"status": status, "error": sentence}, status)

    def openapi(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        return as_json(document())

    def paper(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        told = telling.paper(self._site, unquote(found["pid"]))
        value = asdict(told) | {"pid": str(told.pid), "fut": None}
        for version, shown in zip(told.versions, value["versions"], strict=True):
            shown["at"] = self._site.fut_at(told.pid, version.futli, version.time)
        for capture, shown in zip(told.captures, value["captures"], strict=True):
            shown["at"] = self._site.splap_at(told.pid, capture.record)
        if told.versions and not told.withheld:
            value["fut"] = self._site.fut_at(told.pid)
        return as_json(value)

    def suwaf(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        """The bytes of the suwaf."""
        pid = self._site.open_pid(unquote(found["pid"]))
        self._site.suwaf(pid)
        data = self._site.suwaf_bytes(pid)
        return Response(data, media_type="application/json")

    def search(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        with tables.reraising(self._site.index / tables.NAME):
            check_asked(request, SEARCHED)
            return as_json(asdict(search(self._site.db(), asked(request))))

    def runs(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        check_asked(request, ("limit",))
        text = request.query_params.get("limit", "50")
        if not re.fullmatch(r"[1-9][0-9]{0,2}", text):
            raise BadArgument("limit: a number from 1 to 999")
        return as_json({"runs": telling.runs(self._site, int(text))})

    def summary(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        check_asked(request, ())
        return as_json(telling.summary(self._site))


def document() -> dict[str, Any]:
    """The OpenAPI document."""
    text = files("lafka.web").joinpath("openapi.json").read_text("utf-8")
    value: dict[str, Any] = json.loads(text)
    value["info"]["version"] = lafka.__version__
    return value
