"""Lafka's benchmarks, each against its peer in the same run.

    python benchmarks/run.py NAME [--write] [--quick] [--size N] [--papers N] [--keep DIR]

NAME is one of ``MODULES``. Prints a Markdown table; ``--write`` puts it into its page of docs/,
with machine and date. Needs nginx (Debian: ``apt-get install nginx-light``) and, for ``crawl``,
wget; the others need neither. Nothing leaves loopback.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULES = {
    "crawl": "benchmarks.crawl",
    "read": "benchmarks.read",
    "startup": "benchmarks.startup",
    "memory": "benchmarks.memory",
    "verify": "benchmarks.verify",
    "durable": "benchmarks.durable",
    "recovery": "benchmarks.recovery",
    "restart": "benchmarks.restart",
    "list": "benchmarks.long_list",
    "lines": "benchmarks.ten_million",
    "held": "benchmarks.held",
    "many": "benchmarks.many_lines",
    "warc": "benchmarks.warc",
    "archec": "benchmarks.archec",
    "gather": "benchmarks.gathering",
    "fobis": "benchmarks.fobis",
    "index": "benchmarks.indexing",
    "web": "benchmarks.web",
    "gateway": "benchmarks.gateway",
    "gate": "benchmarks.gate",
    "machines": "benchmarks.machines",
    "corpus": "benchmarks.corpus",
    "wacz": "benchmarks.wacz",
}
PAGES = {"warc": "warc-compared.md"}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure Lafka against its peers.")
    parser.add_argument("name", choices=MODULES)
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md too")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, to try it out")
    parser.add_argument("--size", type=int, metavar="N", help="so many templates, for gather")
    parser.add_argument("--papers", type=int, metavar="N", help="index, web: in place of a million")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="index, web: papers stay there")
    args = parser.parse_args()
    given = {"size": args.size, "papers": args.papers, "keep": args.keep}
    more = {name: value for name, value in given.items() if value is not None}
    sys.path.insert(0, str(ROOT))  # Python has put this file's own folder there
    table = importlib.import_module(MODULES[args.name]).table(quick=args.quick, **more)
    print(table)
    if args.write:
        tables = importlib.import_module("benchmarks.tables")
        tables.write(args.name, table, ROOT / "docs" / PAGES.get(args.name, "benchmarks.md"))


if __name__ == "__main__":
    main()
