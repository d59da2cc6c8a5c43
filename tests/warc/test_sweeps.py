"""Damaged volumes: no error but the library's own, a bounded amount of reading and of memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from lafka.warc.foreign.arc import ArcVolume
from lafka.warc.format.records import Record
from lafka.warc.reading.volumes import Volume
from lafka.warc.writing.builders import Builder
from tests.warc.arcs import DNS, FILEDESC, FTP, PAGE
from tests.warc.sweeps import CountingSource, bound, samples, sweep

SAMPLES = Path(__file__).parents[2].parent / "shared" / "warc"
DATE = "2020-01-02T03:04:05Z"


def made(folder: Path) -> list[Path]:
    for name in ("a.warc", "a.warc.gz"):
        with Builder(folder / name, gzip=name.endswith("gz")) as builder:
            for number in range(6):
                head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
                block = head + gzip.compress(b"<p>%d</p>" % number * 500, mtime=0)
                url = f"http://a.example/{number}"
                builder.append(Record.response(url, block, date=DATE))
                builder.append(Record.request(url, b"GET / HTTP/1.1\r\n\r\n", date=DATE))
    (folder / "a.arc").write_bytes((FILEDESC + PAGE + DNS + FTP) * 4)
    (folder / "one.arc.gz").write_bytes(gzip.compress((FILEDESC + PAGE + DNS + FTP) * 4, mtime=0))
    return sorted(folder.iterdir())


def test_volumes_of_our_own(tmp_path):
    for path in made(tmp_path):
        for size, count in sweep(path, 60, seed="own"):
            assert count <= bound(size), path.name


@pytest.mark.parametrize(
    ("volume", "record"),
    [
        (ArcVolume, b"http://a/ 1.2.3.4 20140216050221 a/b 999999999\nabc\n"),
        (Volume, b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 99999999\r\n\r\nabc\r\n\r\n"),
        (Volume, b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: x\r\n\r\nabc\r\n\r\n"),
        (Volume, b"WARC/1.0\r\nWARC-Type: a\r\nContent-Length: 3\r\n\r\nabc\r\n\r\njunk\r\n"),
        (ArcVolume, b"http://a/ 1.2.3.4 20140216050221 a/b 3\nabc\njunk\n"),
    ],
)
def test_many_bad_records_cost_no_more_each_than_a_look(volume, record):
    source = CountingSource(record * 2000)
    list(volume(Path("many"), source=source))
    assert source.count < 2000 * 40_000


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")
def test_samples_in_bounded_memory():
    assert samples(SAMPLES)
    run = [sys.executable, str(Path(__file__).with_name("sweeps.py")), str(SAMPLES), "2"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert len(told) == len(samples(SAMPLES))
    assert max(int(line.split()[-2]) for line in told) < 200, told
