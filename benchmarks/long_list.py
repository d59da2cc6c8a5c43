"""A list of a million lines: memory while it is loaded and while 50,000 lines are answered."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import runs, sites
from benchmarks.tables import markdown

LINES, ANSWERS, HOSTS = 1_000_000, 50_000, 200
LIMIT = 200e6
_PROGRESS = re.compile(r"\] INFO: ([\d,]+) of ([\d,]+)(\+?) lines done")


@dataclass(slots=True)
class Watched:
    """RSS in bytes, a sample each second, with the lines done and whether the list was loaded."""

    log: Path
    samples: list[tuple[int, int, bool]] = field(default_factory=list)

    def look(self, process_id: int) -> None:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process_id}/status").read_text())
        told = _PROGRESS.findall(self.log.read_text())
        done = int(told[-1][0].replace(",", "")) if told else 0
        loaded = bool(told) and not told[-1][2]
        if found:
            self.samples.append((int(found[1]) * 1024, done, loaded))

    def around(self, done: int) -> int:
        """The sample nearest to *done* lines."""
        return min(self.samples, key=lambda sample: abs(sample[1] - done))[0]


def table(*, quick: bool = False) -> str:
    lines, answers = (LINES // 10, ANSWERS // 10) if quick else (LINES, ANSWERS)
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        folder = Path(name)
        (folder / "site").mkdir()
        with sites.serving(folder / "site", HOSTS) as port:
            path = _list(folder / "list.tsv", lines, port)
            watched = Watched(folder / "log")
            run = runs.run(
                runs.lafka(
                    path,
                    folder / "archive",
                    CONCURRENT_REQUESTS=100,
                    CONCURRENT_REQUESTS_PER_DOMAIN=1,
                    CLOSESPIDER_PAGECOUNT=answers,
                    LAFKA_PROGRESS_INTERVAL=1,
                ),
                cwd=runs.ROOT,
                log=watched.log,
                each_second=watched.look,
            )
    loading = [rss for rss, _, loaded in watched.samples if not loaded]
    stages = [answers // 10, answers // 2, answers]
    rows = [
        ["while the list is loaded, most", _mb(max(loading, default=0))],
        *([f"{count:,} lines answered", _mb(watched.around(count))] for count in stages),
        ["peak", _mb(run.peak)],
    ]
    verdict = "holds" if run.peak < LIMIT else "falls short"
    return markdown(
        (f"{lines:,} lines, {HOSTS} hosts, each answer a 404", "RSS, MB"),
        rows,
        f"Stopped after {answers:,} answers ({run.wall:.0f} s)."
        f" Under {LIMIT / 1e6:.0f} MB: {verdict}.",
    )


def _list(path: Path, lines: int, port: int) -> Path:
    """Sorted by host, as such lists are."""
    each = lines // HOSTS
    with path.open("w") as file:
        for host in range(HOSTS):
            base = f"http://{sites.address(host)}:{port}/papers/working/"
            for n in range(each):
                file.write(f"RePEc:b{host:02}:wpaper:{n}\t{base}{n}.pdf\n")
    return path


def _mb(size: int) -> str:
    return f"{size / 1e6:.0f}"
