"""What iteration gives of other people's files can be had again, and its payloads too."""

from pathlib import Path

import pytest

from lafka.warc.foreign import open_volume
from lafka.warc.indexes import attach, build
from lafka.warc.problems import Problem

SAMPLES = Path(__file__).parents[2].parent / "shared" / "warc"
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")


def volumes() -> list[Path]:
    paths = sorted(SAMPLES.iterdir()) if SAMPLES.is_dir() else []
    return [path for path in paths if path.suffix not in (".tsv", ".cdx", ".cdxj")]


@pytest.mark.forms(count=40)
@pytest.mark.parametrize("path", volumes(), ids=lambda path: path.name)
def test_each_record_is_had_again_at_its_offset(path: Path) -> None:
    with open_volume(path) as volume, open_volume(path) as again:
        for record in volume:
            same = again.at(record.offset, record.inner)
            assert same == record
            assert (same.header, same.block_length) == (record.header, record.block_length)
            assert same.fields == record.fields


@pytest.mark.forms(count=40)
@pytest.mark.parametrize("path", volumes(), ids=lambda path: path.name)
def test_each_payload_is_had_and_what_is_wrong_is_data(path: Path) -> None:
    with open_volume(path) as volume:
        for record in volume:
            for decoded in (False, True):
                problems: list[Problem] = []
                size = sum(map(len, record.payload(decoded=decoded, problems=problems)))
                assert size or record.type == "revisit" or not record.block_length or record.http
                assert {problem.offset for problem in problems} <= {record.offset}


@pytest.mark.forms(count=40)
@pytest.mark.parametrize("path", volumes(), ids=lambda path: path.name)
def test_no_index_entry_is_stale(path: Path, tmp_path: Path) -> None:
    build([path], into=tmp_path / "a.sqlite")
    with attach(tmp_path / "a.sqlite") as index, open_volume(path) as volume:
        for entry in index:
            assert volume.at(entry.offset, entry.inner).url == entry.url
