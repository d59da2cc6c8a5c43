import bz2
import gzip
import sys
from pathlib import Path

import pytest

from lafka.warc.converting.repairing import recompress
from lafka.warc.errors import BadValue, BadWarc
from lafka.warc.reading.volumes import Volume
from tests.warc.converting.test_repairing import plain_records, written
from tests.warc.proofs import proved

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKED = {
    "plain": bytes,
    "one member": gzip.compress,
    "bzip2": bz2.compress,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("packed", PACKED)
def test_records_come_out_as_they_were(tmp_path: Path, packed: str) -> None:
    data = written(tmp_path / "plain")
    (tmp_path / "x").write_bytes(PACKED[packed](data))
    made = recompress(tmp_path / "x", tmp_path / "y.gz")
    assert (made.records, made.into) == (5, tmp_path / "y.gz")
    records = proved(tmp_path / "y.gz")
    assert all(record.alone for record in records)
    assert plain_records(tmp_path / "y.gz") == plain_records(tmp_path / "plain")
    recompress(tmp_path / "y.gz", tmp_path / "z", gzip=False)
    assert (tmp_path / "z").read_bytes() == data


def test_a_level_and_lengths_are_given_to_members_too(tmp_path: Path) -> None:
    written(tmp_path / "x", gzip=True)
    recompress(tmp_path / "x", tmp_path / "stored", level=0, gzip=True)
    recompress(tmp_path / "stored", tmp_path / "sl", skip_lengths=True, gzip=True)
    assert (tmp_path / "sl").read_bytes()[12:14] == b"sl"
    sizes = [(tmp_path / name).stat().st_size for name in ("x", "stored", "sl")]
    assert sizes[1] > sizes[0]
    assert sizes[2] == sizes[0] + 5 * 14
    for name in ("stored", "sl"):
        proved(tmp_path / name)
    with pytest.raises(BadValue):
        recompress(tmp_path / "x", tmp_path / "y.gz", level=10)


def test_a_damaged_volume_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    data = written(tmp_path / "a")
    with Volume(tmp_path / "a") as volume:
        end = next(iter(volume)).end
    for damaged in (data[:-100], data[:end] + b"junk" + data[end:], b"junk" + data):
        (tmp_path / "x").write_bytes(damaged)
        with pytest.raises(BadWarc, match="repair it first"):
            recompress(tmp_path / "x", tmp_path / "y")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "x"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    written(tmp_path / "x")
    (tmp_path / "y").write_text("mine")
    with pytest.raises(FileExistsError):
        recompress(tmp_path / "x", tmp_path / "y")
    assert (tmp_path / "y").read_text() == "mine"


def test_an_arc_stays_an_arc(tmp_path: Path) -> None:
    line = b"filedesc://x.arc 0.0.0.0 20261120101112 text/plain 76\n"
    body = b"1 0 Test\nURL IP-address Archive-date Content-type Archive-length\n"
    line = line.replace(b"76", str(len(body)).encode())
    page = b"http://x.example/ 192.0.2.1 20261120101112 text/plain 5\nhello\n"
    (tmp_path / "x.arc").write_bytes(line + body + b"\n" + page)
    recompress(tmp_path / "x.arc", tmp_path / "x.arc.gz")
    recompress(tmp_path / "x.arc.gz", tmp_path / "y.arc", gzip=False)
    assert (tmp_path / "y.arc").read_bytes() == (tmp_path / "x.arc").read_bytes()


def test_problems_of_what_was_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(written(tmp_path / "plain")))
    assert [p.code for p in recompress(tmp_path / "x", tmp_path / "y").problems] == ["one-member"]
    with Volume(tmp_path / "y", strict=True) as volume:
        assert sum(1 for _ in volume) == 5
