"""``lafka fileset``: one ingest to standard output, and reading what is held."""

from __future__ import annotations

import json

import bagit
import pytest
from jsonschema import Draft202012Validator

from tests.crawls.running import ROOT
from tests.filesets.crawls.running import crawl, results
from tests.sites.platforms import played

SCHEMAS = ROOT / "docs" / "schemas"
ID = "fileset:zenodo:zenodo.org:4711"


def schema(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((SCHEMAS / f"{name}.json").read_bytes()))


def test_one_dataset_from_its_url_to_a_bag(tmp_path, site, archive):
    url = site.play("zenodo", played(("a.csv", b"a,b\n"), ("sub/50% Grün.txt", b"text\n")))
    dry = crawl(archive, url, "--dry-run", verb="fileset", **site.settings)
    assert dry.code == 0, dry.log
    told = json.loads(dry.out)
    assert (told["ingest_strategy"], told["file_count"]) == ("web-fileset", 2)
    assert site.file_requests() == []
    done = crawl(archive, url, verb="fileset", **site.settings)
    assert done.code == 0, done.log
    result = json.loads(done.out)
    assert result["status"] == "success"
    schema("ingest-fileset-result").validate(result)
    got = crawl(archive, "--get", ID, "sub/50% Grün.txt", verb="fileset")
    assert (got.code, got.out) == (0, "text\n")
    listed = crawl(archive, "--list", ID, verb="fileset")
    assert [json.loads(line)["path"] for line in listed.out.splitlines()] == [
        "a.csv", "sub/50% Grün.txt"
    ]  # fmt: skip
    bag = tmp_path / "bag"
    assert crawl(archive, "--bag", ID, str(bag), verb="fileset").code == 0
    assert bagit.Bag(str(bag)).validate()
    again = crawl(archive, "--bag", ID, str(bag), verb="fileset")
    assert (again.code, again.log.strip()) == (2, f"lafka fileset: {bag}: not empty")


def test_a_single_file_is_told_twice_and_nothing_held_is_1(site, archive):
    url = site.play("figshare", played(("only.csv", b"1\n")))
    done = crawl(archive, url, verb="fileset", **site.settings)
    assert done.code == 0, done.log
    fileset, file = map(json.loads, done.out.splitlines())
    missing = crawl(archive, "https://zenodo.org/records/9", verb="fileset", **site.settings)
    assert fileset["status"] == "success-file"
    assert file["request"]["ingest_type"] == "dataset-file"
    schema("ingest-fileset-result").validate(fileset)
    schema("ingest-file-result").validate(file)
    assert missing.code == 1
    assert json.loads(missing.out)["status"] == "terminal-bad-status"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "say which dataset: its URL or DOI, one"),
        (("ftp://x/",), "url='ftp://x/': base_url: "),
        (("--strategy", "ia", "http://x.example/"), "strategy='ia' is none; the strategies are "),
        (("--get", ID), "say --get FILESET-ID PATH"),
    ],
)
def test_bad_arguments_are_one_sentence_and_2(tmp_path, arguments, sentence):
    done = crawl(tmp_path / "archive", *arguments, verb="fileset")
    assert done.code == 2
    assert sentence in done.log.splitlines()[-1]
    assert "Traceback" not in done.log


def test_a_crowd_goes_from_standard_input_to_standard_output(site, archive):
    url = site.play("zenodo", played(("a.csv", b"a,b\n"), ("b.csv", b"b\n")))
    request = {"ingest_type": "dataset", "base_url": url, "own": {"kept": [1]}}
    lines = [
        json.dumps(request), url, "not a url", '{"ingest_type": "dataset"', "# comment",
        '{"ingest_type": "video", "base_url": "http://x.example/"}',
        json.dumps({"ingest_type": "dataset", "base_url": f"{url}?x", "max_file_count": 1}),
    ]  # fmt: skip
    site.routes["/records/4711?x"] = site.routes["/records/4711"]
    done = crawl(archive, "-a", "input=-", "-a", "output=-",
                 stdin="\n".join(lines), **site.settings)  # fmt: skip
    assert done.code == 0, done.log
    assert site.file_requests().count("/api/records/4711/files/a.csv/content") == 1
    told = [json.loads(line) for line in done.out.splitlines()]
    assert sorted(one["status"] for one in told) == [
        "bad-request", "bad-request", "not-implemented", "success", "success-existing",
        "too-many-files",
    ]  # fmt: skip
    for one in told:
        if one["status"] != "bad-request":
            schema("ingest-fileset-result").validate(one)
    first = next(one for one in told if "own" in one["request"])
    assert first["request"]["own"] == {"kept": [1]}
    assert results(archive)[0] == told
