"""The road of a fileset: from a request to files that stand in its WARC, by a real crawl."""

from __future__ import annotations

import subprocess
import sys

from tests.crawls.running import ROOT
from tests.filesets.crawls.running import (
    crawl,
    crawled,
    held,
    payload_bytes,
    requests_file,
    results,
    warcio_check,
)
from tests.sites.platforms import played

FILES = (("a.csv", b"a,b\n1,2\n"), ("sub/b.txt", b"text\n" * 50))


WEB = ("dataverse", "figshare", "zenodo", "dryad", "web")


def test_datasets_are_archived_file_by_file_and_cost_no_request_again(tmp_path, site, archive):
    sets = {name: played(*FILES, number=100 + n) for n, name in enumerate(WEB)}
    urls = [site.play(name, one) for name, one in sets.items()]
    urls[2] = site.doi("10.5281/zenodo.102", urls[2])
    listed = requests_file(tmp_path, *urls)
    run = crawl(archive, "-a", f"input={listed}", LAFKA_PROGRESS_INTERVAL=600, **site.settings)
    assert (run.code, run.troubles()) == (0, []), run.log
    assert " INFO: 5 of 5 lines done, 5 datasets, " in run.log
    [found] = results(archive)
    assert {one["platform_name"]: one["status"] for one in found} == dict.fromkeys(WEB, "success")
    assert all(one["ingest_strategy"] == "web-fileset" for one in found)
    files = held(archive)
    assert len(files) == 2 * len(WEB)
    assert {(path, data) for (_, _, path), data in files.items()} == set(FILES)
    assert len(site.file_requests()) == 2 * len(WEB)
    assert warcio_check(archive) > 6 * len(WEB)
    before = payload_bytes(archive)
    site.forget()
    again = crawl(archive, "-a", f"input={listed}", **site.settings)
    assert (again.code, site.targets()) == (0, []), again.log
    assert {one["status"] for one in results(archive)[1]} == {"success-existing"}
    assert payload_bytes(archive) == before
    assert not list((archive / "fileset" / "raw").iterdir())


def test_a_landing_page_is_told_where_it_stands(tmp_path, site):
    url = site.play("zenodo", played(*FILES))
    doi = site.doi("10.5281/zenodo.4711", url)
    crawled(tmp_path / "archive", site, doi)
    [[result]] = results(tmp_path / "archive")
    assert result["hops"] == [doi, url]
    told = (ROOT / "docs/how-to/read-a-datasets-file-without-lafka.md").read_text()
    code = told.partition("```python\n")[2].partition("```")[0]
    where = (str(tmp_path / "archive"), "fileset:zenodo:zenodo.org:4711", "sub/b.txt")
    read = subprocess.run([sys.executable, "-c", code, *where], capture_output=True, check=True)
    assert read.stdout == dict(FILES)["sub/b.txt"]
    with (tmp_path / "archive" / result["cdx"]["warc_path"]).open("rb") as warc:
        warc.seek(result["cdx"]["warc_offset"])
        record = warc.read(result["cdx"]["warc_csize"])
    assert record.startswith(b"WARC/1.1\r\nWARC-Type: response")
    assert record.endswith(b"data</body></html>\r\n\r\n")
