"""benchmarks/finders.py on a folder of two pages."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
COLUMNS = "id\tpage_url\tplatform\treach\texpected_fulltext_pdf_urls\n"


def folder(root):
    (root / "pages").mkdir()
    (root / "splaps.tsv").write_text(
        COLUMNS
        + "one\thttps://x.example/a/5512\tX\ta-href\thttp://www.x.example/f/5512.pdf\n"
        + "two\thttps://x.example/a/5513\tX\tnone\t\n"
    )
    (root / "pages" / "one.html").write_text(
        "<a href=/about>About</a><a href=/f/7.pdf>Rules</a><a href=/f/5512.pdf>PDF</a>"
    )
    (root / "pages" / "two.html").write_text("<a href=/about>About</a>")
    return root


def run(*arguments):
    command = [sys.executable, ROOT / "benchmarks" / "finders.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_table_goes_between_the_markers(tmp_path):
    docs = tmp_path / "docs.md"
    docs.write_text("before\n<!-- finders -->\nold\n<!-- /finders -->\nafter\n")
    done = run("--splaps", folder(tmp_path), "--write", docs)
    assert done.returncode == 0, done.stderr
    rows = {r.split("|")[1].strip(" `"): r for r in done.stdout.splitlines() if r.startswith("|")}
    assert "| 0.0% | 0.0% | 0.0% | 100.0% | 100.0% | 100.0% |" in rows["literal"]
    assert "| 100.0% | 100.0% | 100.0% | 100.0% | 100.0% | 100.0% | 0 (0) | 2 |" in rows["ranked"]
    text = docs.read_text()
    assert text.startswith("before\n<!-- finders -->\n2 pages, 1 with a fut")
    assert text.endswith("<!-- /finders -->\nafter\n")
    assert "old" not in text


def test_a_file_without_markers_is_left_alone(tmp_path):
    docs = tmp_path / "docs.md"
    docs.write_text("words\n")
    done = run("--splaps", folder(tmp_path), "--write", docs)
    assert done.returncode == 1
    assert docs.read_text() == "words\n"
