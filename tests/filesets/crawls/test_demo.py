"""``lafka demo --filesets``: one dataset of each platform, offline, to reading a file back."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from lafka.cli.demo.platforms import PLATFORMS, TABLE
from tests import starts
from tests.waiting import LIMIT


def test_the_demo_archives_a_dataset_of_each_platform(tmp_path):
    done = starts.verb("lafka", "demo", "--filesets", timeout=LIMIT, TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    told = re.findall(r"^  (success\S*) +(\S*) +https://", done.stdout, re.MULTILINE)
    assert sorted(status for status, _ in told if _) == ["success"] * 3 + ["success-file"] * 2
    assert len(set(told)) >= 3
    assert len(PLATFORMS) == 5
    place = re.search(r"open\('(.+)', 'rb'\)", done.stdout)
    seek, read = (re.search(rf"warc\.{verb}\((\d+)\)", done.stdout) for verb in ("seek", "read"))
    assert place
    assert seek
    assert read
    with Path(place[1]).open("rb") as warc:
        warc.seek(int(seek[1]))
        assert warc.read(int(read[1])) == TABLE
    shutil.rmtree(tmp_path)
