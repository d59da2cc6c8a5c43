"""Begins are counted on the disk until something came of them."""

from __future__ import annotations

from pathlib import Path

from lafka.filesets.archive.filesets import Filesets
from lafka.filesets.archive.index import HitIndex
from lafka.filesets.crawling.lines import MOST, Attempts, RequestLine
from lafka.filesets.model.messages import IngestRequest

REQUEST = IngestRequest.of_url("https://x.example/1")
LINE = RequestLine(number=1, request=REQUEST, message="topic/0@7")


def worker(folder: Path) -> Attempts:
    """A new process over the same archive; the one before was killed."""
    return Attempts(HitIndex(Filesets(folder)))


def test_begins_without_an_end_are_counted_over_kills(tmp_path: Path) -> None:
    for before in range(MOST):
        assert worker(tmp_path).begin(LINE, 0) == before
        assert worker(tmp_path).begin(LINE) == before
    last = worker(tmp_path)
    assert last.begin(LINE) == MOST
    assert last.given_up(LINE, REQUEST)["status"] == "gave-up"
    last.end([LINE.message])
    assert worker(tmp_path).begin(LINE) == 0


def test_an_end_and_a_stop_in_order_clear_what_this_worker_began(tmp_path: Path) -> None:
    other = RequestLine(number=2, request=REQUEST, message="topic/1@3")
    first, second = worker(tmp_path), worker(tmp_path)
    first.begin(LINE)
    second.begin(other)
    first.end(["topic/9@9"])
    first.end_all()
    assert (first.begin(LINE, 0), first.begin(other, 0)) == (0, 1)


def test_another_message_at_the_same_place_and_a_line_of_a_file_are_not_counted(
    tmp_path: Path,
) -> None:
    found = worker(tmp_path)
    found.begin(LINE)
    anew = IngestRequest.of_url("https://x.example/2")
    assert found.begin(RequestLine(number=1, request=anew, message=LINE.message), 0) == 0
    of_a_file = RequestLine(number=1, request=REQUEST)
    assert [found.begin(of_a_file) for _ in range(2)] == [0, 0]
