import gzip
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from lafka.warc.converting.repairing import LOST, RepairResult, repair
from lafka.warc.foreign import open_volume
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import Record
from lafka.warc.reading.volumes import Volume
from lafka.warc.writing.builders import Builder
from tests.warc.proofs import proved

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT.parent / "shared" / "warc"
WARCS = [
    path
    for path in (sorted(SAMPLES.iterdir()) if SAMPLES.is_dir() else [])
    if re.search(r"\.w?arc\b", path.name) and path.stat().st_size < 300_000
]
needs_samples = pytest.mark.skipif(not WARCS, reason="the sample files are not here")


def written(path: Path, *, count: int = 4, size: int = 3000, **how: object) -> bytes:
    info = Fields([("software", "Test/1")])
    with Builder(path, warcinfo=info, **how) as builder:
        for number in range(count):
            block = random.Random(number).randbytes(size)
            url = f"urn:x:{number}"
            builder.append(Record.resource(url, block, content_type="application/pdf"))
    return path.read_bytes()


def plain_records(path: Path) -> list[bytes]:
    with open_volume(path) as volume:
        return [b"".join(record.pieces()) for record in volume]


def kept(repaired: RepairResult, damaged: bytes) -> list[tuple[int, int]]:
    """Where what was kept aside stood, once that was seen to be so."""
    for aside in repaired.asides:
        held = aside.path.read_bytes()[aside.at : aside.at + aside.length]
        assert held == damaged[aside.offset : aside.offset + aside.length]
    return [(aside.offset, aside.length) for aside in repaired.asides]


def test_a_sound_volume_comes_out_as_it_was(tmp_path: Path) -> None:
    for how in ({}, {"gzip": True}):
        source, into = tmp_path / f"a{len(how)}", tmp_path / f"b{len(how)}"
        data = written(source, **how)
        repaired = repair(source, into, **how)
        assert into.read_bytes() == data
        assert repaired == RepairResult(into=into, records=5, asides=(), problems=())
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("how", [{}, {"gzip": True}])
def test_a_torn_tail_is_kept_aside(tmp_path: Path, how: dict) -> None:
    data = written(tmp_path / "whole", **how)
    with Volume(tmp_path / "whole") as volume:
        ends = [0, *(record.end for record in volume)]
    for cut in random.Random(7).sample(range(1, len(data)), 25):
        if how and any(end - 20 < cut < end for end in ends):
            cut -= 20  # all of the record might be there, but for the end of its member
        folder = tmp_path / str(cut)
        folder.mkdir(exist_ok=True)
        (folder / "x.open").write_bytes(data[:cut])
        repaired = repair(folder / "x.open", folder / "x", **how)
        whole = max(end for end in ends if end <= cut)
        # What a record lacks of its last line ends is no loss.
        spared = not how and cut + 4 > min([end for end in ends if end > cut])
        assert (folder / "x.open").read_bytes() == data[:cut]
        if spared:
            assert repaired.asides == ()
            assert data.startswith((folder / "x").read_bytes())
        else:
            assert repaired.records == ends.index(whole)
            assert (repaired.into is not None) == bool(whole)
            if whole:
                assert (folder / "x").read_bytes() == data[:whole]
                proved(folder / "x")
            assert kept(repaired, data[:cut]) == ([(whole, cut - whole)] if cut > whole else [])
            assert all(a.path.name == f"x.torn-{whole}" for a in repaired.asides)


@pytest.mark.parametrize("how", [{}, {"gzip": True}])
def test_garbage_is_kept_aside(tmp_path: Path, how: dict) -> None:
    data = written(tmp_path / "whole", **how)
    with Volume(tmp_path / "whole") as volume:
        first, second, *_ = [record.end for record in volume]
    junk, more = b"junk\0" * 50, b"more junk" * 70
    damaged = data[:first] + junk + data[first:second] + more + data[second:-1000]
    (tmp_path / "x").write_bytes(damaged)
    repaired = repair(tmp_path / "x", tmp_path / "y")
    assert plain_records(tmp_path / "y") == plain_records(tmp_path / "whole")[:-1]
    proved(tmp_path / "y")
    *garbage, torn = kept(repaired, damaged)
    assert garbage == [(first, len(junk)), (second + len(junk), len(more))]
    assert (tmp_path / "y.garbage").read_bytes() == junk + more
    assert (tmp_path / f"y.torn-{torn[0]}").read_bytes() == damaged[torn[0] :]
    assert {"stray-bytes"} < {problem.code for problem in repaired.problems}


def test_a_record_without_the_end_of_its_member_is_whole(tmp_path: Path) -> None:
    data = written(tmp_path / "whole", gzip=True)
    (tmp_path / "x").write_bytes(data[:-6])
    assert repair(tmp_path / "x", tmp_path / "y", gzip=True).records == 5
    assert len(proved(tmp_path / "y")) == 5
    assert (tmp_path / "y").read_bytes() == data


def test_a_torn_single_member_gives_its_records(tmp_path: Path) -> None:
    data = gzip.compress(written(tmp_path / "whole"), mtime=0)[:-3000]
    (tmp_path / "x").write_bytes(data)
    repaired = repair(tmp_path / "x", tmp_path / "y.gz")
    records = plain_records(tmp_path / "whole")
    assert plain_records(tmp_path / "y.gz") == records[: repaired.records]
    assert repaired.records >= 3
    proved(tmp_path / "y.gz")
    assert kept(repaired, data) == [(0, len(data))]
    assert repair(tmp_path / "x", tmp_path / "y", gzip=False).records == repaired.records
    proved(tmp_path / "y")


