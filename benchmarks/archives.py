"""Archives to be measured: crawled by Lafka from nginx."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import runs, sites
from benchmarks.sites import Papers


@contextmanager
def crawled(papers: Papers) -> Iterator[Path]:
    """The root of an archive that holds *papers*, while the context lasts."""
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        folder = Path(name)
        papers.make(folder / "site")
        with sites.serving(folder / "site") as port:
            path = papers.list(folder / "list.tsv", port)
            log = folder / "log"
            runs.run(runs.lafka(path, folder / "archive"), cwd=runs.ROOT, log=log)
        if f"'lafka/futs/new': {papers.count}" not in log.read_text():
            raise SystemExit(f"not all papers were had\n{log.read_text()[-3000:]}")
        yield folder / "archive"
