"""One sign a hundred thousand times, wherever a page or a PDF's text may have it.

Expressions are tried as the finders try them, through what others call. One that takes the square
of a length hangs for minutes; the child that tries them has a few seconds of CPU for each sign.
"""

import resource
import subprocess
import sys

import pytest

from lafka.papers.finders import Page, describe, find, kind_of
from lafka.papers.finders.inside import Front, Line, Sheet, evidence

LENGTH = 100_000
CPU_SECONDS = 8  # most signs take half of one
SHORT = ("word", "blanks", "dots", "square")
SIGNS = {
    "word": "a", "digits": "1", "blanks": " ", "dots": ".", "words": "a ", "numbers": "1.",
    "round": "(", "square": "[", "pointed": "&lt;", "dashes": "-", "slashes": "/", "lines": "_",
    "equals": "a=1&amp;", "quotes": "&quot;", "percents": "%2", "ideographs": "中",
    "years": "a1999", "numbered": "no. ", "names": "Ada ", "breaks": "\n",
}  # fmt: skip
SLOTS = (
    "<title>{}</title><meta name=citation_title content='{}'><meta name=doi content='{}'>",
    "<title>{}</title><h1>{}</h1><h2>{}</h2><p>{}</p><a href=a.pdf>{}</a>",
    "<title>Grain prices</title><h1>Abstract {}</h1><p>Abstract: not available {}</p>",
    "<a href='{}.pdf'>PDF</a><a href='/article/view/{}'>PDF</a><a href='a.pdf?{}'>PDF</a>",
    "<a href='//arxiv.org/abs/{}'>arXiv</a><a href='//drive.google.com/file/d/{}/view'>a</a>",
    "<a class='{}' title='{}' href=a.pdf>PDF</a><div id='{}'><img alt='{}'></div>",
    "<a onclick='{}' href='javascript:{}'>PDF</a><iframe src='viewer.html?file={}'></iframe>",
    "<script>{}</script><script>var pdf = '/a{}.pdf'; open('{}')</script><!-- {} -->",
    "<script type='application/ld+json'>{\"@type\": \"Article\", \"contentUrl\": \"{}\"}</script>",
    "<li>{} <a href=a.pdf>PDF</a> {}</li>" * 3 + "<tr><td>{}</td><td><a href=b.pdf>PDF</a>",
    "<form action='{}'><input name=pdf value='{}'><button data-href='{}'>PDF</button></form>",
    "<base href='http://x.example/{}/'><a href='www.{}'>{}</a>",
)  # fmt: skip
URLS = (
    "http://x.example/{}",
    "http://x.example/article/view/{}/1?id={}",
    "https://{}/doi/10.1000/{}",
)
CHILD = """
import sys
from tests.papers.finders.test_long_runs import tried
for name in sys.argv[1:]:
    tried(name)
"""


def tried(name):
    """Look at pages and a PDF's text that have the sign *name* in one slot after another."""
    print(name, flush=True)
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + CPU_SECONDS, resource.RLIM_INFINITY))
    run = SIGNS[name] * (LENGTH // len(SIGNS[name]))
    pages = [
        Page("http://x.example/wp/1.html", slots.replace("{}", run).encode(), titles=(run,))
        for slots in SLOTS
    ]
    pages += [
        Page(url.replace("{}", run), b"<a href='/a.pdf'>PDF</a>", aliases=(run,)) for url in URLS
    ]
    for page in pages:
        find(page), kind_of(page), describe(page)
    said = tuple(Line(text=t, height=10) for t in (run, f"Grain ({run}", f"Grain prices, {run}"))
    front = Front(sheets=(Sheet(width=595, height=842, lines=said),), count=9)
    evidence(front, (run, "Grain prices in the Baltic"))


def hangs_at(*names):
    """Return the sign that a child had no CPU left for, nothing where it came to an end."""
    child = subprocess.run(
        [sys.executable, "-c", CHILD, *names], stdout=subprocess.PIPE, text=True, check=False
    )
    return child.stdout.split()[-1] if child.returncode else ""


def test_no_expression_hangs_on_a_long_run():
    assert hangs_at(*SHORT) == ""


@pytest.mark.long("the short suite has four signs")
def test_no_expression_hangs_on_any_long_run():
    assert hangs_at(*(name for name in SIGNS if name not in SHORT)) == ""
