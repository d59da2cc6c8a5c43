"""Answers are judged by their status, then by their bytes, whatever they are wanted for."""

from dataclasses import replace

import pytest

from lafka.capture.verdicts import Verdict, judge
from lafka.payloads import Payload, inspect
from lafka.warc.format.sources import MemorySource


def answer(kind: bytes | None, status: int = 200, fields: bytes = b"") -> Payload:
    body = {b"pdf": b"%PDF-1.4\n%%EOF", b"html": b"<html>", b"other": b"PK\x03\x04"}.get(
        kind or b"", b""
    )
    head = b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n" % (status, len(body))
    return inspect(MemorySource(head + fields + b"\r\n" + body))


JUDGED = [
    (200, b"pdf", Verdict.PDF),
    (203, b"pdf", Verdict.PDF),
    (200, b"html", Verdict.HTML),
    (201, b"html", Verdict.HTML),
    (200, b"other", Verdict.OTHER_TYPE),
    (200, None, Verdict.OTHER_TYPE),
    (204, None, Verdict.OTHER_TYPE),
    (202, None, Verdict.BOT_CHALLENGE),
    (202, b"html", Verdict.HTML),
    (206, b"pdf", Verdict.REFUSED),
    (301, None, Verdict.BAD_HTTP),
    (304, None, Verdict.BAD_HTTP),
    (400, b"html", Verdict.NOT_FOUND),
    (401, b"html", Verdict.REFUSED),
    (402, b"pdf", Verdict.REFUSED),
    (403, b"pdf", Verdict.REFUSED),
    (404, b"pdf", Verdict.NOT_FOUND),
    (404, b"html", Verdict.NOT_FOUND),
    (407, None, Verdict.REFUSED),
    (410, b"html", Verdict.GONE),
    (429, None, Verdict.REFUSED),
    (451, b"html", Verdict.REFUSED),
    (500, b"html", Verdict.SERVER_ERROR),
    (503, b"pdf", Verdict.SERVER_ERROR),
    (999, b"html", Verdict.BAD_HTTP),
]


@pytest.mark.parametrize(("status", "kind", "verdict"), JUDGED)
def test_an_answer_is_judged_by_status_then_bytes(
    status: int, kind: bytes | None, verdict: Verdict
) -> None:
    assert judge(answer(kind, status)) is verdict


def test_an_answer_that_is_none_is_bad_http() -> None:
    assert judge(None) is Verdict.BAD_HTTP


@pytest.mark.parametrize("kind", [b"pdf", b"html", b"other"])
def test_a_cut_answer_is_truncated_and_a_big_one_too_big(kind: bytes) -> None:
    whole = answer(kind)
    cut = replace(whole, whole=False, trouble="x")
    assert judge(whole, truncated="disconnect") is Verdict.TRUNCATED
    assert judge(cut) is Verdict.TRUNCATED
    assert judge(whole, truncated="length", too_big=True) is Verdict.TOO_BIG
    assert judge(replace(cut, too_big=True)) is Verdict.TOO_BIG
    assert judge(replace(cut, status=404), too_big=True) is Verdict.NOT_FOUND


def test_a_dropped_miss_is_what_it_is() -> None:
    page = replace(answer(b"html"), whole=False, trouble="the body ends 5 bytes early")
    assert judge(page, truncated="length", dropped=True) is Verdict.HTML


def test_a_pdf_without_an_end_is_truncated() -> None:
    assert judge(replace(answer(b"pdf"), ended=False)) is Verdict.TRUNCATED


def test_only_an_answer_that_is_whole_is_one() -> None:
    whole = {Verdict.PDF, Verdict.HTML, Verdict.OTHER_TYPE}
    assert {verdict for verdict in Verdict if verdict.is_whole} == whole


def test_no_verdict_speaks_of_papers() -> None:
    assert not {*map(str, Verdict)} & {"fut", "splap-only", "excluded", "bad-pid", "restricted"}
