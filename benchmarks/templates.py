"""Synthetic RePEc data with the shapes of the real: made anew by each run, of a seed.

Measured on 120 real files: 1.3 KB a template, one or two file clusters, files of 1 to 800
templates; a tenth of the templates has something odd, a quarter of the files is Windows-1252, half
of them end their lines with CR LF.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

_WORDS = """
the of costs and prices in a market we show that firms trade growth policy under with model data
evidence from panel of households wages inflation rate bank exchange tax reform using estimate
effects long run dynamics théorie für education migration entry exit welfare demand supply
"""
WORDS = _WORDS.split()
ODD = (
    "Auhtor-Name: Ana Lima",
    "Lenght: 12 pages",
    "Title : Again",
    "Seen: often",
    "File-URL: available from the author",
    "<<<<<<< HEAD",
    "Note: lost \ufffd",
    "Abstract: goes on\nResults: it does\nand on",
)


def files(size: int, seed: int = 7) -> Iterator[tuple[str, bytes]]:
    """Paths and bytes of files, until *size* bytes are reached."""
    random = Random(seed)
    made = number = 0
    while made < size:
        count = min(int(random.paretovariate(0.7)), 800)
        archive, series = f"a{number % 97:02}", f"s{number:05}"
        end = random.choice(["\n", "\r\n"])
        encoding = random.choice(["utf-8", "utf-8", "utf-8", "cp1252"])
        text = "".join(template(random, archive, series, item) for item in range(count))
        data = text.replace("\n", end).encode(encoding, "replace")
        yield f"RePEc/{archive}/{series}/{number}.rdf", data
        made += len(data)
        number += 1


def template(random: Random, archive: str, series: str, number: int) -> str:
    """One article or paper."""
    kind = random.choice(["Paper", "Article"])
    lines = [f"Template-Type: ReDIF-{kind} 1.0"]
    for _ in range(random.randint(1, 3)):
        lines += [
            f"Author-Name: {_prose(random, 2)}",
            f"Author-Workplace-Name: {_prose(random, 4)}",
        ]
    lines += [f"Title: {_prose(random, 9)}", f"Abstract: {_prose(random, random.randint(20, 220))}"]
    lines += ["Classification-JEL: D24, L11", f"Keywords: {_prose(random, 5)}"]
    if kind == "Article":
        lines += ["Journal: Costs", "Volume: 3", "Issue: 2", "Year: 2012", "Pages: 1-20"]
    else:
        lines += [f"Number: {number}", "Creation-Date: 2012-11", f"Length: {number % 60} pages"]
    for part in range(random.randint(1, 2)):
        lines += [f"File-URL: http://www.{archive}.example/{series}/{number}-{part}.pdf"]
        lines += ["File-Format: application/pdf", "File-Function: Full text"]
    if random.random() < 0.1:
        lines.insert(random.randrange(1, len(lines)), random.choice(ODD))
    return "\n".join([*lines, f"Handle: RePEc:{archive}:{series}:{number}", "", ""])


def _prose(random: Random, words: int) -> str:
    return " ".join(random.choices(WORDS, k=words)).capitalize()
