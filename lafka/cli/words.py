"""Completion by Tab: the words that a shell's script hands over, and the archive's pids.

``lafka completion`` prints the words into the script, for to make them it imports Scrapy and every
command, which takes ten times as long as to choose among them.
"""

from __future__ import annotations

import json
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lafka.cli.base import ArchiveCommand
from lafka.errors import BadPid
from lafka.runs.sources import KNOWN
from lafka.storage.folders import names_below

if TYPE_CHECKING:
    from lafka.papers.archive.archives import Archive


class WordsCommand(ArchiveCommand):
    """``lafka completion words VERSION``, as the script of this version asks."""

    verb = "completion"

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        words, _, line = sys.stdin.read().partition("\n")
        write_completed(line, CommandWords.parse(words), self.archive)


class Option(NamedTuple):
    """An option: its names, what stands for its value ("" where it has none), its help."""

    names: tuple[str, ...]
    value: str
    help: str
    choices: tuple[str, ...] = ()


class Verb(NamedTuple):
    """A command of ``lafka``, or one of a group: ``warc ls``."""

    name: str
    syntax: str
    help: str
    options: tuple[Option, ...]
    examples: tuple[str, ...] = ()
    below: tuple[Verb, ...] = ()


class CommandWords(NamedTuple):
    """All words of a version but pids: its commands, and the arguments of each spider."""

    version: str
    verbs: tuple[Verb, ...]
    spiders: dict[str, dict[str, str]]
    """Name and help of each argument."""

    @classmethod
    def parse(cls, line: str) -> CommandWords:
        """Return what *line*, which :func:`script` wrote, says."""
        version, verbs, spiders = json.loads(line)
        return cls(version, tuple(map(_verb, verbs)), spiders)


def _verb(row: list[Any]) -> Verb:
    name, syntax, text, options, examples, below = row
    known = tuple(Option(*option) for option in options)
    return Verb(name, syntax, text, known, examples, tuple(map(_verb, below)))


def script(shell: str, words: CommandWords) -> str:
    """Return what *shell* reads to complete ``lafka`` by *words*."""
    line = json.dumps(words, separators=(",", ":")).replace("'", r"\u0027")
    line = line.replace("\\", r"\\") if shell == "fish" else line
    template = Path(__file__).with_name("shells") / f"lafka.{shell}"
    return template.read_text("utf-8").replace("VERSION", words.version).replace("WORDS", line)


def write_completed(line: str, words: CommandWords, archive: Callable[[], Archive]) -> None:
    """Print what may stand for the last word of *line*, a tab, and what it is for."""
    for word, text in completed(line.removesuffix("\n"), words, archive):
        print(word, text, sep="\t")


def completed(
    line: str, words: CommandWords, archive: Callable[[], Archive]
) -> Iterator[tuple[str, str]]:
    """Yield what may stand for the last word of *line*, and what each is for.

    *line* is what was typed so far, with the program's name; a word that it ends in is begun.
    Nothing comes where names of files may.
    """
    _, *typed, word = ["", *_parted(line)]
    for name, text in _candidates(typed[1:], word, words, archive):
        if name.startswith(word) and (name != word or name[-1] != "="):
            yield name, text


def _parted(line: str) -> list[str]:
    """Return the words of *line* as a shell parts them; a quotation may be open at its end."""
    for end in ("", "'", '"'):
        with suppress(ValueError):
            *words, last = shlex.split(f"{line}\0{end}")
            return [*words, last.removesuffix("\0")]
    return [""]


def _candidates(
    typed: list[str], word: str, words: CommandWords, archive: Callable[[], Archive]
) -> Iterable[tuple[str, str]]:
    verbs = {verb.name: verb for verb in words.verbs}
    if not typed or typed[0] not in verbs:
        return [] if typed else [(verb.name, verb.help) for verb in words.verbs]
    verb = verbs[typed[0]]
    names = {one.name: one for one in verb.below}
    one = names.get(" ".join(typed[:2]), verb)
    options = {name: option for option in one.options for name in option.names}
    if (before := options.get(typed[-1])) and before.value:
        return _values(before, typed, words.spiders)
    if word.startswith("-"):
        return [(name, option.help) for name, option in options.items()]
    if one.below:
        return [(name.partition(" ")[2], below.help) for name, below in names.items()]
    if "PID" in one.syntax:
        return [(pid, "") for pid in islice(_pids(archive(), word), MOST_PIDS)]
    arguments = {"completion": (*SHELLS, "man"), "crawl": words.spiders}
    return [(name, "") for name in arguments.get(one.name, ()) if len(typed) == 1]


def _values(
    option: Option, typed: list[str], spiders: dict[str, dict[str, str]]
) -> Iterable[tuple[str, str]]:
    """Return the values of *option* that are known, with "=" behind a name."""
    if "-a" in option.names and typed[0] == "crawl":
        spider = next((word for word in typed if word in spiders), "futli")
        return [(f"{name}=", text) for name, text in spiders[spider].items()]
    if "-s" in option.names:
        return [(f"{name}=", f"now {value!r}") for name, value in KNOWN.items()]
    return [(value, "") for value in option.choices]


def _pids(archive: Archive, word: str) -> Iterator[str]:
    """Yield pids of *archive* that begin with *word*, of the first papers of their folder."""
    *above, last = word.split(":")
    root = archive.root / "warc"
    folder = root.joinpath(*above)
    narrow = bool(above) and ".." not in above and folder.is_dir()
    start = f"{folder}/{last}" if narrow else ""
    for path in islice(names_below(str(folder if narrow else root), lambda _: None), MOST_PAPERS):
        if path.startswith(start) and path.endswith(".warc"):
            with suppress(BadPid):
                pid = archive.pid_at(Path(path)).text
                if pid.startswith(word):
                    yield pid


SHELLS = ("bash", "zsh", "fish")
"""Each has a script in ``shells/`` that completes ``lafka``, without VERSION and WORDS."""
MOST_PIDS = 50
MOST_PAPERS = 50_000
"""How many files are looked at for pids, so that nobody waits."""
