"""The long form of the fault tests: ``make faults``.

    python -m tests.faults.long [--kills 1000] [--phases kills,calls,...] [--jobs 2] [--write]

Prints what each phase did; with ``--write`` its figures go into docs/reliability.md. Exit code 1
where anything was lost.
"""

from __future__ import annotations

import argparse
import atexit
import errno
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

from tests.archec.faults import long as archec
from tests.crawls.running import ROOT, command
from tests.crawls.running import check as check_archive
from tests.faults import (
    batches,
    kills,
    machines,
    mutants,
    neighbours,
    plants,
    powercuts,
    refusals,
    scenarios,
    stops,
    straces,
    together,
    workers,
)
from tests.faults.crawls import Crawls
from tests.faults.sites import FaultSite
from tests.faults.storecalls import KINDS, Call, Site, Which
from tests.filesets.faults import roads
from tests.filesets.faults import scenarios as filesets
from tests.services.kafkas import Kafka
from tests.services.postgresqls import Postgres
from tests.sites.hostile.behaviours import Behaviour
from tests.sites.hostile.site import behaviours

PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- figures: make faults -->\n", "<!-- end of figures -->"
SEED = 20_261_120


@dataclass(slots=True)
class Figures:
    """What a phase, or a part of one, did; figures of parts are added up."""

    counts: dict[str, int] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    worst: dict[str, int] = field(default_factory=dict)
    """Of these the largest counts, not the sum."""

    def add(self, other: Figures) -> None:
        for name, figure in other.worst.items():
            self.worst[name] = max(self.worst.get(name, 0), figure)
        for name, count in other.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        self.troubles += other.troubles

    @classmethod
    def of(cls, ordeal: kills.Ordeal, **more: int) -> Figures:
        counts = {
            "kills": ordeal.kills,
            "acknowledged lines checked": ordeal.acknowledged + ordeal.earlier,
        }
        return cls(counts | more, list(ordeal.troubles))


# One process of many: its crawls and its site ---------------------------------------------------


@cache
def here(rounds: int = 1) -> tuple[Crawls, FaultSite]:
    """This process's own, made when first asked for: nine lines, or so many times nine and two."""
    stack = ExitStack()
    atexit.register(stack.close)
    return _crawls(), stack.enter_context(FaultSite(rounds, pages=rounds > 1))


@cache
def _crawls() -> Crawls:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(Crawls())


def _cleaned(work: Callable[[], Figures], name: str = "") -> Figures:
    """Do *work*; its archives go, so that memory lasts."""
    crawls, _ = here()
    try:
        return work()
    except AssertionError as error:
        return Figures(troubles=[f"{name}: {str(error)[:200]} ... {str(error)[-2000:]}"])
    finally:
        crawls.clean()


def random_kills(seed: int, count: int) -> Figures:
    rng = random.Random(seed)
    return _cleaned(lambda: Figures.of(kills.at_random(*here(), rng, kills=count)))


def kills_at_calls(seed: int, which: Which) -> Figures:
    """A first crawl killed at *which* call, the one that goes on at any, then the finishing one."""
    rng = random.Random(f"{seed} {which}")
    second = Which(nth=rng.randrange(1, 150))
    plans = [(which, rng.choice(kills.HOWS)), (second, rng.choice(kills.HOWS))]
    return _cleaned(lambda: Figures.of(kills.at_calls(*here(), plans, 4)))


def kills_by_strace(call: str, when: int) -> Figures:
    def work() -> Figures:
        crawls, site = here()
        ordeal = kills.Ordeal(crawls, site, 4)
        ordeal.look(straces.injected(crawls, ordeal, call, when, "signal=KILL"), f"{call} {when}:")
        ordeal.finish()
        return Figures.of(ordeal)

    return _cleaned(work)


def errors_at_call(which: Which, number: int, times: int) -> Figures:
    def work() -> Figures:
        tally = refusals.Tally()
        ordeal = refusals.refuse(*here(), which, number, tally, times=times, count=2)
        refusals.finish(ordeal, tally)
        return Figures(
            {"errors": tally.refused, "told by one sentence": tally.stopped,
             "without effect": tally.harmless}, tally.troubles,
        )  # fmt: skip

    return _cleaned(work, f"{errno.errorcode[number]} at {which}, {times} times")


