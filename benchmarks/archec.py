"""ArchEc: reading ReDIF, against one regular expression that finds three fields in it.

Peers: the expression in Python and in Perl, where it is there, and the reader of the PyPI package
``repec`` where it is installed (``pip install --no-deps repec==0.0.1rc3``).
"""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from benchmarks import templates
from benchmarks.tables import markdown
from lafka.archec import redif

ROUNDS = 5
GOAL = 0.25
FIELDS = r"^(Template-Type|Handle|File-URL)[ \t]*:[ \t]*(.*)$"
EXPRESSION = re.compile(FIELDS.encode(), re.MULTILINE | re.IGNORECASE)
OURS = "`redif.read`, all fields and problems"
PEER = "one compiled expression, three fields"
PERL = """
use strict; my $data = do { local $/; open my $f, '<:raw', $ARGV[0] or die; <$f> };
my ($begun) = times; my ($templates, $urls) = (0, 0);
while ($data =~ /^(Template-Type|Handle|File-URL)[ \\t]*:[ \\t]*(.*)$/mig) {
    my $name = lc $1; $templates++ if $name eq 'template-type'; $urls++ if $name eq 'file-url';
}
my ($ended) = times; printf "%f %d %d", $ended - $begun, $templates, $urls;
"""

Found = tuple[int, int]
"""Templates and File-URLs."""
Timed = tuple[float, Found]
"""Seconds of CPU, and what was found."""
Files = list[tuple[str, bytes]]


def table(*, quick: bool = False) -> str:
    files = list(templates.files(3_000_000 if quick else 30_000_000))
    size = sum(len(data) for _, data in files)
    timed: dict[str, list[Timed]] = {name: [] for name in ways()}
    for _ in range(ROUNDS):
        for name, way in ways().items():
            timed[name].append(way(files))
    speeds = {name: size / 1e6 / median(time for time, _ in all_) for name, all_ in timed.items()}
    found = {name: all_[0][1] for name, all_ in timed.items()}
    rows = [
        [name, f"{speed:.0f}", f"{speed / speeds[PEER]:.2f}", *map(str, found[name])]
        for name, speed in speeds.items()
    ]
    every = all(found[OURS][part] >= other[part] for other in found.values() for part in (0, 1))
    reached = "holds" if speeds[OURS] >= GOAL * speeds[PEER] else "falls short"
    return markdown(
        ("reading ReDIF", "MB a second", "/ expression", "templates", "File-URLs"),
        rows,
        f"{size / 1e6:.0f} MB of synthetic data in {len(files)} files (benchmarks/templates.py), in"
        f" memory; CPU of one core, median of {ROUNDS} interleaved rounds.",
        f"{OURS} at {GOAL} or more of the expression: {reached}. Every template and File-URL that"
        f" the peers find is found: {'holds' if every else 'falls short'}.",
    )


def ways() -> dict[str, Callable[[Files], Timed]]:
    """Each way to read, if its program is here."""
    found: dict[str, Callable[[Files], Timed]] = {OURS: _timed(_ours), PEER: _timed(_expression)}
    if shutil.which("perl"):
        found["the same expression in Perl"] = _perl
    if find_spec("repec"):
        found["the reader of `repec`"] = _timed(_repec)
    return found


def _timed(way: Callable[[Files], Found]) -> Callable[[Files], Timed]:
    def measured(files: Files) -> Timed:
        begun = time.process_time()
        found = way(files)
        return time.process_time() - begun, found

    return measured


def _ours(files: Files) -> Found:
    count = urls = 0
    for path, data in files:
        for template in redif.read(data, path):
            count += 1
            urls += len(template.all("File-URL"))
    return count, urls


def _expression(files: Files) -> Found:
    found: dict[bytes, int] = {}
    for _, data in files:
        for match in EXPRESSION.finditer(data):
            name, value = match[1].lower(), match[2]
            found[name] = found.get(name, 0) + (value is not None)
    return found.get(b"template-type", 0), found.get(b"file-url", 0)


def _repec(files: Files) -> Found:
    reader = importlib.import_module("repec.redif")
    count = urls = 0
    for _, data in files:
        for record in reader.load(reader.decode(data)):
            count += 1
            urls += sum("url" in file for file in reader.collect(record)["file"])
    return count, urls


def _perl(files: Files) -> Timed:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data"
        path.write_bytes(b"".join(data for _, data in files))
        done = subprocess.run(
            ["perl", "-e", PERL, str(path)], capture_output=True, text=True, check=True
        )
    seconds, count, urls = done.stdout.split()
    return float(seconds), (int(count), int(urls))
