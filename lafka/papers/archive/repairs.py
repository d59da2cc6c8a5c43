"""Repairs papers as far as can be: tails rolled forward, suwafs rebuilt, drafts and runs finished.

The checker says what is wrong and, afterwards, what is left; the writers mend, under the paper's
lock, as the next crawl would. A paper is left as it is where bytes that were acknowledged are
missing or changed: a rebuilt suwaf would only hide that. No byte is deleted: a tail that is no
record and a suwaf that was damaged are kept aside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lafka.capture import leftovers
from lafka.errors import BadPid, KeeperError, NotHeld
from lafka.papers.archive import recovery as raws
from lafka.papers.archive.archives import Archive
from lafka.papers.checking import PAPER_CODES, FileProblem, Verifier
from lafka.pids import Pid
from lafka.storage.deeds import FileAction, kept_aside
from lafka.storage.folders import DRAFT, draft_of, files_below
from lafka.storage.locks import is_locked_at

_TAIL = frozenset(("uncommitted-tail",))
_NO_SUWAF = frozenset(("no-suwaf", "bad-suwaf", "wrong-path"))
_SUWAF = _NO_SUWAF | {
    "suwaf-spelling",
    "no-end",
    "unknown-futli",
    "not-a-fut",
    "fut-digest",
    "suwaf-differs",
    "fut-not-in-suwaf",
    "digest-twice",
    "end-inside-record",
}
_HARMLESS = frozenset(("stored-twice",))
_OF_FIRST_LAFKAS = frozenset(("stored-twice", "bad-warcinfo"))
"""Warnings wherever they stand, in a WARC of a first Lafka."""
_CUT = frozenset(
    ("torn-tail", "stray-bytes", "bad-length", "bad-trailer", "block-digest", "wrong-pid")
)
_NOT_THIS_PAPER = frozenset(("no-warc", "wrong-pid", "unreadable"))


class Repair:
    """The repair of *archive*; where it is *dry* nothing is changed.

    *keep*: raw WARCs stay when they are wholly copied. *max_entity*: bytes after which decoding an
    answer in them stops (0: never). Raises ``StorageTrouble``.
    """

    def __init__(
        self, archive: Archive, *, dry: bool = False, keep: bool = False, max_entity: int = 0
    ) -> None:
        self._archive = archive
        self._dry = dry
        self._keep = keep
        self._max_entity = max_entity
        self._verifier = Verifier(archive.root)

    def all(self) -> Iterator[FileAction]:
        """Every paper, draft and dead run; then what is wrong beside them."""
        for name in self._verifier.papers():
            yield from self._paper(name)
        yield from self._drafts()
        yield from self._runs()
        for problem in self._verifier.verify_around():
            # What is acknowledged and not there may be there after the real repair.
            if not (self._dry and problem.code == "acknowledged-lost"):
                yield from _left_of([problem])

    def paper(self, pid: Pid) -> Iterator[FileAction]:
        """One paper and its drafts. ``NotHeld`` where the archive has nothing of it."""
        warc, suwaf = self._archive.warc_path(pid), self._archive.suwaf_path(pid)
        drafts = [path for path in map(draft_of, (warc, suwaf)) if path.exists()]
        if warc.exists() or suwaf.exists():
            yield from self._paper(pid.path)
        elif not drafts:
            raise NotHeld(f"{pid}: not held in {self._archive.root}")
        for draft in drafts:
            yield from self._draft(draft)

    def _paper(self, name: str) -> Iterator[FileAction]:
        warc = self._archive.root / "warc" / f"{name}.warc"
        suwaf = self._archive.root / "suwaf" / f"{name}.json"
        problems = self._check(warc, suwaf)
        deed, codes = _wanted(problems)
        in_the_way = _in_the_way(problems)
        if in_the_way or not deed:
            yield from _left(p for p in problems if p.severity == "error" or p in in_the_way)
            return
        path = warc if deed == "recover" else suwaf
        sentence = "; ".join(dict.fromkeys(p.sentence for p in problems if p.code in codes))
        if self._dry:
            yield _deed(path, deed, codes, sentence, done=False)
            later = (p for p in problems if p.code not in codes and p.code != "torn-tail")
            yield from _left_of(later)
            return
        try:
            aside = self._mend(self._archive.pid_at(warc), rebuild=deed == "rebuild")
        except (BadPid, KeeperError) as error:
            yield _deed(path, "left", codes, str(error), done=False)
        else:
            yield _deed(path, deed, codes, sentence + aside, done=True)
        yield from _left_of(self._check(warc, suwaf))

    def _check(self, warc: Path, suwaf: Path) -> list[FileProblem]:
        return list(self._verifier.verify_paper(warc if warc.exists() else suwaf))

    def _mend(self, pid: Pid, *, rebuild: bool) -> str:
        """Let the writer rebuild the suwaf, or recover the paper; what was kept aside."""
        warc, suwaf = self._archive.warc_path(pid), self._archive.suwaf_path(pid)
        before = {*_torn(warc), *_torn(suwaf)}
        if rebuild:
            with kept_aside(suwaf):
                self._archive.rebuild(pid)
        else:
            with self._archive.paper(pid):  # it recovers when it is opened
                pass
        new = {*_torn(warc), *_torn(suwaf)} - before
        return "".join(f"; kept aside: {path.name}" for path in sorted(new))

    def _drafts(self) -> Iterator[FileAction]:
        for base, suffix in (("warc", ".warc"), ("suwaf", ".json")):
            # The verifier tells of links that lead nowhere.
            for path in list(files_below(self._archive.root / base, lambda _: None)):
                if path.name.startswith(DRAFT) and path.suffix == suffix:
                    yield from self._draft(path)

    def _draft(self, draft: Path) -> Iterator[FileAction]:
        """A first WARC that was not committed, or a suwaf that was not put in place."""
        if not draft.exists() or is_locked_at(draft):  # finished meanwhile, or a writer is at work
            return
        final = draft.with_name(draft.name.removeprefix(DRAFT))
        is_warc = final.suffix == ".warc"
        try:
            pid = self._pid_of_draft(draft, final)
            warc = self._archive.warc_path(pid)
            if warc.exists() if is_warc else not self._is_sound(warc):
                return  # a draft that no writer would take up, or a paper that has to wait
            aside = "" if self._dry else self._mend(pid, rebuild=not is_warc)
        except (BadPid, KeeperError) as error:
            yield _deed(draft, "left", ("draft",), str(error), done=False)
            return
        sentence = f"a draft that no writer finished{aside}"
        yield _deed(draft, "finish", ("draft",), sentence, done=not self._dry)

    def _is_sound(self, warc: Path) -> bool:
        return warc.exists() and not any(_left_of(self._verifier.verify_paper(warc)))

    def _pid_of_draft(self, draft: Path, final: Path) -> Pid:
        warcs, is_warc = self._archive.root / "warc", final.suffix == ".warc"
        base = warcs if is_warc else self._archive.root / "suwaf"
        relative = final.relative_to(base).with_suffix("").as_posix()
        return self._archive.pid_of(relative, draft if is_warc else warcs / f"{relative}.warc")

    def _runs(self) -> Iterator[FileAction]:
        root = self._archive.root / "raw"
        if self._dry:
            for run in leftovers.dead_runs(root):
                if not is_locked_at(run / leftovers.LOCK):
                    sentence = "raw WARCs of a run that was killed"
                    yield _deed(run, "adopt", ("raw-left",), sentence, done=False)
            if sentence := leftovers.strangers(root):
                yield _deed(root, "left", ("raw-left",), sentence, done=False)
            return
        for found in raws.recover(self._archive, keep=self._keep, max_entity=self._max_entity):
            if found.run:
                sentence = f"{found.trails} trails copied, {found.opened} to be asked again"
                yield _deed(root / found.run, "adopt", ("raw-left",), sentence, done=True)
            for problem in found.problems:
                yield _deed(root / found.run, "left", ("raw-left",), problem, done=False)


def _wanted(problems: list[FileProblem]) -> tuple[str, tuple[str, ...]]:
    """The deed that mends *problems*, and the codes that ask for it; none where none does."""
    codes = {problem.code for problem in problems}
    if codes & _SUWAF:
        return "rebuild", tuple(sorted(codes & (_SUWAF | _TAIL)))
    return ("recover", tuple(_TAIL)) if codes & _TAIL else ("", ())


def _in_the_way(problems: list[FileProblem]) -> list[FileProblem]:
    """Those of *problems* that forbid to touch the paper."""
    # Without a suwaf nothing says what was acknowledged: the writer judges whether it can be made.
    if any(problem.code in _NO_SUWAF for problem in problems):
        return [problem for problem in problems if problem.code in _NOT_THIS_PAPER]
    harmless = _SUWAF | _HARMLESS
    # A warning that is an error elsewhere lies behind the end: the writer takes in what stands
    # there up to the first bytes that are no record.
    warned = [p for p in problems if p.severity == "warning" and p.code not in _OF_FIRST_LAFKAS]
    tail = [p for p in warned if PAPER_CODES[p.code] == "error"]
    cut = min((p.offset for p in tail if p.code in _CUT and p.offset is not None), default=None)
    return [p for p in problems if p.severity == "error" and p.code not in harmless] + [
        p for p in tail if cut is None or p.offset is None or p.offset < cut
    ]


def _left(problems: Iterable[FileProblem]) -> Iterator[FileAction]:
    for problem in problems:
        yield _deed(problem.path, "left", (problem.code,), problem.sentence, done=False)


def _left_of(problems: Iterable[FileProblem]) -> Iterator[FileAction]:
    return _left(problem for problem in problems if problem.severity == "error")


def _deed(
    path: Path | str, deed: str, codes: tuple[str, ...], sentence: str, *, done: bool
) -> FileAction:
    return FileAction(path=str(path), deed=deed, codes=codes, done=done, sentence=sentence)


def _torn(path: Path) -> Iterator[Path]:
    return path.parent.glob(f"{path.name}.torn-*")
