"""Where the CPU of a crawl goes, Lafka beside bare Scrapy, all threads profiled.

    python benchmarks/profile_crawl.py [--count 100] [--size 200000] [--top 40]

Milliseconds a request by package, then Lafka's dearest functions. A profiler makes small functions
look dearer than they are: compare the rows, and measure a change with ``run.py crawl``.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description="Profile a crawl.")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--size", type=int, default=200_000)
    parser.add_argument("--top", type=int, default=40)
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from benchmarks import runs, sites  # noqa: PLC0415

    papers = sites.Papers(count=args.count, size=args.size)
    with TemporaryDirectory(prefix="lafka-profile-") as name:
        folder = Path(name)
        papers.make(folder / "site")
        with sites.serving(folder / "site") as port:
            path = papers.list(folder / "list.tsv", port)
            lafka = _profiled(runs.lafka(path, folder / "archive"), ROOT, folder)
            bare = _profiled(runs.peer("bare_spider.py", path), folder, folder)
    requests = 2 * papers.count
    _show_packages(lafka, bare, requests)
    _show_functions(lafka, requests, args.top)


def _profiled(command: list[str], cwd: Path, folder: Path) -> pstats.Stats:
    """Run ``python -m scrapy ...`` under the profiler."""
    out = folder / "profile"
    scrapy = command[command.index("scrapy") + 1 :]
    with (folder / "log").open("w") as log:
        script = [sys.executable, __file__, "--child", str(out), *scrapy]
        subprocess.run(script, cwd=cwd, check=True, stderr=log, stdout=log)
    return pstats.Stats(str(out))


def _child(out: str, args: list[str]) -> None:
    profiles = [cProfile.Profile()]
    run = threading.Thread.run

    def profiled(thread: threading.Thread) -> None:
        profile = cProfile.Profile()
        profiles.append(profile)
        profile.runcall(run, thread)

    threading.Thread.run = profiled  # type: ignore[method-assign]
    sys.path[0] = str(Path.cwd())
    sys.argv = ["scrapy", *args]
    from scrapy.cmdline import execute  # noqa: PLC0415

    try:
        profiles[0].runcall(execute)
    finally:
        stats = pstats.Stats(profiles[0])
        for profile in profiles[1:]:
            profile.create_stats()
            stats.add(profile)
        stats.dump_stats(out)


# Waiting, not work: the profiler counts wall time.
_WAITS = ("acquire", "select.epoll", "_queue.SimpleQueue", "fsync", "fdatasync", "time.sleep")


def _costs(stats: pstats.Stats) -> list[tuple[float, float, int, str, str]]:
    """Own seconds, seconds with callees, calls, package and name of each function."""
    found = []
    for (file, line, function), (_, calls, own, total, _) in stats.stats.items():  # type: ignore[attr-defined]
        if any(wait in function for wait in _WAITS):
            continue
        found.append((own, total, calls, _package(file), f"{_short(file)}:{line} {function}"))
    return found


def _package(file: str) -> str:
    parts = Path(file).parts
    if "site-packages" in parts:
        return parts[parts.index("site-packages") + 1]
    if "lafka" in parts:
        return "lafka"
    if "importlib" in file:
        return "imports"
    return "built-in functions" if file == "~" else "standard library"


def _short(file: str) -> str:
    parts = Path(file).parts
    for name in ("site-packages", "python3.11", "main"):
        if name in parts:
            return "/".join(parts[parts.index(name) + 1 :])
    return "/".join(parts[-3:])


def _show_packages(lafka: pstats.Stats, bare: pstats.Stats, requests: int) -> None:
    sums: dict[str, list[float]] = {}
    for column, stats in enumerate((lafka, bare)):
        costs = Counter[str]()
        for own, _, _, package, _ in _costs(stats):
            costs[package] += own
        for package, seconds in costs.items():
            sums.setdefault(package, [0.0, 0.0])[column] = seconds / requests * 1000
    print("ms a request, own time      Lafka    bare")
    for package, (ours, theirs) in sorted(sums.items(), key=lambda item: -item[1][0]):
        if ours > 0.005 or theirs > 0.005:
            print(f"{package:<25}{ours:8.3f}{theirs:8.3f}")


def _show_functions(stats: pstats.Stats, requests: int, top: int) -> None:
    costs = _costs(stats)
    print("\nLafka: ms a request     own    all  calls")
    ours = [cost for cost in costs if cost[3] == "lafka"]
    for own, total, calls, _, name in sorted(ours, key=lambda cost: -cost[1])[:top]:
        ms = 1000 / requests
        print(f"{own * ms:27.3f}{total * ms:7.3f}{calls / requests:7.2f}  {name}")
    print("\nDearest of all by own time")
    for own, total, calls, _, name in sorted(costs, reverse=True)[:top]:
        ms = 1000 / requests
        print(f"{own * ms:27.3f}{total * ms:7.3f}{calls / requests:7.2f}  {name}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        _child(sys.argv[2], sys.argv[3:])
    else:
        main()