def crawls_at_once(seed: int, count: int) -> Figures:
    rng = random.Random(seed)
    return _cleaned(
        lambda: Figures.of(
            together.some_at_once(*here(2), rng, count=count, rounds=2), crawls=2 * count
        )
    )


@cache
def _stopped() -> stops.StopSite:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(stops.StopSite(1, pages=True))


def signals(seed: int, count: int) -> Figures:
    """*count* stops of one archive, each by a pattern of signals at a moment drawn for it."""

    def work() -> Figures:
        rng, tally = random.Random(seed), stops.Tally()
        place = seed * count
        patterns = [stops.PATTERNS[(place + n) % len(stops.PATTERNS)] for n in range(count)]
        stops.stop(_crawls(), _stopped(), rng, patterns, tally)
        codes = {f"ended with {code}": n for code, n in sorted(tally.codes.items())}
        return Figures(
            {"moments": tally.moments, "signals": tally.signals,
             "acknowledged lines checked": tally.acknowledged} | codes, tally.troubles,
        )  # fmt: skip

    return _cleaned(work, f"signals, seed {seed}")


def power_cuts(lines: int, most: int, kill: Which | None) -> Figures:
    def work() -> Figures:
        crawls, site = here()
        plans = ([{"kill": kill}] if kill else []) + [{}]
        found = powercuts.recorded(crawls, site, lines, *plans).cut(random.Random(SEED), most=most)
        counts = {"moments": found.moments, "disks": found.disks, "losses": len(found.losses)}
        return Figures(counts, found.losses)

    return _cleaned(work)


def mutant(site: Site, names: Sequence[str]) -> Figures:
    def work() -> Figures:
        for name in names:
            losses, _ = scenarios.SCENARIOS[name](*here(), site)
            if losses:
                return Figures({"mutants": 1, "caught": 1})
        return Figures({"mutants": 1, "caught": 0}, [f"{site} is not missed"])

    return _cleaned(work)


def reached(name: str) -> tuple[str, list[str], set[Site]]:
    losses, calls = scenarios.SCENARIOS[name](*here(), None)
    return name, losses, mutants.reached(calls, mutants.sites())


def calls_of(lines: int) -> list[Call]:
    return kills.undisturbed(*here(), lines)


# Papers side by side ----------------------------------------------------------------------------


def calls_of_a_batch() -> list[Call]:
    return kills.undisturbed(*here(2), batches.LINES[16], batch=16)


def kill_in_a_batch(which: Which) -> Figures:
    how = random.Random(str(which)).choice(kills.HOWS)

    def work() -> Figures:
        lines = batches.LINES[16]
        return Figures.of(kills.at_calls(*here(2), [(which, how)], lines, batch=16))

    return _cleaned(work)


def cut_in_a_batch(size: int) -> Figures:
    def work() -> Figures:
        found = batches.recorded(*here(2), size).cut(random.Random(SEED), most=batches.MOST[size])
        return Figures({"moments": found.moments, "disks": found.disks}, found.losses)

    return _cleaned(work)


def mutant_in_a_batch(site: Site, how: str, size: int) -> Figures:
    def work() -> Figures:
        made = batches.recorded(*here(2), size, **{how: site})
        if batches.losses(made, size):
            return Figures({"mutants": 1, "caught": 1})
        return Figures({"mutants": 1, "caught": 0}, [f"{site}, {how}, {size}: is not missed"])

    return _cleaned(work)


# Filesets ---------------------------------------------------------------------------------------


@cache
def _roads() -> roads.RoadSite:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(roads.RoadSite())


def road_cut(name: str, most: int) -> Figures:
    """Power cuts and kills on a road of a fileset, each disk recovered and judged."""

    def work() -> Figures:
        made = roads.recorded(roads.Ordeal(_crawls(), _roads(), roads.ROADS[name]))
        found = made.cut(random.Random(SEED), most=most)
        killed = [made.judge.verdict(tree, told) for tree, told in made.die()]
        counts = {"moments": found.moments, "disks": found.disks, "kills": len(killed)}
        troubles = [trouble for each in killed for trouble in each]
        return Figures(counts, [f"{name}: {t}" for t in (*found.losses, *troubles)])

    return _cleaned(work, name)


