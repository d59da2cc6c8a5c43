"""The API is what its OpenAPI document says, whatever schemathesis asks it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from lafka.index.rows import STATES
from lafka.web.api import document
from tests.web.served import PID, UGLY, WITHHELD, Served

EXAMPLES = 40
CHECKS = [content_type_conformance, response_headers_conformance, response_schema_conformance,
          status_code_conformance]  # fmt: skip
PATHS = tuple(document()["paths"])
ASKED = tuple(path for path in PATHS if document()["paths"][path]["get"]["parameters"])
PAPERS = tuple(path for path in PATHS if "{pid}" in path)
API = schemathesis.openapi.from_dict(document())


def drawn(served: Served, path: str, mode: GenerationMode, **given_parts: Any) -> None:
    """Ask *path* what schemathesis draws; every answer is one that the document tells of."""
    strategy = API[path]["GET"].as_strategy(generation_mode=mode, **given_parts)

    @given(case=strategy)
    @settings(
        max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck),
        phases=set(Phase) - {Phase.shrink, Phase.explain},  # each try asks a server
    )  # fmt: skip
    def holds(case: Any) -> None:
        answer = case.call(base_url=served.pages)
        assert answer.status_code < 500, answer.text
        case.validate_response(answer, checks=CHECKS)

    holds()


@pytest.mark.forms(count=2)
@pytest.mark.parametrize("path", PATHS)
def test_what_the_document_allows_is_answered_as_it_says(served: Served, path: str) -> None:
    drawn(served, path, GenerationMode.POSITIVE)


@pytest.mark.forms(count=2)
@pytest.mark.parametrize("path", ASKED)
def test_what_the_document_forbids_is_answered_as_it_says(served: Served, path: str) -> None:
    drawn(served, path, GenerationMode.NEGATIVE)


@pytest.mark.parametrize("pid", [PID, UGLY, WITHHELD])
@pytest.mark.parametrize("path", PAPERS)
def test_papers_that_are_there_are_told_as_it_says(served: Served, path: str, pid: str) -> None:
    case = API[path]["GET"].Case(path_parameters={"pid": pid})
    answer = httpx.get(served.pages + path.replace("{pid}", quote(pid, safe="")))
    is_kept_back = pid == WITHHELD and path.endswith("suwaf")
    assert answer.status_code == (451 if is_kept_back else 200)
    case.validate_response(answer, checks=CHECKS)


@pytest.mark.parametrize("path", ["search?bogus=1", "search?limit=5", "runs?x=", "summary?q=a",
                                  "search?q=a&q=b"])  # fmt: skip
def test_a_parameter_that_is_not_heeded_is_refused(served: Served, path: str) -> None:
    answer = httpx.get(f"{served.pages}/api/v1/{path}")
    assert answer.status_code == 400
    assert "no parameter, " in answer.text or "given twice" in answer.text


def test_states_are_those_of_the_index() -> None:
    told = document()
    schemas = told["components"]["schemas"]
    assert schemas["Asks"]["properties"]["state"]["enum"] == list(STATES)
    assert schemas["FoundPaper"]["properties"]["states"]["items"]["enum"] == list(STATES)
    asked = {one["name"]: one["schema"] for one in
             told["paths"]["/api/v1/search"]["get"]["parameters"]}  # fmt: skip
    assert asked["state"]["enum"] == ["", *STATES]


@pytest.mark.parametrize(
    "query",
    ["q=RePEc:abc:&after=[%22%5Cud800%22,1]", "q=abc&after=[1e999]", "q=abc&after=[" + "9" * 5000,
     "q=abc&after=" + "[" * 9000, "q=abc&after=[true]", "state=gone", "q=%00", "q=..."],
)  # fmt: skip
def test_what_makes_no_sense_is_400(served: Served, query: str) -> None:
    answer = httpx.get(f"{served.pages}/api/v1/search?{query}")
    assert (answer.status_code, answer.json()["status"]) == (400, 400), answer.text


@pytest.mark.parametrize(
    "query", ["q=abc%00", "q=%ED%A0%80abc", "host=%00", "archive=%00", "q=http://%00",
              "q=RePEc:abc:%00", "q=abc&after=[" + "9" * 400 + ",-0.5," + "9" * 400 + "]"],
)  # fmt: skip
def test_what_is_odd_is_looked_for(served: Served, query: str) -> None:
    answer = httpx.get(f"{served.pages}/api/v1/search?{query}")
    assert answer.status_code == 200, answer.text