def test_a_record_whose_digest_is_wrong_is_kept(tmp_path: Path) -> None:
    data = written(tmp_path / "a")
    place = data.index(b"urn:x:2")
    place = data.index(b"\r\n\r\n", place) + 100
    damaged = data[:place] + b"#####" + data[place + 5 :]
    (tmp_path / "x").write_bytes(damaged)
    repaired = repair(tmp_path / "x", tmp_path / "y")
    assert (tmp_path / "y").read_bytes() == damaged
    assert repaired.asides == ()


@pytest.mark.parametrize("how", [{}, {"gzip": True}])
@pytest.mark.parametrize("sent", [{}, {"gzip": True}])
def test_what_a_site_sent_is_no_record(tmp_path: Path, how: dict, sent: dict) -> None:
    """A killed writer was writing a response that is itself a WARC: its records are not ours."""
    written(tmp_path / "sent", **sent)
    forged = (tmp_path / "sent").read_bytes() * 3
    with Builder(tmp_path / "x", **how) as builder:
        for block in (b"one", b"two", random.Random(3).randbytes(500) + forged):
            builder.append(Record.resource("urn:x", block, content_type="a/b"))
    data = (tmp_path / "x").read_bytes()
    with Volume(tmp_path / "x") as volume:
        *_, last = volume
    for cut in (last.offset + last.length // 2, len(data) - 100):
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / "x.open").write_bytes(data[:cut])
        repaired = repair(folder / "x.open", folder / "x", **how)
        assert repaired.records == 2
        assert (folder / "x").read_bytes() == data[: last.offset]
        assert (folder / f"x.torn-{last.offset}").read_bytes() == data[last.offset : cut]
        assert len(list(folder.iterdir())) == 3


def test_nothing_whole_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"no WARC at all")
    repaired = repair(tmp_path / "x", tmp_path / "y")
    assert repaired.into is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y.garbage"]
    (tmp_path / "empty").touch()
    assert repair(tmp_path / "empty", tmp_path / "z").asides == ()


@pytest.mark.parametrize("taken", ["y", "y.new.open"])
def test_nothing_is_overwritten(tmp_path: Path, taken: str) -> None:
    written(tmp_path / "x")
    (tmp_path / taken).write_text("mine")
    with pytest.raises(FileExistsError):
        repair(tmp_path / "x", tmp_path / "y")
    assert (tmp_path / taken).read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", taken]


def test_asides_of_an_earlier_repair_stay(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"junk" + written(tmp_path / "a"))
    for name in ("y.garbage", "y.garbage-1"):
        (tmp_path / name).write_text("mine")
    repaired = repair(tmp_path / "x", tmp_path / "y")
    assert [aside.path.name for aside in repaired.asides] == ["y.garbage-2"]
    assert (tmp_path / "y.garbage").read_text() == "mine"


def test_a_disk_that_refuses_leaves_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(5, "bad")

    (tmp_path / "x").write_bytes(b"junk" + written(tmp_path / "a"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(OSError, match="bad"):
            repair(tmp_path / "x", tmp_path / "y")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "x"]


@needs_samples
@pytest.mark.forms(count=40)
@pytest.mark.parametrize("path", WARCS, ids=lambda path: path.name)
def test_samples_lose_no_record_and_no_byte(tmp_path: Path, path: Path) -> None:
    before, damaged = plain_records(path), path.read_bytes()
    repaired = repair(path, tmp_path / "y")
    assert repaired.records == len(before)
    assert path.read_bytes() == damaged
    kept(repaired, damaged)
    if not before:
        return
    assert plain_records(tmp_path / "y") == before
    with open_volume(tmp_path / "y") as volume:
        assert sum(1 for _ in volume) == len(before)
        assert not [problem for problem in volume.problems if problem.code in LOST]
    with open_volume(path) as volume:
        if volume.compression:
            return
        lengths = sum(len(record.header) + record.block_length for record in volume)
        line_ends = sum(record.trailer for record in volume)
    assert lengths + line_ends + sum(aside.length for aside in repaired.asides) == len(damaged)


WRITER = """
    import os, random, sys
    from lafka.warc.writing.builders import Builder
    from lafka.warc.format.fields import Fields
    from lafka.warc.format.records import Record
    from lafka.warc.format.sources import MemorySource
    folder, gzip = sys.argv[1], sys.argv[2] == "gzip"
    info = Fields([("software", "Test/1")])
    random.seed(5)
    with Builder(folder=folder, warcinfo=info, gzip=gzip, skip_lengths=gzip) as builder:
        for number in range(10**6):
            block = random.randbytes(random.choice([10, 1000, 60_000, 3 << 20]))
            url = f"urn:x:{number}"
            builder.append(
                Record.resource(url, MemorySource(block), content_type="a/b"),
                Record.resource(url, block[:500], content_type="a/b"),
            )
            print(number, flush=True)
"""


@pytest.mark.parametrize("how", ["plain", "gzip"])
@pytest.mark.parametrize("turn", range(5))
@pytest.mark.forms(count=4)
def test_what_a_killed_writer_leaves_is_finished(tmp_path: Path, how: str, turn: int) -> None:
    choice = random.Random(f"{how} {turn}")
    folder = tmp_path / "left"
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(folder), how],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout
    for _ in range(choice.randrange(1, 12)):
        acknowledged = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.communicate()
    [left] = folder.iterdir()
    assert left.name.endswith(".open")
    data = left.read_bytes()
    into = left.with_suffix("")
    repaired = repair(left, into)
    records = proved(into)
    assert repaired.records == len(records) > 2 * (acknowledged + 1)
    assert len(repaired.asides) <= 1
    whole = into.read_bytes()
    torn = b"".join(aside.path.read_bytes() for aside in repaired.asides)
    assert data.startswith(whole[: len(data)])
    assert whole + torn == data or (not torn and whole.startswith(data))