def road_finished(name: str, seed: int) -> Figures:
    """The same command over a disk that a power cut left on a road: all is there, and stays."""

    def work() -> Figures:
        road, rng = roads.ROADS[name], random.Random(seed)
        [tree] = roads.recorded(roads.Ordeal(_crawls(), _roads(), road)).some(rng, 1)
        wrong = roads.finished(_crawls(), _roads(), road, tree, cut=True)
        return Figures({"disks that a crawl finished": 1}, [f"{name}, {seed}: {w}" for w in wrong])

    return _cleaned(work, f"{name}, {seed}")


def fileset_mutant(wrong: filesets.Wrong) -> Figures:
    what = str(wrong.without or wrong.late)

    def work() -> Figures:
        is_missed, _ = filesets.missed(_crawls(), _roads(), wrong)
        troubles = [] if is_missed else [f"{what} is not missed"]
        return Figures({"mutants": 1, "caught": int(is_missed)}, troubles)

    return _cleaned(work, what)


# Phases -----------------------------------------------------------------------------------------

Task = Callable[[], Figures]


def kills_phase(options: argparse.Namespace, _: ProcessPoolExecutor) -> Iterable[Task]:
    each = 8
    for place in range(0, options.kills, each):
        yield partial(random_kills, options.seed + place, min(each, options.kills - place))


def calls_phase(_: argparse.Namespace, pool: ProcessPoolExecutor) -> Iterable[Task]:
    for which in kills.every_call(pool.submit(calls_of, 4).result()):
        yield partial(kills_at_calls, SEED, which)


def strace_phase(_: argparse.Namespace, pool: ProcessPoolExecutor) -> Iterable[Task]:
    if not straces.can_trace():
        print("strace: not on this machine, or not allowed")
        return
    calls = pool.submit(calls_of, 4).result()
    for name in straces.STORES_ONLY:
        made = sum(call.kind == straces.SYSTEM_CALLS[name] for call in calls)
        for when in range(1, min(made, 8) + 1):
            yield partial(kills_by_strace, name, when)


def errors_phase(_: argparse.Namespace, pool: ProcessPoolExecutor) -> Iterable[Task]:
    whiches = kills.every_call(pool.submit(calls_of, 2).result())
    for number in refusals.ERRORS:
        for which in whiches:
            yield partial(errors_at_call, which, number, 1)
    for nth in range(1, 60, 4):  # a disk that stays full
        yield partial(errors_at_call, Which(nth=nth, kinds=refusals.GROWING), errno.ENOSPC, 1 << 30)


