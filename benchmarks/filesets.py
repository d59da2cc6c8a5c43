"""Filesets: how fast and how big, each against its peers in the same run.

    python benchmarks/filesets.py [ROW...] [--small] [--rounds N] [--scale F] [--write]

ROW is one of ``ROWS``, all of them by default. ``--scale`` makes sizes and counts smaller,
``--small`` much smaller, to try it out. ``--write`` puts each row's table into docs/benchmarks.md,
with machine, load and date. All runs in a network that has loopback only (``unshare``); needs
nginx, wget, unzip, for ``kafka`` and ``persist`` what ``make services`` brings, and fetches its
peers once from PyPI.
"""

from __future__ import annotations

import argparse
import compileall
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # Python has put this file's own folder there

from benchmarks import (  # noqa: E402  they stand below ROOT
    fileset_checks,
    fileset_downloads,
    fileset_jobs,
    fileset_peers,
    fileset_site,
    runs,
    tables,
)
from benchmarks.fileset_rows import Bench  # noqa: E402

ROWS: dict[str, Callable[[Bench], str]] = {
    "huge": fileset_downloads.huge,
    "records": fileset_downloads.records,
    "small": fileset_downloads.small,
    "items": fileset_downloads.items,
    "resume": fileset_downloads.resume,
    "zeros": fileset_downloads.zeros,
    "kafka": fileset_jobs.existing,
    "persist": fileset_jobs.persist,
    "verify": fileset_checks.verify,
    "bundle": fileset_checks.bundle,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure filesets against their peers.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--small", action="store_true", help="to try it out")
    parser.add_argument("--scale", type=float, default=1.0, help="of all of the work")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md too")
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder")
    args = parser.parse_args()
    if wrong := set(args.rows) - set(ROWS):
        parser.error(f"no such row: {', '.join(sorted(wrong))}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # servers and folders go, too
    fileset_peers.make()
    fileset_site.alone([sys.executable, *sys.argv])
    compileall.compile_dir(runs.ROOT / "lafka", quiet=1)
    with TemporaryDirectory(prefix="lafka-benchmark-", dir=args.folder) as name:
        fileset_site.settle(Path(name))
        for row in args.rows or ROWS:
            folder = Path(name) / row
            folder.mkdir()
            bench = Bench(folder=folder, rounds=args.rounds, scale=args.scale, small=args.small)
            begun, _, _ = os.getloadavg()
            table = ROWS[row](bench)
            if args.small or args.scale < 1:
                table += " Less work than the goal is for, so start-up weighs more."
            table += f" Load {begun:.0f} at the beginning, {os.getloadavg()[0]:.0f} at the end."
            print(f"## {row}\n\n{table}\n", flush=True)
            if args.write:
                tables.write(f"filesets-{row}", table, ROOT / "docs" / "benchmarks.md")


if __name__ == "__main__":
    main()
