"""The folders of an archive: which papers are there, and what else lies between them.

Links are followed, to folders and to files, by the rule that every part of Lafka has
(docs/adr/0013); one that leads into a folder it lies in is told and not followed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.witness.problems import problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lafka.witness.problems import FileProblem

BASES = (("warc", ".warc"), ("suwaf", ".json"))
_TORN = re.compile(r".+\.torn-\d+(?:\.\d+)?")


def papers_below(root: Path, folder: str = "") -> Iterator[str | FileProblem]:
    """Every paper by path, ``RePEc/pra/mprapa/58120``, and what is no paper as a problem.

    A paper is what has a WARC or a suwaf. *folder* is relative to both their bases.
    """
    papers, folders = set[str](), set[str]()
    for base, suffix in BASES:
        for entry in _entries(root / base / folder, is_entry=bool(folder)):
            if not isinstance(entry, os.DirEntry):
                yield entry
            elif (wrong := _wrong_with(entry, suffix)) is not None:
                yield wrong
            elif entry.is_dir():
                folders.add(entry.name)
            else:
                papers.add(entry.name.removesuffix(suffix))
    prefix = f"{folder}/" if folder else ""
    yield from (prefix + name for name in sorted(papers))
    for name in sorted(folders):
        yield from papers_below(root, prefix + name)


def _entries(folder: Path, *, is_entry: bool) -> Iterator[os.DirEntry[str] | FileProblem]:
    """*is_entry*: *folder* is an entry of one that was read; if it is a link, it was looked at."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        if folder.is_symlink() and not is_entry:
            yield _broken(folder)
    except OSError as error:
        yield problem(folder, "unreadable", error.strerror or str(error))
    else:
        yield from found


def _wrong_with(entry: os.DirEntry[str], suffix: str) -> FileProblem | None:
    """Return what keeps *entry* from being a folder to look into or a file of a paper."""
    if entry.is_symlink():
        if not os.path.exists(entry.path):  # noqa: PTH110  a Path raises for a link to itself
            return _broken(entry.path)
        if entry.is_dir() and _leads_back(Path(entry.path)):
            return problem(entry.path, "link-loop", "a link into a folder that it lies in")
    if entry.is_dir() or (entry.is_file() and _is_paper(entry.name, suffix)):
        return None
    if _TORN.fullmatch(entry.name):
        return problem(entry.path, "torn-aside", "bytes that recovery or repair kept aside")
    if "draft" in entry.name:
        return problem(entry.path, "draft", "a draft that no writer finished")
    return problem(entry.path, "stray-file", "not a file of an archive")


def _broken(path: Path | str) -> FileProblem:
    sentence = "a link that leads nowhere: what should be behind it was not looked at"
    return problem(path, "broken-link", sentence)


def _leads_back(link: Path) -> bool:
    target = link.stat()
    return any(os.path.samestat(target, above.stat()) for above in link.absolute().parents)


def _is_paper(name: str, suffix: str) -> bool:
    return name.endswith(suffix) and not name.startswith(".")


def count_suwafs(root: Path) -> int:
    """Return how many suwafs there are, by another way than that on which papers are found."""
    top = str((root / "suwaf").absolute())
    above = frozenset(os.path.realpath(folder) for folder in Path(top).parents)
    ways: dict[str, frozenset[str]] = {top: above}
    count = 0
    for folder, folders, names in os.walk(top, followlinks=True):
        way = ways.pop(folder) | {os.path.realpath(folder)}
        inner = {name: os.path.join(folder, name) for name in folders}  # noqa: PTH118  as it walks
        folders[:] = [name for name in folders if os.path.realpath(inner[name]) not in way]
        ways |= {inner[name]: way for name in folders}
        count += sum(_is_paper(name, ".json") for name in names)
    return count


def raw_below(root: Path) -> Iterator[FileProblem]:
    """Yield what lies in ``raw/``, where no link is followed."""
    failed: list[OSError] = []
    for folder, folders, names in os.walk(root / "raw", onerror=failed.append):
        for name in sorted(names):
            if ".warc" in name:
                yield problem(Path(folder, name), "raw-left", "a raw WARC that is still there")
            else:
                yield problem(Path(folder, name), "raw-left", "a file of a run, still there")
        for name in sorted(folders):
            if (path := Path(folder, name)).is_symlink():
                yield problem(path, "stray-file", "a link, which nobody follows here")
    for error in failed:
        if not isinstance(error, FileNotFoundError):
            yield problem(error.filename, "unreadable", error.strerror or str(error))
