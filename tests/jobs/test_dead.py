"""Dead letters: each is a line of its own, with the keys that the design of datasets names."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from lafka.jobs.kafka import Message as OnTopic
from lafka.jobs.lines import Message, UnusableMessage, burying

TOPIC = "sandcrawler-dev.ingest-file-requests-daily"


def buried(place: Path, *letters: UnusableMessage) -> list[dict[str, object]]:
    bury = burying(place)
    for letter in letters:
        bury(letter)
    return [json.loads(line) for line in place.read_bytes().splitlines()]


@pytest.mark.parametrize("value", [b"", b"poison \xff\n\0", b'{"base_url": "\xc3\xa9"}' * 9000])
def test_a_letter_of_a_topic_tells_where_it_stands_and_all_that_it_said(
    tmp_path: Path, value: bytes
) -> None:
    read = OnTopic(topic=TOPIC, partition=3, offset=2**40, value=value)
    letter = UnusableMessage(
        message=Message(place=read.place, data=read.value), reason="is no \udcff JSON"
    )
    [told] = buried(tmp_path / "run.dead.jsonl", letter)
    assert list(told) == ["topic", "partition", "offset", "base64", "reason"]
    assert (told["topic"], told["partition"], told["offset"]) == (TOPIC, 3, 2**40)
    assert base64.b64decode(str(told["base64"]), validate=True) == value
    assert told["reason"] == letter.reason


def test_a_letter_of_a_file_tells_its_line_whatever_the_file_is_called(tmp_path: Path) -> None:
    letters = [UnusableMessage(message=Message(place=place, data=b"x"), reason="none")
               for place in ("standard input:2", "results/3@5:7")]  # fmt: skip
    found = buried(tmp_path / "ingest.dead.jsonl", *letters)
    assert [list(told) for told in found] == [["place", "reason", "data"]] * 2
    assert [told["place"] for told in found] == ["standard input:2", "results/3@5:7"]
    assert {told["data"] for told in found} == {"eA=="}
