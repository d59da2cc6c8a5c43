"""Share of real titles that are believed as the text of a link, and of buttons that are refused.

    python benchmarks/titles.py --redif DIR [--titles 1500]

``DIR`` holds ReDIF templates, of which the titles are. Each is the heading of a page with one link,
in five forms. The buttons are those of the tests.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lafka.papers.finders import Page, find

FORMS = {
    "title": "{}",
    "title (PDF)": "{} (PDF)",
    "series and number": "Working Paper No. {number}",
    "Download PDF": "Download PDF",
    "title [pdf]": "{} [pdf]",
}
BUTTONS = Path(__file__).parents[1] / "tests/papers/finders/buttons.txt"


def is_believed(title: str, text: str) -> bool:
    """Whether a link with *text* on the page of a paper called *title* is called the fut."""
    head = f"<title>{escape(title)}</title><h1>{escape(title)}</h1>"
    body = f"{head}<a href=/f/zz.pdf>{escape(text)}</a>".encode()
    page = Page("https://x.example/wp/a.html", body, "text/html; charset=utf-8")
    return find(page)[0].label == "fut"


def titles(folder: Path, most: int) -> list[str]:
    found: dict[str, None] = {}
    for path in sorted(folder.glob("*.rdf")):
        text = path.read_text(encoding="utf-8", errors="replace")
        found.update((" ".join(t.split()), None) for t in re.findall(r"^Title:(.+)$", text, re.M))
    known = [title for title in found if len(title) > 1]
    return known[:: max(1, len(known) // most)][:most]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--redif", type=Path, required=True, help="a folder of *.rdf")
    parser.add_argument("--titles", type=int, default=1500)
    options = parser.parse_args(argv)
    chosen = titles(options.redif, options.titles)
    print("| link | pages | called `fut` |\n| --- | ---: | ---: |")
    for name, form in FORMS.items():
        texts = [(t, form.replace("{number}", str(n)).format(t)) for n, t in enumerate(chosen)]
        refused = [title for title, text in texts if not is_believed(title, text)]
        print(f"| {name} | {len(texts)} | {1 - len(refused) / len(texts):.1%} |")
        print(*refused[:5], sep="\n", file=sys.stderr)
    buttons = BUTTONS.read_text(encoding="utf-8").splitlines()
    believed = [b for b in buttons if is_believed("Slow glaciers and quick rivers", f"{b} (PDF)")]
    share = len(believed) / len(buttons)
    print(f"| buttons of a site (PDF) | {len(buttons)} | {share:.1%} |")


if __name__ == "__main__":
    main()
