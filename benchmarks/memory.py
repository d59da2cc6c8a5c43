"""How much memory one very big fut takes."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import runs, sites
from benchmarks.tables import markdown

LIMIT = 150e6


def table(*, quick: bool = False) -> str:
    size = 2 * 1024**3 // (10 if quick else 1)
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        folder = Path(name)
        _sparse_pdf(folder / "site" / "big.pdf", size)
        with sites.serving(folder / "site") as port:
            path = folder / "list.tsv"
            path.write_text(f"RePEc:ben:wpaper:big\thttp://127.0.0.1:{port}/big.pdf\n")
            log = folder / "log"
            run = runs.run(runs.lafka(path, folder / "archive"), cwd=runs.ROOT, log=log)
        if "'lafka/futs/new': 1" not in log.read_text():
            raise SystemExit(f"the fut was not had\n{log.read_text()[-3000:]}")
    row = [f"{size / 1024**3:g} GiB", f"{run.peak / 1e6:.0f}", f"{run.cpu:.1f}", f"{run.wall:.1f}"]
    verdict = "holds" if run.peak < LIMIT else "falls short"
    return markdown(
        ("one fut", "peak RSS, MB", "CPU s", "wall s"),
        [row],
        f"Under {LIMIT / 1e6:.0f} MB: {verdict}. Spooled, written to the raw WARC, hashed, copied"
        " to its paper WARC and synced.",
    )


def _sparse_pdf(path: Path, size: int) -> None:
    """A PDF by its first and last bytes, with a hole between."""
    path.parent.mkdir()
    tail = b"\n%%EOF\n"
    with path.open("wb") as file:
        file.write(b"%PDF-1.4\n")
        os.pwrite(file.fileno(), tail, size - len(tail))