def signals_phase(options: argparse.Namespace, _: ProcessPoolExecutor) -> Iterable[Task]:
    for place in range(0, options.moments, 4):
        yield partial(signals, options.seed + place // 4, 4)


def together_phase(options: argparse.Namespace, _: ProcessPoolExecutor) -> Iterable[Task]:
    for place in range(options.rounds):
        yield partial(crawls_at_once, SEED + place, 2 + place % 2)


def powercuts_phase(options: argparse.Namespace, pool: ProcessPoolExecutor) -> Iterable[Task]:
    yield partial(power_cuts, 1, options.disks, None)
    yield partial(power_cuts, 2, options.disks // 10, None)
    yield partial(power_cuts, 9, options.disks // 50, None)
    calls = pool.submit(calls_of, 1).result()
    for nth in range(1, len(calls) + 1):
        yield partial(power_cuts, 1, options.disks // 50, Which(nth=nth, kinds=KINDS))


def mutants_phase(_: argparse.Namespace, pool: ProcessPoolExecutor) -> Iterable[Task]:
    by_scenario = {}
    for name, losses, found in pool.map(reached, scenarios.SCENARIOS):
        by_scenario[name] = found
        if losses:
            yield partial(Figures, {}, [f"unmutated, {name}: {losses[0]}"])
    for site in mutants.sites():
        yield partial(mutant, site, [name for name, found in by_scenario.items() if site in found])


def batches_phase(_: argparse.Namespace, pool: ProcessPoolExecutor) -> Iterable[Task]:
    calls = pool.submit(calls_of_a_batch).result()
    for which in kills.every_call(calls):
        yield partial(kill_in_a_batch, which)
    for size in batches.SIZES:
        yield partial(cut_in_a_batch, size)
        for site in batches.reached(calls):
            yield partial(mutant_in_a_batch, site, "without", size)
            if not batches.harmless_if_late(site):
                yield partial(mutant_in_a_batch, site, "late", size)


def filesets_phase(options: argparse.Namespace, _: ProcessPoolExecutor) -> Iterable[Task]:
    for name in roads.ROADS:
        yield partial(road_cut, name, options.disks // 20)
        for place in range(options.rounds // 6):
            yield partial(road_finished, name, options.seed + place)
    for site in filesets.SITES:
        if not filesets.exempt(site):
            yield partial(fileset_mutant, filesets.Wrong(without=site))
    for late in filesets.LATE:
        if not filesets.exempt_late(late):
            yield partial(fileset_mutant, filesets.Wrong(late=late))


def archec_phase(options: argparse.Namespace, pool: ProcessPoolExecutor) -> Iterable[Task]:
    for name in archec.PREPARED:
        yield partial(archec_cut, name, options.seed, options.disks)
    for name, phase, which in pool.submit(archec.calls).result():
        yield partial(archec_disturbed, name, phase, which, options.seed)


def archec_cut(name: str, seed: int, disks: int) -> Figures:
    moments = 30
    troubles = archec.cut(name, seed, points=moments, most=max(disks // 200, 1))
    return Figures({"moments of power cuts": moments}, troubles)


def archec_disturbed(name: str, phase: int, which: Which, seed: int) -> Figures:
    figures = Figures()
    for what, troubles in archec.disturbed(name, phase, which, seed):
        figures.add(Figures({what: 1}, troubles))
    return figures


def disks_phase(_: argparse.Namespace, __: ProcessPoolExecutor) -> Iterable[Task]:
    if not can_mount():
        print("disks: no file system can be mounted here")
        return
    for kib in range(24, 184, 16):
        yield partial(small_disk, kib)


NAMESPACE = ["unshare", "-rm"]
SCRIPT = """
mount -t tmpfs -o size=$SIZE none $0 || exit 70
"$@" 2>$0.log; echo $? >$0.code
mount -o remount,size=50m $0
"$@" 2>>$0.log; echo $? >>$0.code
cp -r $0/archive $0.kept
"""


def can_mount() -> bool:
    tried = [*NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"]
    return bool(shutil.which("unshare")) and not subprocess.call(tried, stderr=subprocess.DEVNULL)


def small_disk(kib: int) -> Figures:
    """A crawl on a real file system of *kib* KiB, then again where there is room."""
    _, site = here()
    with tempfile.TemporaryDirectory(prefix="lafka-disk-") as folder:
        disk = Path(folder, "disk")
        disk.mkdir()
        crawling = command(disk / "archive", "-a", f"input={site.list(Path(folder))}")
        subprocess.run(
            [*NAMESPACE, "bash", "-c", SCRIPT, disk, *crawling],
            cwd=ROOT, env={"SIZE": f"{kib}k", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
            check=True, capture_output=True, timeout=300,
        )  # fmt: skip
        codes = Path(folder, "disk.code").read_text().split()
        log = Path(folder, "disk.log").read_text()
        troubles = [] if codes[1] == "0" and codes[0] in "012" else [f"{kib}: {codes} {log[-900:]}"]
        stopped = r"(?:The disk|A limit of this machine) stopped the crawl: |^scrapy crawl: "
        said = len(re.findall(stopped, log, re.M))
        if codes[0] != "0" and said != 1:
            troubles.append(f"{kib} KiB: said {said} times")
        try:
            check_archive(Path(folder, "disk.kept"))
        except AssertionError as error:
            troubles.append(f"{kib} KiB: {error}")
        return Figures({"disks": 1, "full": int(codes[0] != "0")}, troubles)


def fuzz_phase(options: argparse.Namespace, _: ProcessPoolExecutor) -> Iterable[Task]:
    if not (ROOT / "tests" / "fuzz" / "run.py").exists():
        print("fuzz: there is no tests/fuzz/run.py")
        return
    yield partial(fuzz, options.seconds)


def fuzz(seconds: int) -> Figures:
    with tempfile.TemporaryDirectory(prefix="lafka-fuzz-") as found:
        line = [sys.executable, "tests/fuzz/run.py", "--seconds", str(seconds), "--found", found]
        done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    troubles = [done.stdout[-2000:] + done.stderr[-2000:]] if done.returncode else []
    return Figures({"seconds": seconds}, troubles)


def removals_phase(_: argparse.Namespace, __: ProcessPoolExecutor) -> Iterable[Task]:
    for verb in plants.COMMANDS:
        for plant in plants.PLANTS:
            yield partial(planted, verb, plant)


def planted(verb: str, plant: str) -> Figures:
    return _cleaned(
        lambda: Figures({"commands": 1}, plants.changed(*here(), verb, plant)),
        f"{verb}, {plant}",
    )


def neighbours_phase(options: argparse.Namespace, _: ProcessPoolExecutor) -> Iterable[Task]:
    """Some behaviours at once beside the good hosts, in an order that mixes the families.

    One for each would be 777 pairs of crawls, twice: hours. Those that hold up nobody together hold
    up nobody alone.
    """
    chosen = [each for each in behaviours() if not each[1].led_off]
    random.Random(SEED).shuffle(chosen)
    for place in range(0, len(chosen), options.beside):
        names = [behaviour.name for _, behaviour in chosen[place : place + options.beside]]
        yield partial(beside_hostile, names)


@cache
def _neighbours() -> tuple[neighbours.GoodHosts, dict[str, tuple[str, Behaviour]]]:
    stack = ExitStack()
    atexit.register(stack.close)
    named = {behaviour.name: (family, behaviour) for family, behaviour in behaviours()}
    return stack.enter_context(neighbours.GoodHosts()), named


def beside_hostile(names: Sequence[str]) -> Figures:
    def work() -> Figures:
        good, named = _neighbours()
        figures = Figures()
        for found in neighbours.beside(_crawls(), good, [named[name] for name in names]):
            counts = {"behaviours": len(found.names), "measurements": found.tries}
            worst = {
                "ms of delay at most, alone": round(1000 * found.alone),
                "per mille of growth at most": round(1000 * max(found.growth, 0)),
                "ms to the first request after a kill at most": round(1000 * found.again),
                "ms of these beyond any start and copying at most": round(
                    1000 * max(found.start, 0)
                ),
                "bytes left in raw/ at most": found.left,
            }
            figures.add(Figures(counts, found.troubles, worst))
        return figures

    return _cleaned(work, ", ".join(names))


def workers_phase(options: argparse.Namespace, _: ProcessPoolExecutor) -> Iterable[Task]:
    for place in range(options.rounds):
        yield partial(disturbed_workers, options.seed + place)


@cache
def _services() -> tuple[Kafka, Postgres]:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(workers.services())


def disturbed_workers(seed: int) -> Figures:
    try:
        troubles = workers.disturbed_at_random(*_services(), seed)
    except AssertionError as error:
        troubles = [f"seed {seed}: {error}"]
    return Figures({"workers killed": 1, "brokers killed": 1, "requests": 60}, troubles)


def machines_phase(options: argparse.Namespace, _: ProcessPoolExecutor) -> Iterable[Task]:
    for place in range(options.rounds // 6):
        yield partial(disturbed_machines, options.seed + place, options.papers)


@cache
def _machines() -> machines.Servers:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(machines.Servers.started())


def disturbed_machines(seed: int, papers: int) -> Figures:
    chance = random.Random(seed)
    events = chance.sample(machines.EVENTS, len(machines.EVENTS))
    with tempfile.TemporaryDirectory(prefix="lafka-machines-") as name:
        ordeal = machines.Ordeal(_machines(), Path(name), papers, chance)
        try:
            troubles = machines.disturbed(ordeal, events)
        except AssertionError as error:
            troubles = [str(error)[-2000:]]
        return Figures(dict(ordeal.counts), [f"seed {seed}: {trouble}" for trouble in troubles])


PHASES: dict[str, tuple[str, Callable[[argparse.Namespace, ProcessPoolExecutor], Iterable[Task]]]]
PHASES = {
    "kills": ("Crawls killed at random moments", kills_phase),
    "calls": ("Crawls killed at every call of the store, and again while they go on", calls_phase),
    "strace": ("Crawls killed at system calls, by strace", strace_phase),
    "errors": ("ENOSPC, EIO, EROFS, EMFILE, EDQUOT at every call", errors_phase),
    "signals": ("SIGINT and SIGTERM, once to three times, at any moment", signals_phase),
    "together": ("Two and three crawls at once, most of them killed", together_phase),
    "powercuts": ("Power cuts in the model, also behind a kill at every call", powercuts_phase),
    "mutants": ("The store without one of its syncs or locks", mutants_phase),
    "batches": ("Sixteen papers side by side: kills at every call, cuts, mutants", batches_phase),
    "filesets": ("Filesets: power cuts and kills on nine roads, and mutants", filesets_phase),
    "archec": (
        "The obi store: tobi and the road of fobis killed and refused at every call, power cuts",
        archec_phase,
    ),
    "disks": ("Real file systems that are too small", disks_phase),
    "neighbours": ("100 good hosts beside each hostile behaviour", neighbours_phase),
    "workers": ("Two workers on one topic; one is killed, and so is the broker", workers_phase),
    "machines": ("A fleet with a gate: workers, servers and networks disturbed", machines_phase),
    "removals": ("Foreign files, folders and links at every level", removals_phase),
    "fuzz": ("The fuzz targets", fuzz_phase),
}


def run(name: str, options: argparse.Namespace, pool: ProcessPoolExecutor) -> tuple[Figures, float]:
    """Run a phase to its end, with a line of progress now and then."""
    begin = said = time.monotonic()
    figures = Figures()
    tasks = list(PHASES[name][1](options, pool))
    random.Random(SEED).shuffle(tasks)  # so that what is done in less time is a fair sample
    going = {pool.submit(task) for task in tasks}
    for done, future in enumerate(as_completed(going), 1):
        part = future.result()
        figures.add(part)
        for trouble in part.troubles:
            print(f"{name}: TROUBLE: {trouble}", flush=True)
        now = time.monotonic()
        if now - said > 15 or done == len(tasks):
            said = now
            print(f"{name}: {done} of {len(tasks)}, {_said(figures)}", flush=True)
        if now - begin > 60 * options.minutes:
            print(f"{name}: the time is over", flush=True)
            for each in going:
                each.cancel()
            break
    return figures, time.monotonic() - begin


def _said(figures: Figures) -> str:
    found = {**figures.counts, **figures.worst}
    counts = [f"{count:,} {name}" for name, count in found.items()]
    return ", ".join([*counts, f"{len(figures.troubles)} troubles"])


def write(rows: dict[str, str]) -> None:
    """Put the rows of the phases that ran between the markers; other phases' rows stay."""
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    table, _, after = rest.partition(END)
    old = {row.split("|")[1].strip(): row for row in table.splitlines() if row.startswith("| ")}
    titles = [title for title, _ in PHASES.values()]
    new = {title: rows.get(title) or old.get(title, "") for title in titles}
    head = "| what | figures | took |\n| --- | --- | --- |\n"
    body = "".join(f"{row}\n" for row in new.values() if row)
    PAGE.write_text(before + BEGIN + head + body + END + after, "utf-8")


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.faults.long", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="at random moments")
    parser.add_argument("--moments", type=int, default=200, help="at which signals are sent")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--rounds", type=int, default=60, help="of crawls at once")
    parser.add_argument("--beside", type=int, default=16, help="hostile behaviours at once")
    parser.add_argument("--papers", type=int, default=2_000, help="of a fleet that is disturbed")
    parser.add_argument("--disks", type=int, default=2_000, help="at most at each cut of one paper")
    parser.add_argument("--seconds", type=int, default=600, help="for the fuzz targets")
    parser.add_argument("--minutes", type=float, default=600, help="at most, for each phase")
    parser.add_argument("--phases", default=",".join(PHASES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help=f"figures into {PAGE.name}")
    options = parser.parse_args(arguments)
    if unknown := set(options.phases.split(",")) - set(PHASES):
        parser.error(f"no phase {', '.join(sorted(unknown))}: there is {', '.join(PHASES)}")
    return options


def main(arguments: Sequence[str]) -> int:
    options = parsed(arguments)
    failed = False
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for name in options.phases.split(","):
            figures, seconds = run(name, options, pool)
            failed = failed or bool(figures.troubles)
            title = PHASES[name][0]
            row = f"| {title} | {_said(figures)} | {seconds / 60:.1f} min |"
            print(row, flush=True)
            if options.write and figures.counts:
                write({title: row})
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
