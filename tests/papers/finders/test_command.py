"""``scrapy finders`` as it is called: a process, its lines, its exit code."""

import json
import sys
from pathlib import Path

import pytest

from tests import starts
from tests.sites.hosts import Answer, hosts

ROOT = Path(__file__).parents[3]
PAGE = b"<a href='/about'>About</a><a href='/f/5512.pdf'>Download PDF</a>"


def finders(*arguments):
    command = [sys.executable, "-m", "scrapy", "finders", *map(str, arguments)]
    return starts.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_file_gives_its_candidates_best_first(tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(PAGE)
    done = finders(path, "--url", "https://journal.example.org/a/5512")
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["url"] == "https://journal.example.org/f/5512.pdf"
    assert first["found_by"] == "anchor"
    assert first["score"] > second["score"]
    assert "says-pdf" in first["reasons"]
    assert (first["place"], first["promising"], first["label"]) == (1, True, "fut")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_url_is_fetched_as_the_settings_allow(tmp_path):
    link = '</f/9>; rel="item"; type="application/pdf"'
    answer = Answer(headers={"Content-Type": "text/html", "Link": link}, body=PAGE)
    with hosts({"/a/5512": answer}) as (host,):
        settings = ["-s", "LAFKA_ALLOWED_NETWORKS=127.0.0.0/8", "-s", f"LAFKA_ARCHIVE={tmp_path}/a"]
        done = finders(f"{host.url}/a/5512", *settings)
        refused = finders(f"{host.url}/a/5512")
    urls = [json.loads(line)["url"] for line in done.stdout.splitlines()]
    assert urls[:2] == [f"{host.url}/f/9", f"{host.url}/f/5512.pdf"]
    assert done.returncode == 0
    assert not (tmp_path / "a").exists()
    assert (refused.returncode, refused.stdout) == (2, "")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("page.html",),
        ("no-such-file", "--url", "http://x.example/"),
        ("page.html", "--url", "ftp://x.example/"),
        ("--no-such-option",),
        ("http://127.0.0.1/", "more"),
    ],
)
def test_wrong_input_is_one_sentence_and_code_2(arguments):
    done = finders(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("scrapy finders: ")


def test_explain_says_first_what_kind_of_page_it_is(tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(PAGE)
    done = finders(path, "--url", "https://journal.example.org/search?q=ice", "--explain")
    first, second, *_ = map(json.loads, done.stdout.splitlines())
    assert first == {"kind": "search", "end": "splap", "reason": ""}
    assert (second["label"], second["promising"]) == ("other", False)
    assert 0 <= second["probability"] <= 1
