"""The quick ways through records as nearly all are: none of them is passed over in silence."""

from pathlib import Path

import pytest

from lafka.warc.format import fields
from lafka.warc.format.records import Record
from lafka.warc.reading import checking, framing
from lafka.warc.reading.volumes import WarcVolume
from lafka.warc.writing.builders import Builder

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>Hello"
QUESTION = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.warc"
    with Builder(path) as builder:
        for number in range(9):
            url = f"http://a.example/{number}"
            builder.append(Record.response(url, ANSWER), Record.request(url, QUESTION))
    return path


@pytest.mark.parametrize(
    ("module", "slow"),
    [(framing, "careful"), (fields, "_unfolded"), (checking, "contents")],
)
def test_usual_records_go_the_quick_way(
    path: Path, module: object, slow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError(f"{slow} was called")

    monkeypatch.setattr(module, slow, refused)
    checked = checking.check(WarcVolume(path))
    assert not list(checked)
    assert checked.records == 18
