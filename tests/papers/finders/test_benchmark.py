"""benchmarks/finders.py and believed.py on folders of two pages."""

import subprocess
import sys
from pathlib import Path

import pytest

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


def run(*arguments, script="finders.py"):
    command = [sys.executable, ROOT / "benchmarks" / script, *arguments]
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


def test_buttons_tell_of_how_many_pages_each_text_is_believed(tmp_path):
    texts = ("--text", "PDF", "--text", "Floor plan")
    done = run("--splaps", folder(tmp_path), *texts, "--lost", script="buttons.py")
    assert "| PDF | 1 | 100.0% |\n| Floor plan | 1 | 0.0% |" in done.stdout, done.stderr
    assert "\none\t" in done.stdout


TEMPLATES = "".join(
    f"Template-Type: ReDIF-Article 1.0\nTitle: {title}\nHandle: RePEc:abc:wpaper:{n}\n\n"
    for n, title in enumerate(
        (
            "4th Northern Conference of Ice and Rope",
            "The 67th Annual Meeting of the Ice Society",
            "Quiet rivers and effects of monetary policy",
            "Modelling of the current account",
        )
    )
)
SHARED = ROOT.parent / "shared" / "redif"


@pytest.mark.parametrize(
    "given",
    [
        "templates of our own",
        pytest.param(
            "real ones", marks=pytest.mark.skipif(not SHARED.is_dir(), reason="no templates here")
        ),
    ],
)
def test_titles_are_believed_in_every_form_and_buttons_in_none(tmp_path, given):
    (tmp_path / "a.rdf").write_text(TEMPLATES)
    redif = tmp_path if given == "templates of our own" else SHARED
    done = run("--redif", redif, "--titles", "1500", script="titles.py")
    rows = [r.split("|") for r in done.stdout.splitlines() if r.endswith("% |")]
    shares = {row[1].strip(): float(row[3].strip(" %")) for row in rows}
    assert shares.pop("buttons of a site (PDF)") == 0, done.stderr
    assert len(shares) == 5
    assert min(shares.values()) >= 99.5, (shares, done.stderr)


CITED = (
    "<meta name=citation_pdf_url content=/f/5512.pdf><link type=application/pdf href=/f/5512.pdf>"
)


def test_stripped_pages_are_asked_without_what_named_the_pdf(tmp_path):
    docs = tmp_path / "docs.md"
    docs.write_text("<!-- finders-stripped -->\n<!-- /finders-stripped -->\n")
    pages = folder(tmp_path)
    (pages / "pages" / "one.html").write_text(
        f"{CITED}<a href=/x/7>Word</a> and <a href=/f/5512.pdf>Tables</a>"
    )
    done = run("--splaps", pages, "--stripped", "--write", docs)
    assert done.returncode == 0, done.stderr
    rows = {r.split("|")[1].strip(): r for r in done.stdout.splitlines() if r.startswith("|")}
    assert rows["nothing"].startswith("| nothing | 1 | 100.0% | 100.0% | 100.0% | 1.00 | 0 |")
    assert rows["meta"].startswith("| meta | 1 | 100.0% | 100.0% | 100.0% |")
    assert rows["all"].startswith("| all | 1 | 100.0% | 0.0% | 0.0% |")
    assert "taken away" in docs.read_text()


def test_own_pages_are_measured_by_the_verdict_on_top(tmp_path):
    (tmp_path / "p.html").write_text(
        "<!--\nurl: https://x.example/a/5512\nfirst: https://x.example/f/5512.pdf\n-->\n"
        "<a href=/f/5512.pdf>PDF</a>"
    )
    done = run("--own", tmp_path, "--stripped", "--pages")
    assert done.returncode == 0, done.stderr
    assert "| bare | 1 | 100.0% | 100.0% | 100.0% | 1.00 | 0 | 0 | 0 |" in done.stdout


def test_a_benchmark_without_pages_says_so():
    done = run("--stripped")
    assert done.returncode == 2
    assert "say --splaps DIR or --own DIR" in done.stderr


TITLE = "The wages of copyists in the valley of the slow glaciers"


def test_what_is_believed_at_the_end_is_judged_with_made_pdfs(tmp_path):
    pytest.importorskip("pypdfium2")
    (tmp_path / "pages").mkdir()
    (tmp_path / "splaps.tsv").write_text(
        f"{COLUMNS.strip()}\ttitle\n"
        f"one\thttps://x.example/a/5512\tX\ta-href\thttps://x.example/f/1.pdf\t{TITLE}\n"
        "two\thttps://x.example/a/5513\tX\tnone\t\t\n"
    )
    head = f"<title>{TITLE}</title><h1>{TITLE}</h1>"
    (tmp_path / "pages" / "one.html").write_text(f"{head}<p>Text.</p><a href=/f/1.pdf>Press</a>")
    (tmp_path / "pages" / "two.html").write_text(f"{head}<a href=/f/7.pdf>Full text (PDF)</a>")
    done = run("--splaps", tmp_path, script="believed.py")
    assert done.returncode == 0, done.stderr
    *_, row = done.stdout.splitlines()
    without, has = (1, 1, 0), (1, 0, 1)  # pages, called by the page alone, with a look
    assert row == f"| {' | '.join(map(str, (tmp_path.name, *without, *has, 0, 2)))} |"
