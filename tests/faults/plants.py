"""Foreign files, folders and links at every level of an archive: no command changes any of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.faults.crawls import Crawls
from tests.faults.kills import Ordeal
from tests.faults.sites import FaultSite
from tests.stores import Store, pdf, run_named

PID = "RePEc:tst:papers:a0"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "recover": ("recover",),
    "repair, dry": ("repair", "--dry-run"),
    "repair": ("repair",),
    "rebuild": ("rebuild",),
    "verify": ("verify",),
    "fut": ("fut", PID),
    "suwaf": ("suwaf", PID),
    "runs": ("runs",),
    "crawl": (),
}
"""What is called on an archive; the crawl comes by itself."""


def _file(folder: Path, _: Path) -> None:
    (folder / "thesis.txt").write_bytes(b"mine")


def _files_with_endings(folder: Path, _: Path) -> None:
    for name in (
        "mine.gz",
        "LAFKA-20261120101112-00000-host.warc.gz",
        "list.sqlite.bak",
        ".draft-",
    ):
        (folder / name).write_bytes(b"mine")


def _folder(folder: Path, _: Path) -> None:
    (folder / "attic").mkdir()
    for name in ("lock", "copied", "LAFKA-20261120101112-00000-host.warc"):
        (folder / "attic" / name).write_bytes(b"mine")


def _links(folder: Path, elsewhere: Path) -> None:
    (folder / "link").symlink_to(elsewhere)
    (folder / "link.txt").symlink_to(elsewhere / "thesis.txt")
    (folder / "dangling").symlink_to(elsewhere / "nothing")


def _linked_run(folder: Path, elsewhere: Path) -> None:
    if folder.name == "raw":
        (folder / run_named("linked")).symlink_to(elsewhere)


PLANTS: Mapping[str, Callable[[Path, Path], None]] = {
    "a file": _file,
    "files with our endings": _files_with_endings,
    "a folder": _folder,
    "links": _links,
    "a link that is named as a run": _linked_run,
}


def planted(archive: Path, elsewhere: Path, plant: Callable[[Path, Path], None]) -> None:
    """Put what *plant* has into every folder of the *archive*, the archive itself included."""
    elsewhere.mkdir(exist_ok=True)
    for name in ("thesis.txt", "lock", "LAFKA-20261120101112-00000-host.warc", "list.sqlite"):
        (elsewhere / name).write_bytes(b"mine")
    folders = [path for path in archive.rglob("*") if path.is_dir() and not path.is_symlink()]
    for folder in (archive, *folders):
        plant(folder, elsewhere)


def tree(*folders: Path) -> dict[str, object]:
    """All below *folders*, no link followed: the bytes of files, the targets of links, folders."""
    return {str(path): what for folder in folders for path, what in _below(folder)}


def _below(folder: Path) -> Iterator[tuple[Path, object]]:
    for base, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(base, name)
            if path.is_symlink():
                yield path, path.readlink()
            else:
                yield path, path.read_bytes() if path.is_file() else None


def changed(crawls: Crawls, site: FaultSite, command: str, plant: str) -> list[str]:
    """What of *plant* in an archive with papers and a dead run is not as it was after *command*."""
    ordeal = Ordeal(crawls, site, 2)
    ordeal.finish()
    dead = Store(ordeal.archive)
    dead.fut(pdf("of a dead run"), pid="RePEc:tst:papers:dead")
    dead.die()
    elsewhere = ordeal.folder / "elsewhere"
    before = tree(ordeal.archive)
    planted(ordeal.archive, elsewhere, PLANTS[plant])
    foreign = {path: what for path, what in tree(ordeal.archive, elsewhere).items()
               if path not in before}  # fmt: skip
    if command == "crawl":
        run = crawls.start(ordeal.archive, ordeal.list_, ordeal.plan()).ended()
    else:
        run = crawls.command(ordeal.archive, *COMMANDS[command], plan=ordeal.plan()).ended()
    after = tree(ordeal.archive, elsewhere)
    troubles = [
        f"{command}, {plant}: {path} is not as it was"
        for path, what in foreign.items()
        if path not in after or after[path] != what
    ]
    return troubles + [f"{command}, {plant}: {run.log}"] * ("Traceback" in run.log)
