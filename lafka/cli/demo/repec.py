"""A RePEc archive and its site through three runs, with a change and a loss between them.

Each step is a command that a user can give, in a process of its own: the data is gathered, its full
texts are archived, the store takes them in, serves them, and another archive is filled from it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import lafka
from lafka.cli.demo.site import DemoAnswer, pdf, serving
from lafka.runs.terminals import program

HANDLE = "RePEc:dem:wpaper:1"
CONTACT = "demo@example.org"
_WAIT = 120
_ARCHIVE = """Template-Type: ReDIF-Archive 1.0
Handle: RePEc:dem
Name: Working papers of the example
Maintainer-Email: {contact}
URL: {base}/
"""
_SERIES = """Template-Type: ReDIF-Series 1.0
Name: Working papers
Handle: RePEc:dem:wpaper
Type: ReDIF-Paper
"""
_PAPER = """Template-Type: ReDIF-Paper 1.0
Title: {title}
Author-Name: Ana Lima
File-URL: {base}{path}
File-Format: application/pdf
Handle: RePEc:dem:wpaper:{number}

"""
_PLACES = {1: "/papers/1.pdf", 2: "/papers/2.pdf", 3: "/old/3.pdf"}


class ExampleFailed(Exception):
    """A command of the example did not end as it should; what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStep:
    """A run of the example: a sentence, the titles by number, and the pages of the site."""

    sentence: str
    titles: Mapping[int, str]
    pages: Mapping[str, DemoAnswer]


def _pdf(title: str) -> DemoAnswer:
    return DemoAnswer(body=pdf(title), content_type="application/pdf")


