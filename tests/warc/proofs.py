"""What others say of a volume that was written here: warcio, the verifier, the checker."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from lafka.warc.reading.checking import check
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.volumes import Volume
from lafka.witness.reader import StrictReader


def proved(path: Path, *, digests: bool = True) -> list[StoredRecord]:
    """The records of a sound volume, every digest of which warcio has checked too."""
    with Volume(path, strict=True) as volume:
        records = list(volume)
    assert not volume.problems
    errors = {problem.code for problem in check(path) if problem.severity == "error"}
    assert errors <= {"repeated-id"}  # a copy has the id of what it is a copy of
    with path.open("rb") as file:
        found = []
        for record in ArchiveIterator(file, no_record_parse=False, check_digests=digests):
            record.content_stream().read()
            if digests:
                assert record.digest_checker.passed is not False, record.digest_checker.problems
            found.append(record.rec_headers.get_header("WARC-Record-ID"))
    assert found == [record.id for record in records]
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "x.warc"
        if volume.compression:
            with gzip.open(path) as packed, plain.open("wb") as out:
                shutil.copyfileobj(packed, out)
        else:
            plain.symlink_to(path.absolute())
        reader = StrictReader(plain)
        offsets = [record.offset for record in reader]
        assert not [p for p in reader.problems if p.severity == "error"], reader.problems
        assert len(offsets) == len(records)
        if not volume.compression:
            assert offsets == [record.offset for record in records]
    return records
