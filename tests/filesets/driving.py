"""Drives helpers and strategies from recorded answers, without any network.

A case of ``tests/filesets/platforms/<platform>/`` is a JSON file: ``request`` and ``resource``, the
``answers`` by URL, and what is ``expected``: the item, or the status of the error.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lafka.filesets.model.asks import Answer, Ask, Asking, Resource
from lafka.filesets.model.manifests import judge
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.pages import HtmlBiblio, read_page
from lafka.filesets.model.types import FilesetPlatformItem, PlatformError
from lafka.filesets.platforms import helpers, matches
from lafka.warc.format.fields import Fields

CASES = Path(__file__).parent / "platforms"


def answer_of(url: str, value: dict[str, Any]) -> Answer:
    """A recorded answer: its ``json``, ``text`` or nothing."""
    text = value["text"] if "text" in value else json.dumps(value.get("json"))
    return Answer(
        status=value.get("status", 200),
        url=value.get("url", url),
        body=text.encode(),
        trouble=value.get("trouble", ""),
        too_long=value.get("too_long", False),
    )


def driven(
    steps: Asking, answers: dict[str, dict[str, Any]]
) -> tuple[FilesetPlatformItem, list[str]]:
    """The item that *steps* end with, and the URLs that were asked for; each has to be recorded."""
    asked = []
    try:
        want = next(steps)
        while True:
            assert isinstance(want, Ask)
            asked.append(want.url)
            want = steps.send(answer_of(want.url, answers[want.url]))
    except StopIteration as end:
        return end.value, asked


def resource_of(value: dict[str, Any]) -> Resource:
    headers = Fields(value.get("headers", {"Content-Type": "text/html"}))
    body = value.get("body", "").encode()
    return Resource(
        url=value["url"],
        hops=tuple(value.get("hops", [value["url"]])),
        headers=headers,
        body=body,
        size=value.get("size", len(body)),
        dt=value.get("dt", "20261120101112"),
    )


def biblio_of(resource: Resource) -> HtmlBiblio:
    links = resource.headers.all("Link")
    return read_page(resource.url, resource.body, resource.headers.first("Content-Type"), links)


def outcome(case: dict[str, Any]) -> dict[str, Any]:
    """What comes of a case, as its ``expected`` has it."""
    request = IngestRequest.of_json(case["request"])
    resource = resource_of(case["resource"])
    biblio = biblio_of(resource)
    helper = next(matches(helpers(), request, resource, biblio), None)
    if helper is None:
        return {"status": "no-platform-match"}
    try:
        item, asked = driven(helper.process_request(request, resource, biblio), case["answers"])
        judged = judge(item.manifest or ())
        found = {"item": item.as_json(), "asked": asked}
        if judged.status is not None:
            return {**found, "status": judged.status}
        return {**found, "strategy": helper.chose_strategy(item)}
    except PlatformError as error:
        files = [] if error.item is None or error.item.manifest is None else error.item.manifest
        told = {"status": error.status, "message": str(error), "platform": helper.platform_name}
        if files:
            told["files"] = {file.path: file.status for file in files}
        return told