_FIRST = {
    "/papers/1.pdf": _pdf("Costs, first version"),
    "/papers/2.pdf": _pdf("Benefits"),
    "/old/3.pdf": DemoAnswer(status=302, fields={"Location": "/new/3.pdf"}),
    "/new/3.pdf": _pdf("Both, behind a redirect"),
}
_SECOND = {**_FIRST, "/papers/1.pdf": _pdf("Costs, second version")}
_GONE = {"/papers/2.pdf": DemoAnswer(status=410)}
STEPS = (
    DemoStep(
        sentence="Three papers, one of them behind a redirect",
        titles={1: "Costs", 2: "Benefits", 3: "Both"},
        pages=_FIRST,
    ),
    DemoStep(
        sentence="The first one has another title, and another text",
        titles={1: "Costs, revised", 2: "Benefits", 3: "Both"},
        pages=_SECOND,
    ),
    DemoStep(
        sentence="The second one is gone, from the data and from the site",
        titles={1: "Costs, revised", 3: "Both"},
        pages={**_SECOND, **_GONE},
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """The example in *folder*, which is empty; its lines are told as they come about."""

    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / "archive"

    def steps(self) -> Iterator[str]:
        """Yield what is done, and what came of it; ``ExampleFailed``."""
        yield f"In {self.folder}:"
        pages: dict[str, DemoAnswer] = {}
        with serving(pages) as base:
            for number, step in enumerate(STEPS, 1):
                yield f"\nRun {number}. {step.sentence}:\n"
                pages.clear()
                pages.update(step.pages)
                self._write(step.titles, base)
                yield from self._run(first=number == 1)
        yield f"\nThe store, {self.store}: a folder a gathering, its tist reversed:\n"
        yield from self._tree()
        yield from self._inspected(base)
        yield from self._pulled()
        yield from self._reported()

    def _write(self, titles: Mapping[int, str], base: str) -> None:
        folder = self.folder / "data" / "current" / "RePEc" / "dem" / "wpaper"
        folder.mkdir(parents=True, exist_ok=True)
        (folder.parent / "demarch.rdf").write_text(_ARCHIVE.format(base=base, contact=CONTACT))
        (folder.parent / "demseri.rdf").write_text(_SERIES)
        papers = (
            _PAPER.format(title=title, base=base, path=_PLACES[number], number=number)
            for number, title in titles.items()
        )
        (folder / "papers.rdf").write_text("".join(papers))

    def _run(self, *, first: bool) -> Iterator[str]:
        yield from self._shown("tobi", "data/current", "--accept-losses", "dem")
        if first:
            yield from self._shown("futlis", "data/current", "-o", "list.tsv")
        yield from self._shown("crawl", "fobi", "-a", "due=all", "-a", "orphans=1")

    def _inspected(self, base: str) -> Iterator[str]:
        yield f"\nHow {HANDLE} changed, and its file:\n"
        yield from self._shown("obi", HANDLE, "--versions")
        yield from self._shown("obi", f"{base}{_PLACES[1]}", "--versions")
        yield "\nWhat was lost, and whether all is sound:\n"
        yield from self._shown("archec", "list", "--lost", "2000-01-01", "2100-01-01")
        yield from self._shown("archec", "check")

    def _pulled(self) -> Iterator[str]:
        yield "\nAnother archive is filled from the store; the site is gone by now:\n"
        pulled = "LAFKA_ARCHIVE=pulled"
        with self._serving() as address:
            yield f"  $ {program()} archec serve"
            yield f"    {address}"
            yield from self._shown("crawl", "futli", "-a", "input=list.tsv",
                                   "-a", f"legacy={address}", "-s", pulled)  # fmt: skip
        yield from self._shown("suwaf", HANDLE, "-s", pulled)
        yield from self._shown("verify", "-s", pulled)

    def _reported(self) -> Iterator[str]:
        yield "\nThe report, a line a series; and what the archive's maintainer can be sent:\n"
        yield from self._shown("archec", "report", "--by", "series", "--format", "csv")
        yield from self._shown("archec", "report", "--mail", "dem")

    # Commands ------------------------------------------------------------------------------

    def _shown(self, *args: str) -> Iterator[str]:
        """The command as a user gives it, and what it prints."""
        yield f"  $ {program()} {' '.join(args)}"
        done = subprocess.run(  # noqa: S603  ourselves
            self._command(*args), env=self._environment(), cwd=self.folder, check=False,
            capture_output=True, text=True, timeout=_WAIT,
        )  # fmt: skip
        if done.returncode:
            raise ExampleFailed(f"{args[0]}: {done.stderr.strip() or done.stdout.strip()}")
        yield from (f"    {line}" for line in done.stdout.splitlines())

    @contextmanager
    def _serving(self) -> Iterator[str]:
        """``archec serve`` as a process of its own; its address."""
        process = subprocess.Popen(  # noqa: S603  ourselves
            self._command("archec", "serve", "--port", "0"), env=self._environment(),
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            if not (address := process.stdout.readline().strip()):
                raise ExampleFailed(f"archec serve: {process.communicate()[1].strip()}")
            yield address
        finally:
            process.terminate()
            process.communicate(timeout=_WAIT)

    def _command(self, *args: str) -> Sequence[str]:
        settings = {
            "LAFKA_ALLOWED_NETWORKS": "127.0.0.0/8",
            "LAFKA_ARCHIVE": "papers",
            "LAFKA_CONTACT": CONTACT,
            "LAFKA_OBJECT_STORE": str(self.store),
            "AUTOTHROTTLE_ENABLED": "0",
            "LOG_LEVEL": "ERROR",
        }
        given = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        group = 2 if args[0] == "archec" else 1  # -s stands behind the verb
        return [sys.executable, "-m", "lafka", *args[:group], *given, *args[group:]]

    def _environment(self) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("LAFKA_")}
        return {**kept, "PYTHONPATH": str(Path(lafka.__file__).parents[1])}

    def _tree(self) -> Iterator[str]:
        for path in sorted(self.store.glob("[0-9]*/*/*/*")):
            leads = f" -> {path.readlink()}" if path.is_symlink() else ""
            yield f"  {path.relative_to(self.store)}{leads}"
