"""Inputs: every line gets its request or a sentence, and the rest goes on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import BadList
from lafka.filesets.crawling.lines import LineCount, request_line, request_lines
from lafka.filesets.model.messages import LONGEST_REQUEST

GOOD = '{"ingest_type": "dataset", "base_url": "https://x.example/1"}'


def told(path: Path) -> list[tuple[int, str]]:
    return [(line.number, line.trouble or (line.request.url if line.request else ""))
            for line in request_lines(str(path))]  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
def test_each_line_has_its_request_or_a_sentence(tmp_path: Path, packed: bool) -> None:
    long = '{"base_url": "' + "x" * LONGEST_REQUEST + '"}'
    lines = [
        "\ufeff" + GOOD, "", "# a comment", "10.5281/zenodo.1", '{"ingest_type": "dataset"',
        long, '{"ingest_type": "dataset"}', "ftp://x.example/", GOOD + "\r",
    ]  # fmt: skip
    data = "\n".join(lines).encode() + b"\n\xff\xfe\n"
    path = tmp_path / "requests"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert told(path) == [
        (1, "https://x.example/1"), (4, "https://doi.org/10.5281/zenodo.1"),
        (5, "the request is not JSON"), (6, f"a request of over {LONGEST_REQUEST} bytes"),
        (7, "base_url is missing or is no text"), (8, told(path)[5][1]),
        (9, "https://x.example/1"), (10, "the request is not UTF-8"),
    ]  # fmt: skip
    count = LineCount()
    assert (count.total, count.loaded) == (None, False)
    count.load(str(path))
    assert (count.total, count.loaded) == (8, True)


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(f"{GOOD}\n".encode() * 1000)[:60])
    with pytest.raises(BadList, match=r"cut\.gz: "):
        list(request_lines(str(cut)))
    with pytest.raises(BadList, match="Is a directory"):
        list(request_lines(str(tmp_path)))
    for path in (cut, tmp_path):
        count = LineCount()
        count.load(str(path))
        assert (count.total, count.loaded) == (None, False)


@given(data=st.one_of(st.binary(max_size=200), st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=9)),
    lambda inner: st.dictionaries(st.sampled_from(["base_url", "ingest_type", "x"]), inner),
    max_leaves=9,
).map(lambda value: json.dumps(value).encode())))  # fmt: skip
def test_no_line_ever_raises(data: bytes) -> None:
    line = request_line(1, data)
    assert (line.request is None) == bool(line.trouble)
